"""The paper's reproduction as data and as one offline page.

Takes the results of a run; gives the text of `losses.json` and of `index.html`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dplitmus.paper import charts
from dplitmus.paper.grid import ALPHA, DIMENSIONS, EPSILONS, MECHANISMS
from dplitmus.report import drawing, html, json
from dplitmus.report.text import at_least, number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dplitmus.paper.figures import Figure
    from dplitmus.paper.footnote import Footnote
    from dplitmus.paper.theorems import Demonstration
    from dplitmus.sanity import SanityCheck

TITLE = "How reparametrization trick broke differentially-private text representation learning"

_ABOUT = {
    "laplace": "The Laplace mechanism, right: scale n/epsilon. No loss exceeds epsilon.",
    "adept": "ADePT: scale 1/epsilon in every dimension. The loss grows with n: violated for n > 1.",
    "dptext": "DPText, NaN replaced by zero: the true loss is infinite in every cell.",
    "halved-output": "Half of the Laplace mechanism's output, the authors' extra baseline (not in "
    "Figure 2). Post-processing: still epsilon-DP. Rounding at 0.5 now cuts the noise at 1 instead of "
    "0.5: at n = 1 and n = 2 the loss is exactly epsilon.",
    "copy": "The input itself: infinite loss.",
    "random": "Coins, whatever the input: no loss. One draw serves all epsilons.",
}
_FIGURE_1 = (
    "Three inverse CDFs. (4) and (5) turn u from (0, 1) into Laplace noise, and so does (7) with v "
    "from (-0.5, 0.5). DPText puts v from (0, 1) into (7): half of the draws are the logarithm of a "
    "negative number, and no draw is negative."
)
_FIGURE_2 = (
    "The loss that the attack shows, against the claimed epsilon, by dimension n. Markers are simulated, "
    "lines are exact. Below the dashed line the attack found nothing, which proves nothing; above it the "
    "claim is broken. Where the estimate is infinite (a guess that was never wrong) a bar reaches down to "
    "what is certified. What is below 0.003 is drawn at the bottom."
)
_FIGURE_3 = (
    "100,000 samples each: numpy's Laplace, a uniform sample, and three transformations of that "
    "same sample: the right one, and DPText's with NaN replaced by zero or discarded. The dotted line "
    "is the Laplace density."
)


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """Everything one run of `reproduce acl2022` has made."""

    checks: Sequence[SanityCheck]
    footnote: Footnote
    demonstrations: Sequence[Demonstration]
    figures: Sequence[Figure]
    samples: int
    seed: int
    command: str

    @property
    def worst_z(self) -> float:
        """The largest distance of an estimate from its exact value, in standard errors."""
        return max(abs(check.z or 0.0) for check in self.checks)


def record(check: SanityCheck) -> dict[str, Any]:
    """One entry of `losses.json`."""
    return {
        "mechanism": check.mechanism,
        "epsilon": check.claim.epsilon,
        "dimension": check.dimension,
        "samples": check.samples,
        "counts": check.counts.matrix,
        "estimate": check.estimate,
        "exact": check.exact.loss if check.exact else None,
        "lower_bound": check.epsilon_lower,
        "z": check.z,
    }


def losses_json(checks: Sequence[SanityCheck]) -> str:
    """All cells as a list of records."""
    return json.dumps([record(check) for check in checks])


def exact_json(losses: Mapping[tuple[str, float, int], float]) -> str:
    """The exact losses in the same shape, with nothing where nothing was sampled."""
    unsampled = {"samples": 0, "counts": None, "estimate": None, "lower_bound": None, "z": None}
    return json.dumps(
        [
            {"mechanism": mechanism, "epsilon": epsilon, "dimension": dimension, "exact": loss} | unsampled
            for (mechanism, epsilon, dimension), loss in losses.items()
        ]
    )


def index_html(run: Reproduction) -> str:
    """The page: figures, what each shows, every number, the footnote and the theorems."""
    drawn = {
        1: (_FIGURE_1, charts.figure_1()),
        2: (_FIGURE_2, charts.figure_2(run.checks)),
        3: (_FIGURE_3, charts.figure_3(run.seed)),
    }
    return html.page(
        TITLE,
        [
            html.paragraph(
                "Ivan Habernal, ACL 2022 (short papers), reproduced by dplitmus: "
                f"{run.samples:,} samples on each input and cell, seed {run.seed}. Every simulated number "
                f"stands beside its exact value; the largest distance over all {len(run.checks)} cells "
                f"is {run.worst_z:.1f} standard errors."
            ),
            *(
                part
                for number, (caption, titled) in drawn.items()
                for part in (
                    html.heading(f"Figure {number}"),
                    html.paragraph(caption),
                    drawing.titled(titled, f"figure-{number}"),
                )
            ),
            html.heading("The numbers of Figure 2"),
            html.paragraph(
                "Each cell: the estimated loss, below it the exact one and the certified lower bound "
                f"(wrong with probability at most {ALPHA:g} per cell, and at most "
                f"{ALPHA * len(run.checks):.2g} anywhere on this page). Bold: certified above epsilon. "
                "For one dimension and input all epsilons and all mechanisms with the same noise "
                "share one draw (common random numbers): each cell is right by itself, neighbouring "
                "cells err together."
            ),
            *(_table(mechanism, run.checks) for mechanism in MECHANISMS),
            html.heading("Footnote 7"),
            html.paragraph(footnote_sentence(run.footnote)),
            html.heading("The theorems"),
            *(
                part
                for demonstration in run.demonstrations
                for part in (
                    html.paragraph(f"{demonstration.title}. {demonstration.statement}"),
                    html.bullets(demonstration.evidence),
                    html.paragraph(f"Evidence agrees with the theorem: {demonstration.agrees}."),
                )
            ),
            html.heading("Again"),
            html.preformatted(run.command),
        ],
    )


def footnote_sentence(footnote: Footnote) -> str:
    """The footnote's numbers beside the paper's."""
    if footnote.infinite:
        return (
            f"ADePT, n = 2, epsilon = 0.1: with {footnote.samples:,} samples {footnote.infinite} of "
            f"{len(footnote.estimates)} estimates are infinite (a guess was never wrong): too few samples."
        )
    return (
        f"ADePT, n = 2, epsilon = 0.1, {len(footnote.estimates)} repetitions of "
        f"{footnote.samples:,} samples: mean {footnote.mean:.5f}, standard deviation "
        f"{footnote.standard_deviation:.5f}. (The paper, 10 million samples: 0.195 and 0.0008. Exact: "
        f"{footnote.exact:.5f}.)"
    )


def _table(mechanism: str, checks: Sequence[SanityCheck]) -> str:
    found = {(c.dimension, c.claim.epsilon): c for c in checks if c.mechanism == mechanism}
    return html.table(
        f"{mechanism}. {_ABOUT[mechanism]}",
        ["n", *(f"epsilon {epsilon:g}" for epsilon in EPSILONS)],
        [
            (str(dimension), [_cell(found[dimension, epsilon]) for epsilon in EPSILONS])
            for dimension in DIMENSIONS
        ],
    )


def _cell(check: SanityCheck) -> str:
    exact = number(check.exact.loss) if check.exact else "?"
    return html.cell(
        number(check.estimate),
        small=f"{exact}, >= {at_least(check.epsilon_lower)}",
        bad=check.epsilon_lower > check.claim.epsilon,
    )
