"""The audit: search for a counterexample, confirm it on fresh draws, answer.

Takes a mechanism, a claim and pairs of neighbouring inputs; gives a `Result`.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from scipy.special import bdtrc

from dplitmus import certificate, distributions, evidence, exam, prospects
from dplitmus.bounds import guess_delta_lower, guess_lower
from dplitmus.claim import Claim
from dplitmus.errors import one_of, positive_number, probability
from dplitmus.mechanisms.base import as_callee
from dplitmus.neighbours import as_pairs
from dplitmus.outputs import join
from dplitmus.samples import (
    Habits,
    Stock,
    checked_samples,
    checked_seed,
    habits,
    stream,
    within,
)
from dplitmus.search import Arm, Inline, Search, detectable_epsilon
from dplitmus.target import importable_name
from dplitmus.verdict import (
    Alphas,
    Counterexample,
    Distributions,
    Exam,
    Moment,
    Note,
    PairSummary,
    Result,
    Verdict,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Executor

_PHASE_STOCK = 23
_LARGEST_STOCK = 2**21  # outputs of long calls that are kept in memory
# Fresh draws after a search that stopped early: one simple event needs several times the draws of the panel.
_LEAST_FRESH, _FRESH_FACTOR = 2500, 20
_REHEARSAL = 0.2  # of the fresh draws
_CONFIRMED = 0.01  # the largest p-value with which a readable event is shown


class Shares(NamedTuple):
    """How alpha and the draws are divided: a union bound, fixed before the first draw."""

    search: float  # of alpha: the bets of the search
    panel: float  # of alpha: the panel's guesses in the exam
    rule: float  # of alpha: the readable event in the exam
    draws: float  # of the budget: the search


# To stop early is up to the bets; the tightest bound comes from many draws judged by a frozen panel.
_EARLY = Shares(0.98, 0.01, 0.01, draws=0.9)
_TIGHT = Shares(0.09, 0.9, 0.01, draws=0.35)
_TIGHT_MANY = _TIGHT._replace(draws=0.45)  # to find the best of several pairs takes draws


def audit(
    mechanism: Any,
    *,
    epsilon: float,
    neighbours: Iterable[Any],
    delta: float = 0.0,
    samples: int = 1_000_000,
    alpha: float = 1e-6,
    seed: int | None = None,
    executor: Executor | None = None,
    level: str = "ideal",
    stop: str = "violated",
    seconds: float | None = None,
    call_timeout: float | None = None,
    progress: Callable[[int], None] | None = None,
    target: str | None = None,
) -> Result:
    """Try to refute that `mechanism` is (epsilon, delta)-differentially private.

    `neighbours` are pairs of inputs that the claim must hide from each other. `samples` bounds the number
    of draws in all; with `stop="violated"` the run ends as soon as the claim is refuted, with
    `stop="never"` it spends everything for the tightest bound. The result is a function of everything
    but `executor`, `progress` and `seconds` (a time limit, checked between chunks). `target` is how `replay`
    finds the mechanism again, if its module and name do not tell. `call_timeout` limits each call.
    """
    started = time.monotonic()
    claim = Claim(epsilon=epsilon, delta=delta)
    samples = checked_samples(samples)
    alpha = probability("alpha", alpha)
    one_of("stop", stop, ("violated", "never"))
    one_of("level", level, ("ideal",))
    seed = checked_seed(seed)
    callee = as_callee(mechanism)
    if call_timeout is not None:
        callee = within(callee, positive_number("call_timeout", call_timeout))
    arms = [Arm(number, pair) for number, pair in enumerate(as_pairs(neighbours))]
    limit = positive_number("seconds", seconds) if seconds is not None else math.inf
    shares = _EARLY if stop == "violated" else _TIGHT if len(arms) == 1 else _TIGHT_MANY
    seen = habits(callee, arms[0].pair.x, seed)
    budget = samples
    if seen.repeats:
        budget = min(samples, _LARGEST_STOCK // (2 * len(arms)))
        for arm in arms:
            arm.stock = Stock.draw(callee, arm.pair, budget, stream(seed, _PHASE_STOCK, arm.number))
    search = Search(
        callee=callee,
        claim=claim,
        arms=arms,
        budget=max(1, int(shares.draws * budget)),
        alpha=shares.search * alpha,
        seed=seed,
        deadline=started + limit * (shares.draws if stop == "never" else 1.0),
        progress=progress,
        explore=shares.panel * alpha if stop == "never" else None,
    )
    executor = executor or Inline()
    answers = _Answers()
    finished = True
    try:
        search.run(executor, stop_when_refuted=stop == "violated")
        if stop == "never" or search.refuted:
            left = _affordable(search, budget, started, limit)
            answers = _examine(search, shares, alpha, left, executor, everything=stop == "never")
    except KeyboardInterrupt:
        finished = False  # what was merged stands
    refuted = search.refuted or answers.epsilon_lower > claim.epsilon
    return Result(
        mechanism=callee.name,
        target=target or importable_name(mechanism),
        verdict=Verdict.VIOLATED if refuted else Verdict.NOT_FOUND,
        claim=claim,
        epsilon_lower=max(search.epsilon_lower, answers.epsilon_lower),
        delta_lower=max(search.delta_lower(), answers.delta_lower),
        alpha=alpha,
        samples=sum(arm.tally.draws for arm in arms) + answers.draws,
        budget=samples,
        seed=seed,
        level=level,
        stop=stop,
        log_wealth=search.log_wealth,
        counterexample=answers.counterexample if refuted else None,
        exam=answers.exam,
        pairs=tuple(_summary(arm, search) for arm in arms),
        detectable=detectable_epsilon(arms, claim, search.explore or search.alpha),
        notes=tuple(_notes(seen)),
        replayable=seen.replays,
        finished=finished,
        alphas=Alphas(*(share * alpha for share in shares[:3])),
        history=_history(search),
        distributions=_distributions(search, answers, refuted=refuted),
        seconds=time.monotonic() - started,
    )


def _affordable(search: Search, budget: int, started: float, limit: float) -> int:
    """Draws that are left; with a time limit, as many as the speed so far allows.

    The number must be fixed before the exam: to stop it by the clock would let the outputs have a say.
    """
    drawn = sum(arm.tally.draws for arm in search.arms)
    left = budget - search.dispatched
    elapsed = time.monotonic() - started
    return left if math.isinf(limit) else max(0, min(left, int(drawn / elapsed * (limit - elapsed))))


@dataclass(frozen=True)
class _Answers:
    """What the exam certifies; nothing, if there was none."""

    exam: Exam | None = None
    arm: Arm | None = None
    rule: certificate.Rule | None = None
    counterexample: Counterexample | None = None
    epsilon_lower: float = 0.0
    delta_lower: float = 0.0
    draws: int = 0


def _examine(
    search: Search, shares: Shares, alpha: float, left: int, executor: Executor, *, everything: bool
) -> _Answers:
    """Choose the pair, the panel's level and the readable rule; count both on fresh draws."""
    candidates = search.running if everything else [max(search.arms, key=lambda arm: arm.log_wealth)]
    if not everything:
        left = min(left, max(_LEAST_FRESH, _FRESH_FACTOR * candidates[0].tally.draws))
    each = int(_REHEARSAL * left / len(candidates))
    draws = left - each * len(candidates)
    if draws < 1 or any(arm.panel is None for arm in candidates):
        return _Answers()
    horizon = search.horizon(draws)
    room = exam.Room(search, executor)
    hopes = [prospects.best(room.rehearse(arm, each), horizon) for arm in candidates]
    arm, hope = max(zip(candidates, hopes, strict=True), key=lambda both: both[1].promise)
    claim = search.claim
    rule = certificate.find(join(list(arm.sample)), claim.epsilon)
    marks = room.sit(arm, hope.level, rule, draws)
    answers = (
        (marks.correct, marks.guesses, draws, shares.panel * alpha),
        (marks.rule_correct, marks.rule_guesses, draws, shares.rule * alpha),
    )
    by_panel, by_rule = (guess_lower(*answer, claim.delta) for answer in answers)
    # For delta = 0 the bounds on epsilon come from other intervals, which say nothing of delta.
    deltas = [guess_delta_lower(*answer, claim.epsilon) for answer in answers if claim.delta]
    return _Answers(
        exam=Exam(
            pair=arm.pair.name,
            threshold=float(evidence.LEVELS[hope.level]),
            draws=draws,
            guesses=marks.guesses,
            correct=marks.correct,
            alpha=shares.panel * alpha,
            epsilon_lower=by_panel,
        ),
        arm=arm,
        rule=rule,
        counterexample=_counterexample(arm, rule, marks, draws, claim, bound=by_rule) if rule else None,
        epsilon_lower=max(by_panel, by_rule),
        delta_lower=max(deltas, default=0.0),
        draws=left,
    )


