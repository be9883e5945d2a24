"""A mechanism that travels to other processes, and what may go wrong on the way.

Takes a mechanism and how its calls are to be made; gives a parcel that every task carries. In this process
a parcel is the mechanism itself. Pickled, it is the TARGET that names it, or a pickle of it by value (by
cloudpickle, where that is installed); a worker opens it once.
"""

from __future__ import annotations

import os
import pickle
import random
import socket
import sys
import time
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dplitmus import isolation
from dplitmus.adapters import mechanism_of
from dplitmus.errors import InputError, MechanismError, in_words, one_line
from dplitmus.mechanisms.base import as_callee
from dplitmus.samples import probed, within
from dplitmus.target import load

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dplitmus.dispatch import Dispatch
    from dplitmus.mechanisms.base import Callee
    from dplitmus.samples import Habits

_ROUNDS, _PAUSE = 6, 0.05  # of the question who is there; so long a worker answers, that others get some, too
_FEWEST_OTHERS = 8  # outputs beside the most common one, from which equal outputs cannot be chance


class Handling(NamedTuple):
    """How calls are made, wherever they are made."""

    on_error: str = "fail"
    call_timeout: float | None = None
    isolate: bool = False
    memory_limit: int | None = None  # bytes, in an isolated process


class Packed(NamedTuple):
    """A parcel as bytes."""

    target: str | None
    data: bytes  # a pickle, if there is no target
    details: bytes  # a pickle of what the adapter of the target needs, if it needs one
    handling: Handling
    sender: tuple[str, int]


@dataclass(frozen=True)
class Parcel:
    """A mechanism, its handling, and the TARGET that loads it elsewhere, if there is one."""

    mechanism: Any
    handling: Handling = field(default_factory=Handling)
    target: str | None = None
    details: dict[str, Any] | None = None  # for the adapter, if the target is an object of a library

    @cached_property
    def callee(self) -> Callee:
        """What is called; in an isolated process, if so asked."""
        how = self.handling
        callee = replace(as_callee(self.mechanism), on_error=how.on_error)
        if how.isolate:
            inner = replace(self, handling=Handling())
            limits = isolation.Limits(how.call_timeout, how.memory_limit)
            return replace(callee, call=isolation.Isolated(inner, callee.name, limits))
        return callee if how.call_timeout is None else within(callee, how.call_timeout)

    @cached_property
    def packed(self) -> Packed:
        """The bytes that travel; made once."""
        target = _absolute(self.target) if self.target else None
        data = b"" if target else _pickled(self.mechanism)
        details = _pickled(self.details) if target and self.details is not None else b""
        return Packed(target, data, details, self.handling, _here())

    def __reduce__(self) -> tuple[Any, ...]:
        return Arrived, (self.packed,)


@dataclass(frozen=True)
class Arrived:
    """A parcel on a worker, still closed: what fails while it is opened fails in a task, and can be told."""

    packed: Packed

    @property
    def callee(self) -> Callee:
        """What is called, once it is open."""
        return unpacked(self.packed).callee


@lru_cache(maxsize=8)
def unpacked(packed: Packed) -> Parcel:
    """Open a parcel, once in each worker; the second task finds it open.

    A forked or copied process has the generators of its parent: those that are global are seeded anew,
    before the mechanism's own module is loaded, which may seed them as it does for its users.
    """
    if _here() != packed.sender:
        random.seed()
        np.random.seed()  # noqa: NPY002  (other people's code uses it)
        if "torch" in sys.modules:
            sys.modules["torch"].seed()
    details: dict[str, Any] | None = None
    if packed.target:
        # A target that is no zoo mechanism does not depend on these.
        mechanism: Any = load(packed.target, epsilon=1.0, dimension=1)
        if packed.details:
            details = pickle.loads(packed.details)  # noqa: S301  (as below)
            mechanism = mechanism_of(mechanism, details)
    else:
        mechanism = pickle.loads(packed.data)  # noqa: S301  (from our own parent, never from a file)
    return Parcel(mechanism, packed.handling, packed.target, details)


def check_workers(parcel: Parcel, dispatch: Dispatch, x: object, seed: int, seen: Habits) -> None:
    """Refuse workers that draw other numbers than this process, or the same numbers as each other.

    DP231: the mechanism cannot be sent. DP232: the same stream gives other outputs there. DP431: the
    mechanism holds a generator of its own, and every worker has a copy of it: chunks would repeat each
    other's noise, and the bounds would be false.
    """
    found: dict[tuple[str, int], list[NDArray[np.uint64]]] = {}
    for _ in range(_ROUNDS):
        orders = [dispatch.submit(_looked_at, parcel, x, seed) for _ in range(4 if found else 1)]
        for order in orders:
            try:
                worker, first = dispatch.result(order).answer
            except (pickle.PicklingError, AttributeError, TypeError, ImportError, InputError) as error:
                raise _cannot_travel(parcel, error) from error
            if worker == _here():
                return  # threads: one mechanism, one generator
            found.setdefault(worker, []).append(first)
        if seen.replays:
            for drawn in found.values():
                if not np.array_equal(drawn[0], probed(parcel.callee, x, seed)):
                    raise _another_world(parcel)
            return
        if len(found) > 1:
            break
    one, *others = (drawn[0] for drawn in found.values())
    if any(np.array_equal(one, other) for other in others) and _varied(one):
        raise MechanismError(
            f"{parcel.callee.name} holds a generator of its own: two workers drew identical outputs",
            code="DP431",
            help="draw from the rng that is passed, or run in one process: --executor threads:N",
        )


def _looked_at(parcel: Parcel | Arrived, x: object, seed: int) -> tuple[tuple[str, int], NDArray[np.uint64]]:
    """On a worker: who it is, and what its copy of the mechanism draws first."""
    time.sleep(_PAUSE)
    return _here(), probed(parcel.callee, x, seed)


def _varied(keys: NDArray[np.uint64]) -> bool:
    _, counts = np.unique(keys, return_counts=True)
    return bool(keys.size - counts.max() >= min(_FEWEST_OTHERS, keys.size // 2))


def _here() -> tuple[str, int]:
    return socket.gethostname(), os.getpid()


def _absolute(target: str) -> str:
    """The same target from any directory."""
    place, _, name = target.rpartition(":")
    return f"{Path(place).resolve()}:{name}" if place.endswith(".py") else target


def _pickled(mechanism: object) -> bytes:
    try:
        dumps: Callable[[Any], bytes] = __import__("cloudpickle").dumps
    except ImportError:
        dumps = pickle.dumps
    return dumps(mechanism)


def _cannot_travel(parcel: Parcel, error: BaseException) -> InputError:
    return InputError(
        f"{parcel.callee.name} cannot be sent to another process: {type(error).__name__}: "
        f"{one_line(in_words(str, error), 200)}",
        code="DP231",
        help="define it in a module that workers can import, pip install cloudpickle, or use threads",
    )


def _another_world(parcel: Parcel) -> InputError:
    return InputError(
        f"{parcel.callee.name} draws other outputs on a worker than here, from the same random stream",
        code="DP232",
        help="give workers the same versions of numpy, of dplitmus and of the mechanism",
    )
