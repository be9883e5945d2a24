"""The empirical sanity check of section 4, and what the paper lacks: a certificate.

Takes a mechanism and the epsilon it claims; privatises zeros and ones, reconstructs them by rounding
and majority vote, and gives the counts, the attacker's precision, the paper's estimate of the loss,
and a lower bound on epsilon that holds with probability 1 - alpha.
"""

from __future__ import annotations

import functools
import math
import operator
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scipy.special import betainc, betaincc, ndtri

from dplitmus import bounds, engine
from dplitmus.claim import Claim
from dplitmus.counts import SideCounts, VoteCounts
from dplitmus.errors import MechanismError, one_of, probability
from dplitmus.forecast import majority
from dplitmus.habits import habits
from dplitmus.independence import check_independence, dependent_draws
from dplitmus.mechanisms.base import as_callee
from dplitmus.neighbours import zeros_and_ones
from dplitmus.samples import checked_dimension, checked_samples, checked_seed, draw, plan, stream
from dplitmus.verdict import Note, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from dplitmus.bounds import VoteBound
    from dplitmus.forecast.majority import VoteLaw
    from dplitmus.mechanisms.base import Callee, Mechanism

_PHASE_DRAWS, _PHASE_COINS = 0, 1  # first part of a stream's key
_MOST_WITH_NAN = 2000  # dimensions, for the exact law of votes with abstentions: its cost is quadratic


@dataclass(frozen=True)
class ExactVote:
    """Exact laws of the guess on zeros and on ones."""

    x: VoteLaw
    x_prime: VoteLaw

    @property
    def loss(self) -> float:
        """The loss that the estimate estimates: the larger one over both guesses."""
        return max(abs(self.log_ratio(guess)) for guess in (0, 1))

    def log_ratio(self, guess: int) -> float:
        """Return ln Pr(guess | x') - ln Pr(guess | x); 0 if the guess never happens."""
        here, there = self.x_prime[guess], self.x[guess]
        return 0.0 if here == there else here - there


@dataclass(frozen=True, kw_only=True)
class SanityCheck:
    """The outcome of one sanity check; echoes what was asked."""

    mechanism: str
    claim: Claim
    dimension: int
    samples: int
    alpha: float
    seed: int
    ties: str
    counts: VoteCounts
    exact: ExactVote | None
    replayable: bool
    seconds: float | None = field(default=None, compare=False)

    @property
    def verdict(self) -> Verdict:
        """Violated if the certified bound exceeds the claim; otherwise not found."""
        exceeded = self.epsilon_lower > self.claim.epsilon
        return Verdict.VIOLATED if exceeded else Verdict.NOT_FOUND

    @property
    def epsilon_lower(self) -> float:
        """Certified lower bound on the true epsilon, wrong with probability at most `alpha`."""
        return self.bound.epsilon_lower

    @functools.cached_property
    def bound(self) -> VoteBound:
        """The certified bound with the event and the numbers it comes from."""
        return bounds.vote_lower(self.counts, self.alpha)

    @property
    def estimate(self) -> float:
        """The paper's maximum likelihood loss: the larger |ln ratio of precisions| of both guesses.

        Infinite as soon as a guess was never wrong: an estimate, not evidence.
        """
        return max(abs(self.log_ratio(guess)) for guess in (0, 1))

    @property
    def decisive_guess(self) -> int:
        """The guess that attains the estimate; 1 if both do."""
        return max((0, 1), key=lambda guess: (abs(self.log_ratio(guess)), guess))

    def log_ratio(self, guess: int) -> float:
        """Return the estimate of ln Pr(guess | x') - ln Pr(guess | x); 0 if it never happened."""
        here, there = self.counts.x_prime.guesses[guess], self.counts.x.guesses[guess]
        if here == there:
            return 0.0
        return (math.log(here) if here else -math.inf) - (math.log(there) if there else -math.inf)

    def precision(self, guess: int) -> float | None:
        """Return the share of right ones among the guesses of `guess`; None if there were none."""
        right = (self.counts.x, self.counts.x_prime)[guess].guesses[guess]
        all_of_them = self.counts.x.guesses[guess] + self.counts.x_prime.guesses[guess]
        return right / all_of_them if all_of_them else None

    @property
    def z(self) -> float | None:
        """How many standard errors the estimate is above its exact value; None if that is unknown.

        Each count is turned into its exact normal deviate (mid-p), so that this stays meaningful
        where a count is small or zero. Where the exact loss is infinite it is the worse of both counts.
        """
        if self.exact is None:
            return None
        guess = self.decisive_guess
        towards_x_prime = (self.exact.log_ratio(guess) or self.log_ratio(guess)) >= 0
        return _log_ratio_deviate(
            (self.counts.x_prime.guesses[guess], self.exact.x_prime[guess]),
            (self.counts.x.guesses[guess], self.exact.x[guess]),
            self.samples,
        ) * (1 if towards_x_prime else -1)

    @property
    def notes(self) -> tuple[Note, ...]:
        """What else was seen."""
        x, x_prime = self.counts.x, self.counts.x_prime
        notes = []
        if x.nan or x_prime.nan:
            notes.append(
                Note(
                    "DP302",
                    f"outputs with NaN: {x.nan:,} on zeros, {x_prime.nan:,} on ones. A NaN casts no "
                    f"vote; an output of NaN only is counted as 'no vote'.",
                )
            )
        if x.infinite or x_prime.infinite:
            notes.append(
                Note(
                    "DP302",
                    f"outputs with infinities: {x.infinite:,} on zeros, {x_prime.infinite:,} on "
                    f"ones. They vote by their sign.",
                )
            )
        if not self.replayable:
            notes.append(
                Note(
                    "DP303",
                    "the mechanism does not take all its randomness from the rng: another run of the same "
                    "command draws other numbers.",
                )
            )
        return tuple(notes)

    def __str__(self) -> str:
        from dplitmus.report.text import sanity_check as as_text  # noqa: PLC0415  (a later stage)

        return as_text(self)


