"""One chunk of draws: drawn in pieces, by one worker or by many, and answered as a whole.

Takes a mechanism that can travel, a pair, a size and a random key; gives what an examiner says about the
drawn batch. A chunk is drawn in pieces with random streams of their own. Their sizes are part of the spec;
how pieces are shared out to workers follows the speed that was measured, about a second for each task, and
cannot change the batch, nor the answer, which is a function of the whole batch. Threads of this process only
draw where draws are slow: what they judged the others would wait for, as they would for the main thread. Who
takes a chunk may also leave it open who examines it: then all workers only draw.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from dplitmus import executors, journal
from dplitmus.outputs import Batch, Encoded, join
from dplitmus.samples import draw_encoded, draw_pieces, stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np

    from dplitmus.dispatch import Dispatch, Order
    from dplitmus.neighbours import Pair
    from dplitmus.samples import Stock
    from dplitmus.shipping import Parcel

Answer = TypeVar("Answer")
PIECE = 8  # draws of a mechanism that is called one draw at a time
_FEWEST_PIECES, _MOST_PIECES = 4, 128  # of a chunk
_LARGE_ROOT = 8  # of the size of a chunk from which pieces grow, too
_TASK_SECONDS = 1.0
_SHORTEST_TASK = 0.05  # seconds; shorter ones are not worth the way
_TASK_HERE, _SHORTEST_HERE = 0.05, 0.02  # the same for threads of this process
_DEAR = 2e-4  # seconds a draw from which judging takes far less than drawing


class Examiner(Protocol[Answer]):
    """What is said about a batch. It travels to the workers, and so does its answer back."""

    def examine(self, batch: Batch) -> Answer:
        """Look at a whole chunk."""

    def plausible(self, answer: Any, size: int) -> bool:
        """Whether this may be an answer on so many draws."""

    def as_data(self, answer: Answer) -> Any:
        """The answer as plain data for a journal."""

    def from_data(self, data: Any, chunk: Chunk) -> Answer:
        """The answer of such data; raises ValueError for what is none."""


@dataclass(frozen=True)
class Chunk:
    """All that workers need to draw one chunk."""

    parcel: Parcel
    pair: Pair
    size: int
    seed: int
    key: tuple[int, ...]
    like: Batch | None  # earlier outputs: later ones of a pair have their columns, at least
    stock: Stock | None = None
    piece: int | None = None

    @property
    def pieces(self) -> list[int]:
        """How many draws each piece has: one piece, or from 4 to 128; those of a large chunk have more.

        A piece costs other threads a tenth of a millisecond, however many draws it has.
        """
        if self.piece is None or self.stock is not None:
            return [self.size]
        few, many = (math.ceil(self.size / pieces) for pieces in (_FEWEST_PIECES, _MOST_PIECES))
        grown = self.piece * max(_LARGE_ROOT, math.isqrt(self.size)) // _LARGE_ROOT
        rows = max(min(grown, few), many)
        return [min(rows, self.size - first) for first in range(0, self.size, rows)]

    def draw(self, first: int = 0, last: int | None = None) -> Batch:
        """Draw some of its pieces, each from its own random stream; all of them, if nothing is said."""
        if self.stock is not None:
            return self._aligned(self.stock.labelled(self.size, stream(self.seed, *self.key)))
        pieces = ((rows, self._stream(piece)) for piece, rows in list(enumerate(self.pieces))[first:last])
        return self.joined(draw_pieces(self.parcel.callee, self.pair, pieces, self.like))

    def _stream(self, piece: int) -> np.random.Generator:
        return stream(self.seed, *self.key, piece) if piece else stream(self.seed, *self.key)

    def joined(self, batches: list[Batch]) -> Batch:
        """One batch, as wide as the widest piece."""
        return self._aligned(join(batches))

    def _aligned(self, batch: Batch) -> Batch:
        if self.like is None or batch.values.shape[1] >= self.like.values.shape[1]:
            return batch
        return batch.like(self.like)


def examined(chunk: Chunk, examiner: Examiner[Answer]) -> Answer:
    """On a worker: draw the whole chunk, and say what there is to say."""
    return examiner.examine(chunk.draw())


def _all_examined(chunks: list[Chunk], examiner: Examiner[Answer]) -> list[Answer]:
    """On a worker: several chunks, one by one, by an examiner that travelled once."""
    return [examined(chunk, examiner) for chunk in chunks]


def _drawn(chunk: Chunk, first: int, last: int) -> Batch:
    """On a worker: some pieces of a chunk that is shared out."""
    return chunk.draw(first, last)


def _encoded(parcel: Parcel, x: Any, seed: int, pieces: list[tuple[int, tuple[int, ...]]]) -> list[Encoded]:
    """On a worker: so many outputs on one input from each of these streams."""
    return [draw_encoded(parcel.callee, x, rows, stream(seed, *key)) for rows, key in pieces]


@dataclass
class Shared(Generic[Answer]):
    """A task with several chunks; their answers are taken from it one by one."""

    order: Order
    size: int
    answers: Iterator[Answer] | None = None


@dataclass
class Pending(Generic[Answer]):
    """A chunk on its way, in one task or several, or with others in one; or what a journal holds."""

    chunk: Chunk
    examiner: Examiner[Answer] | None  # None: workers only draw
    orders: list[Order]
    recorded: Any = None
    shared: Shared[Answer] | None = None
    drawn: bool = False  # by workers, and not examined yet


@dataclass
class Desk:
    """Shares chunks out, collects their answers in the order of the chunks, and keeps the journal."""

    dispatch: Dispatch
    journal: journal.Journal | None = None
    pace: float = 0.0  # seconds a draw, as measured so far; decides how chunks are shared out, and no result

    @property
    def capacity(self) -> int:
        """Tasks that the executor runs at once."""
        return executors.capacity(self.dispatch.executor)

    def submit(self, chunk: Chunk, examiner: Examiner[Answer] | None) -> Pending[Answer]:
        """Take a chunk; what the journal knows is not drawn again."""
        recorded = self.journal.reserve(chunk.key) if self.journal is not None else None
        if recorded is not None:
            return Pending(chunk, examiner, [], recorded)
        orders = []
        pieces = chunk.pieces
        tasks = self._tasks(chunk.size, len(pieces))
        if examiner is not None and tasks == 1 and not self.draws_here:
            plausible = partial(examiner.plausible, size=chunk.size)
            orders.append(self._order(chunk.size, plausible, examined, chunk, examiner))
            return Pending(chunk, examiner, orders)
        for first, last in _shares(len(pieces), tasks):
            rows = sum(pieces[first:last])
            orders.append(self._order(rows, _BatchOf(rows).is_plausible, _drawn, chunk, first, last))
        return Pending(chunk, examiner, orders, drawn=True)

    @property
    def draws_here(self) -> bool:
        """Whether threads of this process draw, and their time is for drawing."""
        return self._dear and self.dispatch.local

    def has_answer(self, pending: Pending[Any]) -> bool:
        """Whether nobody would wait for its result."""
        if pending.recorded is not None:
            return True
        return all(order.done for order in pending.orders)

    def result(self, pending: Pending[Answer], examiner: Examiner[Answer] | None = None) -> Answer:
        """The answer on a chunk; those of one run must be asked for in the order in which they were taken.

        `examiner` looks at those that were taken without one.
        """
        chunk = pending.chunk
        examiner = pending.examiner or examiner
        if examiner is None:
            raise TypeError("nobody examines this chunk")
        if pending.recorded is not None and self.journal is not None:
            try:
                return examiner.from_data(pending.recorded, chunk)
            except (ValueError, OverflowError) as error:
                raise journal.refusal(self.journal.path, "an entry of it is no answer") from error
        if pending.shared is not None:
            answer = self._next_of(pending.shared)
        else:
            parts = [self.dispatch.result(order) for order in pending.orders]
            self._note_pace(sum(part.seconds for part in parts) / chunk.size)
            answers = [part.answer for part in parts]
            answer = examiner.examine(chunk.joined(answers)) if pending.drawn else answers[0]
        if self.journal is not None:
            self.journal.append(chunk.key, lambda: examiner.as_data(answer))
        return answer

    def draw(self, parcel: Parcel, x: Any, n: int, seed: int, key: tuple[int, ...]) -> list[Encoded]:
        """Outputs on one input, part by part, from a mechanism that is called one draw at a time."""
        pieces = [(min(PIECE, n - first), (*key, first)) for first in range(0, n, PIECE)]
        tasks = self._tasks(n, len(pieces))
        if tasks == 1:
            return _encoded(parcel, x, seed, pieces)
        orders = []
        for first, last in _shares(len(pieces), tasks):
            some = pieces[first:last]
            expected = _EncodedOf([rows for rows, _ in some])
            orders.append(
                self._order(sum(expected.rows), expected.is_plausible, _encoded, parcel, x, seed, some)
            )
        try:
            return [part for order in orders for part in self.dispatch.result(order).answer]
        finally:
            self.dispatch.drop(orders)

    def answers(
        self, chunks: Iterator[Chunk], examiner: Examiner[Answer], in_flight: int, left: int
    ) -> Iterator[tuple[Chunk, Answer]]:
        """The answers on the chunks that are left, in their order, with so many tasks in flight.

        A task has so many chunks that it takes about a second, for an examiner may weigh far more than its
        answers; not so many that a worker would wait for others at the end.
        """
        waiting: deque[Pending[Answer]] = deque()
        try:
            while left or waiting:
                together = min(self._together(waiting[-1].chunk.size if waiting else 0, left), max(1, left))
                if left and len(waiting) < in_flight * together:
                    waiting.extend(self._submit_together(list(islice(chunks, together)), examiner))
                    left -= together
                else:
                    pending = waiting.popleft()
                    yield pending.chunk, self.result(pending)
        finally:
            self.drop(waiting)

    def _order(
        self, draws: int, plausible: Callable[[Any], bool], work: Callable[..., Any], *arguments: Any
    ) -> Order:
        return self.dispatch.submit(work, *arguments, plausible=plausible, expected=self.pace * draws)

    def _submit_together(self, chunks: list[Chunk], examiner: Examiner[Answer]) -> Iterator[Pending[Answer]]:
        if len(chunks) == 1:
            yield self.submit(chunks[0], examiner)
            return
        recorded = [self.journal.reserve(chunk.key) if self.journal else None for chunk in chunks]
        todo = [chunk for chunk, known in zip(chunks, recorded, strict=True) if known is None]
        shared = None
        if todo:
            draws = sum(chunk.size for chunk in todo)
            plausible = partial(_plausible, examiner, todo)
            shared = Shared[Answer](self._order(draws, plausible, _all_examined, todo, examiner), draws)
        for chunk, known in zip(chunks, recorded, strict=True):
            if known is None and shared is not None:
                yield Pending(chunk, examiner, [shared.order], shared=shared)
            else:
                yield Pending(chunk, examiner, [], known)

    def _next_of(self, shared: Shared[Answer]) -> Answer:
        if shared.answers is None:
            timed = self.dispatch.result(shared.order)
            self._note_pace(timed.seconds / shared.size)
            shared.answers = iter(timed.answer)
        return next(shared.answers)

    def _together(self, size: int, left: int) -> int:
        """Chunks of a task."""
        seconds = self.pace * size
        if not seconds or self.capacity == 1:
            return 1
        return max(1, min(int(_TASK_SECONDS / seconds), left // (4 * self.capacity)))

    def drop(self, waiting: deque[Pending[Any]]) -> None:
        """Forget chunks that will not be needed."""
        for pending in waiting:
            self.dispatch.drop(pending.orders)

    def _tasks(self, size: int, pieces: int) -> int:
        seconds = self.pace * size
        usual, shortest = (_TASK_HERE, _SHORTEST_HERE) if self.draws_here else (_TASK_SECONDS, _SHORTEST_TASK)
        if pieces == 1 or self.capacity == 1 or seconds < shortest:
            return 1
        alike = min(self.capacity, int(seconds / shortest)) if self._dear else 1  # nobody waits for others
        return min(pieces, max(alike, round(seconds / usual)))

    @property
    def _dear(self) -> bool:
        """Whether a worker's time is for drawing."""
        return self.pace >= _DEAR

    def _note_pace(self, pace: float) -> None:
        self.pace = pace if not self.pace else 0.7 * self.pace + 0.3 * pace


def _shares(pieces: int, tasks: int) -> Iterator[tuple[int, int]]:
    """The first piece of each task, and the first that is not of it."""
    return pairwise(round(pieces * task / tasks) for task in range(tasks + 1))


def _plausible(examiner: Examiner[Any], chunks: list[Chunk], answers: Any) -> bool:
    return (
        isinstance(answers, list)
        and len(answers) == len(chunks)
        and all(examiner.plausible(answer, chunk.size) for answer, chunk in zip(answers, chunks, strict=True))
    )


@dataclass(frozen=True)
class _BatchOf:
    """Looks whether an answer is a batch of so many draws."""

    rows: int

    def is_plausible(self, answer: Any) -> bool:
        return (
            isinstance(answer, Batch)
            and len(answer) == self.rows == len(answer.labels)
            and answer.values.ndim == 2
            and answer.values.shape[0] == self.rows
        )


@dataclass(frozen=True)
class _EncodedOf:
    """The same for outputs on one input, in parts of so many."""

    rows: list[int]

    def is_plausible(self, answer: Any) -> bool:
        return isinstance(answer, list) and self.rows == [
            len(part.keys) if isinstance(part, Encoded) and len(part.keys) == len(part.values) else -1
            for part in answer
        ]
