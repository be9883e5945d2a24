from __future__ import annotations

import pickle
import unittest

import numpy as np
import pytest

import dplitmus


def copied(x: float, n: int, rng: np.random.Generator) -> list[float]:
    return [x] * n


def coins(x: float, n: int, rng: np.random.Generator) -> list[int]:
    return [int(coin) for coin in rng.integers(0, 2, n)]


def test_a_violation_is_an_assertion_with_the_counterexample() -> None:
    with pytest.raises(AssertionError, match="VIOLATED") as caught:
        dplitmus.assert_private(copied, epsilon=1.0, neighbours=[(0, 1)], seed=1, samples=2000)
    assert "Counterexample" in str(caught.value)
    assert isinstance(caught.value, dplitmus.ViolatedError)
    assert pickle.loads(pickle.dumps(caught.value)).result == caught.value.result  # noqa: S301


def test_otherwise_the_result_is_returned() -> None:
    result = dplitmus.assert_private(coins, epsilon=1.0, neighbours=[(0, 1)], seed=1, samples=2000)
    assert result.verdict == "not-found"


def test_unittest_counts_it_as_a_failure_not_as_an_error() -> None:
    class Case(unittest.TestCase):
        def runTest(self) -> None:  # noqa: N802  (unittest's name)
            dplitmus.assert_private(copied, epsilon=1.0, neighbours=[(0, 1)], samples=2000, seed=1)

    outcome = Case().run()
    assert outcome
    assert (len(outcome.failures), len(outcome.errors)) == (1, 0)
