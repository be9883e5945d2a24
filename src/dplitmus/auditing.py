"""The audit: search for a counterexample, confirm it on fresh draws, answer.

Takes a mechanism, a claim and pairs of neighbouring inputs; gives a `Result`.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import bdtrc

from dplitmus import certificate, evidence
from dplitmus.bounds import clopper_pearson_lower
from dplitmus.claim import Claim
from dplitmus.errors import one_of, positive_number, probability
from dplitmus.mechanisms.base import as_callee
from dplitmus.neighbours import as_pairs
from dplitmus.outputs import join
from dplitmus.samples import (
    PROBE,
    Habits,
    Stock,
    checked_samples,
    checked_seed,
    habits,
    plan,
    stream,
    within,
)
from dplitmus.search import Arm, Inline, Search, detectable_epsilon
from dplitmus.target import importable_name
from dplitmus.verdict import Counterexample, Note, PairSummary, Result, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Executor

_PHASE_CONFIRM, _PHASE_STOCK = 22, 23
_LARGEST_STOCK = 2**21  # outputs of long calls that are kept in memory
# Fresh draws for the counterexample: one simple event needs several times the draws of the panel.
_LEAST_CONFIRM, _CONFIRM_FACTOR = 1000, 8
_SEARCH_SHARE = 0.99  # of alpha is the search's; the fresh draws of the counterexample have the rest
_CONFIRM_SHARE = 0.1  # of the budget is kept for the readable counterexample


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
    reserve = int(_CONFIRM_SHARE * samples)
    search = Search(
        callee=callee,
        claim=claim,
        arms=arms,
        budget=samples - reserve,
        alpha=_SEARCH_SHARE * alpha,
        seed=seed,
        deadline=started + positive_number("seconds", seconds) if seconds is not None else math.inf,
        progress=progress,
    )
    seen = habits(callee, arms[0].pair.x, seed)
    if seen.repeats:
        rows = min(search.budget + reserve, _LARGEST_STOCK // (2 * len(arms)))
        reserve = int(_CONFIRM_SHARE * rows)
        search.budget = rows - reserve
        for arm in arms:
            arm.stock = Stock.draw(callee, arm.pair, rows, stream(seed, _PHASE_STOCK, arm.number))
    finished = True
    try:
        search.run(executor or Inline(), stop_when_refuted=stop == "violated")
    except KeyboardInterrupt:
        finished = False  # what was merged stands
    counterexample = _counterexample(search, reserve) if search.refuted and finished else None
    drawn = sum(arm.tally.draws for arm in arms) + (counterexample.draws if counterexample else 0)
    return Result(
        mechanism=callee.name,
        target=target or importable_name(mechanism),
        verdict=Verdict.VIOLATED if search.refuted else Verdict.NOT_FOUND,
        claim=claim,
        epsilon_lower=max(search.epsilon_lower(), _confirmed_epsilon(counterexample, claim, alpha)),
        delta_lower=search.delta_lower(),
        alpha=alpha,
        samples=drawn,
        budget=samples,
        seed=seed,
        level=level,
        stop=stop,
        log_wealth=search.log_wealth,
        counterexample=counterexample,
        pairs=tuple(_summary(arm, search) for arm in arms),
        detectable=detectable_epsilon(arms, claim, alpha),
        notes=tuple(_notes(seen)),
        replayable=seen.replays,
        finished=finished,
        seconds=time.monotonic() - started,
    )


def _confirmed_epsilon(found: Counterexample | None, claim: Claim, alpha: float) -> float:
    """What the fresh draws of the counterexample certify by themselves, at their share of alpha.

    Under epsilon-DP a guess is right with probability at most 1 / (1 + e^-epsilon), so a lower bound on
    the probability of being right is one on epsilon. (For delta > 0 it is not: then nothing is added.)
    """
    if found is None or claim.delta > 0 or not found.guesses:
        return 0.0
    right = clopper_pearson_lower(found.correct, found.guesses, (1 - _SEARCH_SHARE) * alpha)
    return math.log(right / (1 - right)) if 0.5 < right < 1 else 0.0


def _summary(arm: Arm, search: Search) -> PairSummary:
    """What the pair alone would have certified; across pairs only the run's bound is valid."""
    if not arm.tally.counts[:, 1:].any():
        return PairSummary(arm.pair.name, arm.pair.x, arm.pair.x_prime, arm.tally.draws, 0.0)
    delta = np.full(evidence.EPSILONS.size, search.claim.delta)
    logs = evidence.log_wealth(arm.tally, evidence.EPSILONS, delta)
    alone = evidence.largest_refuted(evidence.EPSILONS, logs, search.alpha)
    return PairSummary(arm.pair.name, arm.pair.x, arm.pair.x_prime, arm.tally.draws, alone)


def _counterexample(search: Search, reserve: int) -> Counterexample | None:
    """Find the simplest rule on the draws of the search and confirm it on fresh ones."""
    arm = max(search.arms, key=lambda arm: arm.log_wealth)
    rule = certificate.find(join(list(arm.sample)), search.claim.epsilon)
    draws = min(reserve, max(_LEAST_CONFIRM, _CONFIRM_FACTOR * arm.tally.draws))
    if rule is None or draws < 1:
        return None
    guesses = correct = done = 0
    columns = arm.sample[-1].values.shape[1]
    for chunk, size in enumerate(plan(draws, dimension=max(1, columns))):
        key = (_PHASE_CONFIRM, arm.number, chunk)
        first = arm.dispatched + done
        batch = search.task(arm, size, key, None, first).draw()
        happens = rule.happens(batch)
        guesses += int(happens.sum())
        correct += int((batch.labels[happens] == rule.label).sum())
        done += size
    ceiling = 1 / (1 + math.exp(-search.claim.epsilon))
    return Counterexample(
        x=arm.pair.x,
        x_prime=arm.pair.x_prime,
        event=rule.event,
        remark=rule.remark,
        guess="x'" if rule.label else "x",
        draws=draws,
        guesses=guesses,
        correct=correct,
        ceiling=ceiling,
        p_value=float(bdtrc(correct - 1, guesses, ceiling)) if correct else 1.0,
    )


def _notes(seen: Habits) -> Iterator[Note]:
    if seen.constant:
        yield Note(
            "DP304",
            f"{3 * PROBE} outputs on one input are all the same: the noise is missing, switched off, or "
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
