"""The audit: search for a counterexample, confirm it on fresh draws, answer.

Takes a mechanism, a claim and pairs of neighbouring inputs; gives a `Result`.
"""

from __future__ import annotations

import hashlib
import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dplitmus import diagnosis, distributions
from dplitmus.adapters import Asked, resolve
from dplitmus.adapters.program import Program
from dplitmus.answering import Answers, examine, shares_of
from dplitmus.arms import Arm
from dplitmus.chunks import PIECE, Desk
from dplitmus.diagnosis.subject import Source, Subject, examined
from dplitmus.dispatch import Dispatch
from dplitmus.errors import bad_value, in_words, one_of, positive_number, probability, whole_number
from dplitmus.executors import Inline
from dplitmus.habits import Habits, habits
from dplitmus.independence import check_independence
from dplitmus.isolation import memory_limit as checked_memory
from dplitmus.journal import Journal
from dplitmus.neighbours import LEVELS
from dplitmus.outputs import join
from dplitmus.prospects import detectable_epsilon
from dplitmus.samples import ON_ERROR, Stock, checked_samples, checked_seed, stream
from dplitmus.search import Search
from dplitmus.shipping import Acquaintance, Handling, Parcel, check_workers
from dplitmus.target import importable_name
from dplitmus.verdict import (
    Alphas,
    Distributions,
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

    from dplitmus.mechanisms.base import Callee


_PHASE_STOCK = 23
_LARGEST_STOCK = 2**21  # outputs of long calls that are kept in memory
_SHORTEST = 1e-9  # seconds a draw: a coarse clock may say none
_EXAMINED = 0.75  # of the time that is left when the claim is refuted; the rest is for the cause
_DIAGNOSED = 2048  # draws on each input to name the cause, at most
_DIAGNOSED_SLOW = 0.5  # of all draws, where they are dear: on these and other inputs together


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
    arms = [Arm(number, pair) for number, pair in enumerate(asked.pairs)]
    if piece is not None:
        piece = whole_number("piece", piece, least=1, most=2**16, help="try piece=8")
    end = started + (positive_number("seconds", seconds) if seconds is not None else math.inf)
    parcel, seen = _acquainted(parcel, arms[0].pair.x, seed)
    callee = parcel.callee
    if piece is None and callee.one_at_a_time:
        piece = PIECE
    planned = samples if not claim.delta and math.isinf(end) else None
    shares = shares_of(stop, len(arms), planned=planned, scanned=level == "bits" and not claim.delta)
    budget = samples
    if seen.repeats:
        budget = min(samples, _LARGEST_STOCK // (2 * len(arms)))
        for arm in arms:
            arm.stock = Stock.draw(callee, arm.pair, budget, stream(seed, _PHASE_STOCK, arm.number))
    dispatch = _dispatch(executor or Inline(), parcel, seen, arms[0].pair.x, seed)
    began = time.monotonic()
    search = Search(
        parcel=parcel,
        claim=claim,
        arms=arms,
        budget=max(1, int(shares.draws * budget)),
        alpha=shares.search * alpha,
        seed=seed,
        deadline=began + (end - began) * shares.draws if stop == "never" else end,
        progress=progress,
        level=level,
        explore=shares.panel * alpha if stop == "never" else None,
        piece=piece,
    )
    ledger = journal if isinstance(journal, Journal) or journal is None else Journal(journal)
    if ledger is not None:
        ledger.begin(_spec(search, seen, samples=samples, alpha=alpha, stop=stop, level=level), own=seen.own)
    desk = Desk(dispatch, ledger, seen.pace)
    answers = Answers()
    finished = True
    try:
        search.run(desk, stop_when_refuted=stop == "violated")
        _check_best(search, seen)
        if stop == "never" or search.refuted:
            pace = (time.monotonic() - began) / sum(arm.tally.draws for arm in arms)
            left = _within(end, budget - search.dispatched, pace if stop == "never" else pace / _EXAMINED)
            answers = examine(search, shares, alpha, left, desk, everything=stop == "never")
    except KeyboardInterrupt:
        finished = False  # what was merged stands
    finally:
        if ledger is not None:
            ledger.close()
    left = _within(end, budget - search.dispatched, seen.pace) if finished else 0  # at the pace of one worker
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
        detectable=detectable_epsilon((arm.tally for arm in arms), claim, search.explore or search.alpha),
        notes=(
            *_notes(search, answers, seen, desk, left, refuted=refuted),
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


def _acquainted(parcel: Parcel, x: Any, seed: int) -> tuple[Parcel, Habits]:
    """A mechanism's habits, and how it is called because of them."""
    seen = habits(parcel.callee, x, seed)
    if seen.shares:
        parcel = replace(parcel, handling=parcel.handling._replace(one_by_one=True))
        seen = habits(parcel.callee, x, seed)._replace(shares=True)
    _check_calls(parcel.callee, x, seen, seed)
    return parcel, seen


def _check_calls(callee: Callee, x: Any, seen: Habits, seed: int) -> None:
    """Nothing is certified by draws of one call that depend on each other, nor is anybody accused."""
    apart = callee.one_at_a_time or callee.on_error == "symbol"  # a call has but one draw
    if not apart and not seen.repeats:
        check_independence(callee, x, seed, seen.pace)


def _check_best(search: Search, seen: Habits) -> None:
    """The same for the pair that stands out; the first one was looked at before the search."""
    best = max(search.arms, key=lambda arm: arm.log_wealth)
    if best is not search.arms[0]:
        _check_calls(search.parcel.callee, best.pair.x, seen, search.seed)


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


def _within(end: float, draws: int, pace: float) -> int:
    """As many of these draws as will fit into the time that is left, at so many seconds a draw.

    Those of an exam must be fixed before it: to stop it by the clock would let the outputs have a say.
    """
    if math.isinf(end):
        return draws
    return max(0, min(draws, int((end - time.monotonic()) / max(pace, _SHORTEST))))


def _summary(arm: Arm, search: Search) -> PairSummary:
    """What the pair alone would have certified; across pairs only the run's bound is valid."""
    return PairSummary(arm.pair.name, arm.pair.x, arm.pair.x_prime, arm.tally.draws, search.alone(arm))


def _history(search: Search) -> tuple[Moment, ...]:
    """Where the search stood on the way, and where it ended, with the bound on the fine grid."""
    drawn = sum(arm.tally.draws for arm in search.arms)
    end = Moment(drawn, search.log_wealth, search.epsilon_lower)
    return (*(moment for moment in search.history if moment.draws < drawn), end)


def _distributions(search: Search, answers: Answers, *, refuted: bool) -> Distributions | None:
    """The outputs on the pair of the counterexample, or on the one that stands out most."""
    arm = answers.arm or max(search.arms, key=lambda arm: arm.log_wealth)
    if not arm.sample:
        return None
    confirmed = answers.rule if refuted and answers.counterexample else None
    return distributions.of(join(list(arm.sample)), arm.pair.name, confirmed)


def _notes(
    search: Search, answers: Answers, seen: Habits, desk: Desk, left: int, *, refuted: bool
) -> Iterator[Note]:
    """What is probably wrong, from outputs on the pair that stands out most; no evidence comes from it."""
    arm = answers.arm or max(search.arms, key=lambda arm: arm.log_wealth)
    sample = join(list(arm.sample)) if arm.sample else None
    fresh = max(0, min(_DIAGNOSED, left // 4))
    if search.slow:  # where draws are dear, the cause must not cost more than the finding
        drawn = sum(arm.tally.draws for arm in search.arms) + answers.draws
        left = min(left, int(_DIAGNOSED_SLOW * drawn)) if refuted else 0
        fresh = max(0, min(fresh, left // 10))
    source = Source(search.parcel, desk, search.seed)
    return diagnosis.notes(
        Subject(
            source=source,
            claim=search.claim,
            pair=arm.pair,
            habits=seen,
            violated=refuted,
            sides=examined(source, arm.pair, sample=sample, stock=arm.stock, fresh=fresh),
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
