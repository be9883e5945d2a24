"""Order of a few hundred numbers, where numpy's own functions spend most of their time on options."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Bound = float | Floats


_SMALL = 512  # numbers; of more of them, one pass is faster than two
_MANY = 4096


def clipped(values: Floats, low: Bound, high: Bound) -> Floats:
    """The same as `np.clip`."""
    if values.size > _SMALL:
        return np.clip(values, low, high)
    return np.asarray(np.minimum(np.maximum(values, low), high))


def row_sums(values: Floats) -> Floats:
    """The same as `values.sum(axis=1)` of finite numbers: a product is faster where there are many rows."""
    return values @ np.ones(values.shape[1]) if values.size > _MANY else np.asarray(values.sum(axis=1))


def finite(
    values: Floats, *, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Floats:
    """The same as `np.nan_to_num`, but not a copy where all numbers are finite."""
    if np.isfinite(values).all():
        return values
    return np.nan_to_num(values, nan=nan, posinf=posinf, neginf=neginf)


def quantiles(values: Floats, shares: Floats) -> Floats:
    """The same as `np.quantile` of at least one number and no NaN: linear between neighbours."""
    ordered = np.sort(values, axis=None)
    return np.interp(shares * (ordered.size - 1), np.arange(ordered.size), ordered)


def median(values: Floats) -> float:
    """The same as `np.median` of at least one number and no NaN."""
    ordered = np.sort(values, axis=None)
    middle = ordered.size // 2
    if ordered.size % 2:
        return float(ordered[middle])
    return float(ordered[middle - 1] / 2 + ordered[middle] / 2)  # their sum may be too large for a float


def column_medians(values: Floats) -> Floats:
    """The same as `np.nanmedian` of each column; NaN for one without numbers."""
    return np.asarray(column_quantiles(values, np.array([0.5]))[0])


def column_quantiles(values: Floats, shares: Floats) -> Floats:
    """The same as `np.nanquantile` of each column; NaN for one without numbers. One row for each share."""
    if not len(values):
        return np.full((shares.size, values.shape[1]), np.nan)
    ordered = np.sort(values, axis=0)  # NaN come last
    last = np.maximum(len(values) - np.isnan(values).sum(axis=0) - 1, 0)
    place = shares[:, np.newaxis] * last
    below = place.astype(np.intp)
    low, high = (np.take_along_axis(ordered, at, axis=0) for at in (below, np.minimum(below + 1, last)))
    further = place - below
    with np.errstate(invalid="ignore"):  # no part of an infinite number is none
        return np.where(further > 0, (1 - further) * low + further * high, low)
