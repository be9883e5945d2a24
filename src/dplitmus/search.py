"""The search: draw, forecast, bet, learn, until the claim is refuted or the budget is spent.

Takes a mechanism, a claim and pairs of inputs; leaves evidence and a panel for each pair.

The order of events makes the result a function of (spec, seed), and the bets valid. Chunks are numbered.
Chunk t is drawn from its own random stream; its pair and its size are functions of the chunks up to
t - 1 - lag(t) alone, which were merged in order, and lag depends on the spec and the number of draws only. So
is the panel that judges it; but where draws are slow workers only draw, and it is judged when it is merged,
by a panel that has learned from all before it.

Predictability, with chunks in flight. Let F_t be what the chunks 1..t and the coins of the bandit tell. The
panel of chunk t is a function of F_(t-1-lag(t)), hence of F_(t-1): it was copied when the chunk was
dispatched and nothing learned later reaches it, however late the chunk is drawn or its answer arrives. Or it
is a function of F_(t-1) itself: chunk t may be drawn by then, but nothing has looked at it. The outputs and
the coins of chunk t come from a stream that nothing else uses, so that given F_(t-1) they are fresh draws. So
`evidence`'s conditional expectation of a payoff given the past is at most one for every chunk, in the order
of the numbers, and the wealth after t chunks is a supermartingale for (F_t). That some were drawn at the same
time does not matter, for a chunk in flight is in nobody's past but its successors'.

Stopping. Answers are merged in the order of the numbers, whatever the order of their arrival: the stopping
time is one of (F_t), and no executor, worker count or timing can change it; chunks beyond it are dropped
unseen. (A rule that took answers as they come would stop at a time that depends on how long draws take, and
these may depend on the outputs.) Only a time limit ends a run by the clock, before the first chunk that has
no answer by then: Ville's inequality bounds the largest wealth of all times, so that no choice of the last
one makes a false alarm more likely, not even one that outputs have a say in. Who is late keeps nobody from
drawing: others go on, and a straggler is overtaken by a copy of itself (`dispatch`), with the same stream and
answer.
"""

from __future__ import annotations

import copy
import math
import time
from collections import deque
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dplitmus import evidence, prospects
from dplitmus.chunks import Chunk
from dplitmus.forecast.common import Common
from dplitmus.forecast.panel import Panel, Together
from dplitmus.judging import Judge
from dplitmus.outputs import join
from dplitmus.samples import stream
from dplitmus.verdict import Moment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from dplitmus.arms import Arm
    from dplitmus.chunks import Desk, Pending
    from dplitmus.claim import Claim
    from dplitmus.judging import Outcome
    from dplitmus.shipping import Parcel

_PHASE_SEARCH, _PHASE_BANDIT = 20, 21
_GROWTH_EARLY, _GROWTH = 0.05, 0.03  # size of a chunk, as a share of the pair's draws so far
# Where draws are dear workers must not wait for the panel: fewer chunks to judge.
_GROWTH_SLOW_EARLY, _GROWTH_SLOW, _GROWTH_SLOW_LATE = 0.16, 0.12, 0.08
_GROWTH_PATIENT = 0.15  # where nothing depends on stopping early
_SEQUENTIAL = 16384  # draws on a pair up to which nothing is in flight, where draws are cheap
_EARLY, _LATE = 128, 1024  # draws on a pair, where they are dear
_IN_FLIGHT = 8  # chunks
_IN_FLIGHT_EARLY = 16  # where draws are dear: the first chunks are drawn faster than judged
_AHEAD = 0.2  # of the draws may be in flight there: at the end the exam has none of these
_FIRST_MOMENT, _COARSE = 32, 16  # of the history: its first draws, and every so many epsilons of the grid
_LEAST_ON_A_PAIR = 40  # draws before the bandit compares pairs
_EVENLY = 0.8  # of the draws go to all pairs alike, the rest to the best of them
_DOUBT = 0.1  # of what a panel says of its pair, to compare pairs: it has learned from the others, too
_SPREAD = 0.3  # of the draws are spread evenly: a panel must learn before its guesses show how good a pair is


