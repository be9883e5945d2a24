"""Charts as inline SVG: no script, no font to load, colours of the page, readable without colour.

Takes bins or points; gives markup with a title and a description for those who cannot see it.
"""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_WIDTH, _HEIGHT = 420, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 10, 30, 40
_ROW = 34  # height of the two bars of a named output


class Axis:
    """From values to places, on a linear or logarithmic axis."""

    def __init__(self, low: float, high: float, start: float, end: float, *, log: bool) -> None:
        self.log = log
        self.low, self.high = (math.log10(low), math.log10(high)) if log else (low, high)
        if self.high - self.low < 1e-9:
            self.low, self.high = self.low - 0.5, self.high + 0.5
        self.start, self.end = start, end

    def __call__(self, value: float) -> float:
        """The place of a value; what is beyond the axis lies at its end."""
        place = math.log10(max(value, 1e-12)) if self.log else value
        share = min(max((place - self.low) / (self.high - self.low), 0.0), 1.0)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Round values inside the axis."""
        if self.log:
            return [10.0**k for k in range(math.ceil(self.low - 1e-9), math.floor(self.high + 1e-9) + 1)]
        step = 10 ** math.floor(math.log10((self.high - self.low) / 2))
        while (self.high - self.low) / step > 6:
            step *= 2 if (self.high - self.low) / step < 12 else 5
        first = math.ceil(self.low / step - 1e-9)
        return [k * step for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


class Bar(NamedTuple):
    """One bin: its shares on x and on x', whether it is in the event; a name, or the ends of an interval."""

    name: str
    low: float
    high: float
    x: float
    x_prime: float
    event: bool


@dataclass(frozen=True, kw_only=True)
class Words:
    """What a chart says of itself; `identity` keeps the identifiers of one page apart."""

    identity: str
    title: str
    description: str


def histogram(bars: Sequence[Bar], of: str, words: Words) -> str:
    """Two distributions over the same bins, the event shaded."""
    if all(bar.name for bar in bars):
        return _named_bars(bars, words)
    slots = Axis(0, len(bars), _LEFT, _WIDTH - _RIGHT, log=False)
    widths = [bar.high - bar.low for bar in bars if not bar.name and math.isfinite(bar.high - bar.low)]
    usual = sum(widths) / len(widths) if widths else 1.0
    tall = [(_density(bar.x, bar, usual), _density(bar.x_prime, bar, usual)) for bar in bars]
    up = Axis(0.0, max(max(pair) for pair in tall) or 1.0, _HEIGHT - _BOTTOM, _TOP, log=False)
    shade = [
        f'<rect class="event" x="{slots(i):.1f}" y="{_TOP}" width="{slots(i + 1) - slots(i) + 0.3:.1f}" '
        f'height="{_HEIGHT - _BOTTOM - _TOP}"/>'
        for i, bar in enumerate(bars)
        if bar.event
    ]
    return _framed(
        _HEIGHT,
        words,
        [
            *shade,
            *_rows(up, "share"),
            _steps([pair[0] for pair in tall], slots, up, "x"),
            _steps([pair[1] for pair in tall], slots, up, "xp"),
            *_interval_labels(bars, slots),
            f'<text x="{(_LEFT + _WIDTH) / 2:.0f}" y="{_HEIGHT - 6}" text-anchor="middle">'
            f"{html.escape(of)}</text>",
            *_legend([("x", "on x"), ("xp", "on x'"), ("event", "the event")]),
        ],
    )


def _density(share: float, bar: Bar, usual: float) -> float:
    width = bar.high - bar.low if not bar.name else math.inf
    return share if not math.isfinite(width) else share * usual / width


def _steps(heights: Sequence[float], slots: Axis, up: Axis, kind: str) -> str:
    path = f"M{slots(0):.1f} {up(0):.1f}" + "".join(
        f"V{up(height):.1f}H{slots(i + 1):.1f}" for i, height in enumerate(heights)
    )
    return f'<path class="line {kind}" d="{path}V{up(0):.1f}"/>'


