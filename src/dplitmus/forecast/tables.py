"""Experts that count: exact outputs, regions between the inputs, a tree of intervals, support edges."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.special import gammaln

from dplitmus.forecast.order import clipped, column_medians, finite
from dplitmus.forecast.rates import together

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dplitmus.outputs import Batch

    Floats = NDArray[np.float64]

_MOST_SYMBOLS = 4096
_LEAVES = 128  # of a tree
_TAIL, _TAIL_RATIO, _LEAST_IN_TAIL = 1 / 64, 0.8, 8  # where tails begin, steps into them, draws at their ends
_MOST_HISTORY = 2**18  # numbers from which a tree's cuts are chosen


@dataclass
class Symbols:
    """A table of labels per exact output: the only expert that strings and categories need."""

    keys: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    counts: Floats = field(default_factory=lambda: np.zeros((0, 2)))
    rates: Floats | None = None  # worked out when an output is seen again: often none ever is
    streams: ClassVar[bool] = True

    def learn(self, batch: Batch, *, whole: bool) -> None:
        """Count outputs by label; outputs beyond the table's size are forgotten, rarest first."""
        keys, labels = self.keys_of(batch), batch.labels
        found, place = np.unique(keys, return_inverse=True)
        fresh = np.bincount(place * 2 + labels, minlength=2 * found.size).reshape(-1, 2).astype(float)
        if not whole and self.keys.size:
            before = np.searchsorted(self.keys, found)
            new = self.keys[np.minimum(before, self.keys.size - 1)] != found
            counts, keys = self.counts.copy(), self.keys
            if new.any():
                keys = np.insert(keys, before[new], found[new])
                counts = np.insert(counts, before[new], 0.0, axis=0)
                before += np.cumsum(new) - new
            counts[before] += fresh
            found, fresh = keys, counts
        if found.size > _MOST_SYMBOLS:
            keep = np.sort(np.argsort(-fresh.sum(axis=1), kind="stable")[:_MOST_SYMBOLS])
            found, fresh = found[keep], fresh[keep]
        self.keys, self.counts, self.rates = found, fresh, None

    def forecast(self, batch: Batch) -> Floats:
        """What the labels of equal outputs, and of all others, make likely; 1/2 for new ones."""
        if not self.keys.size:
            return np.full(len(batch), 0.5)
        keys = self.keys_of(batch)
        place = np.minimum(np.searchsorted(self.keys, keys), self.keys.size - 1)
        known = self.keys[place] == keys
        if not known.any():
            return np.full(len(batch), 0.5)
        if self.rates is None:
            self.rates = together(self.counts)
        return np.where(known, self.rates[place], 0.5)

    def keys_of(self, batch: Batch) -> NDArray[np.uint64]:
        """What identifies an output."""
        return batch.keys


class Regions(Symbols):
    """A table over where the output lies from the two inputs: before, at, between, at, after.

    The inputs are known, so equality with one of them and the side of it can be bet on at once.
    """

    def keys_of(self, batch: Batch) -> NDArray[np.uint64]:
        """The region in place of the output."""
        if batch.geometry is None:
            return np.zeros(len(batch), dtype=np.uint64)
        return batch.geometry.regions(batch.values)


@dataclass
class Tree:
    """Context-tree weighting on one number per output, cut at past quantiles, finer in the tails.

    Every node of a binary tree of intervals either predicts for all its outputs alike
    (Krichevsky-Trofimov) or leaves it to its halves; all such prunings are mixed at once
    (Willems, Shtarkov, Tjalkens 1995). The cuts are chosen anew whenever the numbers have doubled: a tail
    takes many draws to be seen.
    """

    cuts: Floats | None = None
    centre: Floats = field(default_factory=lambda: np.zeros(0))
    spread: Floats = field(default_factory=lambda: np.zeros(0))
    counts: Floats = field(default_factory=lambda: np.zeros((0, 2)))
    leaf: Floats = field(default_factory=lambda: np.zeros(0))
    history: list[tuple[Floats, NDArray[np.bool_]]] = field(default_factory=list)
    cut_at: int = 0
    kept: int = 0
    streams: ClassVar[bool] = False

    def __getstate__(self) -> dict[str, object]:
        """A copy forecasts and does not learn: it travels without the history."""
        return self.__dict__ | {"history": []}

    def learn(self, batch: Batch, *, whole: bool) -> None:
        """Choose the cuts if it is time, count, and weigh the prunings."""
        if whole:
            self._standardise(batch)
            self.history, self.kept, self.cut_at = [], 0, 0
        if not self.centre.size:
            return
        numbers, labels = self._number(batch), batch.labels
        if self.kept < _MOST_HISTORY:
            self.history.append((numbers, labels))
            self.kept += numbers.size
            if self.kept >= 2 * self.cut_at:
                numbers, labels = (np.concatenate(parts) for parts in zip(*self.history, strict=True))
                self.history, self.cut_at = [(numbers, labels)], self.kept
                self.cuts = _cuts(np.sort(numbers))
                self.counts = np.zeros((_LEAVES, 2))
        else:
            self.history = []
        if self.cuts is not None:
            place = np.searchsorted(self.cuts, numbers, side="right")
            self.counts = self.counts + np.bincount(place * 2 + labels, minlength=2 * _LEAVES).reshape(-1, 2)
            self.leaf = _tree_forecasts(self.counts)

    def forecast(self, batch: Batch) -> Floats:
        """The mixture's forecast for the interval of each output."""
        if self.cuts is None:
            return np.full(len(batch), 0.5)
        return self.leaf[np.searchsorted(self.cuts, self._number(batch), side="right")]

    def _number(self, batch: Batch) -> Floats:
        values = batch.oriented
        if values.shape[1] == 1:
            number = values[:, 0]
        else:
            number = clipped((values - self.centre) / self.spread, -1, 1)
            number = finite(number, nan=0.0).sum(axis=1)
        return finite(number, nan=1e301, posinf=1e300, neginf=-1e300)

    def _standardise(self, batch: Batch) -> None:
        values = batch.oriented[:4096]
        self.cuts, self.centre = None, np.zeros(0)
        if values.shape[1] and np.isfinite(values).any():
            seen = np.where(np.isfinite(values), values, np.nan)
            self.centre = finite(column_medians(seen))  # 0 where there is no number
            self.spread = np.maximum(finite(column_medians(np.abs(seen - self.centre))), 1e-9)


