"""Results as text for a terminal: 80 columns, no colour, no emoji.

The layout of every answer: the verdict, the evidence a sceptic can recompute, what it means, how to
see it again.
"""

from __future__ import annotations

import math
import textwrap
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from dplitmus import bounds
from dplitmus.counts import SideCounts, VoteCounts
from dplitmus.errors import in_words, one_line
from dplitmus.neighbours import in_relation_words
from dplitmus.report.wrapping import WIDTH, narrowed, noted, wrapped
from dplitmus.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dplitmus.claim import Claim
    from dplitmus.measuring import Sensitivity
    from dplitmus.sanity import SanityCheck
    from dplitmus.verdict import Result

_EXACT = Context(prec=400)  # digits: enough for every float with four decimals
_EVENTS = ("the vote says 0", "the vote says 1", "no coordinate votes")


def number(value: float) -> str:
    """A number for people: four decimals, or "infinite"."""
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    return f"{value:.4f}" if abs(value) < 1e6 else f"{value:.6g}"


def at_least(value: float) -> str:
    """A lower bound, rounded down to four decimals: what is printed is certified too."""
    if not math.isfinite(value):
        return number(value)
    return str(Decimal(value).quantize(Decimal("0.0001"), ROUND_FLOOR, _EXACT))


def _significant(value: float, rounding: str) -> str:
    return str(Context(prec=6, rounding=rounding).create_decimal(value))


def sanity_check(check: SanityCheck, *, reproduce: str | None = None) -> str:
    """The whole answer of one sanity check."""
    code = "DP101" if check.verdict is Verdict.VIOLATED else "DP102"
    lines = [
        _headline(check, code),
        "",
        *_evidence(check),
        "",
        *_losses(check),
        "",
        *_certificate(check),
        *_meaning(check),
        *(line for note in check.notes for line in ("", *noted(note))),
        "",
        *([f"  Reproduce:  {reproduce}"] if reproduce else []),
        f"  Explain:    dplitmus explain {code}",
    ]
    return "\n".join(lines)


def audit(result: Result, *, reproduce: str | None = None, width: int = WIDTH) -> str:
    """The whole answer of one audit; in a narrow terminal lines are broken rather than cut."""
    if width < WIDTH:
        return narrowed(audit(result, reproduce=reproduce), width)
    violated = result.verdict is Verdict.VIOLATED
    code = "DP101" if violated else "DP102"
    lines = [_headline(result, code), "", *_premises(result)]
    if not result.finished:
        lines += [*wrapped("Unfinished: the run was interrupted; what follows is what it had seen."), ""]
    lines += _counterexample(result) if violated else _not_found(result)
    lines += ["", *_pairs(result), "", *_exam(result), *_accounts(result)]
    lines += [line for note in result.notes for line in ("", *noted(note))]
    lines += ["", *([f"  Reproduce:  {reproduce}"] if reproduce else [])]
    return "\n".join([*lines, f"  Explain:    dplitmus explain {code}"])


def _premises(result: Result) -> list[str]:
    """What the verdict is about: whose claim, and which inputs are neighbours."""
    lines = wrapped(f"Claim: by {result.claimed_by}.") if result.claimed_by else []
    lines += wrapped(f"Neighbours: {in_relation_words(result.relation)}.") if result.relation else []
    return [*lines, ""] if lines else []


def _counterexample(result: Result) -> list[str]:
    found = result.counterexample
    if found is None:
        return wrapped("Counterexample: the bets of the panel as a whole; no simple event was found.")
    claimed = (
        f"u = {found.ceiling:.6g} (= e^epsilon / (1 + e^epsilon)), so by chance alone"
        if result.claim.delta == 0
        else f"u = {found.ceiling:.6g} but for delta"
    )
    return [
        "  Counterexample",
        f"      x  = {_value(found.x)}",
        f"      x' = {_value(found.x_prime)}",
        *_places(found.x, found.x_prime),
        *_event(found.event, found.remark),
        "",
        *wrapped(
            f"When the event happens, guess {found.guess}. Of {found.draws:,} fresh draws, with a fair coin "
            f"for the input, {found.guesses:,} had the event and {found.correct:,} of these guesses were "
            f"right. Under the claim a guess is right with probability at most {claimed}:"
        ),
        f"      P[Bin({found.guesses}, u) >= {found.correct}] = {found.p_value:.2g}",
    ]


