"""What is said about one chunk of a search: counts per level, scores of the experts, outputs to learn from.

Takes a panel that has not seen the chunk; what comes back is all that travels, and what a journal keeps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dplitmus import evidence
from dplitmus.forecast.panel import Judgement
from dplitmus.journal import array_as_data, array_from_data, batch_as_data, batch_from_data, whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dplitmus.chunks import Chunk
    from dplitmus.forecast.panel import Panel
    from dplitmus.outputs import Batch

_LEARNT_ROWS = 2**15  # of a chunk that travel back to be learned from; few, once the panel has converged


@dataclass(frozen=True)
class Outcome:
    """All that comes back: counts per level, scores of the experts, some outputs to learn from."""

    counts: NDArray[np.int64]
    judgement: Judgement | None
    learnt: Batch
    raised: int = 0  # exceptions on the way


@dataclass(frozen=True)
class Judge:
    """Judges a chunk by a panel that has not seen it."""

    panel: Panel | None

    def examine(self, batch: Batch) -> Outcome:
        """Forecast, count, and keep some outputs to learn from."""
        return self.judged(batch)[0]

    def judged(self, batch: Batch) -> tuple[Outcome, NDArray[np.float64]]:
        """The same, and the logit of each forecast, which stays where it is."""
        if self.panel is None:  # nothing is known yet: abstain
            logits = np.zeros(len(batch))
            return Outcome(evidence.tallied(logits, batch.labels), None, batch, batch.raised), logits
        judgement = self.panel.judge(batch)
        counts = evidence.tallied(judgement.logits, batch.labels)
        slim = judgement._replace(logits=np.zeros(0))
        rows = _LEARNT_ROWS // 16 if self.panel.converged else _LEARNT_ROWS
        # A copy, if it is a part: it must not keep the whole chunk in memory.
        learnt = batch.rows(np.arange(rows)) if rows < len(batch) else batch
        return Outcome(counts, slim, learnt, batch.raised), judgement.logits

    def plausible(self, answer: Any, size: int) -> bool:
        """Whether this may be an outcome of so many draws."""
        if not isinstance(answer, Outcome) or not evidence.is_tally(answer.counts, size):
            return False
        rows = len(answer.learnt)
        if not 0 < rows <= size or not rows == len(answer.learnt.values) == len(answer.learnt.labels):
            return False
        if self.panel is None or answer.judgement is None:
            return self.panel is None and answer.judgement is None
        losses = answer.judgement.losses
        return losses.shape == (len(self.panel.experts),) and bool(np.isfinite(losses).all())

    def as_data(self, answer: Outcome) -> dict[str, Any]:
        """For the journal."""
        judged = answer.judgement
        return {
            "counts": tally_as_data(answer.counts),
            "losses": judged and array_as_data(judged.losses),
            "strength": judged and judged.strength,
            "learnt": batch_as_data(answer.learnt),
            "raised": answer.raised,
        }

    def from_data(self, data: Any, chunk: Chunk) -> Outcome:
        """From a journal; ValueError if it is no outcome of this chunk."""
        data = data if isinstance(data, dict) else {}
        judgement = None
        if self.panel is not None:
            losses = array_from_data(data.get("losses"), "float64", (len(self.panel.experts),))
            strength = data.get("strength")
            if not isinstance(strength, float) or not math.isfinite(strength):
                raise ValueError("a strength")
            judgement = Judgement(np.zeros(0), losses, chunk.size, strength)
        counts = tally_from_data(data.get("counts"))
        learnt = batch_from_data(data.get("learnt"), chunk.pair, chunk.size)
        outcome = Outcome(counts, judgement, learnt, whole(data.get("raised"), 2**62))
        if not self.plausible(outcome, chunk.size):
            raise ValueError("an outcome of this chunk")
        return outcome


def tally_as_data(counts: NDArray[np.int64]) -> list[list[int]]:
    """Level, right and wrong, where there is something."""
    return [[int(level), *map(int, counts[:, level])] for level in np.flatnonzero(counts.any(axis=0))]


def tally_from_data(data: Any) -> NDArray[np.int64]:
    """Counts per level, or ValueError."""
    counts = np.zeros((2, evidence.LEVELS.size), dtype=np.int64)
    if not isinstance(data, list) or len(data) > evidence.LEVELS.size:
        raise ValueError("counts")
    for row in data:
        level, right, wrong = row if isinstance(row, list) and len(row) == 3 else (None, None, None)
        counts[:, whole(level, evidence.LEVELS.size - 1)] = whole(right, 2**50), whole(wrong, 2**50)
    return counts
