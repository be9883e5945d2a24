"""Both output distributions of one pair, as few bins, for the report.

Takes a sample of outputs and the event that tells the inputs apart, if there is one; gives counts per bin.
Nothing here certifies anything: it is what a person looks at.
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

import numpy as np

from dplitmus import certificate
from dplitmus.errors import one_line
from dplitmus.outputs import missing
from dplitmus.verdict import Bin, Distributions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from dplitmus.certificate import Rule
    from dplitmus.outputs import Batch

_BINS = 40  # intervals
_LARGEST = sys.float_info.max / 4
_MANY = 0.5  # share of outputs that are no numbers
_FEW = 16  # kinds of outputs that each get a bar of their own
_MIDDLE = (0.005, 0.995)  # quantiles between which the intervals lie; two open ones hold the rest


def of(sample: Batch, pair: str, rule: Rule | None) -> Distributions:
    """Count the sample along what `rule` looks at, or along what differs most."""
    axis = rule or certificate.find(sample, 0.0)
    event = rule.happens(sample) if rule else np.zeros(len(sample), dtype=bool)
    kinds, counts = np.unique(sample.keys, return_counts=True)
    named = np.isin(sample.keys, np.array(list(sample.names), dtype=np.uint64)).mean() > _MANY
    along = axis is not None and axis.kind in {"value", "column", "sum"}  # numbers, whatever else there is
    by_kind = sample.values.shape[1] > 1 and axis is not None and axis.kind == "key"
    if kinds.size <= _FEW or by_kind or (named and not along):
        return Distributions(pair, "y", tuple(_kinds(sample, kinds, counts, event)))
    if rule and rule.kind in {
        "region",
        "grain",
        "lattice",
    }:  # it lies along no axis: it happens or it does not
        words = one_line(rule.event, 60)
        bars = (
            _named(words, event, sample.labels, event),
            _named("all others", ~event, sample.labels, np.zeros_like(event)),
        )
        return Distributions(pair, "y", bars)
    kind, column = (axis.kind, axis.column) if axis and axis.kind != "region" else ("sum", 0)
    numbers = certificate.numbers(sample, kind, column)
    name = "y" if sample.values.shape[1] == 1 else "sum(y)" if kind == "sum" else f"y[{column}]"
    other = "other" if sample.names else "NaN"
    return Distributions(pair, name, tuple(_intervals(numbers, sample.labels, event, rule, other)))


def _kinds(
    sample: Batch, kinds: NDArray[np.uint64], counts: NDArray[np.intp], event: NDArray[np.bool_]
) -> Iterator[Bin]:
    """One bar for each of the commonest outputs and for the event, and one for all others."""
    wanted = list(kinds[np.argsort(-counts, kind="stable")][:_FEW])
    wanted += [key for key in np.unique(sample.keys[event]) if key not in wanted][:_FEW]
    first = {key: int(np.flatnonzero(sample.keys == key)[0]) for key in wanted}
    if not sample.names:
        wanted.sort(key=lambda key: tuple(sample.values[first[key]]))
    left = np.ones(len(sample), dtype=bool)
    for key in wanted:
        where = sample.keys == key
        left &= ~where
        name = sample.names.get(int(key)) or certificate.row_words(sample.values[first[key]])
        yield _named(one_line(name, 40), where, sample.labels, event)
    if left.any():
        yield _named("all others", left, sample.labels, event & left)


def _intervals(
    numbers: NDArray[np.float64],
    labels: NDArray[np.bool_],
    event: NDArray[np.bool_],
    rule: Rule | None,
    other: str,
) -> Iterator[Bin]:
    """Equal intervals, and a bar for what is `other` than a number."""
    apart = np.isnan(numbers)
    if apart.any():
        name = "none" if (missing(numbers) == apart).all() else other
        yield _named(name, apart, labels, event & apart)
    if rule and rule.kind == "key":  # one exact value among many: a bar of its own
        yield _named(rule.event.removeprefix("y == "), event, labels, event)
        apart = apart | event
    inside, labels = numbers[~apart], labels[~apart]
    finite = inside[np.isfinite(inside)]
    if not finite.size:
        return
    threshold = rule.threshold if rule and rule.relation in "<>" else None
    edges = _edges(finite, threshold)
    place = np.searchsorted(edges, inside, side="right")
    counts = np.bincount(2 * place + labels, minlength=2 * (edges.size + 1)).reshape(-1, 2)
    ends = [-math.inf, *map(float, edges), math.inf]
    for index, (x, x_prime) in enumerate(counts.tolist()):
        low, high = ends[index], ends[index + 1]
        shaded = threshold is not None and (
            high <= threshold if rule and rule.relation == "<" else low >= threshold
        )
        yield Bin("", low, high, x, x_prime, shaded)


def _edges(numbers: NDArray[np.float64], threshold: float | None) -> NDArray[np.float64]:
    """Equal intervals over the middle of the numbers, with an edge at the threshold."""
    low, high = np.quantile(numbers / 4, _MIDDLE)  # differences of quarters are never too large for a float
    if threshold is not None:
        low, high = min(low, threshold / 4), max(high, threshold / 4)
    if not low < high:
        low, high = (
            max(low - max(0.125, abs(low) / 2), -_LARGEST),
            min(high + max(0.125, abs(high) / 2), _LARGEST),
        )
    edges = 4 * np.linspace(low, high, _BINS - 1)
    if threshold is not None:
        edges[np.argmin(np.abs(edges / 4 - threshold / 4))] = threshold
    return np.asarray([float(f"{edge:.6g}") if edge != threshold else edge for edge in edges])


def _named(name: str, where: NDArray[np.bool_], labels: NDArray[np.bool_], event: NDArray[np.bool_]) -> Bin:
    x_prime = int((where & labels).sum())
    shaded = bool(event[where].any())
    return Bin(name, None, None, int(where.sum()) - x_prime, x_prime, shaded)