def _places(x: object, x_prime: object) -> list[str]:
    """Where two long vectors differ, for only their ends are shown; datasets may differ in their length."""
    if not isinstance(x, np.ndarray) or not isinstance(x_prime, np.ndarray) or x.size <= 10:
        return []
    if x.shape != x_prime.shape:
        return [f"      they have {len(x):,} and {len(x_prime):,} records"]
    places = np.flatnonzero(np.asarray(x != x_prime))
    few = ", ".join(map(str, places[:4])) + (", ..." if places.size > 4 else "")
    return [f"      they differ in {places.size:,} of {x.size:,} places: {few}"]


def _event(event: str, remark: str) -> list[str]:
    line = f"      event:  {one_line(event, WIDTH - 14)}"
    if not remark:
        return [line]
    together = f"{line}    # {remark}"
    return [together] if len(together) <= WIDTH else [line, f"              # {remark}"]


def _value(value: object) -> str:
    if not isinstance(value, np.ndarray | np.generic):
        return one_line(in_words(repr, value), 60)
    aligned = " " * len("      x' = ")
    return np.array2string(np.asarray(value), threshold=10, separator=", ", max_line_width=71, prefix=aligned)


def _not_found(result: Result) -> list[str]:
    sight = (
        f"A true epsilon above about {result.detectable:.4g}, showing in the best event of this run, would "
        "have been caught with probability 99 %."
        if math.isfinite(result.detectable)
        else "So few draws could not have refuted the claim at this alpha."
    )
    return [
        *wrapped(f"Not found is not private. {sight}"),
        *wrapped("To look harder: more draws (--samples), other inputs (--pair), more dimensions."),
    ]


def _pairs(result: Result) -> list[str]:
    most = 8
    ranked = sorted(result.pairs, key=lambda pair: (-pair.epsilon_lower, -pair.draws))
    lines = [f"  {'pair':<46}{'draws':>14}{'alone >=':>14}"]
    for pair in ranked[:most]:
        name = pair.name if len(pair.name) <= 44 else pair.name[:41] + "..."
        lines.append(f"  {name:<46}{pair.draws:>14,}{at_least(pair.epsilon_lower):>14}")
    if len(ranked) > most:
        lines.append(f"  and {len(ranked) - most} more")
    return lines


def _exam(result: Result) -> list[str]:
    """Where the bound comes from, if it comes from the exam."""
    exam = result.exam
    if exam is None or exam.epsilon_lower < result.epsilon_lower:
        return []
    if exam.grades:
        return [*wrapped(f"The bound: {graded_exam(exam._asdict(), exam.grades)}"), ""]
    bound = (
        "a guess is right with probability p, and epsilon >= ln(p / (1 - p)), p"
        if result.claim.delta == 0
        else "epsilon >= ln((p - delta) / q) for the shares p of right and q of wrong guesses, both"
    )
    return [
        *wrapped(
            f"The bound: what was learned was frozen and tried on {exam.draws:,} fresh draws of one pair "
            f"({exam.pair}). It guessed {exam.guesses:,} times, {exam.correct:,} of these rightly; {bound} "
            f"by Clopper-Pearson at {exam.alpha:.3g}."
        ),
        "",
    ]


def graded_exam(exam: Mapping[str, Any], grades: Sequence[tuple[int, int, int]]) -> str:
    """How a bound follows from guesses of several weights: (weight, guesses, right ones) each."""
    counts = ", ".join(f"{right:,} of {guesses:,} for {weight}" for weight, guesses, right in grades)
    lost = sum(weight * (guesses - right) for weight, guesses, right in grades)
    return (
        f"on {exam['draws']:,} fresh draws, at least half of them of one pair ({exam['pair']}), the panel "
        f"went on learning and guessed {exam['guesses']:,} times. Surer guesses weigh more; right were, by "
        f"their weights: {counts}. The wrong ones weigh {lost:,}. A guess is wrong with probability v = 1 / "
        "(1 + e^epsilon) at least, and epsilon is such that the sum of weight x Bin(guesses, v) is at most "
        f"{lost:,} with probability {exam['alpha']:.3g}."
    )


