"""The plain exam: what the search has learned is frozen, and counted on fresh draws.

Takes a search that has ended. A rehearsal shows from which level on the frozen panel guesses best; the exam
itself counts two rules that were fixed before its first draw: the panel's guesses from that level on,
and the simplest event that a person can read. The number of draws is fixed beforehand too, so that
binomial bounds on these counts are exact. (`grading` is the exam in which the panel learns on.)
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from dplitmus import evidence
from dplitmus.arms import largest_chunk
from dplitmus.journal import whole
from dplitmus.judging import tally_as_data, tally_from_data
from dplitmus.samples import Plan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from dplitmus.arms import Arm
    from dplitmus.certificate import Rule
    from dplitmus.chunks import Chunk, Desk, Examiner
    from dplitmus.forecast.panel import Panel
    from dplitmus.outputs import Batch
    from dplitmus.search import Search

Answer = TypeVar("Answer")
_PHASE_REHEARSAL, _PHASE_EXAM = 24, 22
_IN_FLIGHT = 16
_PIECES, _CHUNKS = 16, 1024  # of a slow mechanism: pieces of a chunk, at least; chunks, at most


class Marks(NamedTuple):
    """Guesses and how many of them were right, by the panel and by the rule."""

    guesses: int = 0
    correct: int = 0
    rule_guesses: int = 0
    rule_correct: int = 0
    raised: int = 0  # exceptions on the way

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

    def examine(self, batch: Batch) -> NDArray[np.int64]:
        """Count right and wrong guesses per level."""
        return evidence.tallied(self.panel.forecast(batch), batch.labels)

    def plausible(self, answer: Any, size: int) -> bool:
        """Whether these may be the counts of so many draws."""
        return evidence.is_tally(answer, size)

    def as_data(self, answer: NDArray[np.int64]) -> list[list[int]]:
        """For the journal."""
        return tally_as_data(answer)

    def from_data(self, data: Any, chunk: Chunk) -> NDArray[np.int64]:
        """From a journal; ValueError if these are no counts of this chunk."""
        counts = tally_from_data(data)
        if not self.plausible(counts, chunk.size):
            raise ValueError("counts of this chunk")
        return counts


@dataclass(frozen=True)
class Questions:
    """The two rules of the exam."""

    frozen: Frozen
    level: int
    rule: Rule | None

    def examine(self, batch: Batch) -> Marks:
        """Count right guesses of both."""
        logits = self.frozen.panel.forecast(batch)
        guess = evidence.level_of(logits) >= self.level
        right = (logits > 0) == batch.labels
        return Marks(
            int(guess.sum()),
            int((guess & right).sum()),
            *marks_by_rule(self.rule, batch),
            raised=batch.raised,
        )

    def plausible(self, answer: Any, size: int) -> bool:
        """Whether these may be the marks of so many draws."""
        return (
            isinstance(answer, Marks)
            and all(isinstance(count, int) for count in answer)
            and 0 <= answer.correct <= answer.guesses <= size
            and 0 <= answer.rule_correct <= answer.rule_guesses <= size
        )

    def as_data(self, answer: Marks) -> list[int]:
        """For the journal."""
        return list(answer)

    def from_data(self, data: Any, chunk: Chunk) -> Marks:
        """From a journal; ValueError if these are no marks of this chunk."""
        if not isinstance(data, list) or len(data) != len(Marks._fields):
            raise ValueError("marks")
        marks = Marks(*(whole(count, 2**62) for count in data))
        if not self.plausible(marks, chunk.size):
            raise ValueError("marks of this chunk")
        return marks


def marks_by_rule(rule: Rule | None, batch: Batch) -> tuple[int, int]:
    """Guesses of the readable rule, and how many of them were right."""
    if rule is None:
        return 0, 0
    happens = rule.happens(batch)
    return int(happens.sum()), int((batch.labels[happens] == rule.label).sum())


@dataclass(frozen=True)
class Room:
    """Where an exam takes place: fresh draws of a search, in order, on any number of workers.

    The rules and the number of draws are fixed, so that any number of chunks may be in flight.
    """

    search: Search
    desk: Desk

    def rehearse(self, arm: Arm, draws: int) -> NDArray[np.int64]:
        """Right and wrong guesses per level of the frozen panel, on draws that nothing else sees."""
        counts = np.zeros((2, evidence.LEVELS.size), dtype=np.int64)
        for _, part in self.answers(arm, Frozen.of(arm), (_PHASE_REHEARSAL,), draws):
            counts += part
        return counts

    def sit(self, arm: Arm, level: int, rule: Rule | None, draws: int) -> Marks:
        """Count both rules on fresh draws; the result does not depend on the executor."""
        marks = Marks()
        for _, part in self.answers(arm, Questions(Frozen.of(arm), level, rule), (_PHASE_EXAM,), draws):
            marks = marks.plus(part)
        return marks

    def answers(
        self, arm: Arm, examiner: Examiner[Answer], key: tuple[int, ...], draws: int, least: int = 1
    ) -> Iterator[tuple[Chunk, Answer]]:
        """What an examiner says about fresh draws, in chunks of at least so many; none else has this key."""
        rows = largest_chunk(arm.sample[-1].values.shape[1])
        if self.search.piece is not None:  # slow draws: enough chunks for many workers
            rows = min(rows, max(_PIECES * self.search.piece, -(-draws // _CHUNKS), least))
        chunks = (
            self.search.fresh(arm, size, (*key, arm.number, number))
            for number, size in enumerate(Plan(draws, rows))
        )
        in_flight = max(_IN_FLIGHT, 2 * self.desk.capacity)
        for chunk, answer in self.desk.answers(chunks, examiner, in_flight, -(-draws // rows)):
            if self.search.progress:
                self.search.progress(chunk.size)
            yield chunk, answer