def sanity_check(
    mechanism: Mechanism | Callable[..., Any],
    *,
    epsilon: float,
    dimension: int,
    samples: int = 10_000_000,
    seed: int | None = None,
    alpha: float = 1e-6,
    ties: str = "zero",
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> SanityCheck:
    """Run the paper's sanity check: `samples` draws on zeros, and as many on ones.

    The result is a function of everything but `threads` and `progress`. A mechanism without an
    `rng` argument has its own randomness: it runs in one thread, whatever `threads` says, and cannot be
    replayed.
    `progress(n)` is called after every n draws.
    """
    started = time.perf_counter()
    claim = Claim(epsilon=epsilon)
    dimension = checked_dimension(dimension)
    samples = checked_samples(samples)
    alpha = probability("alpha", alpha)
    ties = one_of("ties", ties, majority.TIES)
    seed = checked_seed(seed)
    callee = as_callee(mechanism)
    threads = engine.checked_threads(threads) if callee.takes_rng else 1
    pair = zeros_and_ones(dimension)
    draw(callee, pair.x, 1, stream(seed, _PHASE_DRAWS, 2))  # refuses wrong outputs before anything else
    seen = habits(callee, pair.x, seed)
    if seen.repeats:
        raise MechanismError(
            f"{callee.name} repeats its draws from call to call: there is a fixed seed inside",
            code="DP405",
            help="draw from the rng that is passed in; draws that repeat certify nothing",
        )
    if seen.shares:
        raise dependent_draws(callee)
    if not callee.one_at_a_time:
        check_independence(callee, pair.x, seed, seen.pace)

    def count_chunk(chunk: int, size: int) -> VoteCounts:
        sides = []
        for side, x in enumerate((pair.x, pair.x_prime)):
            outputs = draw(callee, x, size, stream(seed, _PHASE_DRAWS, side, chunk))
            coins = stream(seed, _PHASE_COINS, side, chunk)
            sides.append(SideCounts.tally(majority.vote(outputs, ties=ties, coins=coins)))
        return VoteCounts(*sides)

    counts = engine.run(
        count_chunk,
        plan(samples, dimension=dimension),
        merge=operator.add,
        threads=threads,
        progress=(lambda size: progress(2 * size)) if progress else None,
    )
    return SanityCheck(
        mechanism=callee.name,
        claim=claim,
        dimension=dimension,
        samples=samples,
        alpha=alpha,
        seed=seed,
        ties=ties,
        counts=counts,
        exact=exact_vote(callee, dimension, ties=ties),
        replayable=seen.replays,
        seconds=time.perf_counter() - started,
    )


def exact_vote(mechanism: Mechanism | Callee, dimension: int, *, ties: str = "zero") -> ExactVote | None:
    """Exact laws of the guess on zeros and ones, if the mechanism knows those of its rounded bits."""
    rounded_bit = getattr(mechanism, "rounded_bit", None)
    if rounded_bit is None:
        return None
    on_zero, on_one = rounded_bit(0.0), rounded_bit(1.0)
    if on_zero is None or on_one is None:
        return None
    if on_zero.nan > -math.inf and dimension > _MOST_WITH_NAN:
        return None
    return ExactVote(
        x=majority.law(on_zero, dimension, ties=ties),
        x_prime=majority.law(on_one, dimension, ties=ties),
    )


def _log_ratio_deviate(above: tuple[int, float], below: tuple[int, float], trials: int) -> float:
    """Deviate of ln(k/k') from its exact value, from (count, exact log probability) of each."""
    spread, spread_below = (_relative_error(log_p, trials) for _, log_p in (above, below))
    if math.inf in (spread, spread_below):  # an impossible guess: the log ratio has no scale
        return max(_deviate(*above, trials), -_deviate(*below, trials), key=abs)
    both = math.hypot(spread, spread_below)
    if both == 0:
        return 0.0
    return (spread * _deviate(*above, trials) - spread_below * _deviate(*below, trials)) / both


def _relative_error(log_p: float, trials: int) -> float:
    p = math.exp(log_p)
    return math.sqrt(-math.expm1(log_p) / (trials * p)) if p > 0 else math.inf


def _deviate(count: int, log_p: float, trials: int) -> float:
    """Normal deviate of a binomial count: the quantile of its mid-distribution function."""
    p = math.exp(log_p)
    at_most = [_binomial_cdf(k, trials, p) for k in (count - 1, count)]
    above = [_binomial_survival(k, trials, p) for k in (count - 1, count)]
    lower, upper = sum(at_most) / 2, sum(above) / 2
    # The smaller tail is the accurate one.
    return float(ndtri(lower) if lower < upper else -ndtri(upper))


def _binomial_cdf(k: int, trials: int, p: float) -> float:
    if k < 0:
        return 0.0
    return 1.0 if k >= trials else float(betaincc(k + 1, trials - k, p))


def _binomial_survival(k: int, trials: int, p: float) -> float:
    if k < 0:
        return 1.0
    return 0.0 if k >= trials else float(betainc(k + 1, trials - k, p))
