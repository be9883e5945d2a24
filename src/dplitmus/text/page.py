"""A comparison as a table, as JSON and as one offline page. Pure functions of the comparison."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dplitmus.report import drawing, html, json
from dplitmus.report.lines import Chart, Series
from dplitmus.text.comparing import CORRECTED, NO_NOISE, PUBLISHED, SAME_SIZE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dplitmus.text.comparing import Comparison, Row
    from dplitmus.text.score import Score

TITLE = "Text systems: published and corrected"
_KINDS = {PUBLISHED: "xp", SAME_SIZE: "x", CORRECTED: "good"}  # how the charts tell the variants apart
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
        parts += [
            html.heading({"dptext": "DPText", "adept": "ADePT"}[system]),
            html.paragraph(_ABOUT[system]),
            html.paragraph(
                "Against the declared epsilon; bars are 95 % intervals, dashed lines to compare with."
            ),
            drawing.titled(_charts(system, rows), system),
            _html_table(system, rows),
        ]
        if any(row.example for row in rows):
            parts.append(_examples(comparison.original, rows))
    if comparison.learned:
        parts += [
            html.heading("A learned epsilon"),
            html.paragraph(
                f"Epsilon over the steps of training, cap {comparison.cap:g}. The task always wants less "
                "noise: a learned epsilon runs to its cap, or away."
            ),
            drawing.titled(_learned_charts(comparison), "learned"),
        ]
    parts += [html.heading("Again"), html.preformatted(comparison.command)]
    return html.page(TITLE, parts)


def _systems(comparison: Comparison) -> list[str]:
    return list(dict.fromkeys(row.system for row in comparison.rows))


def _worst_gain(row: Row) -> float:
    return max((score.value - score.baseline for score in row.private.values()), default=0.0)


def _charts(system: str, rows: list[Row]) -> Iterator[tuple[str, Chart]]:
    """Titles and charts of one system."""

    def of(value: Callable[[Row], tuple[float, ...]]) -> list[Series]:
        found = []
        for variant, kind in _KINDS.items():
            points = [(row.epsilon, *value(row)) for row in rows if row.variant == variant and row.epsilon]
            if points:
                found.append(Series(variant, kind, points))
        return found

    def chart(what: str, series: list[Series], **more: Any) -> Chart:
        return Chart(x_label="declared epsilon", y_label=what, series=series, **more)

    free = next(row for row in rows if row.variant == NO_NOISE)
    if free.utility and all(row.utility for row in rows):
        what = "task accuracy" if system == "dptext" else "label of the rewrite kept"
        levels = [("no noise", free.utility.value), ("majority", free.utility.baseline)]
        yield "Utility", chart(what, of(lambda row: _ends(row.utility)), levels=levels, top=1.0)
    if system == "adept":
        bleu = of(lambda row: (row.bleu or 0.0,))
        levels = [("no noise", free.bleu or 0.0)]
        yield "What is left of the text", chart("BLEU", bleu, levels=levels, bottom=0.0, top=100.0)
    for name, score in free.private.items():
        series = of(lambda row, name=name: _ends(row.private[name]))  # type: ignore[misc]
        levels = [("majority", score.baseline), ("no noise", score.value)]
        yield f"Attack on '{name}'", chart("accuracy", series, levels=levels, top=1.0)
    linked = of(lambda row: _ends(row.linkage))
    yield "Linkage", chart("share traced to its writer", linked, bottom=0.0, top=1.0)
    certified = of(lambda row: (row.certified or 0.0,))
    least = min(row.epsilon for row in rows if row.epsilon) / 20
    yield (
        "Certified against declared epsilon",
        chart("certified epsilon", certified, log_y=True, bottom=least, diagonal="declared"),
    )


def _learned_charts(comparison: Comparison) -> Iterator[tuple[str, Chart]]:
    """Titles and charts, one for each kind of noise."""
    lines: dict[str, list[Series]] = {}
    for name, path in comparison.learned.items():
        mode, _, how = name.partition(", ")
        step = max(1, len(path) // 200)
        points = [(float(i + 1), value) for i, value in enumerate(path) if i % step == 0]
        lines.setdefault(mode, []).append(Series(how or mode, "xp" if how == "no cap" else "x", points))
    for mode, series in lines.items():
        yield (
            f"Learned epsilon, {mode} noise",
            Chart(
                x_label="step of training",
                y_label="epsilon",
                series=series,
                levels=[("cap", comparison.cap)],
                log_x=False,
                log_y=True,
            ),
        )


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
