"""What the guesses so far promise: the epsilon that a number of further draws would about certify.

Takes correct and wrong guesses per forecast level; gives the level from which on to guess, and a score to
compare pairs of inputs by. Estimates that guide the search; nothing here certifies anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtri

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HALF = 0.5  # pseudo-count of both kinds: a level that was never wrong is not infinitely good

_CAUTION = 2.0  # standard errors of the past


class Prospect(NamedTuple):
    """Guess at this level and above, abstain below: how that went so far."""

    level: int
    correct: int
    wrong: int
    draws: int

    def sampled(self, rng: np.random.Generator, horizon: int, alpha: float, delta: float = 0.0) -> float:
        """The epsilon that `horizon` draws would about certify, for an accuracy drawn from its posterior."""
        total = self.correct + self.wrong
        right = rng.beta(self.correct + 1, self.wrong + 1) * total
        return float(promised(np.array([right]), np.array([total - right]), self.draws, horizon, alpha, delta)[0])

    def cautious(self, horizon: int, alpha: float, delta: float = 0.0) -> float:
        """The same for the accuracy seen, less some standard errors of the past."""
        right, not_right = np.array([float(self.correct)]), np.array([float(self.wrong)])
        return float(_cautious(right, not_right, self.draws, horizon, alpha, delta)[0])


def promised(
    correct: NDArray[np.float64],
    wrong: NDArray[np.float64],
    draws: int,
    horizon: int,
    alpha: float,
    delta: float = 0.0,
) -> NDArray[np.float64]:
    """About what `horizon` draws would certify if their counts were these, scaled up.

    A log ratio of two counts C and W has variance 1/C + 1/W.
    """
    scale = horizon / max(draws, 1)
    right = np.maximum(correct - delta * draws, 0.0) * scale + _HALF
    not_right = wrong * scale + _HALF
    return np.asarray(np.log(right / not_right) + ndtri(alpha) * np.sqrt(1 / right + 1 / not_right))


def best(counts: NDArray[np.int64], horizon: int, alpha: float, delta: float = 0.0) -> Prospect:
    """The level that promises most, judged with caution: among many levels some are lucky."""
    draws = int(counts.sum())
    correct, wrong = np.cumsum(counts[:, :0:-1], axis=1)[:, ::-1].astype(float)  # at this level or above
    level = int(np.argmax(_cautious(correct, wrong, draws, horizon, alpha, delta)))
    return Prospect(level + 1, int(correct[level]), int(wrong[level]), draws)


def _cautious(
    correct: NDArray[np.float64], wrong: NDArray[np.float64], draws: int, horizon: int, alpha: float, delta: float
) -> NDArray[np.float64]:
    doubt = np.sqrt(1 / (correct + _HALF) + 1 / (wrong + _HALF))
    return np.asarray(promised(correct, wrong, draws, horizon, alpha, delta) - _CAUTION * doubt)
