"""Line charts: what happens to a number along an axis. Takes series of points; gives SVG."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dplitmus.report.svg import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Axis,
    below,
    count,
    framed,
    legend,
    marker,
    rows,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dplitmus.report.svg import Words

_MANY = 24  # points of a line that are still marked one by one
_NEAR = 13  # two names closer than this would cover each other


@dataclass(frozen=True)
class Series:
    """Points (x, y) or (x, y, low, high), a name, and the kind that gives colour, line and marker.

    `line` is what the points lie along, if not themselves.
    """

    name: str
    kind: str
    points: Sequence[tuple[float, ...]]
    line: Sequence[tuple[float, ...]] | None = None


@dataclass(frozen=True, kw_only=True)
class Chart:
    """One chart.

    `levels` are horizontal lines with a name, `stop` is a vertical one, `diagonal` names the line y = x;
    `left`, `right`, `bottom` and `top` are the ends of the axes, if not the data's.
    """

    x_label: str
    y_label: str
    series: Sequence[Series]
    levels: Sequence[tuple[str, float]] = ()
    stop: tuple[str, float] | None = None
    diagonal: str = ""
    log_x: bool = True
    log_y: bool = False
    left: float | None = None
    right: float | None = None
    bottom: float | None = None
    top: float | None = None

    def draw(self, words: Words) -> str:
        """As SVG."""
        across, up = self._axes()
        floor = HEIGHT - BOTTOM
        ticks = (
            f'<text x="{across(tick):.1f}" y="{floor + 15}" text-anchor="middle">{count(tick)}</text>'
            for tick in across.ticks()
        )
        parts = [
            *rows(up, self.y_label),
            *ticks,
            below(self.x_label),
            *(part for one in self.series for part in _line(one, across, up)),
            *self._marks(across, up),
            *legend(self._keys(), 28),
        ]
        return framed(HEIGHT, words, parts)

    def _keys(self) -> list[tuple[str, str]]:
        """What the legend names: nothing if there is one line only, which the axis names."""
        keys = [(one.kind, one.name) for one in self.series]
        keys += [("mark", self.diagonal)] if self.diagonal else []
        return keys if len(keys) > 1 else []

    def _axes(self) -> tuple[Axis, Axis]:
        points = [point for one in self.series for point in one.points]
        xs = [point[0] for point in points if point[0] > 0 or not self.log_x] or [1.0]
        ys = [value for point in points for value in point[1:]] + [level for _, level in self.levels]
        ys = [value for value in ys if math.isfinite(value) and (value > 0 or not self.log_y)] or [1.0]
        left = min(xs) if self.left is None else self.left
        right = max(xs) if self.right is None else self.right
        low = min(ys) if self.bottom is None else self.bottom
        high = max(ys) if self.top is None else self.top
        over = TOP + (14 if self._keys() else 0)  # the legend has a line of its own
        return (
            Axis(left, right, LEFT + 8, WIDTH - RIGHT - 8, log=self.log_x),
            Axis(low, high, HEIGHT - BOTTOM, over, log=self.log_y),
        )

    def _marks(self, across: Axis, up: Axis) -> Iterator[str]:
        above = math.inf
        for name, level in sorted(self.levels, key=lambda one: -one[1]):
            y = up(level)
            lift = -4 if abs(y - above) > _NEAR else 12  # two names on one spot: the second goes below
            above = y
            yield f'<path class="mark" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>'
            yield f'<text x="{LEFT + 40}" y="{y + lift:.1f}">{html.escape(name)}</text>'
        if self.stop:
            name, place = self.stop[0], across(self.stop[1])
            yield f'<path class="mark" d="M{place:.1f} {up.end}V{up.start}"/>'
            yield f'<text x="{place - 4:.1f}" y="{up.start - 5}" text-anchor="end">{html.escape(name)}</text>'
        if self.diagonal:
            first = max(across.value(across.start), up.value(up.start))
            last = min(across.value(across.end), up.value(up.end))
            if first < last:
                ends = [f"{across(value):.1f} {up(value):.1f}" for value in (first, last)]
                yield f'<path class="mark" d="M{ends[0]}L{ends[1]}"/>'


def _line(series: Series, across: Axis, up: Axis) -> Iterator[str]:
    kind, points = series.kind, series.points
    along = points if series.line is None else series.line
    path = "L".join(f"{across(point[0]):.1f} {up(point[1]):.1f}" for point in along)
    yield f'<path class="line {kind}" d="M{path}"/>' if path else ""
    for x, y, *interval in points if len(points) <= _MANY else ():
        place = across(x)
        if interval:
            low, high = map(up, interval)
            yield f'<path class="bar {kind}" d="M{place:.1f} {low:.1f}V{high:.1f}"/>'
        yield marker(kind, place, up(y))
