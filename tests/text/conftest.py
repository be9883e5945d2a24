"""Tiny models on the generated corpus, trained once for all tests."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from dplitmus.text.adept import ADePT
from dplitmus.text.corpus import generated
from dplitmus.text.data import Dataset
from dplitmus.text.dptext import DPText

torch.set_num_threads(1)
SMALL: dict[str, Any] = {"hidden": 24, "embedding": 16, "epochs": 8, "least_count": 1, "batch_size": 16}


@pytest.fixture(scope="session")
def halves() -> tuple[Dataset, Dataset]:
    """360 sentences to train on, 140 to release."""
    return generated(500, seed=3).split(0.28, 1)


def dptext(halves: tuple[Dataset, Dataset], **settings: Any) -> DPText:
    train, _ = halves
    model = DPText(**{**SMALL, "learning_rate": 1e-2, **settings})
    return model.fit(train.texts, train.labels, train.private)


@pytest.fixture(scope="session")
def published(halves: tuple[Dataset, Dataset]) -> DPText:
    """DPText as published, epsilon 1."""
    return dptext(halves, mode="published", epsilon=1.0, latent=16)


@pytest.fixture(scope="session")
def corrected(halves: tuple[Dataset, Dataset]) -> DPText:
    """DPText corrected in its default shape, epsilon 10."""
    return dptext(halves, mode="corrected", epsilon=10.0)


@pytest.fixture(scope="session")
def adept(halves: tuple[Dataset, Dataset]) -> ADePT:
    """ADePT with the correct sensitivity, 16 dimensions, whose root is exact."""
    settings = {**SMALL, "hidden": 48, "latent": 16, "epochs": 20, "learning_rate": 1e-2}
    return ADePT(**settings, substitution=0.0, epsilon=100.0).fit(halves[0].texts)
