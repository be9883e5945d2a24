"""The readable counterexample: the simplest event that tells the two inputs apart.

Takes outputs of the search to find a rule, and fresh outputs to confirm it; gives words and counts. The
two never share a draw, and the number of fresh draws is fixed beforehand, so that the printed binomial
p-value is exact for the printed rule.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import rel_entr

from dplitmus import bits
from dplitmus.outputs import missing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from dplitmus.outputs import Batch

    Floats = NDArray[np.float64]

_CUTS = 128  # thresholds tried per number
_MOST_COLUMNS = 32
_SIMPLER = 0.6  # a simpler rule is preferred if it keeps this share of the best one's evidence beyond chance
_CHANCE = 4.0  # nats that the luckiest of all thresholds has where there is nothing to find
_AS_GOOD = 0.9


@dataclass(frozen=True)
class Rule:
    """When `event` happens, guess `label`; `score` is its evidence in nats on the search draws."""

    kind: str  # "value", "column", "sum", "key", "nan", "region", "grain", "lattice"
    column: int  # of the output; the bit of the region's flag; 0 for the lattice of x, 1 for that of x'
    relation: str  # "<", ">", "=="
    threshold: float
    key: int
    label: bool
    score: float
    event: str
    remark: str = ""

    def happens(self, batch: Batch) -> NDArray[np.bool_]:
        """Where the event happens."""
        if self.kind == "key":
            return np.asarray(batch.keys == np.uint64(self.key))
        if self.kind == "nan":
            return np.isnan(batch.values[:, self.column])
        if self.kind == "region":
            return _flag(batch, self.column)
        if self.kind == "lattice":
            return _off_lattice(batch, self.column, self.key)
        seen = numbers(batch, self.kind, self.column)
        return np.asarray(seen < self.threshold if self.relation == "<" else seen > self.threshold)


def find(sample: Batch, epsilon: float, *, level: str = "ideal") -> Rule | None:
    """The rule with the most evidence against epsilon on the search draws, simpler ones preferred."""
    ceiling = 1 / (1 + math.exp(-epsilon))
    rules = [rule for rule in _candidates(sample, ceiling) if rule.score > 0]
    if level == "bits" and not sample.names:
        rules += [rule for rule in _bit_rules(sample, ceiling) if rule.score > 0]
    if not rules:
        return None
    best = max(rule.score for rule in rules)
    order = ("value", "nan", "key", "column", "region", "sum", "grain", "lattice")
    enough = best - (1 - _SIMPLER) * max(0.0, best - _CHANCE)
    good = [rule for rule in rules if rule.score >= enough]
    return min(good, key=lambda rule: (order.index(rule.kind), -rule.score))


def _candidates(sample: Batch, ceiling: float) -> Iterator[Rule]:
    yield from _symbols(sample, ceiling)
    columns = sample.values.shape[1]
    named = bool(sample.names) and np.isin(sample.keys, np.array(list(sample.names), dtype=np.uint64)).all()
    if named and columns == 1:
        return  # the numbers of symbols are their lengths: not what a person would look at
    if columns == 1:
        yield from _thresholds(sample, "value", 0, "y", ceiling)
    else:
        for j in range(min(columns, _MOST_COLUMNS)):
            yield from _thresholds(sample, "column", j, f"y[{j}]", ceiling)
        yield from _thresholds(sample, "sum", 0, "sum(y)", ceiling)
        yield from _regions(sample, ceiling)
    if sample.names:
        return  # what is no number has its name
    for j in np.flatnonzero(np.isnan(sample.values).any(axis=0))[:_MOST_COLUMNS]:
        name = "y" if columns == 1 else f"y[{j}]"
        absent = missing(sample.values[:, j])
        words = f"{name} is NaN"
        if absent.any():
            only = (absent == np.isnan(sample.values[:, j])).all()
            words = f"there is no {name}" if only else f"{name} is NaN or there is none"
        rule = Rule("nan", int(j), "==", 0.0, 0, False, 0.0, words)
        yield _labelled(sample, np.isnan(sample.values[:, j]), ceiling, rule)


def _bit_rules(sample: Batch, ceiling: float) -> Iterator[Rule]:
    """How fine the outputs are, and whether they can be an input plus a float at all."""
    subject = "y" if sample.values.shape[1] == 1 else "some coordinate of y"
    grains = numbers(sample, "grain", 0)
    for threshold in np.unique(grains)[1:]:
        for relation, where in (("<", grains < threshold), (">", grains > threshold - 1)):
            words = f"{subject} is not a multiple" if relation == "<" else f"{subject} is a multiple"
            if relation == ">" and sample.values.shape[1] > 1:
                words = "every coordinate of y is a multiple"
            event = f"{words} of {_power(int(threshold))}"
            edge = threshold - 0.5  # grains are whole numbers
            yield _labelled(sample, where, ceiling, Rule("grain", 0, relation, edge, 0, False, 0.0, event))
    if sample.geometry is None:
        return
    precision = bits.precision(sample.values[:, sample.geometry.differ])
    for end, name in enumerate(("x", "x'")):
        where = _off_lattice(sample, end, precision)
        difference = f"y - {name}" if sample.values.shape[1] == 1 else f"some coordinate of y - {name}"
        event = f"{difference} is no {bits.FORMATS[precision]}"
        yield _labelled(sample, where, ceiling, Rule("lattice", end, "==", 0.0, precision, False, 0.0, event))


def _power(exponent: int) -> str:
    return f"2^{exponent}" if exponent else "1"


def _labelled(sample: Batch, where: NDArray[np.bool_], ceiling: float, rule: Rule) -> Rule:
    """The rule with the label that is commoner where its event happens, and its evidence."""
    labels = sample.labels[where]
    label = bool(2 * labels.sum() > labels.size)
    score = float(evidence(float((labels == label).sum()), float(labels.size), ceiling))
    return replace(rule, label=label, score=score)


def _off_lattice(batch: Batch, end: int, precision: int) -> NDArray[np.bool_]:
    if batch.geometry is None:
        return np.zeros(len(batch), dtype=bool)
    origin = batch.geometry.high if end else batch.geometry.low
    too_fine = bits.beyond(batch.values[:, batch.geometry.differ], origin, precision) > 0
    return np.asarray(too_fine.any(axis=1))


def _regions(sample: Batch, ceiling: float) -> Iterator[Rule]:
    """Where some coordinate lies from the inputs: all that one-sided noise and missing noise need."""
    if sample.geometry is None:
        return
    words = [f"{how} that of {end}" for end in ("x", "x'") for how in ("below", "equal to", "above")]
    for bit, how in enumerate(words):
        rule = Rule("region", bit, "==", 0.0, 0, False, 0.0, f"some coordinate of y is {how}")
        yield _labelled(sample, _flag(sample, bit), ceiling, rule)


def _flag(batch: Batch, bit: int) -> NDArray[np.bool_]:
    if batch.geometry is None:
        return np.zeros(len(batch), dtype=bool)
    return np.asarray((batch.geometry.regions(batch.values) >> np.uint64(bit)) & np.uint64(1), dtype=bool)


def evidence(correct: float | Floats, total: float | Floats, ceiling: float) -> Floats:
    """Nats against the claim that a guess is right with probability at most `ceiling`."""
    total = np.maximum(total, 1e-9)
    share = correct / total
    nats = total * (rel_entr(share, ceiling) + rel_entr(1 - share, 1 - ceiling))
    return np.where(share > ceiling, nats, 0.0)


def _thresholds(sample: Batch, kind: str, column: int, name: str, ceiling: float) -> Iterator[Rule]:
    seen = numbers(sample, kind, column)
    finite = ~np.isnan(seen)
    if not finite.any():
        return
    seen, labels = seen[finite], sample.labels[finite]
    places = np.rint(np.linspace(0, seen.size - 1, _CUTS)).astype(np.intp)
    cuts = np.sort(seen)[places]
    cuts = cuts[np.concatenate([[True], cuts[1:] > cuts[:-1]])]
    if cuts.size < 2:
        return
    with np.errstate(invalid="ignore"):  # between infinities there is nothing
        middle = cuts[:-1] / 2 + cuts[1:] / 2  # the sum of two may be too large for a float
    middle = middle[np.isfinite(middle)]
    if not middle.size:
        return
    place = np.searchsorted(middle, seen, side="right")
    counts = np.bincount(place * 2 + labels, minlength=2 * (middle.size + 1)).reshape(-1, 2)
    below = np.cumsum(counts, axis=0)[:-1]
    sides = np.stack([below, counts.sum(axis=0) - below]).astype(float)
    of_all = evidence(sides.transpose(0, 2, 1), sides.sum(axis=2)[:, np.newaxis], ceiling)
    for relation, of_side in zip("<>", of_all, strict=True):
        for label, scores in zip((False, True), of_side, strict=True):
            best = int(np.argmax(scores))
            if scores[best] <= 0:
                continue
            good = np.flatnonzero(scores >= _AS_GOOD * scores[best])
            run = good[np.abs(good - best) == np.abs(np.arange(good.size) - np.searchsorted(good, best))]
            low, high = float(middle[run[0]]), float(middle[run[-1]])
            threshold = shortest_between(low, high) if high > low else float(middle[best])
            remark = f"any threshold from {low:.4g} to {high:.4g} does about as well" if high > low else ""
            yield Rule(
                kind, column, relation, threshold, 0, label, float(scores[best]),
                f"{name} {relation} {threshold:.6g}", remark,
            )  # fmt: skip


def _symbols(sample: Batch, ceiling: float) -> Iterator[Rule]:
    keys, first, place = np.unique(sample.keys, return_index=True, return_inverse=True)
    counts = np.bincount(place * 2 + sample.labels, minlength=2 * keys.size).reshape(-1, 2)
    if counts.sum(axis=1).max() < 2:
        return  # every output is new
    for label in (False, True):
        scores = evidence(counts[:, int(label)].astype(float), counts.sum(axis=1).astype(float), ceiling)
        best = int(np.argmax(scores))
        words = sample.names.get(int(keys[best])) or row_words(sample.values[first[best]])
        yield Rule("key", 0, "==", 0.0, int(keys[best]), label, float(scores[best]), f"y == {words}")


def row_words(row: Floats) -> str:
    """An output of numbers, in a few words."""
    row = row[~missing(row)]
    words = [f"{value:g}" for value in row[:12]]
    inside = ", ".join(words) + (", ..." if row.size > 12 else "")
    return inside if row.size == 1 else f"({inside})"


def numbers(batch: Batch, kind: str, column: int) -> Floats:
    """What a rule of this kind looks at."""
    if kind == "grain":
        finest = bits.grain(batch.values).min(axis=1, initial=bits.COARSE)
        return np.asarray(finest, dtype=float)
    if kind == "sum":
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(np.where(missing(batch.values), 0.0, batch.values).sum(axis=1))
    return batch.values[:, column]


def shortest_between(low: float, high: float) -> float:
    """The decimal with the fewest digits in [low, high].

    >>> shortest_between(0.4321, 0.5123), shortest_between(-3.2, 12.5), shortest_between(1.04, 1.06)
    (0.5, 0.0, 1.04)
    """
    if low <= 0 <= high:
        return 0.0
    for digits in range(-math.floor(math.log10(max(abs(low), abs(high)))), 20):
        step = 10.0**-digits
        candidate = math.ceil(low / step) * step
        if candidate <= high:
            return round(candidate, max(0, digits))
    return (low + high) / 2