def _accounts(result: Result) -> list[str]:
    bits = result.level == "bits"
    scanned = result.claim.delta > 0 or (bits and result.delta_lower > 0)
    delta = f", delta >= {result.delta_lower:.3g}" if scanned else ""
    delta += " at the claimed epsilon" if scanned and bits else ""
    judged = "the released bits" if bits else "ideal arithmetic"
    return [
        *wrapped(
            f"Certified: epsilon >= {at_least(result.epsilon_lower)}{delta}. Judged: {judged}. False-alarm "
            f"probability of the whole run: at most {result.alpha:g}. Draws: {result.samples:,} of "
            f"{result.budget:,}. Wealth of the bets against the claim: e^{result.log_wealth:.1f} (refuted "
            f"from e^{-math.log(result.alphas.search if result.alphas else result.alpha):.1f} on)."
        )
    ]


def _headline(check: SanityCheck | Result, code: str) -> str:
    found = check.verdict is Verdict.VIOLATED
    words = "VIOLATED" if found else "NOT FOUND"
    head = f"{check.mechanism}: {words}"
    text = f"claimed {_claimed(check.claim)}, certified epsilon >= {at_least(check.epsilon_lower)}"
    before = f"{head}\n  " if len(f"{head}  {text} {code}") > WIDTH else f"{head}  "
    room = WIDTH - len(before.rpartition("\n")[2]) - len(code) - 1
    return f"{before}{text:<{room}} {code}"


def _claimed(claim: Claim) -> str:
    return f"epsilon {claim.epsilon:g}" + (f", delta {claim.delta:g}" if claim.delta else "")


def _evidence(check: SanityCheck) -> list[str]:
    precisions = [check.precision(guess) for guess in (0, 1)]
    shown = ["-" if p is None else f"{p:.4f}" for p in precisions]
    columns = [
        ("", "guess 0", "guess 1", "no vote"),
        ("x", *(f"{count:,}" for count in check.counts.x.guesses)),
        ("x'", *(f"{count:,}" for count in check.counts.x_prime.guesses)),
        ("precision", *shown, ""),
    ]
    return [
        "  Attack: round every value to 0 or 1, majority vote"
        + (", ties by a coin" if check.ties == "coin" else ", ties to 0"),
        f"      x  = {_vector('0.0', check.dimension)}",
        f"      x' = {_vector('1.0', check.dimension)}",
        f"      {check.samples:,} draws on each",
        "",
        *(f"      {a:<10}{b:>16}{c:>16}{d:>16}".rstrip() for a, b, c, d in columns),
    ]


def _vector(value: str, dimension: int) -> str:
    if dimension == 1:
        return value
    few = 8
    return f"({', '.join([value] * dimension)})" if dimension <= few else f"({value}, ...) x {dimension}"


def _losses(check: SanityCheck) -> list[str]:
    guess = check.decisive_guess
    here, there = check.counts.x_prime.guesses[guess], check.counts.x.guesses[guess]
    formula = f"|ln({here:,} / {there:,})|, guess {guess}"
    rows = [("estimate", number(check.estimate), f"{formula} (the paper's)")]
    if check.exact is not None:
        rows.append(("exact", number(check.exact.loss), _deviation(check)))
    rows.append(("certified", at_least(check.epsilon_lower), f"wrong with probability <= {check.alpha:g}"))
    return ["  Loss", *(f"      {name:<10}{value:>10}   {words}" for name, value, words in rows)]


def _deviation(check: SanityCheck) -> str:
    z = check.z
    if z is None or not math.isfinite(check.estimate):
        return "closed form of this attack"
    side = "above" if z >= 0 else "below"
    return f"closed form; the estimate is {abs(z):.1f} std. errors {side}"


def _certificate(check: SanityCheck) -> list[str]:
    bound = check.bound
    if bound.epsilon_lower == 0:
        return wrapped("Certificate: no event is certified to be likelier on one of the two inputs.")
    first, second = ("x'", "x") if bound.likelier_on_x_prime else ("x", "x'")
    ratio = bound.ratio
    return [
        f"  Certificate: event '{_EVENTS[bound.event]}'",
        f"      Pr(event | {first}) >= {_significant(ratio.p_lower, ROUND_FLOOR)} and "
        f"Pr(event | {second}) <= {_significant(ratio.q_upper, ROUND_CEILING)}",
        f"      ln of their ratio >= {at_least(ratio.log_ratio)}  (Clopper-Pearson, {bound.level:.3g} each)",
    ]


