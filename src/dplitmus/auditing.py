"""The audit: search for a counterexample, confirm it on fresh draws, answer.

Takes a mechanism, a claim and pairs of neighbouring inputs; gives a `Result`.
"""

from __future__ import annotations

import hashlib
import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import bdtrc

from dplitmus import certificate, diagnosis, distributions, evidence, exam, grading, prospects
from dplitmus.adapters import Asked, resolve
from dplitmus.adapters.program import Program
from dplitmus.bounds import graded_lower, guess_delta_lower, guess_lower
from dplitmus.chunks import PIECE, Desk
from dplitmus.diagnosis.subject import Subject, examined
from dplitmus.dispatch import Dispatch
from dplitmus.errors import bad_value, in_words, one_of, positive_number, probability, whole_number
from dplitmus.executors import Inline
from dplitmus.isolation import memory_limit as checked_memory
from dplitmus.journal import Journal
from dplitmus.neighbours import LEVELS
from dplitmus.outputs import join
from dplitmus.samples import ON_ERROR, Habits, Stock, checked_samples, checked_seed, habits, stream
from dplitmus.search import Arm, Search, detectable_epsilon
from dplitmus.shipping import Acquaintance, Handling, Parcel, check_workers
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
    import os
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Executor

    from dplitmus.claim import Claim

_PHASE_STOCK = 23
_LARGEST_STOCK = 2**21  # outputs of long calls that are kept in memory
# Fresh draws after a search that stopped early: one simple event needs several times the draws of the panel.
_LEAST_FRESH, _FRESH_FACTOR = 1250, 10
_REHEARSAL = 0.2  # of the fresh draws
_DIAGNOSED = 2048  # draws on each input to name the cause, at most
_CONFIRMED = 0.01  # the largest p-value with which a readable event is shown


class Shares(NamedTuple):
    """How alpha and the draws are divided: a union bound, fixed before the first draw."""

    search: float  # of alpha: the bets of the search
    panel: float  # of alpha: the panel's guesses in the exam
    rule: float  # of alpha: the readable event in the exam
    delta: float  # of alpha: the least delta at the claimed epsilon, where it is scanned
    draws: float  # of the budget: the search


# To stop early is up to the bets; the tightest bound comes from many draws judged by a frozen panel.
_EARLY = Shares(0.98, 0.01, 0.01, delta=0.0, draws=0.9)
_TIGHT = Shares(0.09, 0.9, 0.01, delta=0.0, draws=0.35)
_TIGHT_MANY = _TIGHT._replace(draws=0.45)  # to find the best of several pairs takes draws
_FOR_DELTA = 0.01  # at the level "bits" and delta = 0: leaks of bits often have small mass


