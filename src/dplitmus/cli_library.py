"""The command that audits a whole library: a line for each mechanism as its audit ends, a page with all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dplitmus.console import FOUND, Count, examples, progress_bar, say

if TYPE_CHECKING:
    from dplitmus.libraries import Stock


@click.command(
    "audit-library",
    short_help="Audit every mechanism of a library.",
    epilog=examples(
        "dplitmus audit-library diffprivlib",
        "dplitmus audit-library opendp --samples 20000 --html opendp.html",
        "dplitmus audit-library diffprivlib --list",
        "dplitmus audit-library diffprivlib --only Laplace --only tools.mean",
    ),
)
@click.argument("library")
@click.option("--samples", type=Count(), default=100_000, show_default=True, help="Draws on each, at most.")
@click.option("--alpha", type=float, default=1e-6, show_default=True, help="False-alarm probability of each.")
@click.option("--seed", type=Count(), default=1, show_default=True, help="Seed of the attacks.")
@click.option("--level", default="ideal", show_default=True, help="What is judged, as in 'dplitmus audit'.")
@click.option("--only", multiple=True, metavar="NAME", help="This mechanism only; may be repeated.")
@click.option("--list", "only_list", is_flag=True, help="List what would be audited, and what is left out.")
@click.option("--html", "html_file", help="Write one offline page with all findings to this file.")
def audit_library(
    library: str,
    samples: int,
    alpha: float,
    seed: int,
    level: str,
    only: tuple[str, ...],
    only_list: bool,
    html_file: str | None,
) -> int:
    """Audit all mechanisms of LIBRARY (diffprivlib or opendp) that default parameters can make.

    Each is judged by its own claim, on neighbours of the relation that is printed above it. That nothing is
    found does not show that a claim is true. Exit status: 1 if a claim is violated, 0 if none is.
    """
    from dplitmus import libraries, store
    from dplitmus.errors import one_of, probability
    from dplitmus.report import index
    from dplitmus.report import library as table
    from dplitmus.samples import checked_samples

    one_of("library", library, libraries.LIBRARIES)
    probability("alpha", alpha)
    checked_samples(samples)
    page = store.prepare_file(html_file) if html_file else None
    stock = libraries.stock(library, only)
    if only_list:
        claims = (
            (name, f"epsilon {found.claim.epsilon:.4g}, {found.claim.delta:g}", found.relation)
            for name, found in stock.mechanisms.items()
        )
        say(table.listed(claims, stock.left_out))
        return 0
    findings = _run(library, stock, samples=samples, alpha=alpha, seed=seed, level=level)
    violated = sum(finding["verdict"] == "violated" for finding in findings)
    say(
        f"\n{violated} of {len(findings)} claims are refuted. If all of them were true, one of these "
        f"audits would\naccuse with probability at most {min(1.0, alpha * len(findings)):.2g}. Not found is "
        "not private."
    )
    if stock.left_out:
        say(f"Left out: {', '.join(stock.left_out)} (--list says why).")
    if page:
        store.write(page, index.page(findings, title=f"Audits of {library} {stock.version}"))
        say(f"written: {page}")
    return FOUND if violated else 0


def _run(
    library: str, stock: Stock, *, samples: int, alpha: float, seed: int, level: str
) -> list[dict[str, object]]:
    """One audit after the other: a line each as it ends, a bar for the one that runs."""
    from dplitmus import __version__
    from dplitmus.neighbours import in_relation_words
    from dplitmus.report import json
    from dplitmus.report import library as table
    from dplitmus.survey import audit_adapted

    say(table.head(library, stock.version, level=level, samples=samples))
    findings = []
    relation = None
    for name, adapted in stock.mechanisms.items():
        if adapted.relation != relation:
            relation = adapted.relation
            say(f"\n{in_relation_words(relation)}")
        with progress_bar(samples, "draws", name) as progress:
            result = audit_adapted(
                adapted, samples=samples, alpha=alpha, seed=seed, level=level, progress=progress
            )
        findings.append(json.audit(result, version=__version__))
        say(table.row(findings[-1]))
    return findings
