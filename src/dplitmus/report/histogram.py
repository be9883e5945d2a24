"""Two output distributions in one chart, the event shaded. Takes bins; gives SVG."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING, NamedTuple

from dplitmus.report.svg import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Axis, below, framed, legend, rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dplitmus.report.svg import Words

_LETTER = 8  # width of one, about
_ROW = 34  # height of the two bars of a named output
_KEYS = (("x", "on x"), ("xp", "on x'"), ("event", "the event"))


class Bar(NamedTuple):
    """One bin: its shares on x and on x', whether it is in the event; a name, or the ends of an interval."""

    name: str
    low: float
    high: float
    x: float
    x_prime: float
    event: bool


def histogram(bars: Sequence[Bar], of: str, words: Words) -> str:
    """Two distributions over the same bins, the event shaded."""
    if all(bar.name for bar in bars):
        return _named_bars(bars, words)
    slots = Axis(0, len(bars), LEFT, WIDTH - RIGHT, log=False)
    widths = [bar.high - bar.low for bar in bars if not bar.name and math.isfinite(bar.high - bar.low)]
    usual = sum(width / len(widths) for width in widths) if widths else 1.0
    tall = [(_density(bar.x, bar, usual), _density(bar.x_prime, bar, usual)) for bar in bars]
    up = Axis(0.0, max(max(pair) for pair in tall) or 1.0, HEIGHT - BOTTOM, TOP, log=False)
    shade = [
        f'<rect class="event" x="{slots(i):.1f}" y="{TOP}" width="{slots(i + 1) - slots(i) + 0.3:.1f}" '
        f'height="{HEIGHT - BOTTOM - TOP}"/>'
        for i, bar in enumerate(bars)
        if bar.event
    ]
    return framed(
        HEIGHT,
        words,
        [
            *shade,
            *rows(up, "share"),
            _steps([pair[0] for pair in tall], slots, up, "x"),
            _steps([pair[1] for pair in tall], slots, up, "xp"),
            *_interval_labels(bars, slots),
            below(of),
            *legend(_KEYS, 11),
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
    floor = HEIGHT - BOTTOM + 15
    first = next(i for i, bar in enumerate(bars) if not bar.name)
    named = 0.0  # where the last name ends
    for i in range(first):
        name = bars[i].name[:8]
        named = slots(i) + _LETTER * len(name)
        yield f'<text x="{slots(i):.1f}" y="{floor}">{html.escape(name)}</text>'
    edges = [(i, bar.low) for i, bar in enumerate(bars) if not bar.name and math.isfinite(bar.low)]
    step = max(1, len(edges) // 5)
    for i, low in edges[step // 2 :: step]:
        if slots(i) - _LETTER * len(f"{low:.3g}") / 2 < named:
            continue
        yield f'<text x="{slots(i):.1f}" y="{floor}" text-anchor="middle">{low:.3g}</text>'
    boundary = next((i for i in range(1, len(bars)) if bars[i - 1].event != bars[i].event), None)
    if boundary is not None and not bars[boundary].name:
        place = slots(boundary)
        yield f'<path class="mark" d="M{place:.1f} {TOP}V{HEIGHT - BOTTOM}"/>'


def _named_bars(bars: Sequence[Bar], words: Words) -> str:
    height = TOP + _ROW * len(bars) + 8
    left = 130
    across = Axis(0.0, max(max(bar.x, bar.x_prime) for bar in bars) or 1.0, left, WIDTH - 52, log=False)
    parts = []
    for i, bar in enumerate(bars):
        y = TOP + i * _ROW
        if bar.event:
            parts.append(f'<rect class="event" x="0" y="{y}" width="{WIDTH}" height="{_ROW - 2}"/>')
        name = bar.name if len(bar.name) <= 18 else bar.name[:16] + "..."
        parts.append(f'<text x="4" y="{y + 20}">{html.escape(name)}</text>')
        for kind, share, down in (("x", bar.x, 3), ("xp", bar.x_prime, 17)):
            end = across(share)
            parts.append(
                f'<rect class="fill {kind}" x="{left}" y="{y + down}" width="{end - left:.1f}" height="11"/>'
                f'<text x="{end + 4:.1f}" y="{y + down + 10}">{share:.3f}</text>'
            )
    return framed(height, words, [*parts, *legend(_KEYS, 11)])
