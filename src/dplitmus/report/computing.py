"""How a bound was computed, in sentences with the numbers of the run.

Takes a finding; gives plain text that a sceptic can recompute.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dplitmus.bounds import clopper_pearson_lower, clopper_pearson_upper
from dplitmus.report.text import at_least, graded_exam

if TYPE_CHECKING:
    from collections.abc import Iterator


def paragraphs(finding: dict[str, Any]) -> Iterator[str]:
    """The bets, the exam of the panel, the readable event, and the sum of their errors."""
    alpha, claim = finding["alpha"], finding["claim"]
    shares = finding.get("alphas")
    moments = finding.get("history")
    search_alpha = shares["search"] if shares else alpha
    bets = at_least(moments[-1]["epsilon_lower"]) if moments else None
    reached = finding["log_wealth"] >= -math.log(search_alpha)
    yield (
        "The bets. Before each draw a fair coin chose the input; from the output a panel of forecasters, "
        "which had "
        "seen earlier draws only, guessed it, and bet on its guess at odds that are fair at best if the "
        "claim holds. "
        f"From 1 the wealth went to e^{finding['log_wealth']:.2f} against the claim. A wealth of 1 / "
        f"{search_alpha:.3g} = e^{-math.log(search_alpha):.2f} is reached at any time with probability "
        "at most "
        f"{search_alpha:.3g} if the claim is true (Ville's inequality): "
        f"{'reached' if reached else 'not reached'}."
        + (f" The same bets against every other epsilon refute all up to {bets}." if bets else "")
    )
    if finding.get("exam"):
        yield _exam(finding["exam"], claim["delta"])
    found = finding["counterexample"]
    if found:
        yield _event(found, claim, shares["rule"] if shares else None)
    if shares and shares.get("delta") and finding.get("exam"):
        yield _least_delta([finding["exam"], *([found] if found else [])], claim["epsilon"], shares["delta"])
    if shares:
        yield (
            f"Together. Alpha was divided before the first draw: {shares['search']:.3g} for the bets, "
            f"{shares['panel']:.3g} for the panel's exam, {shares['rule']:.3g} for the event"
            + (f", {shares['delta']:.3g} for delta" if shares.get("delta") else "")
            + "; the sum is "
            f"{alpha:g}. So the largest of the bounds, epsilon >= {at_least(finding['epsilon_lower'])}, "
            "is above "
            f"the truth with probability at most {alpha:g}."
        )


def _least_delta(rules: list[dict[str, Any]], epsilon: float, alpha: float) -> str:
    """Whether some delta would save the claim: the mass of the leak, by the better of both rules."""
    level = alpha / 4  # two rules, two bounds each
    bounds = [
        (
            clopper_pearson_lower(rule["correct"], rule["draws"], level),
            clopper_pearson_upper(rule["guesses"] - rule["correct"], rule["draws"], level),
            rule,
        )
        for rule in rules
    ]
    above, below, rule = max(bounds, key=lambda bound: bound[0] - math.exp(epsilon) * bound[1])
    which = "by the event" if "event" in rule else "by the panel"
    return (
        f"Delta. Of the same {rule['draws']:,} draws a share of at least {above:.6f} was guessed rightly "
        f"{which} and at most {below:.6f} wrongly (Clopper-Pearson at {level:.3g} each). At epsilon "
        f"{epsilon:g} a claim would need delta >= p - e^epsilon q = "
        f"{max(0.0, above - math.exp(epsilon) * below):.3g}."
    )


def _exam(exam: dict[str, Any], delta: float) -> str:
    if exam.get("grades"):
        grades = [(grade["weight"], grade["guesses"], grade["correct"]) for grade in exam["grades"]]
        bound = f" That is epsilon >= {at_least(exam['epsilon_lower'])}."
        return f"The exam: {graded_exam(exam, grades)}{bound}"
    head = (
        f"The exam. What was learned was frozen and tried on {exam['draws']:,} fresh draws of one pair "
        f"({exam['pair']}): it guessed {exam['guesses']:,} times, {exam['correct']:,} of these rightly. "
    )
    bound = at_least(exam["epsilon_lower"])
    if not exam["guesses"]:
        return head + "Without guesses it certifies nothing."
    if delta == 0:
        right = clopper_pearson_lower(exam["correct"], exam["guesses"], exam["alpha"])
        odds = f"ln({right:.6f} / {1 - right:.6f})" if right > 0.5 else "nothing, for p is not above 1/2"
        return head + (
            f"Clopper-Pearson at {exam['alpha']:.3g}: a guess is right with probability p >= "
            f"{right:.6f}, and "
            f"epsilon >= ln(p / (1 - p)) = {odds}: {bound}."
        )
    above = clopper_pearson_lower(exam["correct"], exam["draws"], exam["alpha"] / 2)
    below = clopper_pearson_upper(
        exam["draws"] and exam["guesses"] - exam["correct"], exam["draws"], exam["alpha"] / 2
    )
    return head + (
        f"Clopper-Pearson at {exam['alpha'] / 2:.3g} each: a draw gives a right guess with probability p >= "
        f"{above:.6f} and a wrong one with q <= {below:.6f}; epsilon >= ln((p - delta) / q) with delta = "
        f"{delta:g}: "
        f"{bound}."
    )


def _event(found: dict[str, Any], claim: dict[str, Any], alpha: float | None) -> str:
    but = " but for delta" if claim["delta"] else ""
    text = (
        "The event. Under the claim a guess is right with probability at most u = e^epsilon / (1 + "
        "e^epsilon) = "
        f"{found['ceiling']:.6g}{but}. {found['correct']:,} or more of {found['guesses']:,} by chance: "
        f"P[Bin({found['guesses']}, u) >= {found['correct']}] = {found['p_value']:.2g}."
    )
    bound = found.get("epsilon_lower")
    return text + (
        f" By itself, at {alpha:.3g}, it certifies epsilon >= {at_least(bound)}." if alpha and bound else ""
    )


def sight(finding: dict[str, Any]) -> str:
    """What the run could have seen."""
    detectable = finding["detectable"]
    if not math.isfinite(detectable) and finding["verdict"] == "violated":
        return "All pairs together were enough; no pair had draws enough to refute the claim by one event."
    if not math.isfinite(detectable):
        return "So few draws could not have refuted the claim at this alpha, whatever the mechanism."
    tail = (
        " Not found is not private: other inputs, rarer events and smaller excesses were out of sight. "
        "To look "
        "harder: more draws, other pairs, more dimensions."
        if finding["verdict"] != "violated"
        else ""
    )
    return (
        f"With {finding['samples']:,} draws at alpha = {finding['alpha']:g}, a true epsilon above about "
        f"{detectable:.4g}, showing in the best event of this run, would have been caught with "
        "probability 99 %." + tail
    )
