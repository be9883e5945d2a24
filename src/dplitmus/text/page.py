"""A comparison as a table, as JSON and as one offline page. Pure functions of the comparison."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dplitmus.report import html, json
from dplitmus.text.charts import Chart, Series, picture
from dplitmus.text.comparing import CORRECTED, NO_NOISE, PUBLISHED, SAME_SIZE

if TYPE_CHECKING:
    from collections.abc import Callable

    from dplitmus.text.comparing import Comparison, Row
    from dplitmus.text.score import Score

TITLE = "Text systems: published and corrected"
_ABOUT = {
    "dptext": "DPText. The published sampler leaves half of the numbers of a vector exactly as they are, at "
    "every epsilon: the task hardly suffers, a look at the private attributes alone seems fine, and every "
    "record is linked to its writer. Correct noise in the same dimension leaves nothing to use; a small "
    "latent vector with correct noise (corrected) is useful again.",
    "adept": "ADePT. The noise follows the L2 diameter 2C where Laplace noise needs the L1 diameter, larger "
    "by the root of the dimension: the rewrites stay readable because the noise is too small.",
}


def table(comparison: Comparison) -> str:
    """The table for a terminal, 80 columns."""
    lines = []
    for system in _systems(comparison):
        rows = [row for row in comparison.rows if row.system == system]
        last = "private+" if system == "dptext" else "BLEU"
        lines += [
            "",
            f"{system:<20}{'epsilon':>8}{'utility':>9}{last:>10}{'linkage':>9}{'certified':>11}  verdict",
        ]
        for row in rows:
            gain = f"{_worst_gain(row):+.3f}" if system == "dptext" else _shown(row.bleu, ".1f")
            lines.append(
                f"{row.variant:<20}{_shown(row.epsilon, 'g'):>8}"
                f"{_shown(row.utility.value if row.utility else None, '.3f'):>9}"
                f"{gain:>10}{row.linkage.value:>9.3f}{_shown(row.certified, '.3f'):>11}  {_verdict(row)}"
            )
        lines.append(_legend(system, rows))
    for name, path in comparison.learned.items():
        lines.append(f"learned epsilon, {name}: from {path[0]:.3g} to {path[-1]:.3g}")
    return "\n".join(lines).lstrip("\n")


def _legend(system: str, rows: list[Row]) -> str:
    majority = next((row.utility.baseline for row in rows if row.utility), None)
    guess = f" (majority {majority:.3f})" if majority is not None else ""
    if system == "dptext":
        return (
            f"utility: task accuracy{guess}; private+: best attribute attack, above its majority;\n"
            "linkage: released vectors traced to their text among all; certified: epsilon, by audit"
        )
    return f"utility: label of the rewrite kept{guess}; BLEU: of rewrites against originals"


def as_json(comparison: Comparison, *, version: str) -> str:
    """Everything, for other programs."""
    head: dict[str, Any] = {"schema": 1, "kind": "text-compare", "version": version}
    return json.dumps(head | asdict(comparison))


def index_html(comparison: Comparison) -> str:
    """One page: what was done, a picture and a table for each system, learned epsilons, examples."""
    parts = [
        html.paragraph(
            f"Data: {comparison.data}. Trained, released, attacked and audited by dplitmus in "
            f"{comparison.seconds:.0f} seconds. Neighbours are any two texts. An audit that finds nothing "
            "proves nothing; a certified epsilon above the declared one refutes the claim."
        )
    ]
    for system in _systems(comparison):
        rows = [row for row in comparison.rows if row.system == system]
        caption = (
            f"{system}: what is left of use, what attacks get, and what is certified, against the declared "
            "epsilon. Bars are 95 % intervals."
        )
        parts += [
            html.heading({"dptext": "DPText", "adept": "ADePT"}[system]),
            html.paragraph(_ABOUT[system]),
            html.picture(picture(_charts(system, rows)), alt=caption, caption=caption),
            _html_table(system, rows),
        ]
        if any(row.example for row in rows):
            parts.append(_examples(comparison.original, rows))
    if comparison.learned:
        caption = (
            f"Epsilon over the steps of training, cap {comparison.cap:g}. The task always wants less noise: "
            "a learned epsilon runs to its cap, or away."
        )
        parts += [
            html.heading("A learned epsilon"),
            html.picture(picture(_learned_charts(comparison)), alt=caption, caption=caption),
        ]
    parts += [html.heading("Again"), html.preformatted(comparison.command)]
    return html.page(TITLE, parts)


def _systems(comparison: Comparison) -> list[str]:
    return list(dict.fromkeys(row.system for row in comparison.rows))


def _worst_gain(row: Row) -> float:
    return max((score.value - score.baseline for score in row.private.values()), default=0.0)


def _charts(system: str, rows: list[Row]) -> list[Chart]:
    def of(value: Callable[[Row], tuple[float, float, float]]) -> list[Series]:
        found = []
        for variant in (PUBLISHED, SAME_SIZE, CORRECTED):
            points = [(row.epsilon, *value(row)) for row in rows if row.variant == variant and row.epsilon]
            if points:
                found.append(Series(variant, points))
        return found

    free = next(row for row in rows if row.variant == NO_NOISE)
    charts = []
    if all(row.utility for row in rows):
        what = "task accuracy" if system == "dptext" else "label of the rewrite kept"
        charts.append(
            _chart(
                "Utility",
                what,
                of(lambda row: _ends(row.utility)),
                levels=[
                    ("no noise", free.utility.value if free.utility else 0.0),
                    ("majority", free.utility.baseline if free.utility else 0.0),
                ],
            )
        )
    if system == "adept":
        bleu = of(lambda row: (row.bleu or 0.0,) * 3)
        charts.append(
            _chart("What is left of the text", "BLEU", bleu, [("no noise", free.bleu or 0.0)], top=100)
        )
    for name in free.private:
        series = of(lambda row, name=name: _ends(row.private[name]))  # type: ignore[misc]
        level = [("majority", free.private[name].baseline), ("no noise", free.private[name].value)]
        charts.append(_chart(f"Attack on '{name}'", "accuracy", series, level))
    link = of(lambda row: _ends(row.linkage))
    charts.append(_chart("Linkage", "share traced to its writer", link, bottom=0.0))
    certified = of(lambda row: (row.certified or 0.0,) * 3)
    low = min(row.epsilon for row in rows if row.epsilon) / 20
    charts.append(
        Chart(
            title="Certified against declared",
            x_label="declared epsilon",
            y_label="certified epsilon (lower bound)",
            series=certified,
            log_y=True,
            bottom=low,
            diagonal="declared",
        )
    )
    return charts


def _chart(
    title: str,
    what: str,
    series: list[Series],
    levels: list[tuple[str, float]] | None = None,
    *,
    bottom: float | None = None,
    top: float = 1.0,
) -> Chart:
    return Chart(
        title=title,
        x_label="declared epsilon",
        y_label=what,
        series=series,
        levels=levels or [],
        bottom=bottom if bottom is not None else 0.0 if top > 1 else None,
        top=top,
    )


def _learned_charts(comparison: Comparison) -> list[Chart]:
    charts: dict[str, list[Series]] = {}
    for name, path in comparison.learned.items():
        step = max(1, len(path) // 200)
        points = [(float(i + 1), value, value, value) for i, value in enumerate(path) if i % step == 0]
        mode = name.split(",")[0]
        charts.setdefault(mode, []).append(Series(name, points, dashed="no cap" in name))
    return [
        Chart(
            title=f"Learned epsilon, {mode} noise",
            x_label="step of training",
            y_label="epsilon",
            series=series,
            levels=[("cap", comparison.cap)],
            log_x=False,
            log_y=True,
        )
        for mode, series in charts.items()
    ]


def _html_table(system: str, rows: list[Row]) -> str:
    names = list(rows[0].private)
    columns = ["variant", "epsilon", "utility", *names, "linkage", "certified", "draws", "verdict"]
    if system == "adept":
        columns[3:3] = ["BLEU", "exact"]
    return html.table(
        f"{system}: small numbers are 95 % intervals and, for attacks, the majority class.",
        columns,
        [(row.variant, _cells(system, row, names)) for row in rows],
    )


def _cells(system: str, row: Row, names: list[str]) -> list[str]:
    cells = [html.cell(_shown(row.epsilon, "g")), _score(row.utility)]
    if system == "adept":
        cells += [html.cell(_shown(row.bleu, ".1f")), html.cell(_shown(row.exact, ".3f"))]
    cells += [_score(row.private[name], baseline=True) for name in names]
    linked = row.epsilon is not None and row.linkage.value > 0.5
    return [
        *cells,
        _score(row.linkage, bad=linked),
        html.cell(_shown(row.certified, ".3f"), bad=bool(row.violated)),
        html.cell(f"{row.draws:,}" if row.epsilon else "-"),
        html.cell(_verdict(row), bad=bool(row.violated)),
    ]


def _examples(original: str, rows: list[Row]) -> str:
    lines = [f"{'original':<20}{'':>8}  {original}"]
    lines += [f"{row.variant:<20}{_shown(row.epsilon, 'g'):>8}  {row.example}" for row in rows if row.example]
    return html.preformatted("\n".join(lines))


def _score(score: Score | None, *, baseline: bool = False, bad: bool = False) -> str:
    if score is None:
        return html.cell("-")
    small = f"{score.low:.3f} to {score.high:.3f}" + (f", majority {score.baseline:.3f}" if baseline else "")
    return html.cell(f"{score.value:.3f}", small=small, bad=bad)


def _ends(score: Score | None) -> tuple[float, float, float]:
    return (score.value, score.low, score.high) if score else (0.0, 0.0, 0.0)


def _verdict(row: Row) -> str:
    return "-" if row.violated is None else "violated" if row.violated else "not found"


def _shown(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
