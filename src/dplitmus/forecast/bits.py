"""Experts for the bits that are released: how fine an output is, and whose lattice it lies on.

An output is looked at through a view, which is a batch of other numbers; what learns from it are the same
experts that look at outputs. One regression sees single bits.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dplitmus import bits
from dplitmus.forecast.features import Regression
from dplitmus.forecast.tables import Edges, Symbols, Tree
from dplitmus.outputs import row_keys

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dplitmus.forecast.panel import Expert
    from dplitmus.outputs import Batch

    Floats = NDArray[np.float64]

_MOST = 64  # coordinates that are looked at
_FURTHEST = 4  # bits beyond a lattice; more say no more
_LOW_BITS = 8
_THRESHOLDS = 12  # of grains and of exponents, each


@dataclass
class Through:
    """An expert that sees a view of the outputs instead of the outputs."""

    streams: ClassVar[bool] = False
    view: Callable[[Batch], Floats]
    expert: Expert

    def learn(self, batch: Batch, *, whole: bool) -> None:
        """Let the expert learn from the view."""
        self.expert.learn(self._seen(batch), whole=whole)

    def forecast(self, batch: Batch) -> Floats:
        """What the expert says of the view."""
        return self.expert.forecast(self._seen(batch))

    def _seen(self, batch: Batch) -> Batch:
        values = self.view(batch)
        return replace(batch, values=values, keys=row_keys(values), inputs=None, names={})


def experts() -> list[tuple[float, Expert]]:
    """Those of the level "bits", with their shares."""
    return [
        (0.15, Through(finest, Edges())),
        (0.10, Through(finest, Tree())),
        (0.15, Lattice()),
        (0.10, Regression(Patterns())),
    ]


def finest(batch: Batch) -> Floats:
    """The smallest grain among the coordinates that differ between the inputs."""
    smallest = bits.grain(_differing(batch)).min(axis=1, keepdims=True, initial=bits.COARSE)
    return np.asarray(smallest, dtype=float)


def _differing(batch: Batch) -> Floats:
    columns = batch.geometry.differ if batch.geometry else np.arange(batch.values.shape[1])
    return batch.values[:, columns[:_MOST]]


@dataclass
class Lattice(Symbols):
    """A table over how many bits some coordinate is too fine to come from x, and from x'.

    The format is that of the outputs when everything so far was learned anew.
    """

    streams: ClassVar[bool] = False  # the format is found when everything is learned anew
    precision: int = 53

    def learn(self, batch: Batch, *, whole: bool) -> None:
        """Find the format, and count."""
        if whole:
            self.precision = bits.precision(_differing(batch))
        super().learn(batch, whole=whole)

    def keys_of(self, batch: Batch) -> NDArray[np.uint64]:
        """Bits beyond the lattice of x, and of x'; one key where the inputs cannot be compared."""
        if batch.geometry is None:
            return np.zeros(len(batch), dtype=np.uint64)
        values = _differing(batch)
        low, high = (
            np.clip(bits.beyond(values, end[:_MOST], self.precision).max(axis=1), 0, _FURTHEST)
            for end in (batch.geometry.low, batch.geometry.high)
        )
        return np.asarray(low * (_FURTHEST + 1) + high, dtype=np.uint64)


@dataclass
class Patterns:
    """Low bits of the mantissa, multiples of powers of two, and exponents, counted over coordinates."""

    deviation: float = 1.0
    least: int = 16
    precision: int = 53
    grains: Floats = field(default_factory=lambda: np.zeros(0))
    exponents: Floats = field(default_factory=lambda: np.zeros(0))

    def choose(self, batch: Batch) -> bool:
        """The format of the outputs, and thresholds at quantiles of their grains and exponents."""
        values = _differing(batch)
        grains = bits.grain(values)
        numbers = grains < bits.COARSE
        if not numbers.any():
            return False
        self.precision = bits.precision(values)
        self.grains = _quantiles(grains[numbers])
        self.exponents = _quantiles(bits.exponent(values)[numbers])
        return True

    def compute(self, batch: Batch) -> Floats:
        """Shares of the coordinates with each property."""
        values = _differing(batch)
        grains, exponents = bits.grain(values), bits.exponent(values)
        last = exponents - (self.precision - 1)  # the exponent of the last place of each number
        numbers = grains < bits.COARSE
        scaled = np.ldexp(np.where(numbers, values, 0.0), -np.where(numbers, last, 0))
        mantissa = np.abs(scaled).astype(np.int64)
        columns = [((mantissa >> bit) & 1).mean(axis=1) for bit in range(_LOW_BITS)]
        columns += [(grains >= threshold).mean(axis=1) for threshold in self.grains]
        columns += [(exponents >= threshold).mean(axis=1) for threshold in self.exponents]
        return np.stack(columns, axis=1)


def _quantiles(numbers: NDArray[np.int64]) -> Floats:
    return np.unique(np.quantile(numbers[:4096], np.linspace(0, 1, _THRESHOLDS), method="nearest"))