def audit(
    mechanism: Any,
    *,
    epsilon: float | None = None,
    neighbours: Iterable[Any] | None = None,
    delta: float | None = None,
    relation: str | None = None,
    samples: int = 1_000_000,
    alpha: float = 1e-6,
    seed: int | None = None,
    executor: Executor | None = None,
    level: str = "ideal",
    stop: str = "violated",
    seconds: float | None = None,
    call_timeout: float | None = None,
    on_error: str = "fail",
    isolate: bool = False,
    memory_limit: int | None = None,
    piece: int | None = None,
    journal: str | os.PathLike[str] | Journal | None = None,
    progress: Callable[[int], None] | None = None,
    target: str | None = None,
) -> Result:
    """Try to refute that `mechanism` is (epsilon, delta)-differentially private.

    `neighbours` are pairs of inputs that the claim must hide from each other, and `relation` says why they
    are, in words that are printed; between datasets "add-remove" and "replace-one" are checked on every pair.
    An object of a library (see `dplitmus.adapters`) tells what is left out. `samples` bounds the number
    of draws in all; with `stop="violated"` the run ends as soon as the claim is refuted, with
    `stop="never"` it spends everything for the tightest bound. The result is a function of everything
    but `executor`, `journal`, `progress` and `seconds` (a time limit, checked between chunks). `target` is
    how `replay` and workers in other processes find the mechanism, if its module and name do not tell.

    `executor` is any `concurrent.futures.Executor`. `piece` is how many draws of a slow mechanism are made at
    a time, at least, so that many workers can share a chunk; mechanisms lifted by `each` have 8. `journal` is
    a file that every judged chunk is written to; if it exists the run goes on from there.

    `on_error`: an exception of the mechanism ends the run ("fail"), is an output like others ("symbol": one
    call for each draw) or leads to another call ("retry": what is audited is the mechanism that retries).
    `isolate` makes each call in a fresh process, with `memory_limit` bytes; `call_timeout` limits each call.
    """
    started = time.monotonic()
    asked = resolve(
        mechanism,
        epsilon=epsilon,
        delta=delta,
        neighbours=neighbours,
        relation=relation,
        name=target.rpartition(":")[2] if target else None,
    )
    claim = asked.claim
    samples = checked_samples(samples)
    alpha = probability("alpha", alpha)
    one_of("stop", stop, ("violated", "never"))
    one_of("level", level, LEVELS)
    seed = checked_seed(seed)
    handling = _handling(on_error, call_timeout, memory_limit, isolate=isolate)
    given, target = target, target or importable_name(mechanism)
    parcel = Parcel(asked.mechanism, handling, _elsewhere(asked, given, target), asked.details)
    callee = parcel.callee
    if piece is not None:
        piece = whole_number("piece", piece, least=1, most=2**16, help="try piece=8")
    elif callee.one_at_a_time:
        piece = PIECE
    arms = [Arm(number, pair) for number, pair in enumerate(asked.pairs)]
    limit = positive_number("seconds", seconds) if seconds is not None else math.inf
    shares = _shares(stop, len(arms), scanned=level == "bits" and not claim.delta)
    seen = habits(callee, arms[0].pair.x, seed)
    budget = samples
    if seen.repeats:
        budget = min(samples, _LARGEST_STOCK // (2 * len(arms)))
        for arm in arms:
            arm.stock = Stock.draw(callee, arm.pair, budget, stream(seed, _PHASE_STOCK, arm.number))
    dispatch = _dispatch(executor or Inline(), parcel, seen, arms[0].pair.x, seed)
    search = Search(
        parcel=parcel,
        claim=claim,
        arms=arms,
        budget=max(1, int(shares.draws * budget)),
        alpha=shares.search * alpha,
        seed=seed,
        deadline=started + limit * (shares.draws if stop == "never" else 1.0),
        progress=progress,
        level=level,
        explore=shares.panel * alpha if stop == "never" else None,
        piece=piece,
    )
    ledger = journal if isinstance(journal, Journal) or journal is None else Journal(journal)
    if ledger is not None:
        ledger.begin(_spec(search, seen, samples=samples, alpha=alpha, stop=stop, level=level), own=seen.own)
    desk = Desk(dispatch, ledger)
    answers = _Answers()
    finished = True
    try:
        search.run(desk, stop_when_refuted=stop == "violated")
        if stop == "never" or search.refuted:
            left = _affordable(search, budget, started, limit)
            answers = _examine(search, shares, alpha, left, desk, everything=stop == "never")
    except KeyboardInterrupt:
        finished = False  # what was merged stands
    finally:
        if ledger is not None:
            ledger.close()
    left = budget - search.dispatched if finished and time.monotonic() - started < limit else 0
    refuted = search.refuted or answers.epsilon_lower > claim.epsilon
    return Result(
        mechanism=callee.name,
        target=target,
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
        notes=(
            *_notes(search, answers, seen, left, refuted=refuted),
            *_exceptions(search.raised + answers.raised, on_error),
            *([Note("DP341", asked.note)] if asked.note else []),
        ),
        on_error=on_error,
        isolate=isolate,
        piece=piece,
        replayable=seen.replays,
        relation=asked.relation,
        claimed_by=asked.claimed_by,
        finished=finished,
        time_limit=seconds,
        alphas=Alphas(*(share * alpha for share in shares[:4])),
        history=_history(search),
        distributions=_distributions(search, answers, refuted=refuted),
        seconds=time.monotonic() - started,
    )


def _dispatch(executor: Executor, parcel: Parcel, seen: Habits, x: Any, seed: int) -> Dispatch:
    """Ready to hand out tasks: workers elsewhere are looked at, unless all draws are made here."""
    dispatch = Dispatch(executor, replays=seen.replays)
    if not isinstance(executor, Inline) and not seen.repeats:
        dispatch.known = known = Acquaintance(parcel, x, seed, seen.replays)
        check_workers(known, dispatch)
    return dispatch


def _elsewhere(asked: Asked, given: str | None, target: str | None) -> str | None:
    """The TARGET that loads the mechanism in other processes; None for what is pickled.

    A program travels with its time limit; a library's object is made again where it is needed; what has a
    name but was given no TARGET is pickled, for the name of a bound method is that of its class's function.
    """
    if isinstance(asked.mechanism, Program):
        return None
    return given or (target if asked.details is not None else None)


def _handling(
    on_error: str, call_timeout: float | None, memory_limit: int | None, *, isolate: bool
) -> Handling:
    one_of("on_error", on_error, ON_ERROR)
    if memory_limit is not None:
        if not isolate:
            raise bad_value("memory_limit", memory_limit, "come with isolate=True", help="add --isolate")
        memory_limit = checked_memory(memory_limit)
    if call_timeout is not None:
        call_timeout = positive_number("call_timeout", call_timeout)
    return Handling(on_error, call_timeout, isolate, memory_limit)


def _spec(
    search: Search, seen: Habits, *, samples: int, alpha: float, stop: str, level: str
) -> dict[str, Any]:
    """All that a result is a function of: a journal of another spec is none of this run."""
    pairs = repr([(arm.pair.name, _plain(arm.pair.x), _plain(arm.pair.x_prime)) for arm in search.arms])
    return {
        "mechanism": search.parcel.callee.name,
        "epsilon": search.claim.epsilon,
        "delta": search.claim.delta,
        "pairs": hashlib.blake2b(pairs.encode(errors="backslashreplace"), digest_size=8).hexdigest(),
        "samples": samples,
        "alpha": alpha,
        "seed": search.seed,
        "stop": stop,
        "level": level,
        "on_error": search.parcel.handling.on_error,
        "isolate": search.parcel.handling.isolate,
        "piece": search.piece,
        "numpy": np.__version__,
        "draws": seen.digest if seen.replays else None,  # the first outputs: is it still the same code?
    }


def _plain(value: Any) -> str:
    """An input, to the last number and bit."""
    words = in_words(repr, value.tolist() if isinstance(value, np.ndarray | np.generic) else value)
    return f"{type(value).__name__} {words}"


def _shares(stop: str, pairs: int, *, scanned: bool) -> Shares:
    shares = _EARLY if stop == "violated" else _TIGHT if pairs == 1 else _TIGHT_MANY
    return shares._replace(search=shares.search - _FOR_DELTA, delta=_FOR_DELTA) if scanned else shares


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
    raised: int = 0


def _examine(
    search: Search, shares: Shares, alpha: float, left: int, desk: Desk, *, everything: bool
) -> _Answers:
    """Count what was learned, and a readable event, on fresh draws."""
    if not everything:
        arm = max(search.arms, key=lambda arm: arm.log_wealth)
        left = min(left, max(_LEAST_FRESH, _FRESH_FACTOR * arm.tally.draws))
    if left < 2 or not any(arm.panel for arm in search.arms):
        return _Answers()
    room = exam.Room(search, desk)
    if everything and not search.claim.delta and not shares.delta:
        return _graded(grading.sit(room, left), shares, alpha, left, search.claim)
    return _frozen(room, search.leader(left) if everything else arm, shares, alpha, left)


def _graded(sheet: grading.Sheet, shares: Shares, alpha: float, draws: int, claim: Claim) -> _Answers:
    """For the tightest bound: a panel that goes on learning."""
    by_panel = graded_lower(sheet.grades, shares.panel * alpha)
    event = _Event(sheet.rule_draws, sheet.rule_guesses, sheet.rule_correct, shares.rule * alpha)
    return _Answers(
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


def _frozen(room: exam.Room, arm: Arm, shares: Shares, alpha: float, left: int) -> _Answers:
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
    return _Answers(
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


def _summary(arm: Arm, search: Search) -> PairSummary:
    """What the pair alone would have certified; across pairs only the run's bound is valid."""
    return PairSummary(arm.pair.name, arm.pair.x, arm.pair.x_prime, arm.tally.draws, search.alone(arm))


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


def _notes(search: Search, answers: _Answers, seen: Habits, left: int, *, refuted: bool) -> Iterator[Note]:
    """What is probably wrong, from outputs on the pair that stands out most; no evidence comes from it."""
    arm = answers.arm or max(search.arms, key=lambda arm: arm.log_wealth)
    sample = join(list(arm.sample)) if arm.sample else None
    drawn = sum(arm.tally.draws for arm in search.arms) + answers.draws
    callee = search.parcel.callee
    if search.slow and not refuted:
        left = 0  # where draws are dear, nobody pays for the cause of nothing
    wished = min(_DIAGNOSED, drawn // 20) if search.slow else _DIAGNOSED
    fresh = max(0, min(wished, left // 4))
    return diagnosis.notes(
        Subject(
            callee=callee,
            claim=search.claim,
            pair=arm.pair,
            seed=search.seed,
            habits=seen,
            violated=refuted,
            sides=examined(callee, arm.pair, search.seed, sample=sample, stock=arm.stock, fresh=fresh),
            spare=left - 2 * fresh,
        )
    )


def _exceptions(raised: int, on_error: str) -> Iterator[Note]:
    if raised and on_error == "symbol":
        yield Note(
            "DP331",
            f"{raised:,} draws raised an exception. Each counted as an output, named by its type: who sees "
            "that the mechanism fails learns from it.",
        )
    elif raised:
        yield Note(
            "DP331",
            f"{raised:,} calls raised an exception and were made again: what was audited is the mechanism "
            "with this retry around it. What the exceptions tell is not counted; --on-error symbol does.",
        )
