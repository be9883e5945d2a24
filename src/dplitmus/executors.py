"""Where the work is done: any `concurrent.futures.Executor`, and those that a command line can name.

Takes words such as `processes:4` or `dask:tcp://127.0.0.1:8786`; gives an executor that can be made again
when it breaks, and that leaves no process behind.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from dplitmus.errors import MechanismError, MissingExtraError, bad_value, one_line, whole_number
from dplitmus.isolation import serve_the_parent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FORMS = "threads:4, processes:4, loky:4, dask:local:4 or dask:tcp://127.0.0.1:8786"
_PATIENCE = 60  # seconds to wait for a Dask scheduler that is away
_LAST_WORK = 2.0  # seconds that a worker may take to finish when the run has ended
_FEW = 8  # tasks at once, where an executor does not tell


class _Later(Future[Any]):
    """A task that is done by whoever asks for its result."""

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__()
        self._work = work

    def result(self, timeout: float | None = None) -> Any:
        """Work now, if nobody asked before and it was not cancelled."""
        if not self.done():
            try:
                self.set_result(self._work())
            except BaseException as error:  # noqa: BLE001  (raised again below)
                self.set_exception(error)
        return super().result(timeout)


class Inline(Executor):
    """The executor of a single thread: runs a task when its answer is asked for, and never if it is not."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Remember what to do."""
        return _Later(partial(fn, *args, **kwargs))


