"""The graded exam: the panel goes on learning, and its surest guesses count most.

Takes a search that has ended, on a claim without delta, and a number of fresh draws; gives right guesses per
weight, for the tightest bound (`bounds.graded_lower`), and counts of an event that a person can read.

How many guesses of each weight there will be is fixed before the first draw (`prospects.Profile`): in every
chunk the surest guesses get the largest weights. The first half of the draws are rounds, each on the pair
and by the panel that promise most after the rounds before; the rest is one round by a frozen panel, on any
number of workers, on which the event, chosen before it, is counted, too. What is learned in a round judges
later rounds only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dplitmus import certificate, prospects
from dplitmus.bounds import Grade
from dplitmus.exam import marks_by_rule
from dplitmus.journal import whole
from dplitmus.judging import Judge
from dplitmus.outputs import join

if TYPE_CHECKING:
    from dplitmus.arms import Arm
    from dplitmus.certificate import Rule
    from dplitmus.chunks import Chunk
    from dplitmus.exam import Room
    from dplitmus.judging import Outcome
    from dplitmus.outputs import Batch

_PHASE = 25
_LESSONS, _MOST_LESSONS = 0.5, 2**22  # share of the draws that are learned from; and at most
_CAUTION = 1.0  # standard errors: who promises too much is found out in the search, not here
_ROUND = 0.2  # draws of a round: a share of the pair's draws so far
_LEAST_ROUND = 1000  # and at least; also of a chunk, so that it has guesses of all weights


class Marks(NamedTuple):
    """Right guesses of each weight, guesses of the rule and right ones of these, exceptions on the way."""

    correct: tuple[int, ...]
    rule_guesses: int
    rule_correct: int
    raised: int
    lesson: Outcome | None  # to learn from


@dataclass(frozen=True)
class Grader:
    """Judges a chunk by a panel that has not seen it; gives the surest guesses the largest weights."""

    judge: Judge
    profile: prospects.Profile
    rule: Rule | None = None
    teaches: bool = True  # whether the panel will learn from the chunk

    def examine(self, batch: Batch) -> Marks:
        """Count right guesses; those that are equally sure are taken in the order of the draws."""
        lesson, logits = self.judge.judged(batch)
        ends = self.profile.ends(len(batch))
        surest = np.argsort(-np.abs(logits), kind="stable")[: ends[-1]]
        right = np.concatenate([[0], np.cumsum((logits > 0)[surest] == batch.labels[surest])])
        correct = np.diff(right[ends], prepend=0).tolist()
        by_rule = marks_by_rule(self.rule, batch)
        return Marks(tuple(correct), *by_rule, batch.raised, lesson if self.teaches else None)

    def guesses(self, size: int) -> list[int]:
        """Of each weight, in a chunk of this size."""
        return [int(some) for some in np.diff(self.profile.ends(size), prepend=0)]

    def plausible(self, answer: Any, size: int) -> bool:
        """Whether these may be the marks of so many draws."""
        if not isinstance(answer, Marks) or len(answer.correct) != len(self.profile.weights):
            return False
        return (
            all(isinstance(count, int) for count in (*answer.correct, *answer[1:4]))
            and all(
                0 <= right <= most for right, most in zip(answer.correct, self.guesses(size), strict=True)
            )
            and 0 <= answer.rule_correct <= answer.rule_guesses <= size
            and (self.judge.plausible(answer.lesson, size) if self.teaches else answer.lesson is None)
        )

    def as_data(self, answer: Marks) -> dict[str, Any]:
        """For the journal."""
        lesson = answer.lesson and self.judge.as_data(answer.lesson)
        return {"correct": list(answer.correct), "others": list(answer[1:4]), "lesson": lesson}

    def from_data(self, data: Any, chunk: Chunk) -> Marks:
        """From a journal; ValueError if these are no marks of this chunk."""
        data = data if isinstance(data, dict) else {}
        correct, others = data.get("correct"), data.get("others")
        if not isinstance(correct, list) or not isinstance(others, list) or len(others) != 3:
            raise ValueError("marks")
        lesson = self.judge.from_data(data.get("lesson"), chunk) if self.teaches else None
        guesses, right, raised = (whole(count, 2**62) for count in others)
        marks = Marks(tuple(whole(count, 2**62) for count in correct), guesses, right, raised, lesson)
        if not self.plausible(marks, chunk.size):
            raise ValueError("marks of this chunk")
        return marks


@dataclass
class Sheet:
    """All marks of an exam, and the event that was counted."""

    grades: list[Grade]
    arm: Arm  # the pair of the last round
    rule: Rule | None = None
    rule_draws: int = 0
    rule_guesses: int = 0
    rule_correct: int = 0

    def enter(self, marks: Marks, guesses: list[int]) -> None:
        """Add a chunk."""
        self.grades = [
            Grade(grade.weight, grade.guesses + some, grade.correct + right)
            for grade, some, right in zip(self.grades, guesses, marks.correct, strict=True)
        ]
        self.rule_guesses += marks.rule_guesses
        self.rule_correct += marks.rule_correct


def sit(room: Room, draws: int) -> Sheet:
    """Hold the exam; its result does not depend on the executor."""
    search = room.search
    first = search.leader(draws, caution=_CAUTION)
    profile = prospects.profile(*first.known, search.horizon(draws))
    sheet = Sheet([Grade(weight, 0, 0) for weight in profile.weights], first)
    lessons, number = min(int(_LESSONS * draws), _MOST_LESSONS), 0
    left = lessons
    while left:
        arm = search.leader(draws, profile, _CAUTION)
        size = min(left, max(_LEAST_ROUND, int(_ROUND * arm.judged)))
        grader = Grader(_judge(arm), profile)
        for chunk, marks in room.answers(arm, grader, (_PHASE, number), size, _LEAST_ROUND):
            sheet.enter(marks, grader.guesses(chunk.size))
            if marks.lesson is not None:
                search.teach(arm, marks.lesson)
        left, number = left - size, number + 1
    sheet.arm = arm = search.leader(draws, profile, _CAUTION)
    sheet.rule = certificate.find(join(list(arm.sample)), search.claim.epsilon, level=search.level)
    sheet.rule_draws = draws - lessons
    grader = Grader(_judge(arm), profile, sheet.rule, teaches=False)
    for chunk, marks in room.answers(arm, grader, (_PHASE, number), sheet.rule_draws, _LEAST_ROUND):
        sheet.enter(marks, grader.guesses(chunk.size))
        search.raised += marks.raised
    return sheet


def _judge(arm: Arm) -> Judge:
    """The panel of a pair as it is now: what it learns later does not reach this one."""
    if arm.panel is None:
        raise ValueError("an exam comes after a search")
    return Judge(arm.panel.twin())
