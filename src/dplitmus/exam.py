"""The exam: what the search has learned is frozen, and counted on fresh draws.

Takes a search that has ended. A rehearsal shows from which level on the frozen panel guesses best; the exam
itself counts two rules that were fixed before its first draw: the panel's guesses from that level on,
and the simplest event that a person can read. The number of draws is fixed beforehand too, so that
binomial bounds on these counts are exact.
"""

from __future__ import annotations

import copy
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from dplitmus import evidence
from dplitmus.samples import Plan
from dplitmus.search import largest_chunk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Executor, Future

    from numpy.typing import NDArray

    from dplitmus.certificate import Rule
    from dplitmus.forecast.panel import Panel
    from dplitmus.search import Arm, Search, Task

Answer = TypeVar("Answer")
_PHASE_REHEARSAL, _PHASE_EXAM = 24, 22
_IN_FLIGHT = 16


class Marks(NamedTuple):
    """Guesses and how many of them were right, by the panel and by the rule."""

    guesses: int = 0
    correct: int = 0
    rule_guesses: int = 0
    rule_correct: int = 0

    def plus(self, other: Marks) -> Marks:
        """Both together."""
        return Marks(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


@dataclass(frozen=True)
class Frozen:
    """A panel that learns no more."""

    panel: Panel

    @classmethod
    def of(cls, arm: Arm) -> Frozen:
        """The panel of a pair as it is now."""
        if arm.panel is None:
            raise ValueError("an exam comes after a search")
        panel = copy.copy(arm.panel)
        panel.past = []  # only needed to learn
        return cls(panel)

    def count(self, task: Task) -> NDArray[np.int64]:
        """Draw one chunk and count right and wrong guesses per level."""
        batch = task.draw()
        return evidence.tallied(self.panel.forecast(batch), batch.labels)


@dataclass(frozen=True)
class Questions:
    """The two rules of the exam."""

    frozen: Frozen
    level: int
    rule: Rule | None

    def mark(self, task: Task) -> Marks:
        """Draw one chunk and count."""
        batch = task.draw()
        logits = self.frozen.panel.forecast(batch)
        guess = evidence.level_of(logits) >= self.level
        right = (logits > 0) == batch.labels
        happens = self.rule.happens(batch) if self.rule else np.zeros(len(batch), dtype=bool)
        label = self.rule.label if self.rule else False
        return Marks(
            int(guess.sum()),
            int((guess & right).sum()),
            int(happens.sum()),
            int((batch.labels[happens] == label).sum()),
        )


@dataclass(frozen=True)
class Room:
    """Where an exam takes place: fresh draws of a search, through an executor, in order."""

    search: Search
    executor: Executor

    def rehearse(self, arm: Arm, draws: int) -> NDArray[np.int64]:
        """Right and wrong guesses per level of the frozen panel, on draws that nothing else sees."""
        counts = np.zeros((2, evidence.LEVELS.size), dtype=np.int64)
        for part in self._answers(arm, Frozen.of(arm).count, _PHASE_REHEARSAL, draws):
            counts += part
        return counts

    def sit(self, arm: Arm, level: int, rule: Rule | None, draws: int) -> Marks:
        """Count both rules on fresh draws; the result does not depend on the executor."""
        marks = Marks()
        for part in self._answers(arm, Questions(Frozen.of(arm), level, rule).mark, _PHASE_EXAM, draws):
            marks = marks.plus(part)
        return marks

    def _answers(self, arm: Arm, ask: Callable[[Task], Answer], phase: int, draws: int) -> Iterator[Answer]:
        rows = largest_chunk(arm.sample[-1].values.shape[1])
        waiting: deque[tuple[int, Future[Answer]]] = deque()
        try:
            for chunk, size in enumerate(Plan(draws, rows)):
                task = self.search.fresh(arm, size, (phase, arm.number, chunk))
                waiting.append((size, self.executor.submit(ask, task)))
                if len(waiting) >= _IN_FLIGHT:
                    yield self._next(waiting)
            while waiting:
                yield self._next(waiting)
        finally:
            for _, future in waiting:
                future.cancel()

    def _next(self, waiting: deque[tuple[int, Future[Answer]]]) -> Answer:
        size, future = waiting.popleft()
        answer = future.result()
        if self.search.progress:
            self.search.progress(size)
        return answer
