"""The bits of floating-point numbers: how fine a number is, and on which lattice.

Takes arrays of doubles, which hold narrower floats exactly; gives exponents. Every finite number but zero is
odd * 2^e for one whole e, its grain: a number is a multiple of 2^k if and only if its grain is at least k.

Why it matters: x + noise, computed in floats, is rounded, and where it is not rounded it inherits the grain
of the noise, which depends on the size of the noise. So which numbers can occur at all near some y depends on
how far y is from x (Mironov 2012, "On significance of the least significant bits for differential privacy").
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

COARSE = 2000  # the grain of zero, NaN and infinities, which have none: above that of every number
FORMATS: Mapping[int, str] = MappingProxyType({11: "16-bit float", 24: "32-bit float", 53: "64-bit float"})
_MANTISSA = 53


def grain(values: Floats) -> Integers:
    """The exponent e of each number as odd * 2^e.

    >>> grain(np.array([1.0, 12.0, 0.375, 0.0]))[:3]
    array([ 0,  2, -3])
    """
    fraction, power = np.frexp(values)
    whole = np.abs(np.ldexp(np.where(np.isfinite(fraction), fraction, 0.0), _MANTISSA)).astype(np.int64)
    lowest = whole & -whole  # a power of two, exact as a double
    trailing = np.frexp(lowest.astype(np.float64))[1] - 1
    return np.where(whole == 0, COARSE, trailing + power - _MANTISSA).astype(np.int64)


def exponent(values: Floats) -> Integers:
    """The whole e with 2^e <= |value| < 2^(e+1); that of zero, NaN and infinities is far below."""
    finite = np.isfinite(values) & (values != 0)
    return np.where(finite, np.frexp(np.where(finite, values, 1.0))[1] - 1, -COARSE).astype(np.int64)


def precision(values: Floats) -> int:
    """The fewest significant bits of a usual format that hold all the numbers: 11, 24 or 53."""
    grains = grain(values)
    numbers = grains < COARSE
    needed = (exponent(values) - grains)[numbers].max(initial=0) + 1
    return next((bits for bits in FORMATS if needed <= bits), _MANTISSA)


def beyond(values: Floats, end: Floats, bits: int) -> Integers:
    """How many bits too fine each value is to be `end` plus a float of `bits` significant bits.

    Zero or less: the exact difference is such a float. Above: it needs so many bits more, so that no noise
    in that format, added to `end` without rounding, gives this value; rounding only makes it coarser.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        difference = values - end
    reached = np.minimum(grain(np.broadcast_to(end, values.shape)), exponent(difference) - (bits - 1))
    grains = grain(values)
    known = (grains < COARSE) & (exponent(difference) > -COARSE)
    return np.where(known, reached - grains, 0).astype(np.int64)