def _meaning(check: SanityCheck) -> list[str]:
    if check.verdict is Verdict.VIOLATED:
        return []
    perfect = bounds.vote_lower(
        VoteCounts(SideCounts(zero=check.samples, one=0), SideCounts(zero=0, one=check.samples)),
        check.alpha,
    ).epsilon_lower
    if perfect <= check.claim.epsilon:
        sight = (
            f"So few draws cannot falsify this claim: on a mechanism that copies its input they certify "
            f"{at_least(perfect)}, not more."
        )
    else:
        sight = f"On a mechanism that copies its input so many draws certify {at_least(perfect)}, at most."
    return ["", *wrapped(f"Not found is not private: this is one weak attack on one pair. {sight}")]


def sensitivity(found: Sensitivity, *, reproduce: str | None = None, width: int = WIDTH) -> str:
    """The whole answer of one search for a sensitivity."""
    if width < WIDTH:
        return narrowed(sensitivity(found, reproduce=reproduce), width)
    norm = {"l1": "L1", "l2": "L2", "linf": "L-infinity"}[found.norm]
    words = "LARGER" if found.violated else "NOT FOUND"
    code = "DP103" if found.violated else "DP104"
    head = f"{found.query}: {words}  claimed {found.claimed:g}, found {found.found:.6g} ({norm})"
    lines = [f"{head:<{WIDTH - len(code) - 1}} {code}", ""]
    lines += [
        "  The pair that moves it most",
        f"      x  = {_value(found.x)}",
        f"      x' = {_value(found.x_prime)}",
    ]
    lines += [*_places(found.x, found.x_prime), f"      {found.how}", ""]
    lines += wrapped(f"Claim: by {found.claimed_by}.") if found.claimed_by else []
    lines += wrapped(f"Neighbours: {in_relation_words(found.relation)}.") if found.relation else []
    lines += [""] if found.claimed_by else []
    if found.additive is False:
        lines += wrapped(
            "With the same seed the outputs on both inputs do not differ by the same amount in every draw: "
            "the noise depends on the data, or is not merely added. What was found is no sensitivity of a "
            "query."
        )
    elif found.violated:
        lines += wrapped(
            f"On these neighbours the query moves by {found.found:.6g}, {found.found / found.claimed:.4g} "
            "times the claimed sensitivity. No statistics are needed: evaluate it on both. Noise that is "
            "scaled for the claim is too small by this factor."
        )
    else:
        lines += wrapped(
            "No neighbours were found between which it moves farther. That does not show that there are none."
        )
    if found.additive:
        lines += wrapped(
            "It was run as a mechanism, with one seed for both inputs: its noise is added, and cancels."
        )
    failed = f"; on {found.failed:,} it failed" if found.failed else ""
    lines += ["", f"  Pairs tried: {found.evaluations:,}{failed}."]
    lines += [f"  Reproduce:  {reproduce}"] if reproduce else []
    return "\n".join([*lines, f"  Explain:    dplitmus explain {code}"])


def summary(findings: Sequence[Mapping[str, Any]]) -> str:
    """A line for each finding, and the false-alarm probability of all of them."""
    name_width = 32
    lines = [f"{'mechanism':<{name_width}}{'claimed':>10}{'certified':>11}{'draws':>15}  verdict"]
    for finding in findings:
        name = one_line(str(finding["mechanism"]), name_width - 1)
        lines.append(
            f"{name:<{name_width}}{finding['claim']['epsilon']:>10.4g}{at_least(finding['epsilon_lower']):>11}"
            f"{finding['samples']:>15,}  {finding['verdict']}"
        )
    total = min(1.0, sum(finding["alpha"] for finding in findings))
    all_of_them = f" of all {len(findings)} audits together" if len(findings) > 1 else ""
    words = f"False-alarm probability{all_of_them}: at most {total:.2g}."
    return "\n".join([*lines, "", *textwrap.wrap(words, WIDTH)])
