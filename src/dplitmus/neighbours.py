"""Pairs of inputs that the claim must hide from each other.

Takes a dimension; gives the paper's pair. In local privacy any two inputs are neighbours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from dplitmus.mechanisms.base import FloatArray


class Pair(NamedTuple):
    """Two neighbouring inputs, with a name to print."""

    x: FloatArray
    x_prime: FloatArray
    name: str


def zeros_and_ones(dimension: int) -> Pair:
    """Return the pair of section 4: as far from each other as {0, 1}^n allows."""
    return Pair(
        x=np.zeros(dimension),
        x_prime=np.ones(dimension),
        name=f"{dimension} zeros against {dimension} ones",
    )
