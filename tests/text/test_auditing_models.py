"""A trained model is a mechanism: the audit finds the published mistakes and accuses no corrected model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dplitmus.errors import InputError
from dplitmus.text.adept import ADePT
from dplitmus.text.auditing import audit_model, worst_pairs
from dplitmus.text.data import Dataset
from dplitmus.text.dptext import DPText

Halves = tuple[Dataset, Dataset]


def test_the_worst_pair_is_the_farthest(corrected: DPText, halves: Halves) -> None:
    z = corrected.bounded(halves[1].texts)
    (one, other), *_ = worst_pairs(corrected, halves[1].texts)
    assert np.abs(z[one] - z[other]).sum() == pytest.approx(z.max() - z.min())


def test_published_dptext_is_refuted(published: DPText, halves: Halves) -> None:
    result = audit_model(published, halves[1].texts, seed=1, samples=30_000)
    assert result.verdict == "violated"
    assert result.epsilon_lower > 1.0
    assert result.replayable
    assert published.audited is not None
    assert published.audited["verdict"] == "violated"


@pytest.mark.parametrize(
    ("reading", "view"), [("redraw", "vectors"), ("redraw", "raw"), ("one-scalar", "vectors")]
)
def test_the_other_readings_are_refuted_too(reading: str, view: str, halves: Halves) -> None:
    train, test = halves
    settings: dict[str, Any] = {
        "hidden": 16,
        "embedding": 16,
        "epochs": 2,
        "least_count": 1,
        "batch_size": 16,
    }
    model = DPText(**settings, mode="published", reading=reading, latent=16, epsilon=1.0)
    model.fit(train.texts, train.labels, train.private)
    result = audit_model(model, test.texts, seed=1, samples=120_000, view=view)
    assert result.verdict == "violated"


def test_adept_with_2c_is_refuted_and_with_the_right_sensitivity_is_not(adept: ADePT, halves: Halves) -> None:
    """A correct model is accused with probability 1e-6."""
    texts = halves[1].texts
    wrong = audit_model(adept.with_sensitivity("published"), texts, epsilon=1.0, seed=1, samples=30_000)
    assert wrong.verdict == "violated"
    right = audit_model(adept.with_sensitivity("correct"), texts, epsilon=1.0, seed=1, samples=3_000)
    assert right.verdict == "not-found"


@pytest.mark.parametrize("view", ["vectors", "raw"])
def test_a_corrected_model_is_not_accused(corrected: DPText, halves: Halves, view: str) -> None:
    """The release path itself is audited; a false alarm has probability 1e-6."""
    result = audit_model(corrected, halves[1].texts, seed=1, samples=3_000, view=view)
    assert result.verdict == "not-found"
    assert result.epsilon_lower <= 10.0


def test_rewritten_texts_can_be_audited(adept: ADePT, halves: Halves) -> None:
    wrong = adept.with_sensitivity("published")
    result = audit_model(wrong, halves[1].texts, epsilon=1.0, view="texts", seed=1, samples=500)
    assert result.samples <= 500
    assert result.mechanism == "adept-texts"


def test_the_same_seed_gives_the_same_audit(published: DPText, halves: Halves) -> None:
    one, other = (audit_model(published, halves[1].texts, seed=5, samples=3_000) for _ in range(2))
    assert (one.samples, one.epsilon_lower) == (other.samples, other.epsilon_lower)


def test_texts_with_one_latent_vector_are_refused(published: DPText) -> None:
    with pytest.raises(InputError, match="one and the same latent"):
        audit_model(published, ["the room was clean", "The room was clean"])
    with pytest.raises(InputError, match="can read 1 of the texts"):
        audit_model(published, ["the room was clean", "zzz qqq"])
    with pytest.raises(InputError, match="view='word'"):
        audit_model(published, ["the room was clean"], view="word")
