from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dplitmus.forecast import majority
from dplitmus.mechanisms.base import RoundedBit


def coins() -> np.random.Generator:
    return np.random.default_rng(0)


def by_hand(row: list[float]) -> int:
    ones = sum(value >= 0.5 for value in row)
    zeros = sum(value < 0.5 for value in row)
    if ones + zeros == 0:
        return majority.NO_VOTE
    return int(ones > zeros)


values = st.sampled_from([0.0, 0.49, 0.5, 1.0, -3.0, 7.0, math.nan, math.inf, -math.inf])


@given(st.integers(1, 6).flatmap(lambda n: st.lists(st.lists(values, min_size=n, max_size=n), min_size=1)))
def test_votes_agree_with_counting_by_hand(rows: list[list[float]]) -> None:
    for order in ("C", "F"):
        votes = majority.vote(np.array(rows, order=order), ties="zero", coins=coins())
        assert [by_hand(row) for row in rows] == votes.guesses.tolist()
        assert sum(any(map(math.isnan, row)) for row in rows) == votes.nan
        assert sum(any(map(math.isinf, row)) for row in rows) == votes.infinite


def test_a_coin_breaks_ties_fairly_and_nothing_else() -> None:
    """Binomial share within five standard errors: false failure below 1e-6."""
    n = 10_000
    tied = np.tile([0.0, 1.0], (n, 1))
    guesses = majority.vote(tied, ties="coin", coins=coins()).guesses
    assert abs(guesses.mean() - 0.5) < 2.5 / math.sqrt(n)
    assert not majority.vote(tied, ties="zero", coins=coins()).guesses.any()
    assert majority.vote(np.ones((n, 2)), ties="coin", coins=coins()).guesses.all()


@pytest.mark.parametrize("dimension", [255, 256, 1000, 70_000])
def test_counters_do_not_overflow(dimension: int) -> None:
    votes = majority.vote(np.ones((2, dimension)), ties="zero", coins=coins())
    assert votes.guesses.tolist() == [1, 1]


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float16, np.float32])
def test_all_real_types_can_vote(dtype: type) -> None:
    outputs: NDArray[Any] = np.array([[0, 0, 1], [1, 1, 0]], dtype=dtype)
    assert majority.vote(outputs, ties="zero", coins=coins()).guesses.tolist() == [0, 1]


def enumerate_law(bit: RoundedBit, dimension: int, ties: str) -> list[float]:
    law = [0.0, 0.0, 0.0]
    for row in itertools.product((0.0, 1.0, math.nan), repeat=dimension):
        mass = math.prod(math.exp(bit[2 if math.isnan(v) else int(v)]) for v in row)
        ones, zeros = row.count(1.0), row.count(0.0)
        if ones == zeros and ones and ties == "coin":
            law[0] += mass / 2
            law[1] += mass / 2
        else:
            law[by_hand(list(row))] += mass
    return law


@settings(deadline=None)
@given(
    st.tuples(*[st.sampled_from([0.0, 0.1, 0.5, 2.0])] * 3).filter(any),
    st.integers(1, 5),
    st.sampled_from(majority.TIES),
)
def test_the_exact_law_agrees_with_enumeration(
    weights: tuple[float, float, float], dimension: int, ties: str
) -> None:
    with np.errstate(divide="ignore"):
        bit = RoundedBit(*np.log(np.array(weights) / sum(weights)).tolist())
    law = [math.exp(log_p) for log_p in majority.law(bit, dimension, ties=ties)]
    np.testing.assert_allclose(enumerate_law(bit, dimension, ties), law, atol=1e-12)


def test_the_law_is_right_where_it_underflows() -> None:
    """With p = e^-1000 the vote of 3 is won by two or three ones: 3p^2 to relative precision."""
    tiny = RoundedBit(zero=0.0, one=-1000.0)
    law = majority.law(tiny, 3, ties="zero")
    assert math.isclose(math.log(3) - 2000.0, law.one, rel_tol=1e-14)
    assert law.zero == 0.0
    assert law.none == -math.inf


@given(st.floats(1e-6, 1 - 1e-6), st.integers(1, 200), st.sampled_from(majority.TIES))
def test_probabilities_of_the_law_sum_to_one(p: float, dimension: int, ties: str) -> None:
    law = majority.law(RoundedBit(math.log1p(-p), math.log(p)), dimension, ties=ties)
    assert math.isclose(1.0, sum(map(math.exp, law)), rel_tol=1e-9)
