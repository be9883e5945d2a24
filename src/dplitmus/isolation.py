"""Calls in fresh processes: no global seed, cache or state survives from one to the next.

Takes a mechanism that can travel, and limits; gives a callable with the same signature. Each call runs in a
process of its own, forked from a server that has imported nothing of the mechanism, only numpy and what of
scipy and scikit-learn this process has; a process that takes too long or too much memory is killed, and
nothing is left behind.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from dplitmus.errors import InputError, MechanismError, in_words, one_line, whole_number
from dplitmus.samples import too_slow

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    import numpy as np

# Slow to import, without state but numpy's global generator, which is seeded anew where a parcel is opened.
# What else a mechanism imports may hold a generator or a cache that forks would share: each imports its own.
_SHARED = ("numpy", "scipy", "sklearn")
_WATCH = 1.0  # seconds between two looks whether the parent is alive
_STARTING = threading.Lock()  # what is changed while a process starts is global
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


class Limits(NamedTuple):
    """Of one call."""

    seconds: float | None = None
    memory: int | None = None  # bytes of address space


@dataclass(frozen=True)
class Isolated:
    """A mechanism whose every call runs in a fresh process."""

    parcel: Any  # a shipping.Parcel
    name: str
    limits: Limits

    def __call__(self, x: Any, n: int, rng: np.random.Generator) -> Any:
        """Call it there; the generator's state comes back, so that the next call draws other numbers."""
        context: Any = multiprocessing.get_context("forkserver" if os.name == "posix" else "spawn")
        if os.name == "posix":
            context.set_forkserver_preload(["dplitmus.shipping", *_foundations()])
        here, there = context.Pipe()
        process = context.Process(target=_serve, args=(there, self.parcel, self.limits.memory), daemon=True)
        try:
            _start(process)
        except Exception as error:
            raise InputError(
                f"{self.name} cannot be sent to another process: {type(error).__name__}: "
                f"{one_line(in_words(str, error), 200)}",
                code="DP231",
                help="define it in a module and name it, package.module:name; or do not isolate its calls",
            ) from error
        there.close()
        try:
            here.send((x, n, rng))
            if not here.poll(self.limits.seconds):
                raise too_slow(self.name, n, self.limits.seconds or 0.0)
            answer, failure, state = here.recv()
        except (EOFError, ConnectionError) as error:
            process.join(5)
            raise self._died(process.exitcode) from error
        finally:
            process.kill()
            process.join()
            here.close()
        rng.bit_generator.state = state
        if failure is not None:
            kind, words = failure
            if kind == "MemoryError" and self.limits.memory:
                raise self._died(None)
            raise type(kind, (Exception,), {})(words)  # as if it had been raised here
        return answer

    def _died(self, status: int | None) -> MechanismError:
        cause = "asked for more memory than it may" if status is None else f"ended with status {status}"
        return MechanismError(
            f"the process of {self.name} {cause} during a call",
            code="DP432",
            help="raise --memory-limit, or call the mechanism by itself to see why",
        )


def _start(process: Any) -> None:
    """Start a process, in the worker of a pool too.

    Dask's workers are daemonic, and daemonic processes may have no children, lest these outlive them; ours
    look after their parent (`serve_the_parent`). loky's have a start method that a fresh process would look
    for and not find.
    """
    with _STARTING:
        here, method = multiprocessing.current_process(), multiprocessing.get_start_method(allow_none=True)
        daemonic, here.daemon = here.daemon, False
        foreign = method is not None and method not in {"fork", "forkserver", "spawn"}
        if foreign:
            multiprocessing.set_start_method("spawn", force=True)
        try:
            process.start()
        finally:
            here.daemon = daemonic
            if foreign:
                multiprocessing.set_start_method(method, force=True)


def memory_limit(text: str | int) -> int:
    """Bytes from words such as 512M or 4G.

    >>> memory_limit("2G")
    2147483648
    """
    words = str(text).strip().upper().removesuffix("B")
    unit = words[-1:] if words[-1:] in set("KMGT") else ""
    try:
        number = round(float(words.removesuffix(unit)) * _UNITS[unit])
    except (ValueError, OverflowError):
        number = -1
    return whole_number("memory_limit", number, least=2**24, most=2**60, help="try --memory-limit 4G")


def _foundations() -> list[str]:
    """What the server is to import: public packages that are imported here and safe to share."""
    return [
        name
        for name in sorted(sys.modules)
        if name.split(".", maxsplit=1)[0] in _SHARED and name.count(".") < 2 and "._" not in name
    ]


def _serve(connection: Connection, parcel: Any, memory: int | None) -> None:
    """In the fresh process: one call."""
    serve_the_parent()
    if memory:
        import resource  # noqa: PLC0415  (where there is one)

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    x, n, rng = connection.recv()
    answer = failure = None
    try:
        answer = parcel.callee.call(x, n, rng)
        pickle.dumps(answer)
    except BaseException as error:  # noqa: BLE001  (a mechanism may raise anything, SystemExit too)
        answer, failure = None, (type(error).__name__, one_line(in_words(str, error), 200))
    connection.send((answer, failure, rng.bit_generator.state))
    connection.close()


def serve_the_parent() -> None:
    """In a worker: leave Ctrl-C, which reaches every process of a terminal, to the parent; end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The one that wanted this process may not be the one that forked it, which may be a server.
    parent, forked_by = multiprocessing.parent_process(), os.getppid()
    if parent is not None and parent.sentinel is None:  # loky's
        parent = None

    def watch() -> None:
        while os.getppid() == forked_by and (parent is None or parent.is_alive()):
            time.sleep(_WATCH)
        os._exit(1)  # the parent was killed: nobody waits for this work

    threading.Thread(target=watch, daemon=True).start()
