"""Line charts as SVG: no script, no font to load, readable without colour (markers and names differ).

Takes series of points; gives one picture with a panel for each chart.
"""

from __future__ import annotations

import html
import math
from dataclasses import dataclass, field

from dplitmus.report.svg import Axis

_COLOURS = {
    "published": "#b34700",
    "correct, same size": "#0063a0",
    "corrected": "#00664a",
    "no noise": "#555555",
}
_MARKS = {"published": "square", "correct, same size": "cross", "corrected": "circle", "no noise": "none"}
_WIDTH, _HEIGHT = 540, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 18, 54, 48


@dataclass(frozen=True)
class Series:
    """Points (x, y, low, high) with the name that its colour and marker follow."""

    name: str
    points: list[tuple[float, float, float, float]]
    dashed: bool = False


@dataclass(frozen=True, kw_only=True)
class Chart:
    """One panel; `levels` are horizontal lines with a name, `diagonal` marks y = x."""

    title: str
    x_label: str
    y_label: str
    series: list[Series]
    levels: list[tuple[str, float]] = field(default_factory=list)
    log_x: bool = True
    log_y: bool = False
    diagonal: str = ""
    bottom: float | None = None
    top: float | None = None


def picture(charts: list[Chart], columns: int = 2) -> bytes:
    """All charts in one SVG."""
    rows = math.ceil(len(charts) / columns)
    width, height = columns * _WIDTH, rows * _HEIGHT
    panels = "".join(
        f'<g transform="translate({(i % columns) * _WIDTH},{(i // columns) * _HEIGHT})">{_panel(chart)}</g>'
        for i, chart in enumerate(charts)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="sans-serif" font-size="12"><rect width="100%" height="100%" '
        f'fill="#fff"/>{panels}</svg>'
    ).encode()


def _panel(chart: Chart) -> str:
    points = [point for series in chart.series for point in series.points]
    xs = [point[0] for point in points] or [1.0]
    ys = [value for point in points for value in point[1:]] + [level for _, level in chart.levels]
    ys = [value for value in ys if math.isfinite(value) and (value > 0 or not chart.log_y)] or [1.0]
    low = min(ys) if chart.bottom is None else chart.bottom
    high = max(ys) if chart.top is None else chart.top
    across = Axis(min(xs), max(xs), _LEFT + 14, _WIDTH - _RIGHT - 14, log=chart.log_x)
    up = Axis(low, high, _HEIGHT - _BOTTOM, _TOP, log=chart.log_y)
    parts = [
        f'<text x="{_LEFT}" y="18" font-size="14" font-weight="600">{html.escape(chart.title)}</text>',
        *_legend(chart),
        *_grid(chart, across, up),
    ]
    above = math.inf
    for name, level in sorted(chart.levels, key=lambda one: -one[1]):
        y = up(level)
        lift = -4 if abs(y - above) > 14 else 12  # two names on one spot: the second goes below its line
        above = y
        parts.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#555" '
            f'stroke-dasharray="5 4"/><text x="{_WIDTH - _RIGHT - 4}" y="{y + lift:.1f}" text-anchor="end" '
            f'fill="#444" font-size="11">{html.escape(name)}</text>'
        )
    if chart.diagonal:
        ends = (max(min(xs), low), min(max(xs), high))
        parts.append(
            f'<line x1="{across(ends[0]):.1f}" y1="{up(ends[0]):.1f}" x2="{across(ends[1]):.1f}" '
            f'y2="{up(ends[1]):.1f}" stroke="#555" stroke-dasharray="5 4"/>'
        )
    parts += [part for series in chart.series for part in _line(series, across, up)]
    return "".join(parts)


def _legend(chart: Chart) -> list[str]:
    parts, x = [], float(_LEFT)
    names = [(series.name, series.dashed) for series in chart.series]
    for name, dashed in names:
        parts.append(_stroke(f"M{x:.0f} 34h18", name, dashed=dashed))
        parts.append(_mark(name, x + 9, 34))
        parts.append(f'<text x="{x + 23:.0f}" y="38" font-size="11">{html.escape(name)}</text>')
        x += 36 + 6.1 * len(name)
    if chart.diagonal:
        parts.append(_stroke(f"M{x:.0f} 34h18", "no noise", dashed=True))
        parts.append(f'<text x="{x + 23:.0f}" y="38" font-size="11">{html.escape(chart.diagonal)}</text>')
    return parts


def _grid(chart: Chart, across: Axis, up: Axis) -> list[str]:
    right, floor = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    parts = []
    for tick in up.ticks():
        y = up(tick)
        parts.append(
            f'<line x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e4e4e4"/>'
            f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_number(tick)}</text>'
        )
    for tick in across.ticks():
        x = across(tick)
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{floor}" y2="{floor + 5}" stroke="#777"/>'
            f'<text x="{x:.1f}" y="{floor + 18}" text-anchor="middle">{_number(tick)}</text>'
        )
    middle = (_TOP + floor) / 2
    return [
        *parts,
        f'<line x1="{_LEFT}" x2="{right}" y1="{floor}" y2="{floor}" stroke="#777"/>',
        f'<text x="{(_LEFT + right) / 2}" y="{floor + 36}" text-anchor="middle">'
        f"{html.escape(chart.x_label)}</text>",
        f'<text transform="translate(14,{middle:.0f}) rotate(-90)" text-anchor="middle">'
        f"{html.escape(chart.y_label)}</text>",
    ]


def _line(series: Series, across: Axis, up: Axis) -> list[str]:
    places = [(across(x), up(y), up(low), up(high)) for x, y, low, high in series.points]
    path = " ".join(f"{'L' if i else 'M'}{x:.1f} {y:.1f}" for i, (x, y, _, _) in enumerate(places))
    parts = [_stroke(path, series.name, dashed=series.dashed)] if path else []
    few = len(places) <= 24
    for x, y, low, high in places if few else []:
        if abs(low - high) > 1:
            parts.append(_stroke(f"M{x:.1f} {low:.1f}V{high:.1f}", series.name, dashed=False, width=1))
        parts.append(_mark(series.name, x, y))
    return parts


def _key(name: str) -> str:
    return next((key for key in _COLOURS if name.startswith(key)), "no noise")


def _stroke(path: str, name: str, *, dashed: bool, width: float = 2) -> str:
    dash = ' stroke-dasharray="6 4"' if dashed else ""
    return f'<path d="{path}" fill="none" stroke="{_COLOURS[_key(name)]}" stroke-width="{width}"{dash}/>'


def _mark(name: str, x: float, y: float) -> str:
    colour, mark = _COLOURS[_key(name)], _MARKS[_key(name)]
    if mark == "square":
        return f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" fill="{colour}"/>'
    if mark == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{colour}"/>'
    if mark == "cross":
        return _stroke(f"M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8", name, dashed=False)
    return ""


def _number(value: float) -> str:
    return f"{value:g}" if abs(value) < 1e5 else f"{value:.0e}"
