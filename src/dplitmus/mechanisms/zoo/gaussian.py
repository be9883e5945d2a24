"""Gaussian noise for claims with delta > 0: the least sigma that is right, and one that is not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dplitmus.mechanisms.base import FloatArray, as_vector
from dplitmus.mechanisms.laplace import add_scaled
from dplitmus.mechanisms.zoo.entry import Entry, as_claimed

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

DELTA = 1e-5
_HALVINGS = 200  # enough to exhaust a double from any bracket


@dataclass(frozen=True, kw_only=True)
class Gaussian:
    """The answers plus independent Gaussian noise of standard deviation `sigma`."""

    sigma: float
    name: str = "gaussian"

    def __call__(self, x: Any, n: int, rng: np.random.Generator) -> FloatArray:
        """Return n noisy answers."""
        answer = as_vector(x)
        return add_scaled(rng.standard_normal((answer.size, n)), self.sigma, answer)


def delta_of(epsilon: float, sigma: float) -> float:
    """Return the smallest delta at `epsilon` for L2 sensitivity 1 (Balle and Wang 2018, Theorem 8)."""
    here = _upper_tail(epsilon * sigma - 0.5 / sigma)
    there = _upper_tail(epsilon * sigma + 0.5 / sigma)
    # exp(epsilon) overflows where the tail underflows; their product is at most 1.
    return here - (math.exp(epsilon + math.log(there)) if there > 0.0 else 0.0)


def sigma_of(epsilon: float, delta: float) -> float:
    """Return the least sigma that is (epsilon, delta)-private for L2 sensitivity 1."""
    return _root(lambda sigma: delta_of(epsilon, sigma) - delta)


def epsilon_of(sigma: float, delta: float) -> float:
    """Return the true epsilon of Gaussian noise at `delta`, for L2 sensitivity 1."""
    return 0.0 if delta_of(0.0, sigma) <= delta else _root(lambda e: delta_of(e, sigma) - delta)


def _upper_tail(t: float) -> float:
    return 0.5 * math.erfc(t / math.sqrt(2.0))


def _root(decreasing: Callable[[float], float]) -> float:
    low, high = 1e-6, 1.0
    while decreasing(high) > 0.0:
        high *= 2.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if decreasing(middle) > 0.0 else (low, middle)
    return high


ENTRIES = (
    Entry(
        name="gaussian",
        summary="x + N(0, s^2), least s for delta 1e-5",
        make=lambda epsilon, _n: Gaussian(sigma=sigma_of(epsilon, DELTA)),
        relation="one",
        dimension=1,
        claim=lambda epsilon, _n: (epsilon, DELTA),
        true_epsilon=as_claimed,  # delta_of decreases in epsilon and is DELTA there by choice of sigma
        truth="epsilon",
    ),
    Entry(
        name="gaussian-wrong-sigma",
        summary="Laplace's 1/epsilon as s; delta 1e-5",
        make=lambda epsilon, _n: Gaussian(sigma=1.0 / epsilon, name="gaussian-wrong-sigma"),
        relation="one",
        dimension=1,
        claim=lambda epsilon, _n: (epsilon, DELTA),
        true_epsilon=lambda epsilon, _n: epsilon_of(1.0 / epsilon, DELTA),
        truth=f"{epsilon_of(1.0, DELTA):.2f} at 1",
    ),
)