def _cuts(ordered: Floats) -> Floats:
    """Cuts between all distinct numbers if these are few; otherwise quantiles, in a ratio in the tails."""
    distinct = ordered[np.concatenate([[True], np.diff(ordered) > 0])]
    if distinct.size <= _LEAVES:
        cuts = (distinct[:-1] + distinct[1:]) / 2
    else:
        tail = _TAIL * _TAIL_RATIO ** np.arange(1, (_LEAVES - round(1 / _TAIL)) // 2 + 1)
        tail = tail[tail * ordered.size >= _LEAST_IN_TAIL]
        shares = np.concatenate([tail[::-1], np.arange(_TAIL, 1, _TAIL), 1 - tail])
        cuts = np.unique(ordered[(shares * ordered.size).astype(np.intp)])
    # Pad with cuts that nothing reaches, so that the tree is always complete.
    return np.concatenate([cuts, np.full(_LEAVES - 1 - cuts.size, np.inf)])


def _tree_forecasts(leaves: Floats) -> Floats:
    """Posterior mean of label 1 in every leaf, over all prunings of the tree."""
    levels = [leaves]
    while len(levels[-1]) > 1:
        levels.append(levels[-1].reshape(-1, 2, 2).sum(axis=1))
    own = [_log_kt(counts) for counts in levels]
    mixed = [own[0]]
    for depth in range(1, len(levels)):
        below = mixed[-1].reshape(-1, 2).sum(axis=1)
        mixed.append(np.logaddexp(own[depth], below) - np.log(2.0))
    forecast = np.zeros(len(leaves))
    reached = np.ones(1)  # probability that the pruning goes at least this deep, from the root down
    for depth in range(len(levels) - 1, -1, -1):
        counts = levels[depth]
        here = (counts[:, 1] + 0.5) / (counts.sum(axis=1) + 1.0)
        stops = np.exp(own[depth] - np.log(2.0) - mixed[depth]) if depth else np.ones(len(counts))
        width = len(leaves) // len(counts)
        forecast += np.repeat(reached * stops * here, width)
        reached = np.repeat(reached * (1 - stops), 2) if depth else reached
    return forecast


def _log_kt(counts: Floats) -> Floats:
    zeros, ones = counts[:, 0], counts[:, 1]
    half = gammaln(0.5)
    return np.asarray(gammaln(zeros + 0.5) + gammaln(ones + 0.5) - 2 * half - gammaln(zeros + ones + 1.0))


@dataclass
class Edges:
    """Support edges: where one label was never seen and the other k times, it has odds 1/2 : k."""

    ends: Floats = field(default_factory=lambda: np.full((2, 2), np.nan))  # [label][min, max]
    outside: Floats = field(default_factory=lambda: np.zeros((2, 2)))
    streams: ClassVar[bool] = False

    def learn(self, batch: Batch, *, whole: bool) -> None:
        """Widen the seen support of each label, and count the other label's draws beyond it."""
        numbers = self._number(batch)
        if whole:
            self.ends, self.outside = np.full((2, 2), np.nan), np.zeros((2, 2))
        self.ends, self.outside = self.ends.copy(), self.outside.copy()  # a twin may have them, too
        for label in (0, 1):
            mine = numbers[batch.labels == bool(label)]
            mine = mine[np.isfinite(mine)]
            if mine.size:
                old = self.ends[label]
                self.ends[label] = [np.fmin(old[0], mine.min()), np.fmax(old[1], mine.max())]
        for label in (0, 1):
            other = numbers[batch.labels != bool(label)]
            beyond = [(other < self.ends[label, 0]).sum(), (other > self.ends[label, 1]).sum()]
            self.outside[label] = beyond if whole else np.minimum(self.outside[label] + beyond, 1e9)

    def forecast(self, batch: Batch) -> Floats:
        """Almost certain beyond an edge, 1/2 between them."""
        numbers = self._number(batch)
        eta = np.full(len(batch), 0.5)
        for label in (0, 1):
            for side, beyond in enumerate((numbers < self.ends[label, 0], numbers > self.ends[label, 1])):
                mine = 0.5 / (self.outside[label, side] + 1.0)
                eta[beyond] = mine if label else 1 - mine
        return eta

    def _number(self, batch: Batch) -> Floats:
        values = batch.oriented
        if values.shape[1] == 1:
            return values[:, 0]
        return np.asarray(finite(values, posinf=1e300, neginf=-1e300).min(axis=1, initial=np.inf))
