"""Medians and quantiles of a few hundred numbers, where numpy's own spend most of their time on options."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def quantiles(values: Floats, shares: Floats) -> Floats:
    """The same as `np.quantile` of at least one number and no NaN: linear between neighbours."""
    ordered = np.sort(values, axis=None)
    return np.interp(shares * (ordered.size - 1), np.arange(ordered.size), ordered)


def median(values: Floats) -> float:
    """The same as `np.median` of at least one number and no NaN."""
    ordered = np.sort(values, axis=None)
    middle = ordered.size // 2
    return float(ordered[middle] if ordered.size % 2 else (ordered[middle - 1] + ordered[middle]) / 2)
