"""What every chart is made of: axes, grid, legend and a frame with a title, as inline SVG.

No script, no font to load, colours of the page (`report.html` has the style), readable without colour: every
kind of series has its own line and marker.
"""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WIDTH, HEIGHT = 420, 250
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 30, 40
_LETTER = 6.2  # about the width of a letter of the legend
_MARKERS = {  # paths from the middle
    "x": "m-2.6 0a2.6 2.6 0 1 0 5.2 0a2.6 2.6 0 1 0 -5.2 0z",
    "xp": "m-3 -3h6v6h-6z",
    "good": "m0 -4.5l4 8h-8z",
    "ink": "m0 -4.5l3.5 4.5l-3.5 4.5l-3.5 -4.5z",
    "soft": "m0 4.5l4 -8h-8z",
    "plum": "m-3 -3l6 6m0 -6l-6 6",
}


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

    def value(self, place: float) -> float:
        """The value at a place of the axis."""
        value = self.low + (place - self.start) / (self.end - self.start) * (self.high - self.low)
        return 10.0**value if self.log else value

    def ticks(self) -> list[float]:
        """Round values inside the axis."""
        if self.log:
            decades = range(math.floor(self.low - 1e-9), math.floor(self.high + 1e-9) + 1)
            for steps in ((1.0,), (1.0, 2.0, 5.0)):  # less than three decades: what lies between them, too
                ticks = [step * 10.0**k for k in decades for step in steps]
                inside = [tick for tick in ticks if self.low - 1e-9 <= math.log10(tick) <= self.high + 1e-9]
                if len(inside) >= 3:
                    break
            return inside
        step = 10 ** math.floor(math.log10((self.high - self.low) / 2))
        while (self.high - self.low) / step > 6:
            step *= 2 if (self.high - self.low) / step < 12 else 5
        first = math.ceil(self.low / step - 1e-9)
        return [k * step for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


@dataclass(frozen=True, kw_only=True)
class Words:
    """What a chart says of itself; `identity` keeps the identifiers of one page apart."""

    identity: str
    title: str
    description: str


def count(value: float) -> str:
    """A number for an axis.

    >>> [count(value) for value in (0.05, 100.0, 1e4, 1e6, 1e9)]
    ['0.05', '100', '10k', '1M', '1000M']
    """
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:.4g}"


def rows(up: Axis, label: str) -> Iterable[str]:
    """The grid of the vertical axis, its numbers and its name."""
    for tick in up.ticks():
        y = up(tick)
        yield f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>'
        yield f'<text x="{LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{count(tick)}</text>'
    yield f'<text x="4" y="14">{html.escape(label)}</text>'


def below(label: str) -> str:
    """The name of the horizontal axis."""
    middle = (LEFT + WIDTH - RIGHT) / 2
    return f'<text x="{middle:.0f}" y="{HEIGHT - 6}" text-anchor="middle">{html.escape(label)}</text>'


def legend(keys: Sequence[tuple[str, str]], y: float) -> Iterable[str]:
    """Kinds and names, flush right."""
    x = WIDTH - RIGHT - sum(26 + _LETTER * len(name) for _, name in keys)
    for kind, name in keys:
        shape = (
            f'<rect class="event" x="{x:.1f}" y="{y - 6}" width="14" height="12"/>'
            if kind == "event"
            else f'<path class="line {kind}" d="M{x:.1f} {y}h14"/>{marker(kind, x + 7, y)}'
        )
        yield f'{shape}<text x="{x + 18:.1f}" y="{y + 4}">{html.escape(name)}</text>'
        x += 26 + _LETTER * len(name)


def marker(kind: str, x: float, y: float) -> str:
    """What tells a kind of series apart without its colour."""
    shape = _MARKERS.get(kind)
    if shape is None:
        return ""
    paint = "line" if kind == "plum" else "fill"
    return f'<path class="{paint} {kind}" d="M{x:.1f} {y:.1f}{shape}"/>'


def framed(height: float, words: Words, parts: Iterable[str]) -> str:
    """The whole chart, with its title and description for those who cannot see it."""
    name = html.escape(words.identity, quote=True)
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="{name}-t {name}-d">'
        f'<title id="{name}-t">{html.escape(words.title)}</title>'
        f'<desc id="{name}-d">{html.escape(words.description)}</desc>{"".join(parts)}</svg>'
    )
