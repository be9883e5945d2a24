"""What the guesses so far promise: the epsilon that a number of further draws would about certify.

Takes correct and wrong guesses per forecast level; gives the level from which on to guess or what guesses of
each level should count, a score to compare pairs of inputs by, and what a run could have seen. Estimates that
guide the search; nothing here certifies anything.
"""

from __future__ import annotations

import bisect
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import bdtrc, betaincinv, expit, kl_div, ndtri

from dplitmus import evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from dplitmus.claim import Claim

    Floats = NDArray[np.float64]

_HALF = 0.5  # pseudo-count of both kinds: a level that was never wrong is not infinitely good
_CAUTION = 1.0  # standard errors: among many levels some are lucky
_WEIGHTS = np.array([16, 12, 8, 6, 4, 3, 2, 1])  # of guesses; steps so small lose 1 % of what they tell
_LEAST_WEIGHT = 0.7  # what is less is not counted
_SPARED, _MOST_SPARED = 1.5, 4.0  # standard errors of a number of guesses
_FEWEST = 0.1  # share of them that is left, at least
_TELLING = 0.005  # of what all guesses tell: a weight whose guesses tell less is not used
_SUREST = 0.05  # of all that guesses tell: what comes from the rarest ones may all count alike
_CERTAIN = 256  # right guesses, and no wrong one
_MISCALIBRATED = 0.2  # standard deviation of the factor by which a panel exaggerates


class Horizon(NamedTuple):
    """For what one looks ahead: so many draws, certified at alpha, for a claim with this delta."""

    draws: int
    alpha: float
    delta: float


class Prospect(NamedTuple):
    """Guess at this level and above, abstain below: what is known of it."""

    level: int
    guesses: int
    epsilon: float  # log odds of a right guess: the counts, shrunk towards what the panel says itself
    error: float  # standard error of that
    share: float  # of the draws are guesses
    promise: float  # the epsilon to be certified, with caution

    def sampled(self, rng: np.random.Generator, horizon: Horizon) -> float:
        """The epsilon to be certified, for log odds drawn from what is known of them."""
        epsilon = np.array([self.epsilon + self.error * rng.standard_normal()])
        return float(_certified(epsilon, np.array([self.share]), horizon)[0])

    def expected(self, horizon: Horizon) -> float:
        """The epsilon to be certified, without caution."""
        return float(_certified(np.array([self.epsilon]), np.array([self.share]), horizon)[0])


def best(counts: NDArray[np.int64], horizon: Horizon, doubt: float = 1.0) -> Prospect:
    """The level that promises most, if what the panel says may be wrong by this share of it."""
    draws = int(counts.sum())
    correct, wrong = _from_here_on(counts[:, 1:].astype(float))
    guesses = correct + wrong
    said = _from_here_on(counts[:, 1:].sum(axis=0) * evidence.LEVELS[1:]) / np.maximum(guesses, 1.0)
    seen = np.log((correct + _HALF) / (wrong + _HALF))
    variance = 1 / (correct + _HALF) + 1 / (wrong + _HALF)
    # A panel knows about how good its guesses are; it may be wrong as far as `doubt` goes, or by what nobody
    # could tell from all draws. A rare level, of which the counts say little, is not chosen for its luck.
    trust = variance / (variance + np.square(doubt * said) + variance[0])
    epsilon = (1 - trust) * seen + trust * said
    error = np.sqrt((1 - trust) * variance)
    promises = _certified(epsilon, guesses / max(draws, 1), horizon) - _CAUTION * error
    level = int(np.argmax(promises))
    return Prospect(
        level + 1,
        int(guesses[level]),
        float(epsilon[level]),
        float(error[level]),
        float(guesses[level] / max(draws, 1)),
        float(promises[level]),
    )


