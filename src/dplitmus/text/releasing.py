"""The release of vectors: another path than training, on whole numbers, paid for.

Takes bounded latent vectors and a claim; gives vectors that may leave the house: checked in float64, rounded
to a grid, noised with discrete Laplace noise from the operating system's secure source, entered in a ledger
first. The scale follows the declared epsilon, never a learned one. There is no seed.
"""

from __future__ import annotations

import math
import secrets
from typing import TYPE_CHECKING

import numpy as np

from dplitmus.errors import InputError, bad_value, positive_number, whole_number
from dplitmus.text.secure import LARGEST_SCALE, Source, discrete_laplace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dplitmus.text.bound import Bound
    from dplitmus.text.ledger import Ledger

GRID = 2.0**-20


def release(
    latents: NDArray[np.float64],
    bound: Bound,
    *,
    epsilon: float,
    ledger: Ledger,
    texts_per_person: int = 1,
    note: str = "release",
) -> NDArray[np.float64]:
    """Return one noised vector per row, epsilon-differentially private under "any two texts".

    The ledger is charged `epsilon * texts_per_person` before anything is drawn; a release that it refuses
    does not happen.
    """
    per_person = whole_number("texts_per_person", texts_per_person, least=1, help="try texts_per_person=1")
    epsilon = positive_number("epsilon", epsilon)
    grid_points = on_grid(latents, bound)  # refuses before anything is charged
    scale = grid_scale(bound, epsilon)
    ledger.spend(epsilon * per_person, note)
    return noised(grid_points, scale, secrets.token_bytes)


def grid_scale(bound: Bound, epsilon: float) -> int:
    """The scale of the noise in steps of the grid, rounded up.

    Guarantee. Two vectors within the bound differ by at most the diameter D in L1; rounding moves each of
    the n coordinates of both by at most half a step, so that their L1 distance on the grid is at most D /
    GRID + n, and one more step covers the rounding of the clip itself. Discrete Laplace noise of a scale t
    has a loss of at most distance / t; t is at least (D / GRID + n + 1) / epsilon.
    """
    steps = math.ceil(bound.diameter / GRID) + bound.dimension + 1
    scale = math.ceil(math.nextafter(steps / epsilon, math.inf))
    if scale > LARGEST_SCALE:
        raise bad_value(
            "epsilon",
            epsilon,
            f"be at least {steps / LARGEST_SCALE:.3g} for this bound",
            help="try epsilon=1",
        )
    return scale


def on_grid(latents: NDArray[np.float64], bound: Bound) -> NDArray[np.int64]:
    """Vectors that are inside the bound, in steps of the grid; others are refused."""
    z = np.asarray(latents, dtype=np.float64)
    if z.ndim != 2 or z.shape[1] != bound.dimension or not np.isfinite(z).all():
        raise InputError(
            f"latents of shape {z.shape} must be finite rows of {bound.dimension} numbers",
            code="DP225",
            help="release what the model's bounded() gives",
        )
    size = {
        "l1": np.abs(z).sum(axis=1),
        "l2": np.linalg.norm(z, axis=1),
        "box": np.abs(z).max(axis=1),
        "min-max": np.maximum(z.max(axis=1), bound.radius * (z.min(axis=1) < 0) * 2),
    }[bound.kind]
    if z.size and float(size.max()) > bound.radius * (1 + 1e-9):
        raise InputError(
            f"latents must lie within the {bound.kind} bound of radius {bound.radius:g}",
            code="DP225",
            help="release what the model's bounded() gives",
        )
    return np.rint(z / GRID).astype(np.int64)


def noised(points: NDArray[np.int64], scale: int, source: Source) -> NDArray[np.float64]:
    """Grid points plus discrete Laplace noise, as floats (exact: they are below 2**53 steps)."""
    noise = discrete_laplace(scale, points.size, source).reshape(points.shape)
    return np.asarray((points + noise) * GRID, dtype=np.float64)
