"""What the guesses so far promise: the epsilon that a number of further draws would about certify.

Takes correct and wrong guesses per forecast level; gives the level from which on to guess, and a score to
compare pairs of inputs by. Estimates that guide the search; nothing here certifies anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit, ndtri

from dplitmus import evidence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_HALF = 0.5  # pseudo-count of both kinds: a level that was never wrong is not infinitely good
_CAUTION = 1.0  # standard errors: among many levels some are lucky


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


def _from_here_on(counts: Floats) -> Floats:
    """Sums over this level and those above."""
    return np.asarray(np.cumsum(counts[..., ::-1], axis=-1)[..., ::-1])


def _certified(epsilon: Floats, share: Floats, horizon: Horizon) -> Floats:
    """About the bound from guesses with these log odds: log(C / W) has variance 1/C + 1/W."""
    guesses = share * horizon.draws
    right = np.maximum(guesses * expit(epsilon) - horizon.delta * horizon.draws, 0.0) + _HALF
    not_right = guesses * expit(-epsilon) + _HALF
    return np.asarray(np.log(right / not_right) + ndtri(horizon.alpha) * np.sqrt(1 / right + 1 / not_right))
