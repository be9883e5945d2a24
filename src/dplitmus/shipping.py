"""A mechanism that travels to other processes, and what may go wrong on the way.

Takes a mechanism and how its calls are to be made; gives a parcel that every task carries. In this process
a parcel is the mechanism itself. Pickled, it is the TARGET that names it, or a pickle of it by value (by
cloudpickle, where that is installed); a worker opens it once.
"""

from __future__ import annotations

import os
import pickle
import random
import secrets
import socket
import sys
import threading
import time
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dplitmus import isolation
from dplitmus.adapters import mechanism_of
from dplitmus.errors import InputError, MechanismError, in_words, one_line
from dplitmus.habits import digest_of, probed, telling
from dplitmus.mechanisms.base import as_callee
from dplitmus.samples import one_by_one, within
from dplitmus.target import load, resolved

if TYPE_CHECKING:
    from collections.abc import Callable

    from dplitmus.dispatch import Dispatch
    from dplitmus.mechanisms.base import Callee

_ROUNDS, _PAUSE = 6, 0.05  # of the question who is there; so long a worker answers, that others get some, too
_FEW_DRAWS = 4  # of a slow mechanism that replays: enough to see that a worker draws what is drawn here
_LONGEST = 4  # times as many draws, where outputs are few and nothing replays
_OPENING, _ASKING = threading.Lock(), threading.Lock()


class Handling(NamedTuple):
    """How calls are made, wherever they are made."""

    on_error: str = "fail"
    call_timeout: float | None = None
    isolate: bool = False
    memory_limit: int | None = None  # bytes, in an isolated process
    one_by_one: bool = False  # each draw is a call of its own: those of one call would not be independent


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
            callee = replace(callee, call=isolation.Isolated(inner, callee.name, limits))
        elif how.call_timeout is not None:
            callee = within(callee, how.call_timeout)
        return one_by_one(callee) if how.one_by_one else callee

    @cached_property
    def packed(self) -> Packed:
        """The bytes that travel; made once."""
        target = resolved(self.target) if self.target else None
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


def unpacked(packed: Packed) -> Parcel:
    """Open a parcel, once in each worker; the second task finds it open, in whichever thread it runs."""
    with _OPENING:
        return _opened(packed)


@lru_cache(maxsize=8)
def _opened(packed: Packed) -> Parcel:
    """Load the mechanism, or make it from its pickle.

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


class Introduction(NamedTuple):
    """What a worker says of its copy of the mechanism."""

    copy: str  # a random name: a worker that opens the parcel again has another copy
    digest: str  # of what it drew first
    telling: bool  # whether the same from another worker's noise would be a miracle


@dataclass
class Acquaintance:
    """All workers that a run has met, whenever they joined it.

    DP232: the same stream gives other outputs there than here. DP431: the mechanism holds a generator of
    its own, and two workers have copies in the same state: chunks would repeat each other's noise, and the
    bounds would be false. One worker alone repeats nothing, until it dies and another one takes its place.
    """

    parcel: Parcel
    x: Any
    seed: int
    replays: bool
    met: dict[str, Introduction] = field(default_factory=dict)

    @cached_property
    def question(self) -> Question:
        """What every task asks its worker before it works."""
        slow = self.parcel.callee.one_at_a_time
        draws = _FEW_DRAWS if slow and self.replays else None
        return Question(self.parcel, _pickled((self.x, self.seed, draws, self.replays)))

    @cached_property
    def _here(self) -> str:
        return _first_of(self.parcel.callee, *pickle.loads(self.question.about))[0]  # noqa: S301  (our own)

    def plausible(self, answer: Any) -> bool:
        """Whether this may be the answer to the question."""
        return answer is None or isinstance(answer, Introduction)

    def meet(self, answer: Introduction | None) -> None:
        """Note who has answered, or refuse it; None is a thread of this process."""
        if answer is None or answer.copy in self.met:
            return
        if self.replays and answer.digest != self._here:
            raise _another_world(self.parcel)
        twin = any(answer.digest == other.digest for other in self.met.values())
        if not self.replays and answer.telling and twin:
            raise MechanismError(
                f"{self.parcel.callee.name} holds a generator of its own: two workers drew identical outputs",
                code="DP431",
                help="draw from the rng that is passed, or run in one process: --executor threads:N",
            )
        self.met[answer.copy] = answer


@dataclass(frozen=True)
class Question:
    """Travels with every task; a worker answers it once from its copy of the mechanism, then from memory."""

    parcel: Parcel | Arrived
    about: bytes  # a pickle of the input, the seed and how much is drawn

    def __call__(self) -> Introduction | None:
        """On a worker: what its copy draws; None in the process that asks, where there is but one copy."""
        if isinstance(self.parcel, Parcel) or self.parcel.packed.sender == _here():
            return None
        with _ASKING:
            return _introduced(self.parcel.packed, self.about)


@lru_cache(maxsize=8)
def _introduced(packed: Packed, about: bytes) -> Introduction:
    x, seed, draws, replays = pickle.loads(about)  # noqa: S301  (from our own parent, never from a file)
    return Introduction(secrets.token_hex(8), *_first_of(unpacked(packed).callee, x, seed, draws, replays))


def _first_of(callee: Callee, x: Any, seed: int, draws: int | None, replays: bool) -> tuple[str, bool]:  # noqa: FBT001
    """A name of the first outputs; of more of them, where few outputs would be equal by chance."""
    drawn = [probed(callee, x, seed, draws=draws)]
    while not replays and not telling(np.concatenate(drawn)) and len(drawn) < _LONGEST:
        drawn.append(probed(callee, x, seed, key=len(drawn)))
    keys = np.concatenate(drawn)
    return digest_of(keys), telling(keys)


def check_workers(known: Acquaintance, dispatch: Dispatch) -> None:
    """Meet some workers before the first draw; refuse a mechanism that cannot be sent to them (DP231)."""
    for rounds in range(_ROUNDS):
        pause = _PAUSE if rounds else 0.0  # who comes first is enough, mostly
        for order in [dispatch.submit(time.sleep, pause) for _ in range(4 if rounds else 1)]:
            try:
                dispatch.result(order)
            except (pickle.PicklingError, AttributeError, TypeError, ImportError, InputError) as error:
                if isinstance(error, InputError) and error.code == "DP232":
                    raise
                raise _cannot_travel(known.parcel, error) from error
        if known.replays or not known.met or len(known.met) > 1:
            return


def _here() -> tuple[str, int]:
    return socket.gethostname(), os.getpid()


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
