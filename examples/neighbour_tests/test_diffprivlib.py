"""A neighbour test of the hand-made kind on diffprivlib, and the same by one fixture call.

pytest examples/neighbour_tests
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

import dplitmus

if TYPE_CHECKING:
    from collections.abc import Callable

mechanisms = pytest.importorskip("diffprivlib.mechanisms")


def by_hand(mechanism: Any, *, epsilon: float, runs: int = 10_000, slack: float = 0.1) -> None:
    """10,000 runs on each input, one event chosen beforehand, frequencies compared with slack."""
    below = [sum(mechanism.randomise(x) <= 0 for _ in range(runs)) for x in (0, 1)]
    assert below[0] / runs <= math.exp(epsilon) * below[1] / runs + slack


def test_by_hand() -> None:
    """It passes."""
    by_hand(mechanisms.Laplace(epsilon=1.0, sensitivity=1.0, random_state=1), epsilon=1.0)


def test_by_hand_does_not_see_15_percent_too_much() -> None:
    """It passes as well, on a mechanism whose true epsilon is 1.15: the slack hides it."""
    by_hand(mechanisms.Laplace(epsilon=1.15, sensitivity=1.0, random_state=1), epsilon=1.0)


def test_laplace(dp_audit: Callable[..., Any]) -> None:
    """One call: any event, no slack, a stated false-alarm probability."""
    mechanism = mechanisms.Laplace(epsilon=1.0, sensitivity=1.0)
    dp_audit(dplitmus.each(mechanism.randomise), epsilon=1.0, neighbours=[(0, 1)], samples=20_000)


def test_geometric(dp_audit: Callable[..., Any]) -> None:
    """Integers are outputs, too."""
    mechanism = mechanisms.Geometric(epsilon=1.0, sensitivity=1)
    dp_audit(dplitmus.each(mechanism.randomise), epsilon=1.0, neighbours=[(0, 1)], samples=20_000)


def test_binary(dp_audit: Callable[..., Any]) -> None:
    """And so are strings."""
    mechanism = mechanisms.Binary(epsilon=1.0, value0="yes", value1="no")
    dp_audit(dplitmus.each(mechanism.randomise), epsilon=1.0, neighbours=[("yes", "no")], samples=20_000)


def test_the_audit_sees_15_percent_too_much() -> None:
    """The mechanism that passed by hand is refuted, with a counterexample."""
    mechanism = mechanisms.Laplace(epsilon=1.15, sensitivity=1.0)
    with pytest.raises(AssertionError, match="VIOLATED"):
        dplitmus.assert_private(dplitmus.each(mechanism.randomise), epsilon=1.0, neighbours=[(0, 1)])
