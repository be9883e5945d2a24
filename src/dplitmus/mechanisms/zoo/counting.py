"""Whole numbers: geometric noise on counts, and a sampler that needs nothing but integers.

`truncated-geometric` is GeoSample of Balcer and Vadhan (2018, Algorithm 4.8), which promises epsilon for
k = ceil(log(2/epsilon)). Their logarithm is to base 2 (`truncated-geometric-2`); the well-known
Python version in DP-Sniper takes the natural one, and the promise fails.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dplitmus.errors import bad_value, one_of
from dplitmus.mechanisms.base import as_vector
from dplitmus.mechanisms.zoo.entry import Entry, as_claimed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

_LOGARITHMS: Mapping[str, Callable[[float], float]] = MappingProxyType(
    {"natural": math.log, "base 2": math.log2}
)


@dataclass(frozen=True, kw_only=True)
class Geometric:
    """Counts plus two-sided geometric noise, Pr(k) proportional to exp(-epsilon |k|)."""

    epsilon: float
    name: ClassVar[str] = "geometric"

    def __call__(self, x: Any, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return n noisy counts: the difference of two geometric numbers is two-sided geometric."""
        count = np.rint(as_vector(x)).astype(np.int64)
        success = -math.expm1(-self.epsilon)
        noise = rng.geometric(success, size=(count.size, n)) - rng.geometric(success, size=(count.size, n))
        return np.transpose(noise + count[:, np.newaxis])


@dataclass(frozen=True, kw_only=True)
class TruncatedGeometric:
    """A count in 0..`largest`, answered by a table of integers: output the least z with F(z) >= U."""

    epsilon: float
    largest: int
    logarithm: str = "natural"

    def __post_init__(self) -> None:
        one_of("logarithm", self.logarithm, _LOGARITHMS)
        if self.total >= 2**63:
            raise bad_value(
                "dimension",
                self.largest,
                f"give a table below 2**63 at epsilon={self.epsilon}",
                help="take a smaller dimension or a larger epsilon",
            )

    @property
    def name(self) -> str:
        """The name in the zoo."""
        return "truncated-geometric" if self.logarithm == "natural" else "truncated-geometric-2"

    @property
    def k(self) -> int:
        """The binary digits of precision; not below 0, where the table would not be whole."""
        return max(0, math.ceil(_LOGARITHMS[self.logarithm](2.0 / self.epsilon)))

    @property
    def total(self) -> int:
        """The number of equally likely values of U."""
        base: int = 2**self.k
        total: int = (2 * base + 1) * (base + 1) ** (self.largest - 1)
        return total

    def table(self, count: int) -> list[int]:
        """Return F(0), ..., F(largest) for a true count: how many U lead to at most z."""
        top, base = self.largest, 2**self.k
        below = [base ** (count - z) * (base + 1) ** (top - (count - z)) for z in range(count)]
        above = [
            self.total - base ** (z - count + 1) * (base + 1) ** (top - 1 - (z - count))
            for z in range(count, top)
        ]
        return [*below, *above, self.total]

    def __call__(self, x: Any, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return n answers to the count `x`, which is rounded and clamped to 0..largest."""
        count = min(max(round(float(as_vector(x)[0])), 0), self.largest)
        u = rng.integers(1, self.total, size=n, endpoint=True)
        return np.searchsorted(np.array(self.table(count)), u, side="left")


def _truncated(logarithm: str, summary: str, truth: str) -> Entry:
    def make(epsilon: float, n: int) -> TruncatedGeometric:
        return TruncatedGeometric(epsilon=epsilon, largest=n, logarithm=logarithm)

    return Entry(
        name=make(0.1, 5).name,
        summary=summary,
        make=make,
        relation="one",
        epsilon=0.1,
        dimension=5,
        pairs=((1, 0), (1, 2)),
        # Neighbouring geometric tails differ by the factor (2^k + 1)/2^k, reached on every output.
        true_epsilon=lambda epsilon, n: math.log1p(2.0 ** -make(epsilon, n).k),
        truth=truth,
    )


ENTRIES = (
    Entry(
        name="geometric",
        summary="counts + two-sided geometric noise",
        make=lambda epsilon, _n: Geometric(epsilon=epsilon),
        relation="one",
        dimension=1,
        true_epsilon=as_claimed,  # exp(-epsilon |k|) changes by exp(epsilon) when k moves by 1
        truth="epsilon",
    ),
    _truncated("natural", "GeoSample, count in 0..n, natural log", "ln(1+2^-k)"),
    _truncated("base 2", "GeoSample as published, log to base 2", "ln(1+2^-k)"),
)
