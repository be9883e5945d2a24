"""Results as text for a terminal: 80 columns, no colour, no emoji.

The layout of every answer: the verdict, the evidence a sceptic can recompute, what it means, how to
see it again.
"""

from __future__ import annotations

import math
import textwrap
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING

from dplitmus.verdict import Verdict

if TYPE_CHECKING:
    from dplitmus.sanity import SanityCheck
    from dplitmus.verdict import Note

WIDTH = 80
_EVENTS = ("the vote says 0", "the vote says 1", "no coordinate votes")


def number(value: float) -> str:
    """A number for people: four decimals, or "infinite"."""
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    return f"{value:.4f}"


def at_least(value: float) -> str:
    """A lower bound, rounded down to four decimals: what is printed is certified too."""
    return str(Decimal(value).quantize(Decimal("0.0001"), rounding=ROUND_FLOOR))


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
        *(line for note in check.notes for line in ("", *_note(note))),
        "",
        *([f"  Reproduce:  {reproduce}"] if reproduce else []),
        f"  Explain:    dplitmus explain {code}",
    ]
    return "\n".join(lines)


def _headline(check: SanityCheck, code: str) -> str:
    found = check.verdict is Verdict.VIOLATED
    words = "VIOLATED" if found else "NOT FOUND"
    text = (
        f"{check.mechanism}: {words}  claimed epsilon {check.claim.epsilon:g}, "
        f"certified epsilon >= {at_least(check.epsilon_lower)}"
    )
    return f"{text:<{WIDTH - len(code) - 1}} {code}"


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
        return _wrap("Certificate: no event is certified to be likelier on one of the two inputs.")
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
    margin = check.estimate - check.epsilon_lower
    sight = (
        f" With {check.samples:,} draws on each input it would have certified a loss of this attack "
        f"above about {check.claim.epsilon + margin:.4g}."
        if math.isfinite(margin)
        else ""
    )
    return ["", *_wrap(f"Not found is not private: this is one weak attack on one pair.{sight}")]


def _note(note: Note) -> list[str]:
    *lines, last = _wrap(f"Note: {note.text}")
    if len(last) + len(note.code) + 2 > WIDTH:
        return [*lines, last, f"{note.code:>{WIDTH}}"]
    return [*lines, f"{last:<{WIDTH - len(note.code)}}{note.code}"]


def _wrap(text: str) -> list[str]:
    indent = "        " if text.startswith("Note") else "  "
    return textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent=indent)
