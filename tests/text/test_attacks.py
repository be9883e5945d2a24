"""Attacks find what is there, each the one that only it can find, and nothing where there is nothing."""

from __future__ import annotations

import numpy as np
import pytest

from dplitmus.errors import InputError
from dplitmus.text import attacks
from dplitmus.text.corpus import generated
from dplitmus.text.rewriting import TextClassifier, edit_distance, kept, membership
from dplitmus.text.score import Score, majority


def rng() -> np.random.Generator:
    return np.random.default_rng(4)


def labelled(n: int, dimension: int) -> tuple[np.ndarray, list[str]]:
    """Vectors at +-0.9 by their class."""
    sides = rng().random(n) < 0.5
    return np.where(sides[:, None], 0.9, -0.9) * np.ones((n, dimension)), [
        "yes" if s else "no" for s in sides
    ]


def nan_to_zero(vectors: np.ndarray, scale: float) -> np.ndarray:
    noise = rng().exponential(scale, vectors.shape)
    return vectors + np.where(rng().random(vectors.shape) < 0.5, 0.0, noise)


def test_only_a_mask_or_a_network_sees_through_published_noise() -> None:
    vectors, labels = labelled(1200, 8)
    noised = nan_to_zero(vectors, 200.0)
    halves = (noised[:800], labels[:800]), (noised[800:], labels[800:])
    linear, mask = (attacks.classify(name, *halves) for name in ("linear", "mask"))
    assert linear.value < 0.7
    assert mask.value > 0.95
    name, best = attacks.strongest(*halves)
    assert name in {"mask", "mlp"}
    assert best == attacks.classify(name, *halves)


def test_the_attacked_rows_play_no_part_in_the_choice_of_the_attack() -> None:
    """Eight random truths: the best on each of them would be another attack each time."""
    vectors, labels = rng().normal(size=(240, 6)), [str(coin) for coin in rng().integers(0, 2, 240)]
    train, asked = (vectors[:120], labels[:120]), vectors[120:]
    truths = [[str(coin) for coin in np.random.default_rng(k).integers(0, 2, 120)] for k in range(8)]
    assert len({attacks.strongest(train, (asked, truth))[0] for truth in truths}) == 1
    best = [
        max(attacks.CLASSIFIERS, key=lambda name: attacks.classify(name, train, (asked, truth)).value)
        for truth in truths
    ]
    assert len(set(best)) > 1


def test_classes_too_small_to_hold_rows_back_are_attacked_all_the_same() -> None:
    vectors, labels = np.eye(6), ["a", "a", "a", "b", "b", "b"]
    name, score = attacks.strongest((vectors, labels), (vectors, labels))
    assert name == "linear"
    assert score.value == 1.0


def test_attacks_on_noise_alone_stay_at_the_baseline() -> None:
    """Accuracy of a fair coin on 600 rows: beyond 0.62 with probability below 1e-8."""
    noise = rng().laplace(size=(1200, 4))
    labels = ["yes" if coin else "no" for coin in np.random.default_rng(9).random(1200) < 0.5]
    _, best = attacks.strongest((noise[:600], labels[:600]), (noise[600:], labels[600:]))
    assert best.value < 0.62
    assert best.low < best.value < best.high


@pytest.mark.parametrize(
    ("link", "noise"),
    [
        ("exact", "zero"),
        ("support", "one-sided"),
        ("l1", "laplace"),
        ("shift", "scalar"),
    ],
)
def test_each_link_finds_what_it_is_made_for(link: str, noise: str) -> None:
    clean = rng().uniform(-1, 1, (60, 24))
    source = np.random.default_rng(8)
    released = {
        "zero": nan_to_zero(clean, 1000.0),
        "one-sided": clean + source.exponential(0.7, clean.shape),
        "laplace": clean + source.laplace(scale=0.3, size=clean.shape),
        "scalar": clean + source.laplace(scale=1000.0, size=(60, 1)),
    }[noise]
    assert attacks.linkage(released, clean, link).value > 0.95
    assert attacks.strongest_link(released, clean)[1].value > 0.95


def test_links_fail_on_large_laplace_noise_and_twins_count() -> None:
    clean = rng().uniform(-1, 1, (80, 8))
    released = clean + np.random.default_rng(8).laplace(scale=300.0, size=clean.shape)
    assert attacks.strongest_link(released, clean)[1].value < 0.2
    twins = np.repeat(clean[:3], 2, axis=0)
    assert attacks.linkage(twins, twins, "exact").value == 1.0
    with pytest.raises(InputError, match="link='none'"):
        attacks.linkage(clean, clean, "none")


def test_scores_have_intervals_and_baselines() -> None:
    score = Score.of([True] * 80 + [False] * 20, baseline=0.5)
    assert score.value == 0.8
    assert 0.68 < score.low < 0.75
    assert 0.85 < score.high < 0.92
    assert majority(["a", "b", "a"]) == pytest.approx(2 / 3)
    assert str(score).startswith("0.800 [")


def test_what_is_left_of_a_text() -> None:
    same = kept(["The room, was clean"], ["the room , was clean"])
    assert same.bleu == pytest.approx(100.0)
    assert (same.exact, same.edits) == (1.0, 0.0)
    other = kept(["a b c d e"], ["a b c x e"])
    assert other.exact == 0.0
    assert other.edits == pytest.approx(0.2)
    assert kept(["a b"], [""]).bleu == 0.0
    assert edit_distance([], ["a", "b"]) == 2


def test_membership_is_found_when_the_rewrite_is_the_text_and_not_when_it_is_nothing() -> None:
    data = generated(240)
    noisy = [str(label) for label in rng().integers(0, 2, 240)]  # labels that can only be learned by heart
    learnt = data.rows(range(240))
    learnt = type(data)(learnt.texts, noisy, {})
    score, curve = membership(learnt, learnt.texts)
    assert score.value > 0.8
    assert curve > 0.85
    blind, _ = membership(learnt, ["same words"] * 240)
    assert blind.value < 0.7
    with pytest.raises(InputError, match="40 labelled texts"):
        membership(data.rows(range(10)), data.texts[:10])


def test_a_text_classifier_learns_the_task() -> None:
    train, test = generated(400).split(0.3)
    assert TextClassifier(train.texts, train.labels or []).score(test.texts, test.labels or []).value > 0.8
