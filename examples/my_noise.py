"""A noise layer as one would write it, broken and repaired.

dplitmus sanity-check examples/my_noise.py:broken --epsilon 1 --dimension 8
dplitmus sanity-check examples/my_noise.py:repaired --epsilon 1 --dimension 8
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import dplitmus

if TYPE_CHECKING:
    from numpy.typing import NDArray

EPSILON = 1.0


def _noise(v: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):
        noise: NDArray[np.float64] = -scale * np.sign(v) * np.log(1 - 2 * np.abs(v))
    return np.nan_to_num(noise)


def broken(x: NDArray[np.float64], n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """DPText's mistake: the formula wants a uniform on (-0.5, 0.5)."""
    return x + _noise(rng.uniform(0, 1, (n, x.size)), x.size / EPSILON)


def repaired(x: NDArray[np.float64], n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """The same with the right uniform."""
    return x + _noise(rng.uniform(-0.5, 0.5, (n, x.size)), x.size / EPSILON)


if __name__ == "__main__":
    for mechanism in (broken, repaired):
        print(dplitmus.sanity_check(mechanism, epsilon=EPSILON, dimension=8, samples=200_000, seed=1))
        print()
