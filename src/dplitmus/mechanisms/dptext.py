"""DPText's mechanism: equation (9) fed with the uniform of equation (8), in three readings.

The formula wants v in (-0.5, 0.5) and gets v in (0, 1): the noise is never negative, and for
v > 0.5 the logarithm of a negative number is NaN. No source code was published, so what happens to
the NaN is a reading: "keep" it, replace it by "zero" (the authors of the critique assume this in
their code), or "redraw" until it is a number (the law of the real part of the complex logarithm
too). Every reading has infinite privacy loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dplitmus.errors import one_of, positive_number
from dplitmus.mechanisms.base import FloatArray, RoundedBit
from dplitmus.mechanisms.laplace import add_scaled

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

READINGS = ("keep", "zero", "redraw")
_LN2 = math.log(2.0)
_CERTAIN = RoundedBit(zero=-math.inf, one=0.0)


def inverse_cdf_eq9(v: ArrayLike) -> FloatArray:
    """Equation (9) at location 0 and scale 1, as printed: NaN wherever v is above 0.5.

    At v = 0.5, which a generator returns with probability 2**-53, it is infinite.
    """
    v = np.asarray(v, dtype=float)
    noise = np.asarray(np.abs(v))
    noise *= -2.0
    noise += 1.0
    with np.errstate(invalid="ignore", divide="ignore"):
        np.log(noise, out=noise)
    np.copysign(noise, v, out=noise)  # -sgn(v) ln(...): the log is never positive
    return noise


def standard_noise(rng: np.random.Generator, shape: tuple[int, ...], reading: str) -> FloatArray:
    """Noise of scale 1 by equations (8) and (9), in the named reading."""
    noise = inverse_cdf_eq9(rng.random(shape))
    if reading == "zero":
        np.fmax(noise, 0.0, out=noise)  # never negative, so that this replaces NaN and nothing else
    elif reading == "redraw":
        missing = np.flatnonzero(np.isnan(noise))
        while missing.size:
            again = inverse_cdf_eq9(rng.random(missing.size))
            noise.reshape(-1)[missing] = again
            missing = missing[np.isnan(again)]
    return noise


@dataclass(frozen=True, kw_only=True)
class DPText:
    """The input plus DPText's noise of scale `sensitivity / epsilon`: claimed private, and not."""

    epsilon: float
    sensitivity: float
    reading: str = "zero"

    def __post_init__(self) -> None:
        for name in ("epsilon", "sensitivity"):
            object.__setattr__(self, name, positive_number(name, getattr(self, name)))
        positive_number("sensitivity / epsilon", self.scale)
        one_of("reading", self.reading, READINGS)

    @property
    def name(self) -> str:
        """The name of this reading in the zoo."""
        return {"keep": "dptext-nan", "zero": "dptext-nan0", "redraw": "dptext-redraw"}[self.reading]

    @property
    def scale(self) -> float:
        """The noise scale b = sensitivity / epsilon."""
        return self.sensitivity / self.epsilon

    def __call__(self, x: Any, n: int, rng: np.random.Generator) -> FloatArray:
        """Return n outputs on `x`."""
        answer = np.asarray(x, dtype=float)
        noise = standard_noise(rng, (*answer.shape, n), self.reading)
        return add_scaled(noise, self.scale, answer)

    def rounded_bit(self, value: float) -> RoundedBit:
        """Law of one coordinate of the output on `value`, rounded.

        A draw that is a number is standard exponential, because 1 - 2v given v < 0.5 is uniform.
        """
        threshold = (0.5 - value) / self.scale
        number = (
            RoundedBit(zero=math.log(-math.expm1(-threshold)), one=-threshold) if threshold > 0 else _CERTAIN
        )
        if self.reading == "redraw":
            return number
        if self.reading == "keep":
            return RoundedBit(zero=number.zero - _LN2, one=number.one - _LN2, nan=-_LN2)
        if threshold <= 0:
            return _CERTAIN
        return RoundedBit(zero=math.log1p(-math.exp(-threshold) / 2.0), one=-threshold - _LN2)
