"""OpenDP's measurements by one fixture call each: the epsilon is what the library's own map says.

pytest examples/neighbour_tests
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import dplitmus

if TYPE_CHECKING:
    from collections.abc import Callable

dp = pytest.importorskip("opendp.prelude")


@pytest.fixture(autouse=True)
def features() -> None:
    """Constructors whose proofs are not yet reviewed must be asked for."""
    dp.enable_features("contrib")


def test_laplace(dp_audit: Callable[..., Any]) -> None:
    """The claim comes from the measurement's privacy map."""
    measurement = dp.m.make_laplace(
        dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=1.0
    )
    claimed = measurement.map(1.0)
    dp_audit(dplitmus.each(measurement), epsilon=claimed, neighbours=[(0.0, 1.0)], samples=20_000)


def test_discrete_laplace(dp_audit: Callable[..., Any]) -> None:
    """Integers."""
    measurement = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=1.0)
    dp_audit(dplitmus.each(measurement), epsilon=measurement.map(1), neighbours=[(0, 1)], samples=20_000)


def test_randomised_response(dp_audit: Callable[..., Any]) -> None:
    """Booleans; any two answers are neighbours."""
    measurement = dp.m.make_randomized_response_bool(prob=0.75)
    dp_audit(
        dplitmus.each(measurement), epsilon=measurement.map(1), neighbours=[(False, True)], samples=20_000
    )
