"""Audits of mechanisms with strange outputs: of any size and length, with numbers among other things."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import dplitmus
from dplitmus import Result


def audit(mechanism: Any, **settings: Any) -> Result:
    given: dict[str, Any] = {"epsilon": 1.0, "neighbours": [(0.0, 1.0)], "samples": 20_000, "seed": 1}
    return dplitmus.audit(mechanism, **given | settings)


def test_outputs_may_change_their_width_from_call_to_call() -> None:
    def ragged(x: float, n: int, rng: np.random.Generator) -> Any:
        return np.full((n, 1 + n % 3), x)

    assert audit(ragged).verdict == "violated"


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("size", [1e308, 1e306, 1e200, 1e-200, 1e-310])
def test_outputs_may_be_as_large_and_as_small_as_floats_can_be(size: float, columns: int) -> None:
    """Differences, squares and sums of them are no numbers; a warning would fail this test."""

    def scaled(x: Any, n: int, rng: np.random.Generator) -> Any:
        with np.errstate(over="ignore"):  # some are infinite
            return (x + rng.laplace(scale=0.5, size=(n, columns))) * size

    pair = (np.zeros(columns), np.eye(columns)[0])
    result = audit(scaled, neighbours=[pair], samples=8000, stop="never")
    assert result.verdict == "violated"
    assert 1 < result.epsilon_lower < 2
    assert "epsilon" in result.to_html()


def test_infinities_of_both_signs_beside_numbers_of_every_size() -> None:
    def strange(x: Any, n: int, rng: np.random.Generator) -> Any:
        values = x + rng.laplace(scale=0.5, size=(n, 3))
        for other in (np.inf, -np.inf, np.nan, 1e308, 5e-324):
            values[rng.random(values.shape) < 0.05] = other
        return values

    result = audit(strange, neighbours=[(np.zeros(3), np.eye(3)[0])], samples=8000, stop="never")
    assert result.verdict == "violated"


def longer(x: float, n: int, rng: np.random.Generator) -> Any:
    return rng.laplace(size=(n, 1 + int(x)))


def some_numbers(x: float, n: int, rng: np.random.Generator) -> Any:
    return [list(x + rng.laplace(scale=0.4, size=length)) for length in rng.integers(0, 5, size=n)]


@pytest.mark.parametrize("seed", range(4))  # the first chunk has one length, or several
@pytest.mark.parametrize("lift", [False, True], ids=["batched", "one at a time"])
def test_a_leak_in_the_length_of_an_output_is_found(seed: int, *, lift: bool) -> None:
    one = dplitmus.each(lambda x, rng: longer(x, 1, rng)[0])
    result = audit(one if lift else longer, seed=seed, samples=300)
    assert result.counterexample is not None
    assert result.counterexample.event == "there is no y[1]"
    assert "DP302" not in [note.code for note in result.notes]


def tokens(x: int, n: int, rng: np.random.Generator) -> Any:
    """Lists of 4 to 8 words out of fifty, the second of which is mostly the input: hardly one comes twice."""
    words = [rng.integers(0, 50, size).tolist() for size in rng.integers(4, 9, n)]
    return [
        [first, x if leak else second, *rest]
        for (first, second, *rest), leak in zip(words, rng.random(n) < 0.8, strict=True)
    ]


def named(x: float, n: int, rng: np.random.Generator) -> Any:
    return [("count", None, value) for value in x + rng.laplace(scale=0.5, size=n)]


def record(x: float, n: int, rng: np.random.Generator) -> Any:
    return [{"name": "count", "value": value} for _, _, value in named(x, n, rng)]


@pytest.mark.parametrize("mechanism", [tokens, named, record], ids=lambda one: one.__name__)
def test_numbers_inside_of_other_outputs_are_looked_at(mechanism: Any) -> None:
    """Tables of whole outputs see nothing here: each is new."""
    for seed in range(3):
        result = audit(mechanism, neighbours=[(7, 8)], samples=5000, seed=seed)
        assert result.counterexample is not None
        assert result.counterexample.event.startswith("y[2]" if mechanism is named else "y[1]")
        assert "epsilon" in result.to_html()


@pytest.mark.parametrize("missing", [None, math.nan], ids=str)
def test_numbers_that_come_late_get_their_experts(missing: Any) -> None:
    """The first outputs are rarely numbers; without experts for these twice as many draws were needed."""

    def rarely(x: float, n: int, rng: np.random.Generator) -> Any:
        noise = x + rng.laplace(scale=0.2, size=n)
        return [
            value if answers else missing for value, answers in zip(noise, rng.random(n) < 0.1, strict=True)
        ]

    results = [audit(rarely, seed=seed) for seed in range(7)]
    assert np.median([result.pairs[0].draws for result in results]) < 900
    for result in results:  # a number is no symbol, in whatever company it comes
        assert result.counterexample is not None
        assert result.counterexample.event.startswith(("y < ", "y > "))


@pytest.mark.parametrize("seed", range(4))
def test_a_leak_in_the_numbers_of_outputs_of_changing_length_is_found(seed: int) -> None:
    result = audit(some_numbers, seed=seed, samples=2000)
    assert result.verdict == "violated"
    assert "epsilon" in result.to_html()
    assert result == audit(some_numbers, seed=seed, samples=2000)


def test_outputs_that_grow_during_the_exam_are_cut() -> None:
    """A panel that has settled, and copies of it in flight, know the columns that they know."""

    def growing(x: float, n: int, rng: np.random.Generator) -> Any:
        return [list(x + rng.laplace(scale=0.4, size=1 + rare)) for rare in rng.random(n) < 0.001]

    for stop, seed in itertools.product(("violated", "never"), range(4)):
        assert audit(growing, samples=6000, stop=stop, seed=seed).verdict == "violated"


def rewritten(text: str, n: int, rng: np.random.Generator) -> list[str]:
    """The last word is kept, the others are any of fifty: hardly a text comes twice."""
    *_, last = text.split()
    return [" ".join([*(f"w{k}" for k in rng.integers(0, 50, 6)), last]) for _ in range(n)]


def test_texts_that_hardly_come_twice_are_said_to_tell_nothing_as_a_whole() -> None:
    """And the numbers of their words tell it."""
    pair = [("the answer is yes", "the answer is nay")]
    result = audit(rewritten, neighbours=pair, samples=2000)
    assert result.verdict == "not-found"
    assert "DP316" in [note.code for note in result.notes]

    def numbered(text: str, n: int, rng: np.random.Generator) -> list[list[int]]:
        numbers = {"yes": 50, "nay": 51} | {f"w{k}": k for k in range(50)}
        return [[numbers[word] for word in words.split()] for words in rewritten(text, n, rng)]

    result = audit(numbered, neighbours=pair, samples=2000)
    assert result.counterexample is not None
    assert result.counterexample.event in {"y[6] < 50.5", "y[6] > 50.5"}
    few = audit(lambda x, n, rng: rng.choice(["a", "b", "c"], n).tolist(), samples=1000)
    assert "DP316" not in [note.code for note in few.notes]