class Profile(NamedTuple):
    """What guesses should count: the first share of the draws, the surest, has the largest weight."""

    epsilon: float  # about what such an exam will certify
    weights: tuple[int, ...]
    shares: tuple[float, ...]

    def ends(self, draws: int) -> NDArray[np.intp]:
        """Of so many draws, the surest first: where each weight ends."""
        ends: NDArray[np.intp] = np.rint(np.cumsum(self.shares) * draws).astype(np.intp)
        return ends

    def expected(
        self, counts: NDArray[np.int64], last: NDArray[np.int64], horizon: Horizon, caution: float
    ) -> float:
        """About what these weights will certify on another pair, of which this is known; see `profile`."""
        right = expit(_calibrated(counts.astype(float), caution)[::-1])
        shares = last[::-1] / max(int(last.sum()), 1)
        upto = [0.0, *np.cumsum(self.shares)]
        correct = np.diff(np.interp(upto, np.cumsum([0.0, *shares]), np.cumsum([0.0, *(shares * right)])))
        weights, guesses = np.array(self.weights), np.array(self.shares)
        spread = math.sqrt(weights**2 @ guesses / horizon.draws) * float(ndtri(1 - horizon.alpha))

        def tells(epsilon: float) -> bool:
            u = float(expit(epsilon))
            return bool(weights @ (correct - u * guesses) > spread * math.sqrt(u * (1 - u)))

        return _largest(tells)


def profile(
    counts: NDArray[np.int64], last: NDArray[np.int64], horizon: Horizon, caution: float = 0.0
) -> Profile:
    """The weights with which so many draws, guessed at as lately, would certify most.

    `counts` show how far the panel can be trusted, `last` (draws per level) what it says now: the same output
    had other levels before, and to take those for other outputs would promise too much. With caution the
    panel is taken to exaggerate by so many standard errors more than the counts show.

    To tell log odds l from an epsilon below them, a guess should count l - epsilon: the log likelihood
    ratio of a right one less that of a wrong one. The epsilon that can just be told apart is where the sum
    over guesses of twice the relative entropy of their odds is the square of the normal quantile.
    """
    shares = last / max(int(last.sum()), 1)
    logits = _calibrated(counts.astype(float), caution)
    right = expit(logits)

    def tells(epsilon: float) -> bool:
        ceiling = expit(epsilon)
        information = kl_div(right, ceiling) + kl_div(1 - right, 1 - ceiling)
        return bool(2 * horizon.draws * shares @ np.where(logits > epsilon, information, 0.0) > needed)

    needed = float(ndtri(horizon.alpha)) ** 2
    low = _largest(tells)
    weights = _in_steps(np.maximum(logits - low, 0.0), shares)
    mass = np.array([shares[weights == weight].sum() for weight in _WEIGHTS])
    telling = mass * _WEIGHTS**2
    used = telling > _TELLING * telling.sum()
    if used.sum() <= 1:  # all guesses count alike
        return Profile(low, (1,), _spared([float(mass[used].sum()) or 1.0], last, low))
    return Profile(low, tuple(_WEIGHTS[used].tolist()), _spared(mass[used].tolist(), last, low))


def _spared(shares: Sequence[float], last: NDArray[np.int64], epsilon: float) -> tuple[float, ...]:
    """Somewhat smaller shares of the draws, by what chance and a finite count of the last ones may do.

    A chunk with fewer outputs of one kind than its share fills up its guesses with worse ones, which costs
    several times what a guess less does: the more, the larger the epsilon that all the others would show.
    """
    upto, spared = np.cumsum(shares), min(_SPARED + epsilon / 2, _MOST_SPARED)
    upto = np.maximum(upto - spared * np.sqrt(upto / max(int(last.sum()), 1)), _FEWEST * upto)
    return tuple(np.diff(upto, prepend=0.0).tolist())


def _largest(tells: Callable[[float], bool]) -> float:
    """The largest epsilon that can be told apart, by halving."""
    low, high = 0.0, float(evidence.LEVELS[-1])
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if tells(middle) else (low, middle)
    return low


