"""Laplace noise added to query answers: correct, too small, published many times, snapped, summed.

The truths hold for the noise as real numbers. In double precision every one of these but `snapping`
leaks through its last bits (Mironov 2012).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dplitmus.mechanisms.base import FloatArray, as_vector
from dplitmus.mechanisms.laplace import Laplace, add_scaled, laplace_noise
from dplitmus.mechanisms.zoo.entry import Entry, as_claimed

COPIES = 20  # of laplace-parallel


@dataclass(frozen=True, kw_only=True)
class LaplaceParallel:
    """The answers, noised and published `copies` times, each time with its share of epsilon."""

    epsilon: float
    copies: int = COPIES
    name: ClassVar[str] = "laplace-parallel"

    def __call__(self, x: Any, n: int, rng: np.random.Generator) -> FloatArray:
        """Return n rows of all copies."""
        answer = np.tile(as_vector(x), self.copies)
        return add_scaled(laplace_noise(rng, (answer.size, n), self.copies / self.epsilon), 1.0, answer)


@dataclass(frozen=True, kw_only=True)
class PrefixSum:
    """Running sums of noised answers, scale 1/epsilon each (Wang et al. 2019)."""

    epsilon: float
    name: ClassVar[str] = "prefix-sum"

    def __call__(self, x: Any, n: int, rng: np.random.Generator) -> FloatArray:
        """Return n rows of running sums."""
        answer = as_vector(x)
        noisy = add_scaled(laplace_noise(rng, (answer.size, n), 1.0 / self.epsilon), 1.0, answer)
        return np.cumsum(noisy, axis=1)


@dataclass(frozen=True, kw_only=True)
class Snapping:
    """Mironov's (2012) snapping mechanism: noise, rounding to a grid and clamping hide the last bits.

    Theorem 1 asks for scale < `bound` < 2^46 scale. As in DP-Sniper, the logarithm is the platform's and
    a half rounds to even; the theorem assumes an exact logarithm and rounds a half up.
    """

    epsilon: float
    bound: float = 100.0
    name: ClassVar[str] = "snapping"

    @property
    def scale(self) -> float:
        """A little above 1/epsilon: the room that floating-point errors take."""
        return (1.0 + self.bound * 2.0**-49) / self.epsilon

    @property
    def grid(self) -> float:
        """The least power of two that is not below the scale."""
        return float(2.0 ** np.ceil(np.log2(self.scale)))

    def __call__(self, x: Any, n: int, rng: np.random.Generator) -> FloatArray:
        """Return n snapped answers."""
        answer = np.clip(as_vector(x), -self.bound, self.bound)
        noise = np.log1p(-rng.random((answer.size, n)))  # 1 - u: the logarithm of 0 never happens
        np.negative(noise, out=noise, where=rng.random(noise.shape) < 0.5)
        noisy = add_scaled(noise, self.scale, answer)
        snapped: FloatArray = np.clip(np.round(noisy / self.grid) * self.grid, -self.bound, self.bound)
        return snapped


def _too_small(percent: int) -> Entry:
    share = 1 - percent / 100
    return Entry(
        name=f"laplace-minus-{percent}",
        summary=f"laplace, the scale {percent}% too small",
        make=lambda epsilon, n: Laplace(
            epsilon=epsilon, sensitivity=share * n, name=f"laplace-minus-{percent}"
        ),
        relation="any",
        dimension=1,
        true_epsilon=lambda epsilon, _n: epsilon / share,  # L1 distance n over scale share * n/epsilon
        truth=f"epsilon/{share:g}",
    )


ENTRIES = (
    Entry(
        name="laplace-one-query",
        summary="x + Lap(1/epsilon), one query",
        make=lambda epsilon, _n: Laplace(epsilon=epsilon, sensitivity=1.0, name="laplace-one-query"),
        relation="one",
        epsilon=0.1,
        dimension=1,
        true_epsilon=as_claimed,
        truth="epsilon",
    ),
    Entry(
        name="laplace-parallel",
        summary="20 copies of x + Lap(20/epsilon)",
        make=lambda epsilon, _n: LaplaceParallel(epsilon=epsilon),
        relation="one",
        epsilon=0.1,
        dimension=1,
        true_epsilon=as_claimed,  # 20 independent losses of epsilon/20; the sup needs all in one tail
        truth="epsilon",
    ),
    Entry(
        name="snapping",
        summary="Laplace, rounded to a grid and clamped",
        make=lambda epsilon, _n: Snapping(epsilon=epsilon),
        relation="one",
        epsilon=0.1,
        dimension=1,
        # 1/scale, reached on a grid point beyond both answers, is epsilon but for 13 digits; Mironov's
        # Theorem 1 gives the rest of epsilon to floating-point errors.
        true_epsilon=as_claimed,
        truth="epsilon",
    ),
    Entry(
        name="noisy-hist-1",
        summary="cells x_i + Lap(1/epsilon)",
        make=lambda epsilon, _n: Laplace(epsilon=epsilon, sensitivity=1.0, name="noisy-hist-1"),
        relation="one",
        epsilon=0.1,
        dimension=5,
        true_epsilon=as_claimed,
        truth="epsilon",
    ),
    Entry(
        name="noisy-hist-2",
        summary="cells x_i + Lap(epsilon): inverted",
        make=lambda epsilon, _n: Laplace(epsilon=1.0 / epsilon, sensitivity=1.0, name="noisy-hist-2"),
        relation="one",
        epsilon=0.1,
        dimension=5,
        true_epsilon=lambda epsilon, _n: 1.0 / epsilon,  # L1 distance 1 over scale epsilon
        truth="1 / epsilon",
    ),
    Entry(
        name="prefix-sum",
        summary="running noisy sums; claims n * epsilon",
        make=lambda epsilon, _n: PrefixSum(epsilon=epsilon),
        relation="all",
        epsilon=0.1,
        dimension=10,
        claim=lambda epsilon, n: (n * epsilon, 0.0),
        # The sums are a bijection of the noised answers: L1 distance n over scale 1/epsilon.
        true_epsilon=lambda epsilon, n: n * epsilon,
        truth="n * epsilon",
    ),
    _too_small(5),
    _too_small(20),
    _too_small(50),
)
