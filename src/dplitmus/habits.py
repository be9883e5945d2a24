"""What a mechanism does with its generator and its calls, before anything is made of its draws.

Takes a mechanism and an input; gives what a few small calls show: is there a fixed seed, can a run be
replayed, do all rows of a call share one noise? (`independence` looks for what else they may share.)
"""

from __future__ import annotations

import hashlib
import math
import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dplitmus.samples import draw_encoded, stream

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dplitmus.mechanisms.base import Callee

_PROBE, _PROBE_SLOW = 64, 16  # draws of each call
_GLANCE = 2  # of which so many mostly show that another stream gives other outputs
_LONGER = {False: (256, 1024), True: (64,)}  # where these do not tell: batched, and one draw at a time
_MIRACLE = 1e-8
_SHARED = 40  # repetitions of outputs inside calls that are no chance: see `_share`
_PHASE_PROBE = 30


class Habits(NamedTuple):
    """How a mechanism treats its generator, as far as three small calls on one input show."""

    seen: int  # outputs
    constant: bool  # all of them are the same
    repeats: bool  # another generator, the same outputs: there is a fixed seed inside
    replays: bool  # the same generator, the same outputs
    shares: bool  # the draws of one call are equal, those of another call are others
    digest: str = ""  # of the first outputs: another run can see whether the mechanism is the same
    own: str | None = None  # the same, if noise of its own made them: another run must not see them again
    pace: float = 0.0  # seconds a draw, in the fastest call


def habits(callee: Callee, x: object, seed: int) -> Habits:
    """Call the mechanism twice with one random stream, and once with another.

    Few possible outputs may be equal by chance: then longer calls decide, where they are cheap or where the
    equality would mean a fixed seed. Who is called one draw at a time may be slow: no draw is made that would
    tell nothing.
    """
    slow = callee.one_at_a_time
    seen: list[NDArray[np.uint64]] = []
    pace = math.inf

    def probe(key: int, draws: int) -> NDArray[np.uint64]:
        nonlocal pace
        started = time.perf_counter()
        seen.append(probed(callee, x, seed, key, draws))
        pace = min(pace, (time.perf_counter() - started) / draws)
        return seen[-1]

    for draws in (_PROBE_SLOW if slow else _PROBE, *_LONGER[slow]):
        first, other = probe(0, draws), probe(1, _GLANCE if slow else draws)
        if other.size < draws and np.array_equal(first[: other.size], other):
            other = probe(1, draws)
        again = probe(0, draws) if callee.takes_rng or not slow else other
        constant = np.unique(np.concatenate(seen)).size == 1
        suspicious = bool(np.array_equal(first, other))
        shares = not slow and _share(first, other)
        if constant or shares or telling(first) or (slow and not suspicious):
            break
    repeats = suspicious and telling(first)
    replays = callee.takes_rng and bool(np.array_equal(first, again))
    return Habits(
        seen=sum(keys.size for keys in seen),
        constant=constant,
        repeats=repeats,
        replays=replays,
        shares=shares,
        digest=digest_of(seen[0]),
        own=None if repeats or replays or not telling(first) else digest_of(first),
        pace=pace,
    )


def probed(
    callee: Callee, x: object, seed: int, key: int = 0, draws: int | None = None
) -> NDArray[np.uint64]:
    """A few outputs on one input, as keys that are equal for equal outputs."""
    draws = draws or (_PROBE_SLOW if callee.one_at_a_time else _PROBE)
    return draw_encoded(callee, x, draws, stream(seed, _PHASE_PROBE, key)).keys


def digest_of(keys: NDArray[np.uint64]) -> str:
    """A short name of these outputs."""
    return hashlib.blake2b(keys.tobytes(), digest_size=8).hexdigest()


def telling(keys: NDArray[np.uint64]) -> bool:
    """Whether the same outputs again, from fresh noise, would be a miracle: probability below 1e-8, about.

    Estimated from how often two of these outputs are equal.
    """
    _, counts = np.unique(keys, return_counts=True)
    collision = float(((counts / keys.size) ** 2).sum())
    return bool(collision < 1 and -keys.size * math.log(collision) > -math.log(_MIRACLE))


def _share(first: NDArray[np.uint64], other: NDArray[np.uint64]) -> bool:
    """Whether outputs come again inside these two calls because draws of a call share their noise.

    They do if many come again, and none of these in both calls. Guarantee: for independent draws this has
    probability below 1e-9. Proof sketch: given the outputs, all ways to divide 2n of them into two calls of n
    are equally likely, and there are at least 4^n / (2 sqrt(n)). If K outputs come several times, K + R times
    in all, at most 2^(2n - R) ways keep each of these K together. So the probability is at most
    2 sqrt(n) 2^-R: for R >= 40, and all lengths of a probe together, about 1e-10.
    """
    _, kind = np.unique(np.concatenate([first, other]), return_inverse=True)
    here, there = (np.bincount(part, minlength=kind.max() + 1) for part in np.split(kind, [first.size]))
    again = here + there > 1
    together = bool(((here == 0) | (there == 0))[again].all())
    return together and int((here + there - 1)[again].sum()) >= _SHARED
