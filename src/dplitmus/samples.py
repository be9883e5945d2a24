"""The plan of a run, and drawing one chunk of it.

Takes a number of draws and a seed; gives chunk sizes, one random stream per chunk, and outputs that
have been checked. Chunk sizes depend on the request alone and every chunk has its own stream, so a
result is a function of (spec, seed): no thread count or order of completion can change it.
"""

from __future__ import annotations

import secrets
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dplitmus.errors import MechanismError, whole_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dplitmus.mechanisms.base import Callee, FloatArray

CHUNK_VALUES = 2**20  # doubles per chunk: 8 MiB, where allocation becomes cheap (huge pages)
_REAL = "biuf"  # numpy's kinds of numbers that can be ordered
_SHAPE_HELP = "return an array of shape (n, {0}): one row per draw, one column per coordinate"


def plan(samples: int, *, dimension: int) -> Sequence[int]:
    """Split `samples` draws of vectors into chunk sizes that sum to it, of bounded memory.

    >>> plan(40_000, dimension=64)
    [16384, 16384, 7232]
    """
    rows = max(1, CHUNK_VALUES // dimension)
    full, rest = divmod(samples, rows)
    return [rows] * full + [rest] * (rest > 0)


def stream(seed: int, *key: int) -> np.random.Generator:
    """Return the random stream of one chunk; streams of different keys are independent.

    SFC64 fills a chunk with uniforms a quarter faster than numpy's default generator.
    """
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=key)))


def checked_seed(seed: int | None) -> int:
    """Return the seed, or a fresh one that the result can name."""
    if seed is None:
        return secrets.randbits(32)
    return whole_number("seed", seed, least=0, help="try seed=1, or leave it out for a fresh one")


def draw(callee: Callee, x: FloatArray, n: int, rng: np.random.Generator) -> NDArray[Any]:
    """Call the mechanism once and return its n outputs as real numbers of shape (n, len(x))."""
    given = x.copy()
    try:
        outputs = callee.call(given, n, rng)
    except Exception as error:
        raise _raised(callee, error) from error
    if not np.array_equal(given, x):
        raise MechanismError(
            f"{callee.name} changes its input in place",
            code="DP404",
            help="work on a copy inside the mechanism: x = numpy.array(x)",
        )
    return _as_matrix(callee, outputs, n, len(x))


def _as_matrix(callee: Callee, outputs: object, n: int, dimension: int) -> NDArray[Any]:
    try:
        array = np.asarray(outputs)
    except Exception as error:
        raise MechanismError(
            f"{callee.name} returned a {type(outputs).__name__} that is no array: {error}",
            code="DP402",
            help=_SHAPE_HELP.format(dimension),
        ) from error
    if array.dtype.kind not in _REAL:
        kind = "complex numbers" if array.dtype.kind == "c" else f"values of type {array.dtype}"
        raise MechanismError(
            f"{callee.name} returned {kind}, not real numbers",
            code="DP403",
            help="the sanity check rounds to 0 or 1: return real numbers (NaN and inf may occur)",
        )
    if dimension == 1 and array.shape == (n,):
        array = array[:, np.newaxis]
    if array.shape != (n, dimension):
        raise MechanismError(
            f"{callee.name} returned shape {array.shape} for n={n} draws of dimension {dimension}",
            code="DP402",
            help=_SHAPE_HELP.format(dimension),
        )
    return array


def _raised(callee: Callee, error: Exception) -> MechanismError:
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(last.filename).name}:{last.lineno}"
    return MechanismError(
        f"{callee.name} raised {type(error).__name__}: {error}  ({place})",
        code="DP401",
        help="call it yourself as mechanism(numpy.zeros(dimension), 10, numpy.random.default_rng())",
    )