@dataclass
class Renewable(Executor):
    """An executor that can be made again when its workers die."""

    make: Callable[[], Executor]
    discard: Callable[[Any], None]  # ends an executor, its hanging workers included
    workers: int
    _now: Executor | None = field(default=None, init=False)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Hand over to the executor of this moment."""
        if self._now is None:
            try:
                self._now = self.make()
            except OSError as error:
                raise MechanismError(
                    f"the executor broke and cannot be made again: {one_line(str(error), 200)}",
                    code="DP432",
                    help="see why, and go on from the journal: --resume",
                ) from error
        return self._now.submit(fn, *args, **kwargs)

    def renew(self) -> None:
        """Give up the executor; the next task makes another one."""
        executor, self._now = self._now, None
        if executor is not None:
            with contextlib.suppress(Exception):  # it is broken: whatever it says is no news
                self.discard(executor)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002
        """End it, and what hangs in it."""
        self.renew()


class _WorkerlessError(OSError):
    """A Dask scheduler without workers."""


@contextlib.contextmanager
def opened(words: str) -> Iterator[Executor]:
    """The executor that these words name, while the block lasts."""
    kind, _, rest = words.partition(":")
    makers = {"threads": _threads, "processes": _processes, "loky": _loky, "dask": _dask}
    if kind not in makers or not rest:
        raise _unknown(words)
    executor = makers[kind](rest, words)
    try:
        yield executor
    finally:
        executor.shutdown()


def capacity(executor: Executor) -> int:
    """About how many tasks it runs at once; decides how many are kept in flight, and no result."""
    if isinstance(executor, Inline):
        return 1
    for name in ("workers", "_max_workers", "max_workers"):
        count = getattr(executor, name, None)
        if isinstance(count, int) and count > 0:
            return count
    client = getattr(executor, "_client", None)  # Dask's
    with contextlib.suppress(Exception):
        return max(1, sum(client.nthreads().values()))  # type: ignore[union-attr]
    return _FEW


def _unknown(words: str) -> Exception:
    return bad_value("executor", words, "name an executor and its size", help=f"try {FORMS}")


def _count(rest: str, words: str) -> int:
    if not rest.isdecimal():
        raise _unknown(words)
    return whole_number("workers", int(rest[:6]), least=1, most=4096, help=f"try {FORMS}")


def _threads(rest: str, words: str) -> Renewable:
    count = _count(rest, words)
    return Renewable(
        lambda: ThreadPoolExecutor(count), lambda pool: pool.shutdown(wait=False, cancel_futures=True), count
    )


def _processes(rest: str, words: str) -> Renewable:
    count = _count(rest, words)

    def make() -> Executor:
        # Forking this process would copy locks that its threads hold; a server that has none forks instead.
        context = multiprocessing.get_context("forkserver" if os.name == "posix" else "spawn")
        if os.name == "posix":
            context.set_forkserver_preload(["dplitmus.search"])
        return ProcessPoolExecutor(count, mp_context=context, initializer=serve_the_parent)

    return Renewable(make, _end_processes, count)


def _end_processes(pool: Any) -> None:
    """End the workers: those that work may finish their task, those that take longer are killed.

    To kill one that is writing its answer would leave the pool's own thread reading for ever, so that the
    last end of the pipe is closed, too. (kill_workers comes with Python 3.14.)
    """
    processes = list((pool._processes or {}).values())  # noqa: SLF001
    answers = pool._result_queue  # noqa: SLF001
    pool.shutdown(wait=False, cancel_futures=True)
    patience = time.monotonic() + _LAST_WORK
    for process in processes:
        process.join(max(0.0, patience - time.monotonic()))
        process.kill()
        process.join()
    with contextlib.suppress(Exception):
        answers._writer.close()  # noqa: SLF001


def _loky(rest: str, words: str) -> Renewable:
    count = _count(rest, words)
    try:
        import loky  # noqa: PLC0415  (optional)
    except ImportError as error:
        raise MissingExtraError("loky", extra="dask", purpose="--executor loky") from error

    def make() -> Executor:
        pool: Executor = loky.ProcessPoolExecutor(count, initializer=serve_the_parent)
        return pool

    return Renewable(make, lambda pool: pool.shutdown(wait=True, kill_workers=True), count)


def _dask(rest: str, words: str) -> Renewable:
    try:
        import distributed  # noqa: PLC0415  (optional)
    except ImportError as error:
        raise MissingExtraError("distributed", extra="dask", purpose="--executor dask") from error
    kind, _, size = rest.partition(":")
    count = _count(size, words) if kind == "local" else 0
    if kind not in {"local", "tcp", "tls"}:
        raise _unknown(words)

    def make() -> Executor:
        if count:
            cluster = distributed.LocalCluster(  # type: ignore[no-untyped-call]
                n_workers=count,
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",  # any free port: other clusters may run here
                silence_logs="CRITICAL",
            )
            client: Any = distributed.Client(cluster)  # type: ignore[no-untyped-call]
        else:
            logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # what breaks is told by us
            client = distributed.Client(rest, timeout=_PATIENCE)  # type: ignore[no-untyped-call]
            try:
                client.wait_for_workers(1, timeout=_PATIENCE)
            except TimeoutError as error:
                client.close(timeout=5)
                raise _WorkerlessError(f"it had none for {_PATIENCE:g} s") from error
        executor: Executor = client.get_executor(pure=False)
        return executor

    def discard(executor: Any) -> None:
        client = executor._client  # noqa: SLF001  (ClientExecutor has no other way back)
        cluster = client.cluster
        client.close(timeout=5)
        if cluster is not None:
            cluster.close(timeout=5)

    try:
        workers = count or _remote_size(make, discard)
    except _WorkerlessError as error:
        help_ = f"start one:  dask worker {rest}"
        raise bad_value("executor", words, f"have workers: {error}", help=help_) from error
    except (OSError, ValueError) as error:
        reason = "reach a Dask scheduler: " + (str(error) or type(error).__name__)
        help_ = "start one:  dask scheduler --host 127.0.0.1"
        raise bad_value("executor", words, reason, help=help_) from error
    return Renewable(make, discard, workers)


def _remote_size(make: Callable[[], Executor], discard: Callable[[Executor], None]) -> int:
    executor = make()
    try:
        return capacity(executor)
    finally:
        discard(executor)
