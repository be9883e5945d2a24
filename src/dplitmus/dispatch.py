"""Handing tasks to workers that may die, hang or answer nonsense, and getting the answers.

Takes an executor; gives answers. A task has its own random stream, so that it may be done twice: whichever
copy answers first, the answer is the same. That is how a straggler is overtaken and how a dead worker's
task is done again. Mechanisms that do not replay are never given to two workers at once: to take the faster
answer would let the time that an output takes decide whether it counts.
"""

from __future__ import annotations

import time
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from dplitmus.errors import MechanismError
from dplitmus.executors import capacity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_DEATHS_IN_DASK = {"KilledWorker", "CommClosedError", "ClosedClientError"}
_DEATHS = 3  # in a row, before the mechanism is told to be the cause
_COPIES = 3  # of one task at once, at most
_SHORTEST_WAIT, _LATE = 2.0, 4.0  # seconds; times as long as the slowest task so far, or as expected


class Timed(NamedTuple):
    """An answer, how long it took, and who says so, if that was asked."""

    answer: Any
    seconds: float
    worker: Any = None


class Known(Protocol):
    """Knows the workers (`shipping.Acquaintance`)."""

    @property
    def question(self) -> Callable[[], Any]:
        """What every task asks its worker before it works."""

    def plausible(self, answer: Any) -> bool:
        """Whether this may be the answer to the question."""

    def meet(self, answer: Any) -> None:
        """Take note of the worker, or refuse it."""


def timed(question: Callable[[], Any] | None, work: Callable[..., Any], *arguments: Any) -> Timed:
    """On a worker: introduce itself, do the work and look at the clock."""
    worker = question() if question is not None else None
    started = time.perf_counter()
    answer = work(*arguments)
    return Timed(answer, time.perf_counter() - started, worker)


@dataclass(eq=False)
class Order:
    """A task on its way."""

    work: Callable[..., Any]
    arguments: tuple[Any, ...]
    plausible: Callable[[Any], bool]
    expected: float = 0.0  # seconds, where somebody knows
    futures: list[Future[Timed]] = field(default_factory=list)

    @property
    def done(self) -> bool:
        """Whether some copy has ended."""
        return any(future.done() for future in self.futures)


@dataclass
class Dispatch:
    """The tasks of one run that are in flight."""

    executor: Executor
    replays: bool
    known: Known | None = None  # the workers that were met; None where they cannot matter
    orders: list[Order] = field(default_factory=list)
    deaths: int = 0
    slowest: float = 0.0
    local: bool = False  # whether the worker that answered last is a thread of this process

    def submit(
        self,
        work: Callable[..., Any],
        *arguments: Any,
        plausible: Callable[[Any], bool] = lambda _: True,
        expected: float = 0.0,
    ) -> Order:
        """Hand over one task that should take so many seconds; `plausible` looks at its answer."""
        order = Order(work, arguments, plausible, expected)
        self._hand_over(order)
        self.orders.append(order)
        return order

    def result(self, order: Order) -> Timed:
        """Wait for the answer, with other workers if need be."""
        while True:
            try:
                timed_answer = self._first(order)
                if self._plausible(order, timed_answer):
                    break
                self._died("answered with damaged data")
                order.futures = []
                self._hand_over(order)
            except Exception as error:
                if not _is_death(error):
                    raise
                self._revive(error)
        if self.known is not None:
            self.known.meet(timed_answer.worker)
            self.local = timed_answer.worker is None
        self.deaths = 0
        self.slowest = max(self.slowest, timed_answer.seconds)
        self.drop([order])
        return timed_answer

    def drop(self, orders: Iterable[Order]) -> None:
        """Forget these tasks; what has not started will not."""
        for order in orders:
            for future in order.futures:
                future.cancel()
            if order in self.orders:
                self.orders.remove(order)

    def _hand_over(self, order: Order) -> None:
        question = self.known.question if self.known is not None else None
        for _ in range(_DEATHS):
            try:
                order.futures.append(self.executor.submit(timed, question, order.work, *order.arguments))
            except Exception as error:
                if not _is_death(error):
                    raise
                self._revive(error)
            else:
                return

    def _first(self, order: Order) -> Timed:
        """The answer of the first copy that has one; a late task gets another copy on an idle worker."""
        while True:
            ended = next((future for future in order.futures if future.done()), None)
            if ended is not None:
                return ended.result()
            patience = max(_SHORTEST_WAIT, _LATE * max(self.slowest, order.expected))
            try:
                if len(order.futures) == 1:
                    return order.futures[0].result(patience)
                wait(order.futures, patience, FIRST_COMPLETED)
            except TimeoutError:
                if order.done:
                    continue
            idle = all(other.done for other in self.orders if other is not order)
            if self.replays and idle and len(order.futures) < min(_COPIES, capacity(self.executor)):
                self._hand_over(order)

    def _plausible(self, order: Order, answer: Any) -> bool:
        if not isinstance(answer, Timed) or (self.known and not self.known.plausible(answer.worker)):
            return False
        return order.plausible(answer.answer)

    def _revive(self, error: BaseException) -> None:
        """Make the executor again, and hand it everything that has no answer."""
        self._died(f"died: {type(error).__name__}")
        renew = getattr(self.executor, "renew", None)
        if renew is None:
            raise MechanismError(
                f"the executor broke during the run: {type(error).__name__}",
                code="DP432",
                help="name the executor instead, as in --executor processes:4: then it is made again",
            ) from error
        renew()
        for order in self.orders:
            if not any(future.done() and _answered(future) for future in order.futures):
                order.futures = []
                self._hand_over(order)

    def _died(self, how: str) -> None:
        self.deaths += 1
        if self.deaths > _DEATHS:
            raise MechanismError(
                f"a worker {how}, {self.deaths} times in a row",
                code="DP432",
                help="does the mechanism need more memory than there is? try fewer workers, or --isolate",
            )


def _is_death(error: Exception) -> bool:
    """Whether the executor or a worker is gone, in the words of the standard library or of Dask."""
    return isinstance(error, BrokenExecutor | CancelledError) or type(error).__name__ in _DEATHS_IN_DASK


def _answered(future: Future[Timed]) -> bool:
    return not future.cancelled() and future.exception() is None