@dataclass
class Search:
    """The state of a run between chunks; everything in it came from merged chunks, in order."""

    parcel: Parcel
    claim: Claim
    arms: list[Arm]
    budget: int
    alpha: float
    seed: int
    deadline: float
    progress: Callable[[int], None] | None
    level: str = "ideal"
    explore: float | None = None  # alpha of an exam for which the best pair is looked for, if there is one
    piece: int | None = None  # draws that a slow mechanism makes at a time
    joint: evidence.Tally = field(default_factory=evidence.Tally)
    chunks: int = 0
    dispatched: int = 0
    log_wealth: float = 0.0
    bets: list[evidence.Stream] = field(default_factory=list)
    history: list[Moment] = field(default_factory=list)
    raised: int = 0  # exceptions of the mechanism
    together: Together = field(default_factory=Together)  # what all panels know of their experts
    common: Common = field(default_factory=Common)  # the expert of all panels

    def run(self, desk: Desk, *, stop_when_refuted: bool) -> None:
        """Dispatch and merge until the claim is refuted or the budget is spent."""
        waiting: deque[Pending[Outcome]] = deque()
        arms: deque[Arm] = deque()
        try:
            while True:
                late = time.monotonic() > self.deadline and any(arm.judged for arm in self.arms)
                if late and not (waiting and desk.has_answer(waiting[0])):
                    return
                spent = late or self.dispatched >= self.budget or self._ready
                if waiting and (spent or len(waiting) > self._lag or self._far_ahead(waiting)):
                    arm = arms.popleft()
                    if arm.panel is not None:
                        arm.panel.gives_way = self.slow and desk.draws_here
                    self._merge(arm, desk.result(waiting.popleft(), Judge(arm.panel)))
                    if stop_when_refuted and self.refuted:
                        return
                elif spent:
                    return
                else:
                    arms.append(self._choose())
                    waiting.append(desk.submit(*self._task(arms[-1])))
        finally:
            desk.drop(waiting)

    @property
    def refuted(self) -> bool:
        """Whether the wealth against the claim has reached 1 / alpha."""
        return self.log_wealth >= -math.log(self.alpha)

    @property
    def _lag(self) -> int:
        """Chunks in flight beside the one that is merged next: a function of the spec and the draws alone."""
        draws = self.dispatched / len(self.arms)
        if self.slow and draws < _LATE:
            return _IN_FLIGHT_EARLY - 1
        return _IN_FLIGHT - 1 if self.slow or draws >= _SEQUENTIAL else 0

    def _far_ahead(self, waiting: Iterable[Pending[Outcome]]) -> bool:
        """Whether too many of few slow draws are in flight: a function of the same."""
        early = self.slow and self.dispatched / len(self.arms) < _LATE
        return early and sum(pending.chunk.size for pending in waiting) > _AHEAD * self.budget

    @property
    def slow(self) -> bool:
        """Whether draws are dear: in pieces, or each call in a process of its own."""
        return self.piece is not None or self.parcel.handling.isolate

    def _growth(self, arm: Arm) -> float:
        if self.slow:
            if arm.dispatched < _EARLY:
                return _GROWTH_SLOW_EARLY
            return _GROWTH_SLOW if arm.dispatched < _LATE else _GROWTH_SLOW_LATE
        if self.explore:
            return _GROWTH_PATIENT
        return _GROWTH_EARLY if arm.dispatched < _SEQUENTIAL else _GROWTH

    def _task(self, arm: Arm) -> tuple[Chunk, Judge | None]:
        columns = arm.sample[-1].values.shape[1] if arm.sample else 1
        size = min(arm.next_size(columns, self._growth(arm)), self.budget - self.dispatched)
        chunk = self.fresh(arm, size, (_PHASE_SEARCH, arm.number, arm.chunks))
        arm.chunks += 1
        self.chunks += 1
        if self.slow:  # workers only draw: it is judged when all before it have taught
            return chunk, None
        # In flight, the panel of this moment judges; later learning must not reach it.
        return chunk, Judge(arm.panel.twin() if arm.panel is not None and self._lag else copy.copy(arm.panel))

    def fresh(self, arm: Arm, size: int, key: tuple[int, ...]) -> Chunk:
        """A chunk of an arm that was not drawn before."""
        stock = arm.stock.part(arm.dispatched, size) if arm.stock else None
        arm.dispatched += size
        self.dispatched += size
        return Chunk(self.parcel, arm.pair, size, self.seed, key, arm.like, stock, self.piece)

    def _merge(self, arm: Arm, outcome: Outcome) -> None:
        arm.tally.add(outcome.counts)
        if len(self.arms) > 1:
            self.joint.add(outcome.counts)
        self.teach(arm, outcome)
        arm.log_wealth = self._against_claim(arm.tally)
        self.log_wealth = arm.log_wealth
        if len(self.arms) > 1:
            arm.prospect = prospects.best(arm.recent(), self.horizon(2 * self.dispatched))
            logs = [np.array([one.log_wealth]) for one in self.arms]
            self.log_wealth = float(self._mixed(np.array([self._against_claim(self.joint)]), logs)[0])
        self._remember()
        if self.progress:
            self.progress(int(outcome.counts.sum()))

    def teach(self, arm: Arm, outcome: Outcome) -> None:
        """Let the panel of a pair learn from a chunk that it has judged."""
        arm.see(outcome.counts)
        self.raised += outcome.raised
        if arm.panel is None or arm.outgrown_by(outcome.learnt):
            together = self.together if len(self.arms) > 1 else None
            common = self.common if arm.panel is None else None  # it has learned from these outputs before
            arm.panel = Panel.of(outcome.learnt, level=self.level, common=common, together=together)
            if arm.sample:
                arm.sample = deque(batch.like(arm.panel.shape) for batch in arm.sample)
                arm.panel.learn(join(list(arm.sample)), None)
        learnt, judged = outcome.learnt.like(arm.panel.shape), outcome.judgement
        if judged is not None and judged.losses.size != len(arm.panel.experts):
            judged = None  # by a panel that was outgrown
        arm.panel.learn(learnt, judged)
        arm.keep(learnt)

    def _remember(self) -> None:
        """Note where the search stands whenever the draws have doubled: for the report alone."""
        draws = sum(arm.tally.draws for arm in self.arms)
        if draws >= (2 * self.history[-1].draws if self.history else _FIRST_MOMENT):
            found = self._largest_refuted(evidence.EPSILONS[::_COARSE])
            self.history.append(Moment(draws, self.log_wealth, found))

    def _against_claim(self, tally: evidence.Tally) -> float:
        epsilon, delta = np.array([self.claim.epsilon]), np.array([self.claim.delta])
        if self.claim.delta and not self.bets:
            self.bets = evidence.streams(epsilon, delta, evidence.LEVELS)
        return float(evidence.log_wealth(tally, epsilon, delta, bets=self.bets)[0])

    def _largest_refuted(self, epsilons: NDArray[np.float64]) -> float:
        """The largest of these epsilons, at the claimed delta, that the run refutes."""
        return evidence.largest_refuted(
            epsilons, lambda some: self._mixture(some, np.full(some.size, self.claim.delta)), self.alpha
        )

    def _mixture(self, epsilon: NDArray[np.float64], delta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Log wealth of the whole run against each claim."""
        logs = [evidence.log_wealth(arm.tally, epsilon, delta) for arm in self.arms]
        if len(self.arms) == 1:
            return logs[0]
        return self._mixed(evidence.log_wealth(self.joint, epsilon, delta), logs)

    def alone(self, arm: Arm) -> float:
        """The largest epsilon that the bets on one pair refute, as if there were no other."""
        if len(self.arms) == 1:
            return self.epsilon_lower
        return evidence.largest_refuted(
            evidence.EPSILONS,
            lambda some: evidence.log_wealth(arm.tally, some, np.full(some.size, self.claim.delta)),
            self.alpha,
        )

    def _mixed(self, joint: NDArray[np.float64], logs: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Half of the wealth is bet on all pairs together, half is spread evenly over them."""
        return evidence.combined([joint, *logs], [0.5, *[0.5 / len(logs)] * len(logs)])

    def _choose(self) -> Arm:
        """The pair that the next chunk is drawn on."""
        if len(self.arms) == 1:
            return self.arms[0]
        if self.explore:
            return self._exploring()
        behind = min(self.arms, key=lambda arm: (arm.dispatched, arm.number))
        evenly = self.dispatched / len(self.arms)
        if behind.dispatched < max(_LEAST_ON_A_PAIR, _SPREAD * evenly):
            return behind
        known = [(arm, arm.prospect) for arm in self.arms if arm.prospect]
        return self._thompson(known) if known else behind  # all may still be in flight

    def _thompson(self, known: list[tuple[Arm, prospects.Prospect]]) -> Arm:
        """To refute the claim soon: sample what each pair promises to certify, take the best."""
        rng = stream(self.seed, _PHASE_BANDIT, self.chunks)
        # Twice the draws so far: early on common events count, later rare ones too.
        horizon = self.horizon(2 * self.dispatched)
        samples = [prospect.sampled(rng, horizon) for _, prospect in known]
        return known[int(np.argmax(samples))][0]

    def _exploring(self) -> Arm:
        """To find the best pair: equal draws for all, then the pair that promises most by what is known.

        Who promised too much is found out, and the next one gets the draws. Rounds of halving (Karnin, Koren,
        Somekh 2013) would drop pairs before they are known; as the panels learn from all pairs (`Common`,
        `Together`), draws on a pair that turns out worse are not lost.
        """
        if self._comparing:
            return self.leader(self.budget)
        return min(self.arms, key=lambda arm: (arm.dispatched, arm.number))

    @property
    def _comparing(self) -> bool:
        """Whether all pairs have had their equal draws."""
        return self.dispatched > _EVENLY * self.budget and all(arm.panel for arm in self.arms)

    def leader(self, draws: int, profile: prospects.Profile | None = None, caution: float = 0.0) -> Arm:
        """The pair on which an exam of so many draws promises the largest bound, by what is known now.

        `profile` says what guesses count, if that is fixed. With caution a pair of which little is known must
        promise more.
        """
        horizon = self.horizon(draws)

        def promise(arm: Arm) -> float:
            if self.claim.delta:
                return prospects.best(arm.recent(), horizon, _DOUBT).expected(horizon)
            if profile is not None:
                return profile.expected(*arm.known, horizon, caution)
            return prospects.profile(*arm.known, horizon, caution).epsilon

        known = [arm for arm in self.arms if arm.panel is not None]
        return known[0] if len(known) == 1 else max(known, key=promise)

    @property
    def _ready(self) -> bool:
        """Whether an exam will come, and the panel of the best pair would hardly get better."""
        if self.explore is None or not any(arm.panel and arm.panel.converged for arm in self.arms):
            return False
        leader = self.leader(self.budget).panel if len(self.arms) == 1 or self._comparing else None
        return leader is not None and leader.converged

    def horizon(self, draws: int) -> prospects.Horizon:
        """So many draws, for this claim."""
        return prospects.Horizon(draws, self.explore or self.alpha, self.claim.delta)

    @cached_property
    def epsilon_lower(self) -> float:
        """The largest epsilon, at the claimed delta, that the run refutes, once it has ended."""
        found = self._largest_refuted(evidence.EPSILONS)
        return max(found, self.claim.epsilon) if self.refuted else found

    def delta_lower(self) -> float:
        """The largest delta, at the claimed epsilon, that the run refutes."""
        if not self.claim.delta and not self.refuted:
            return 0.0  # delta = 0 stands, so that every other delta does
        found = evidence.largest_refuted(
            evidence.DELTAS,
            lambda some: self._mixture(np.full(some.size, self.claim.epsilon), some),
            self.alpha,
        )
        return max(found, self.claim.delta) if self.refuted else found
