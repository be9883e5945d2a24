"""The paper's reproduction as text for a terminal."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from dplitmus.paper.grid import ALPHA, DIMENSIONS, EPSILONS, MECHANISMS
from dplitmus.paper.page import footnote_sentence
from dplitmus.report.text import number
from dplitmus.report.wrapping import WIDTH

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dplitmus.paper.page import Reproduction
    from dplitmus.paper.theorems import Demonstration


def losses(values: Mapping[tuple[str, float, int], float], *, what: str) -> str:
    """A table per mechanism: dimensions down, epsilons across."""
    columns = f"{'n':>5}" + "".join(f"{epsilon:>10g}" for epsilon in EPSILONS)
    blocks = [
        "\n".join(
            [
                f"{mechanism}: {what} by dimension n (down) and epsilon (across)",
                columns,
                *(
                    f"{n:>5}" + "".join(f"{number(values[mechanism, e, n]):>10}" for e in EPSILONS)
                    for n in DIMENSIONS
                ),
            ]
        )
        for mechanism in MECHANISMS
    ]
    return "\n\n".join(blocks)


def theorems(demonstrations: Iterable[Demonstration]) -> str:
    """Statement, evidence and agreement of each theorem."""
    blocks = []
    for demonstration in demonstrations:
        statement = f"{demonstration.title}. {demonstration.statement}"
        lines = textwrap.wrap(statement, WIDTH, subsequent_indent="    ")
        for evidence in demonstration.evidence:
            lines += textwrap.wrap(evidence, WIDTH, initial_indent="    - ", subsequent_indent="      ")
        lines.append(f"    evidence agrees with the theorem: {demonstration.agrees}")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def reproduction(run: Reproduction) -> str:
    """The whole run: estimates, how far they are from exact, footnote 7, theorems."""
    estimates = {(c.mechanism, c.claim.epsilon, c.dimension): c.estimate for c in run.checks}
    violated = {c.mechanism for c in run.checks if c.epsilon_lower > c.claim.epsilon}
    sentences = [
        f"{len(run.checks)} cells, {run.samples:,} samples on each input. Largest distance of an "
        f"estimate from its exact value: {run.worst_z:.1f} standard errors.",
        f"Certified above epsilon in some cell: {', '.join(sorted(violated)) or 'none'}. The probability "
        f"that any of the {len(run.checks)} certificates is wrong is at most {ALPHA * len(run.checks):.2g}.",
        f"Footnote 7: {footnote_sentence(run.footnote)}",
    ]
    return "\n\n".join(
        [
            losses(estimates, what="estimated loss"),
            *(textwrap.fill(sentence, WIDTH) for sentence in sentences),
            theorems(run.demonstrations),
        ]
    )