def _interval_labels(bars: Sequence[Bar], slots: Axis) -> Iterable[str]:
    floor = _HEIGHT - _BOTTOM + 15
    first = next(i for i, bar in enumerate(bars) if not bar.name)
    for i in range(first):
        yield f'<text x="{slots(i):.1f}" y="{floor}">{html.escape(bars[i].name[:8])}</text>'
    edges = [(i, bar.low) for i, bar in enumerate(bars) if not bar.name and math.isfinite(bar.low)]
    step = max(1, len(edges) // 5)
    for i, low in edges[step // 2 :: step]:
        yield f'<text x="{slots(i):.1f}" y="{floor}" text-anchor="middle">{low:.3g}</text>'
    boundary = next((i for i in range(1, len(bars)) if bars[i - 1].event != bars[i].event), None)
    if boundary is not None and not bars[boundary].name:
        place = slots(boundary)
        yield f'<path class="mark" d="M{place:.1f} {_TOP}V{_HEIGHT - _BOTTOM}"/>'


def _named_bars(bars: Sequence[Bar], words: Words) -> str:
    height = _TOP + _ROW * len(bars) + 8
    left = 130
    across = Axis(0.0, max(max(bar.x, bar.x_prime) for bar in bars) or 1.0, left, _WIDTH - 52, log=False)
    parts = []
    for i, bar in enumerate(bars):
        y = _TOP + i * _ROW
        if bar.event:
            parts.append(f'<rect class="event" x="0" y="{y}" width="{_WIDTH}" height="{_ROW - 2}"/>')
        name = bar.name if len(bar.name) <= 18 else bar.name[:16] + "..."
        parts.append(f'<text x="4" y="{y + 20}">{html.escape(name)}</text>')
        for kind, share, down in (("x", bar.x, 3), ("xp", bar.x_prime, 17)):
            end = across(share)
            parts.append(
                f'<rect class="fill {kind}" x="{left}" y="{y + down}" width="{end - left:.1f}" height="11"/>'
                f'<text x="{end + 4:.1f}" y="{y + down + 10}">{share:.3f}</text>'
            )
    keys = [("x", "on x"), ("xp", "on x'"), ("event", "the event")]
    return _framed(height, words, [*parts, *_legend(keys)])


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Points over the number of draws, with a level to compare with and where the search stopped."""

    points: Sequence[tuple[float, float]]
    label: str
    level: float
    level_name: str
    stop: float
    last: tuple[float, float, str] | None = None  # one more point, reached in another way


def curve(chart: Curve, words: Words) -> str:
    """A line over the draws, on a logarithmic axis."""
    points = list(chart.points)
    xs = [x for x, _ in points] + ([chart.last[0]] if chart.last else [])
    ys = (
        [y for _, y in points if math.isfinite(y)]
        + [chart.level, 0.0]
        + ([chart.last[1]] if chart.last else [])
    )
    across = Axis(max(min(xs), 1), max(*xs, 2), _LEFT, _WIDTH - _RIGHT - 8, log=True)
    up = Axis(min(ys), max(ys) * 1.08 or 1.0, _HEIGHT - _BOTTOM, _TOP, log=False)
    path = "L".join(f"{across(x):.1f} {up(y):.1f}" for x, y in points)
    level, stop = up(chart.level), across(chart.stop)
    parts = [
        *_rows(up, chart.label),
        *(
            f'<text x="{across(tick):.1f}" y="{_HEIGHT - _BOTTOM + 15}" text-anchor="middle">'
            f"{count(tick)}</text>"
            for tick in across.ticks()
        ),
        f'<text x="{(_LEFT + _WIDTH) / 2:.0f}" y="{_HEIGHT - 6}" text-anchor="middle">draws</text>',
        f'<path class="mark" d="M{_LEFT} {level:.1f}H{_WIDTH - _RIGHT}"/>',
        f'<text x="{_LEFT + 4}" y="{level - 4:.1f}">{html.escape(chart.level_name)}</text>',
        f'<path class="stop" d="M{stop:.1f} {_TOP}V{_HEIGHT - _BOTTOM}"/>',
        f'<text x="{stop - 4:.1f}" y="{_HEIGHT - _BOTTOM - 5}" text-anchor="end">search stopped</text>',
        f'<path class="line x" d="M{path}"/>',
        *(f'<circle class="fill x" cx="{across(x):.1f}" cy="{up(y):.1f}" r="2.2"/>' for x, y in points),
    ]
    if chart.last:
        x, y, name = chart.last
        parts.append(
            f'<rect class="fill xp" x="{across(x) - 4:.1f}" y="{up(y) - 4:.1f}" width="8" height="8"/>'
            f'<text x="{across(x) - 8:.1f}" y="{up(y) - 5:.1f}" text-anchor="end">{html.escape(name)}</text>'
        )
    return _framed(_HEIGHT, words, parts)


def count(value: float) -> str:
    """A number of draws for an axis.

    >>> [count(value) for value in (100.0, 1e4, 1e6, 1e9)]
    ['100', '10k', '1M', '1000M']
    """
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.0f}{letter}"
    return f"{value:.0f}"


def _rows(up: Axis, label: str) -> Iterable[str]:
    for tick in up.ticks():
        y = up(tick)
        yield f'<path class="grid" d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}"/>'
        yield f'<text x="{_LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{tick:.4g}</text>'
    yield f'<text x="4" y="14">{html.escape(label)}</text>'


def _legend(keys: Sequence[tuple[str, str]]) -> Iterable[str]:
    x = _WIDTH - 210
    for kind, name in keys:
        shape = (
            f'<rect class="event" x="{x}" y="5" width="14" height="12"/>'
            if kind == "event"
            else f'<path class="line {kind}" d="M{x} 11h14"/>'
        )
        yield f'{shape}<text x="{x + 18}" y="15">{html.escape(name)}</text>'
        x += 62


def _framed(height: float, words: Words, parts: Iterable[str]) -> str:
    name = html.escape(words.identity, quote=True)
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-labelledby="{name}-t {name}-d">'
        f'<title id="{name}-t">{html.escape(words.title)}</title>'
        f'<desc id="{name}-d">{html.escape(words.description)}</desc>{"".join(parts)}</svg>'
    )
