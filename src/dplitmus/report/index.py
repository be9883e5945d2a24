"""Many audits on one offline page: a summary to sort, and every finding below it.

Takes findings; gives HTML. The script only sorts: without it the page says the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dplitmus.report import finding as one
from dplitmus.report import html, json
from dplitmus.report.text import at_least

if TYPE_CHECKING:
    from collections.abc import Sequence

_COLUMNS = ("mechanism", "verdict", "claimed", "certified", "draws", "alpha")  # a phone shows the first
_SORT = """<script>
for (const table of document.querySelectorAll("table.sortable")) {
  table.querySelectorAll("thead th").forEach((th, column) => {
    const button = document.createElement("button");
    button.textContent = th.textContent;
    th.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = th.getAttribute("aria-sort") === "ascending";
      table.querySelectorAll("thead th").forEach(other => other.removeAttribute("aria-sort"));
      th.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...table.tBodies[0].rows];
      const key = row => row.cells[column].dataset.key ?? row.cells[column].textContent;
      rows.sort((a, b) => {
        const [p, q] = [key(a), key(b)];
        const order = isNaN(p) || isNaN(q) ? p.localeCompare(q) : p - q;
        return down ? -order : order;
      });
      table.tBodies[0].append(...rows);
    });
  });
}
const open = () => {
  const here = document.querySelector(location.hash || "none");
  if (here) here.open = true;
};
addEventListener("hashchange", open);
open();
</script>"""


def page(findings: Sequence[one.Finding], *, title: str = "Privacy audits") -> str:
    """One finding gives its own page, several an index."""
    if len(findings) == 1:
        return one.page(findings[0])
    violated = sum(map(one.violated, findings))
    false_alarm = min(1.0, sum(finding["alpha"] for finding in findings))
    words = (
        f"{violated} of {len(findings)} claims are refuted. If all of them were true, one of these "
        "audits would "
        f"accuse with probability at most {false_alarm:.2g}."
    )
    parts = [
        html.banner("VIOLATED" if violated else "NOT FOUND", words, bad=bool(violated)),
        _summary(findings),
        html.heading("The findings"),
    ]
    for number, finding in enumerate(findings):
        inside = [*one.body(finding, f"f{number}"), html.embedded(json.compact(finding))]
        parts.append(html.folded(one.title(finding), inside, identity=f"finding-{number}"))
    return html.page(title, [*parts, _SORT])


def _summary(findings: Sequence[one.Finding]) -> str:
    rows = []
    related = any(finding.get("relation") for finding in findings)
    for number, finding in enumerate(findings):
        cells = [
            html.cell(one.verdict_words(finding), bad=one.violated(finding)),
            html.cell(one.claimed(finding), key=finding["claim"]["epsilon"]),
            html.cell(f">= {at_least(finding['epsilon_lower'])}", key=finding["epsilon_lower"]),
            html.cell(f"{finding['samples']:,}", key=finding["samples"]),
            html.cell(f"{finding['alpha']:g}", key=finding["alpha"]),
        ]
        cells += [html.cell(str(finding.get("relation") or ""))] if related else []
        rows.append((str(finding["mechanism"]), cells, f"finding-{number}"))
    return html.table(
        "Summary",
        [*_COLUMNS, "neighbours"] if related else _COLUMNS,
        [row[:2] for row in rows],
        links=[row[2] for row in rows],
        sortable=True,
    )
