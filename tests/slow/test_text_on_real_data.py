"""The story of the paper on real sentences, where the data is at hand (see CONTRIBUTING.md)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from dplitmus.text.attacks import strongest, strongest_link
from dplitmus.text.data import Dataset, read
from dplitmus.text.dptext import DPText
from dplitmus.text.vocabulary import tokens_of

DATA = Path(os.environ.get("DPLITMUS_DATA", Path(__file__).parents[3] / "shared" / "data"))
FILE = DATA / "sentiment_sentences" / "all.csv"


def measured(train: Dataset, test: Dataset, **settings: Any) -> tuple[float, float]:
    """Task accuracy from released vectors, and the share of them traced to their text."""
    model = DPText(truncate=True, epochs=9, **settings).fit(train.texts, train.labels, train.private)
    words = model.vocabulary.numbers if model.vocabulary else {}
    known, asked = (
        part.rows([i for i, text in enumerate(part.texts) if any(t in words for t in tokens_of(text))])
        for part in (train, test)
    )
    released = model.encode(asked.texts)
    task = strongest((model.encode(known.texts), known.labels or []), (released, asked.labels or []))[1]
    return task.value, strongest_link(released, model.bounded(asked.texts))[1].value


@pytest.mark.slow
@pytest.mark.skipif(not FILE.is_file(), reason="no sentiment_sentences: set DPLITMUS_DATA")
def test_published_dptext_looks_too_good_to_be_true_and_correct_noise_does_not() -> None:
    data = read(str(FILE), label_column="label", private_columns=["source"])
    train, test = data.split(800 / len(data), 1)
    free, _ = measured(train, test, mode="unprotected")
    task, link = measured(train, test, mode="published", epsilon=1.0)
    assert task > free - 0.04
    assert link > 0.99
    task, link = measured(train, test, mode="corrected", epsilon=1.0, latent=32, bound="box")
    assert task < 0.57
    assert link < 0.02