def _calibrated(counts: Floats, caution: float) -> Floats:
    """The log odds of guesses of each level: what the panel says, times a factor that fits the counts.

    It has a prior around one (Newton's method). Levels from which on no guess was ever wrong, of many, are
    certain: a panel can only say how many draws it has seen.
    """
    guesses, factor, curvature = counts.sum(axis=0), 1.0, 1.0
    for _ in range(20):
        p = expit(factor * evidence.LEVELS)
        pull = evidence.LEVELS @ (counts[0] - guesses * p) - (factor - 1) / _MISCALIBRATED**2
        curvature = evidence.LEVELS**2 @ (guesses * p * (1 - p)) + 1 / _MISCALIBRATED**2
        factor = min(max(factor + pull / curvature, 0.01), 5.0)
    correct, wrong = _from_here_on(counts)
    certain = (wrong == 0) & (correct >= _CERTAIN)
    factor = max(factor - caution / math.sqrt(curvature), 0.01)
    return np.where(certain, evidence.LEVELS[-1], factor * evidence.LEVELS)


def _in_steps(weights: Floats, shares: Floats) -> NDArray[np.int64]:
    """Whole numbers in about the same ratios; 0 for the smallest."""
    tells = np.cumsum((shares * weights**2)[::-1])[::-1]
    if not tells[0]:
        return np.zeros(weights.size, dtype=np.int64)
    largest = weights[np.flatnonzero(tells >= _SUREST * tells[0])[-1]]
    scaled = np.maximum(_WEIGHTS[0] * weights / largest, 1e-300)
    nearest = np.argmin(np.abs(np.log(scaled)[:, np.newaxis] - np.log(_WEIGHTS)), axis=1)
    return np.where(scaled >= _LEAST_WEIGHT, _WEIGHTS[nearest], 0)


def _from_here_on(counts: Floats) -> Floats:
    """Sums over this level and those above."""
    return np.asarray(np.cumsum(counts[..., ::-1], axis=-1)[..., ::-1])


def _certified(epsilon: Floats, share: Floats, horizon: Horizon) -> Floats:
    """About the bound from guesses with these log odds: log(C / W) has variance 1/C + 1/W."""
    guesses = share * horizon.draws
    right = np.maximum(guesses * expit(epsilon) - horizon.delta * horizon.draws, 0.0) + _HALF
    not_right = guesses * expit(-epsilon) + _HALF
    return np.asarray(np.log(right / not_right) + ndtri(horizon.alpha) * np.sqrt(1 / right + 1 / not_right))


def detectable_epsilon(tallies: Iterable[evidence.Tally], claim: Claim, alpha: float) -> float:
    """About the smallest true epsilon that the run would have caught with probability 99 %.

    On the best event of each pair, with its M guesses: the claim is refuted by C or more correct ones
    if P[Bin(M, u) >= C] <= alpha; the answer is the smallest accuracy that gives so many 99 % of the
    time, as an epsilon. Infinite if even M correct guesses would not have been enough.
    """
    ceiling = 1 / (1 + math.exp(-claim.epsilon))
    smallest = math.inf
    for tally in tallies:
        horizon = Horizon(tally.draws, alpha, claim.delta)
        guesses = best(tally.counts, horizon).guesses
        needed = _fewest_correct(guesses, ceiling, alpha)
        if needed <= guesses:
            accuracy = float(betaincinv(needed, guesses - needed + 1, 0.99))
            smallest = min(smallest, math.log(accuracy / (1 - accuracy)) if accuracy < 1 else math.inf)
    return smallest


def _fewest_correct(guesses: int, ceiling: float, alpha: float) -> int:
    """The smallest C with P[Bin(guesses, ceiling) >= C] <= alpha; guesses + 1 if there is none."""
    return bisect.bisect_left(
        range(guesses + 1), x=True, key=lambda correct: bool(bdtrc(correct - 1, guesses, ceiling) <= alpha)
    )
