"""Are the draws of one call independent of each other? Bets and binomial bounds hold for no others.

Takes a mechanism and an input, before anything is certified; refuses a mechanism whose calls show that their
draws share something (DP407).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dplitmus.errors import MechanismError
from dplitmus.samples import draw_calls, stream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from dplitmus.mechanisms.base import Callee
    from dplitmus.outputs import Encoded

    Floats = NDArray[np.float64]

# Calls and shuffles of each round; the next one comes only if all before looked strange.
_ROUNDS = ((32, 19), (128, 99), (128, 99), (128, 99), (128, 99))
_OF_EACH, _OF_EACH_DEAR = 32, 4  # draws of a call
_DEAR = 1e-3  # seconds a draw
_COLUMNS = 16  # of which the numbers are compared
_PHASE_CALLS = 31


def check_independence(callee: Callee, x: object, seed: int, pace: float = 0.0) -> None:
    """Refuse a mechanism whose draws go together if they come from one call; `pace` is seconds a draw.

    Guarantee: refuses a mechanism whose draws are independent with probability at most 5e-10. Proof sketch:
    rows that are independent and alike are as likely in any other order, so that the order of the draws
    stands out farther than each of S shuffles with probability at most 1 / (S + 1), whatever their law, and
    however standing out is measured. Only if it does so in five rounds of fresh draws is somebody refused.
    Reference: Hoeffding (1952), "The large-sample power of tests based on permutations of observations".
    """
    rng, shuffling = stream(seed, _PHASE_CALLS), stream(seed, _PHASE_CALLS, 1)
    of_each = _OF_EACH if pace < _DEAR else _OF_EACH_DEAR
    for calls, shuffles in _ROUNDS:
        if not _stands_out(draw_calls(callee, x, of_each, calls, rng), of_each, shuffles, shuffling):
            return
    raise dependent_draws(callee)


def dependent_draws(callee: Callee) -> MechanismError:
    """DP407: what cannot be judged."""
    return MechanismError(
        f"{callee.name}: the draws of one call depend on each other, and so they certify nothing",
        code="DP407",
        help="make n independent draws, or lift a function that makes one: dplitmus.each(f)",
    )


def _stands_out(drawn: Encoded, of_each: int, shuffles: int, rng: np.random.Generator) -> bool:
    """Whether the draws as they came are farther from the usual than each of their shuffles."""
    draws = np.arange(len(drawn.keys))
    orders = np.vstack([draws, rng.permuted(np.tile(draws, (shuffles, 1)), axis=1)])
    orders = orders.reshape(len(orders), -1, of_each)
    away = np.zeros(len(orders))
    for seen in _looks(drawn, orders):
        spread = seen.std()
        if spread > 0:
            away = np.maximum(away, np.abs(seen - seen.mean()) / spread)
    return bool((away[0] > away[1:]).all())


def _looks(drawn: Encoded, orders: NDArray[np.intp]) -> Iterator[Floats]:
    """One number for each order: how often outputs come again in a call, and how their numbers go together.

    Large numbers may come together, and so may those far from the middle: a shift, or a scale, that all draws
    of a call have. Neighbours may go together, too, as in a walk. All may be less alike than chance makes
    them, as in draws that mirror each other.
    """
    kinds = np.sort(_places(drawn.keys)[orders], axis=2)
    yield (kinds[..., 1:] == kinds[..., :-1]).sum(axis=(1, 2)).astype(float)
    for column in drawn.values.T[:_COLUMNS]:
        large = _centred(_places(column))
        for scores in (large, _centred(np.abs(large))):
            placed = scores[orders]
            yield np.square(placed.sum(axis=2)).sum(axis=1)
            yield (placed[..., 1:] * placed[..., :-1]).sum(axis=(1, 2))


def _places(values: NDArray[np.float64] | NDArray[np.uint64]) -> NDArray[np.intp]:
    """Where each stands among all that are different; NaN is the largest."""
    places: NDArray[np.intp] = np.unique(values, return_inverse=True)[1].reshape(-1)
    return places


def _centred(numbers: NDArray[np.intp] | Floats) -> Floats:
    return np.asarray(numbers - numbers.mean())
