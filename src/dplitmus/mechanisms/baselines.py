"""The paper's baselines: copy the input, answer at random, halve the Laplace mechanism's output."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dplitmus.mechanisms.base import FloatArray, RoundedBit
from dplitmus.mechanisms.laplace import Laplace, identity, rounded_laplace

_LN2 = math.log(2.0)


@dataclass(frozen=True)
class Copy:
    """Returns its input: no privacy at all, infinite loss."""

    name: ClassVar[str] = "copy"

    def __call__(self, x: Any, n: int, _rng: np.random.Generator) -> FloatArray:
        """Return `x`, n times."""
        answer = np.asarray(x, dtype=float)
        return np.broadcast_to(answer, (n, *answer.shape))

    def rounded_bit(self, value: float) -> RoundedBit:
        """Law of one coordinate of the output on `value`, rounded: certain."""
        one = value >= 0.5
        return RoundedBit(zero=-math.inf if one else 0.0, one=0.0 if one else -math.inf)


@dataclass(frozen=True)
class Random:
    """A fair coin, 0 or 1, for every coordinate, whatever the input: perfect privacy, no use."""

    name: ClassVar[str] = "random"

    def __call__(self, x: Any, n: int, rng: np.random.Generator) -> FloatArray:
        """Return n vectors of coins in the shape of `x`."""
        return np.moveaxis(fair_coins(rng, (*np.shape(x), n)).astype(float), -1, 0)

    def rounded_bit(self, _value: float) -> RoundedBit:
        """Law of one coordinate of the output, rounded: a fair coin."""
        return RoundedBit(zero=-_LN2, one=-_LN2)


def fair_coins(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Fair coins as 0 and 1 in bytes."""
    return rng.integers(0, 2, size=shape, dtype=np.uint8)


@dataclass(frozen=True, kw_only=True)
class HalvedOutput:
    """Half of the Laplace mechanism's output: the authors' extra baseline, and *not* a violation.

    Halving looks at the output only, and post-processing cannot spend privacy: for every event S,
    Pr(M(x)/2 in S) = Pr(M(x) in 2S) <= e^epsilon Pr(M(x') in 2S). It is named "wrong sensitivity"
    in the authors' code, but noise and signal shrink together. The attack, which rounds at 0.5,
    only sees a threshold of 1 instead of 0.5: other losses than Laplace's, none above epsilon.
    """

    laplace: Laplace
    name: ClassVar[str] = "halved-output"

    def __call__(self, x: Any, n: int, rng: np.random.Generator) -> FloatArray:
        """Return n halved outputs on `x`."""
        return 0.5 * self.laplace(x, n, rng)

    def rounded_bit(self, value: float) -> RoundedBit | None:
        """Law of one coordinate of the output on `value`, rounded."""
        if self.laplace.query is not identity:
            return None
        return rounded_laplace((1.0 - value) / self.laplace.scale)