def _summary(arm: Arm, search: Search) -> PairSummary:
    """What the pair alone would have certified; across pairs only the run's bound is valid."""
    return PairSummary(arm.pair.name, arm.pair.x, arm.pair.x_prime, arm.tally.draws, search.alone(arm))


def _counterexample(
    arm: Arm, rule: certificate.Rule, marks: exam.Marks, draws: int, claim: Claim, *, bound: float
) -> Counterexample | None:
    ceiling = 1 / (1 + math.exp(-claim.epsilon))
    p_value = float(bdtrc(marks.rule_correct - 1, marks.rule_guesses, ceiling)) if marks.rule_correct else 1.0
    if p_value > _CONFIRMED:
        return None  # no simple event shows it; the panel as a whole does
    return Counterexample(
        x=arm.pair.x,
        x_prime=arm.pair.x_prime,
        event=rule.event,
        remark=rule.remark,
        guess="x'" if rule.label else "x",
        draws=draws,
        guesses=marks.rule_guesses,
        correct=marks.rule_correct,
        ceiling=ceiling,
        p_value=p_value,
        epsilon_lower=bound,
    )


def _history(search: Search) -> tuple[Moment, ...]:
    """Where the search stood on the way, and where it ended, with the bound on the fine grid."""
    drawn = sum(arm.tally.draws for arm in search.arms)
    end = Moment(drawn, search.log_wealth, search.epsilon_lower)
    return (*(moment for moment in search.history if moment.draws < drawn), end)


def _distributions(search: Search, answers: _Answers, *, refuted: bool) -> Distributions | None:
    """The outputs on the pair of the counterexample, or on the one that stands out most."""
    arm = answers.arm or max(search.arms, key=lambda arm: arm.log_wealth)
    if not arm.sample:
        return None
    return distributions.of(join(list(arm.sample)), arm.pair.name, answers.rule if refuted else None)


def _notes(seen: Habits) -> Iterator[Note]:
    if seen.constant:
        yield Note(
            "DP304",
            f"{seen.seen} outputs on one input are all the same: the noise is missing, switched off, or "
            "seeded anew at every draw.",
        )
    if seen.repeats:
        yield Note(
            "DP305",
            "the draws repeat from call to call: there is a fixed seed inside, and whoever knows it can "
            "subtract the noise. For this audit all draws came from one long call on each input.",
        )
    if not seen.replays:
        yield Note(
            "DP303",
            "the mechanism does not take all its randomness from the rng: another run of the same command "
            "draws other numbers.",
        )
