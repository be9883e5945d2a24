"""The charts of a finding, each with its numbers as a table for those who cannot see it, and of other pages.

Takes a finding, or charts with titles; gives HTML.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dplitmus.report import html
from dplitmus.report.histogram import Bar, histogram
from dplitmus.report.lines import Chart, Series
from dplitmus.report.svg import Words
from dplitmus.report.text import at_least

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Finding = dict[str, Any]


def titled(charts: Iterable[tuple[str, Chart]], identity: str) -> str:
    """Line charts beside each other, each under its title; `identity` keeps those of one page apart."""
    return html.charts(
        (chart.draw(Words(identity=f"{identity}-{number}", title=title, description=_told(chart))), title)
        for number, (title, chart) in enumerate(charts)
    )


def _told(chart: Chart) -> str:
    """The ends of every line, for those who cannot see it; a table has all numbers."""
    ends = ((one.name, point) for one in chart.series for point in (one.points[0], one.points[-1]))
    lines = [f"{name}: {point[1]:.3g} at {point[0]:g}" for name, point in ends]
    return "; ".join([*lines, *(f"{name}: {level:.3g}" for name, level in chart.levels)])


def distributions(finding: Finding, identity: str) -> Iterator[str]:
    """Both output distributions, the event shaded; and the same as a table."""
    both = finding.get("distributions")
    if not both or not both["bins"]:
        return
    bins = both["bins"]
    totals = [max(1, sum(one[side] for one in bins)) for side in ("x", "x_prime")]
    bars = [
        Bar(
            one["name"],
            math.nan if one["low"] is None else one["low"],
            math.nan if one["high"] is None else one["high"],
            one["x"] / totals[0],
            one["x_prime"] / totals[1],
            one["event"],
        )
        for one in bins
    ]
    columns = [[(bar.x, bar.event) for bar in bars], [(bar.x_prime, bar.event) for bar in bars]]
    inside = [sum(share for share, event in column if event) for column in columns]
    event = (
        f"The event holds {inside[0]:.3f} of the outputs on x and {inside[1]:.3f} of those on x'."
        if any(bar.event for bar in bars)
        else "No event is shaded, for none refutes the claim."
    )
    sampled = f"{totals[0]:,} outputs on x and {totals[1]:,} on x' from the search (pair: {both['pair']})."
    words = Words(
        identity=f"{identity}-outputs", title="Outputs on both inputs", description=f"{sampled} {event}"
    )
    yield html.heading("Both output distributions")
    yield html.charts([(histogram(bars, both["of"], words), f"{sampled} {event}")])
    rows = [
        (
            _bin_name(one),
            [
                html.cell(f"{one['x']:,}"),
                html.cell(f"{one['x_prime']:,}"),
                html.cell("yes" if one["event"] else ""),
            ],
        )
        for one in bins
    ]
    table = html.table(f"Counts of {both['of']}", ["output", "on x", "on x'", "event"], rows)
    yield html.folded("The same as a table", [table])


def _bin_name(one: Finding) -> str:
    if one["name"] or one["low"] is None or one["high"] is None:
        return one["name"] or "unnamed"  # in a file that nobody but its author vouches for
    return f"{one['low']:.4g} to {one['high']:.4g}"


def history(finding: Finding, identity: str) -> Iterator[str]:
    """Bound and wealth against draws, with the stopping point; and the same as a table."""
    moments = finding.get("history") or []
    if not moments:
        return
    stop = moments[-1]["draws"]
    needed = -math.log((finding.get("alphas") or {"search": finding["alpha"]})["search"])
    epsilon = finding["claim"]["epsilon"]
    exam = finding.get("exam")
    better = bool(exam and finding["epsilon_lower"] > moments[-1]["epsilon_lower"])
    reached = [Series("exam", "xp", [(finding["samples"], finding["epsilon_lower"])])] if better else []

    def chart(name: str, key: str, level: tuple[str, float], *others: Series) -> Chart:
        points = [(one["draws"], one[key]) for one in moments]
        heights = [y for line in (points, *(one.points for one in others)) for _, y in line]
        tallest = max([level[1], *(y for y in heights if math.isfinite(y))])
        return Chart(
            x_label="draws",
            y_label=name,
            series=[Series(name, "x", points), *others],
            levels=[level],
            stop=("search stopped", stop),
            bottom=min([0.0, *heights]),
            top=tallest * 1.08 or 1.0,
        )

    bound = chart("certified epsilon", "epsilon_lower", (f"claimed {epsilon:g}", epsilon), *reached)
    wealth = chart("log wealth", "log_wealth", (f"refuted from {needed:.1f} on", needed))
    final = moments[-1]
    captions = (
        f"The bound at any time of the search: {at_least(final['epsilon_lower'])} after {stop:,} draws"
        + (f"; the exam on fresh draws certifies {at_least(finding['epsilon_lower'])}." if better else "."),
        f"Wealth of the bets against the claim: e^{final['log_wealth']:.1f} after {stop:,} draws, where "
        "the search "
        "stopped.",
    )
    drawn = [
        one.draw(Words(identity=f"{identity}-{name}", title=heading, description=caption))
        for one, name, heading, caption in (
            (bound, "bound", "Certified epsilon against draws", captions[0]),
            (wealth, "wealth", "Wealth against draws", captions[1]),
        )
    ]
    yield html.heading("Bound and wealth against draws")
    yield html.charts(zip(drawn, captions, strict=True))
    rows = [
        (
            f"{one['draws']:,}",
            [html.cell(at_least(one["epsilon_lower"])), html.cell(f"{one['log_wealth']:.2f}")],
        )
        for one in moments
    ]
    table = html.table("The search", ["draws", "certified epsilon", "log wealth"], rows)
    yield html.folded("The same as a table", [table])
