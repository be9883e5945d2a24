"""What an exam certifies: bounds on epsilon and delta, and the readable counterexample.

Takes a search that has ended and the draws that are left; holds the exam that suits the question, and
divides alpha: a union bound over the bets of the search, the panel's guesses and the event.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from scipy.special import bdtrc

from dplitmus import certificate, evidence, exam, grading, prospects
from dplitmus.bounds import graded_lower, guess_delta_lower, guess_lower
from dplitmus.outputs import join
from dplitmus.verdict import Counterexample, Exam

if TYPE_CHECKING:
    from dplitmus.arms import Arm
    from dplitmus.chunks import Desk
    from dplitmus.claim import Claim
    from dplitmus.search import Search

# Fresh draws after a search that stopped early: one simple event needs several times the draws of the panel.
_LEAST_FRESH, _FRESH_FACTOR = 1250, 10
_REHEARSAL = 0.2  # of the fresh draws
_CONFIRMED = 0.01  # the largest p-value with which a readable event is shown


class Shares(NamedTuple):
    """How alpha and the draws are divided: a union bound, fixed before the first draw."""

    search: float  # of alpha: the bets of the search
    panel: float  # of alpha: the panel's guesses in the exam
    rule: float  # of alpha: the readable event in the exam
    delta: float  # of alpha: the least delta at the claimed epsilon, where it is scanned
    draws: float  # of the budget: the search


# To stop early is up to the bets; the tightest bound comes from a number of guesses that is fixed beforehand.
_EARLY = Shares(0.98, 0.01, 0.01, delta=0.0, draws=0.9)
_TIGHT = Shares(0.09, 0.9, 0.01, delta=0.0, draws=0.35)
_TIGHT_MANY = _TIGHT._replace(draws=0.45)  # to find the best of several pairs takes draws
# Of the draws, or draws on each pair: enough where the exam goes on learning.
_FIRST_PAIR, _EACH_PAIR, _ENOUGH = 0.1, 0.05, 50_000
_FOR_DELTA = 0.01  # at the level "bits" and delta = 0: leaks of bits often have small mass


def shares_of(stop: str, pairs: int, *, planned: int | None, scanned: bool) -> Shares:
    """For this question; `scanned` if the least delta of a pure claim is looked for, too.

    `planned` are the draws, None where a clock may end them or where there is a delta.
    """
    if stop == "violated":
        shares = _EARLY
    else:
        shares = _TIGHT if pairs == 1 else _TIGHT_MANY
        if planned is not None and not scanned:
            enough = max(_FIRST_PAIR + _EACH_PAIR * (pairs - 1), _ENOUGH * pairs / planned)
            shares = shares._replace(draws=min(shares.draws, enough))
    return shares._replace(search=shares.search - _FOR_DELTA, delta=_FOR_DELTA) if scanned else shares


@dataclass(frozen=True)
class Answers:
    """What the exam certifies; nothing, if there was none."""

    exam: Exam | None = None
    arm: Arm | None = None
    rule: certificate.Rule | None = None
    counterexample: Counterexample | None = None
    epsilon_lower: float = 0.0
    delta_lower: float = 0.0
    draws: int = 0
    raised: int = 0


def examine(
    search: Search, shares: Shares, alpha: float, left: int, desk: Desk, *, everything: bool
) -> Answers:
    """Count what was learned, and a readable event, on fresh draws."""
    if not everything:
        arm = max(search.arms, key=lambda arm: arm.log_wealth)
        left = min(left, max(_LEAST_FRESH, _FRESH_FACTOR * arm.tally.draws))
    if left < 2 or not any(arm.panel for arm in search.arms):
        return Answers()
    room = exam.Room(search, desk)
    if everything and not search.claim.delta and not shares.delta:
        return _graded(grading.sit(room, left), shares, alpha, left, search.claim)
    return _frozen(room, search.leader(left) if everything else arm, shares, alpha, left)


def _graded(sheet: grading.Sheet, shares: Shares, alpha: float, draws: int, claim: Claim) -> Answers:
    """For the tightest bound: a panel that goes on learning."""
    by_panel = graded_lower(sheet.grades, shares.panel * alpha)
    event = _Event(sheet.rule_draws, sheet.rule_guesses, sheet.rule_correct, shares.rule * alpha)
    return Answers(
        exam=Exam(
            pair=sheet.arm.pair.name,
            threshold=None,
            draws=draws,
            guesses=sum(grade.guesses for grade in sheet.grades),
            correct=sum(grade.correct for grade in sheet.grades),
            alpha=shares.panel * alpha,
            epsilon_lower=by_panel,
            grades=tuple(sheet.grades),
        ),
        arm=sheet.arm,
        rule=sheet.rule,
        counterexample=_counterexample(sheet.arm, sheet.rule, event, claim),
        epsilon_lower=max(by_panel, event.epsilon_lower(claim)),
        draws=draws,
    )


def _frozen(room: exam.Room, arm: Arm, shares: Shares, alpha: float, left: int) -> Answers:
    """After a search that stopped early, and where there is a delta: frozen rules."""
    search, claim = room.search, room.search.claim
    draws = left - int(_REHEARSAL * left)
    hope = prospects.best(room.rehearse(arm, left - draws), search.horizon(draws))
    rule = certificate.find(join(list(arm.sample)), claim.epsilon, level=search.level)
    marks = room.sit(arm, hope.level, rule, draws)
    by_panel = _Event(draws, marks.guesses, marks.correct, shares.panel * alpha)
    by_rule = _Event(draws, marks.rule_guesses, marks.rule_correct, shares.rule * alpha)
    deltas = [0.0]
    for event in (by_panel, by_rule):
        # For delta = 0 the bounds on epsilon come from other intervals, which say nothing of delta.
        level = event.alpha if claim.delta else shares.delta * alpha / 2
        if level:
            deltas.append(guess_delta_lower(event.correct, event.guesses, draws, level, claim.epsilon))
    return Answers(
        exam=Exam(
            pair=arm.pair.name,
            threshold=float(evidence.LEVELS[hope.level]),
            draws=draws,
            guesses=marks.guesses,
            correct=marks.correct,
            alpha=by_panel.alpha,
            epsilon_lower=by_panel.epsilon_lower(claim),
        ),
        arm=arm,
        rule=rule,
        counterexample=_counterexample(arm, rule, by_rule, claim),
        epsilon_lower=max(by_panel.epsilon_lower(claim), by_rule.epsilon_lower(claim)),
        delta_lower=max(deltas),
        draws=left,
        raised=marks.raised,
    )


class _Event(NamedTuple):
    """Guesses by a frozen rule on so many draws, how many were right, and the share of alpha for them."""

    draws: int
    guesses: int
    correct: int
    alpha: float

    def epsilon_lower(self, claim: Claim) -> float:
        """Certified by these counts alone, at the claimed delta."""
        return guess_lower(self.correct, self.guesses, self.draws, self.alpha, claim.delta)


def _counterexample(
    arm: Arm, rule: certificate.Rule | None, event: _Event, claim: Claim
) -> Counterexample | None:
    ceiling = 1 / (1 + math.exp(-claim.epsilon))
    p_value = float(bdtrc(event.correct - 1, event.guesses, ceiling)) if event.correct else 1.0
    if rule is None or p_value > _CONFIRMED:
        return None  # no simple event shows it; the panel as a whole does
    return Counterexample(
        x=arm.pair.x,
        x_prime=arm.pair.x_prime,
        event=rule.event,
        remark=rule.remark,
        guess="x'" if rule.label else "x",
        draws=event.draws,
        guesses=event.guesses,
        correct=event.correct,
        ceiling=ceiling,
        p_value=p_value,
        epsilon_lower=event.epsilon_lower(claim),
    )
