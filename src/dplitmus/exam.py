"""The exam: what the search has learned is frozen, and counted on fresh draws.

Takes a search that has ended; gives counts for two rules that were fixed before the first fresh draw: the
panel's guesses from a fixed level on, and the simplest event that a person can read. The number of
fresh draws is fixed beforehand too, so that binomial bounds on these counts are exact.
"""

from __future__ import annotations

import copy
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dplitmus.samples import Plan
from dplitmus.search import largest_chunk

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

    from dplitmus.certificate import Rule
    from dplitmus.forecast.panel import Panel
    from dplitmus.search import Arm, Search, Task

_PHASE_EXAM = 22
_IN_FLIGHT = 16


class Marks(NamedTuple):
    """Guesses and how many of them were right, by the panel and by the rule."""

    guesses: int
    correct: int
    rule_guesses: int
    rule_correct: int

    def plus(self, other: Marks) -> Marks:
        """Both together."""
        return Marks(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


@dataclass(frozen=True)
class Questions:
    """The two rules."""

    panel: Panel
    threshold: float  # of |logit|, from which on the panel guesses
    rule: Rule | None

    def mark(self, task: Task) -> Marks:
        """Draw one chunk and count."""
        batch = task.draw()
        logits = self.panel.forecast(batch)
        guess = np.abs(logits) >= self.threshold
        right = (logits > 0) == batch.labels
        happens = self.rule.happens(batch) if self.rule else np.zeros(len(batch), dtype=bool)
        label = self.rule.label if self.rule else False
        return Marks(
            int(guess.sum()),
            int((guess & right).sum()),
            int(happens.sum()),
            int((batch.labels[happens] == label).sum()),
        )


def questions(arm: Arm, panel: Panel, share: float, rule: Rule | None) -> Questions:
    """Freeze the panel, to guess on about this share of the draws.

    The share comes from guesses of the past; which of today's forecasts are the strongest, up to that share,
    shows on past outputs (their labels are not looked at).
    """
    panel = copy.copy(panel)
    panel.past = []  # only needed to learn
    strengths = np.concatenate([np.abs(panel.forecast(batch)) for batch in arm.sample])
    return Questions(panel, float(np.quantile(strengths, max(0.0, 1 - share))), rule)


def sit(search: Search, arm: Arm, asked: Questions, draws: int, executor: Executor) -> Marks:
    """Draw `draws` fresh draws of the arm and count; the result does not depend on the executor."""
    rows = largest_chunk(arm.sample[-1].values.shape[1])
    marks = Marks(0, 0, 0, 0)
    first = arm.dispatched
    waiting: deque[Future[Marks]] = deque()
    try:
        for chunk, size in enumerate(Plan(draws, rows)):
            task = search.task(arm, size, (_PHASE_EXAM, arm.number, chunk), None, first)
            waiting.append(executor.submit(asked.mark, task))
            first += size
            if len(waiting) >= _IN_FLIGHT:
                marks = marks.plus(waiting.popleft().result())
        while waiting:
            marks = marks.plus(waiting.popleft().result())
    finally:
        for future in waiting:
            future.cancel()
    return marks
