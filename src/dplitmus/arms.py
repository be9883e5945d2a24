"""One pair of inputs in a search: what was drawn on it, what its panel knows, and what its guesses showed.

Takes judged chunks of one pair; gives the size of the next one, and what guides the choice between pairs.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from dplitmus import evidence
from dplitmus.outputs import has_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dplitmus import prospects
    from dplitmus.forecast.panel import Panel
    from dplitmus.neighbours import Pair
    from dplitmus.outputs import Batch
    from dplitmus.samples import Stock

_FIRST = 2  # rows of the first chunk, and more of all others
_YOUNG = 1024  # draws on a pair up to which longer outputs, or the first numbers, are a reason to begin anew
_LARGEST_VALUES, _LARGEST_ROWS = 2**20, 2**16  # of a chunk
_SAMPLE_ROWS = 2**15  # recent outputs kept for the counterexample
_CURRENT = 0.25  # of the draws on a pair: its panel has hardly changed since
_FEW_CHUNKS = 64  # kept in memory


def largest_chunk(columns: int) -> int:
    """Rows of a chunk, at most: features of several times its size fit in memory."""
    return min(_LARGEST_ROWS, max(1, _LARGEST_VALUES // max(1, columns)))


@dataclass
class Arm:
    """One pair of inputs: its panel, its evidence, and its place in the budget."""

    number: int
    pair: Pair
    panel: Panel | None = None
    tally: evidence.Tally = field(default_factory=evidence.Tally)
    dispatched: int = 0
    chunks: int = 0
    log_wealth: float = 0.0
    prospect: prospects.Prospect | None = None
    stock: Stock | None = None  # of a mechanism that repeats its draws at every call
    sample: deque[Batch] = field(default_factory=deque)  # recent outputs, for the counterexample
    judged: int = 0  # draws, in the search and in an exam
    seen: NDArray[np.int64] = field(default_factory=lambda: evidence.Tally().counts)  # their counts
    past: list[tuple[int, NDArray[np.int64]]] = field(default_factory=list)  # whenever they had doubled
    last: deque[tuple[int, NDArray[np.int64]]] = field(default_factory=deque)  # about a quarter of them

    def next_size(self, columns: int, growth: float) -> int:
        """Rows of the next chunk: a share of what was dispatched, so that learning keeps up."""
        return max(_FIRST, min(largest_chunk(columns), int(_FIRST + growth * self.dispatched)))

    @property
    def like(self) -> Batch | None:
        """One of its outputs, once there is one: all chunks have its columns."""
        return self.sample[-1].rows(slice(0, 1)) if self.sample else None

    def recent(self) -> NDArray[np.int64]:
        """Counts of at least the second half of the draws: the panel that made them knew most."""
        return self.seen - self.past[-2][1] if len(self.past) > 1 else self.seen

    def see(self, counts: NDArray[np.int64]) -> None:
        """Take note of a judged chunk, be it evidence of the search or of an exam."""
        if not self.past or self.judged >= 2 * self.past[-1][0]:
            self.past = [*self.past[-1:], (self.judged, self.seen)]
        size = int(counts.sum())
        self.judged, self.seen = self.judged + size, self.seen + counts
        self.last.append((size, counts))
        rest = sum(some for some, _ in self.last) - self.last[0][0]
        while rest >= _CURRENT * self.judged or len(self.last) > _FEW_CHUNKS:
            self.last.popleft()
            rest -= self.last[0][0]

    @property
    def known(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How good its guesses were lately, and how many of each level there are now."""
        return self.recent(), np.sum([counts for _, counts in self.last], axis=(0, 1))

    def outgrown_by(self, learnt: Batch) -> bool:
        """Whether outputs are longer than those that its panel knows, or the first numbers, early enough."""
        if self.panel is None or self.judged > _YOUNG:
            return False
        longer = learnt.values.shape[1] > self.panel.shape.values.shape[1]
        return longer or (not self.panel.numeric and has_numbers(learnt))

    def keep(self, learnt: Batch) -> None:
        """Remember outputs, and forget the oldest where there are too many."""
        self.sample.append(learnt)
        while len(self.sample) > _FEW_CHUNKS or sum(len(batch) for batch in self.sample) > _SAMPLE_ROWS:
            self.sample.popleft()
