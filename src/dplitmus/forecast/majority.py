"""The paper's attack: round every coordinate to 0 or 1, let them vote, guess the winner.

Takes outputs; gives one guess per output: 0, 1 or no vote. Also gives the exact law of the guess
from the law of one rounded coordinate, so that every simulated number can be judged.

The rules: a coordinate of at least 0.5 votes 1, one below 0.5 votes 0 (infinities too), NaN
abstains. More ones than zeros: guess 1; more zeros: guess 0. A tie goes to 0, as in the paper's code
(`ties="zero"`), or to a coin (`ties="coin"`). If every coordinate abstains there is no vote.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dplitmus.mechanisms.base import RoundedBit

TIES = ("zero", "coin")
NO_VOTE = 2  # the guess of an output whose every coordinate is NaN


class VoteLaw(NamedTuple):
    """Logs of the probabilities that an output leads to guess 0, guess 1, or no vote."""

    zero: float
    one: float
    none: float


class Votes(NamedTuple):
    """The guess for every output, and how many outputs held a NaN or an infinity."""

    guesses: NDArray[np.uint8]
    nan: int = 0
    infinite: int = 0


def vote(outputs: NDArray[Any], *, ties: str, coins: np.random.Generator) -> Votes:
    """Guess 0, 1 or NO_VOTE for every row of `outputs`; `coins` breaks ties if ties="coin"."""
    dimension = outputs.shape[1]
    ones = _count(outputs >= 0.5)
    if outputs.dtype.kind != "f" or np.isfinite(outputs).all():
        return Votes(_winner(ones, dimension - ones, ties, coins))
    abstained = np.isnan(outputs)
    valid = dimension - _count(abstained)
    guesses = _winner(ones, valid - ones, ties, coins)
    guesses[valid == 0] = NO_VOTE
    return Votes(
        guesses,
        nan=int(np.count_nonzero(valid < dimension)),
        infinite=int(np.count_nonzero(np.isinf(outputs).any(axis=1))),
    )


def _count(bits: NDArray[np.bool_]) -> NDArray[Any]:
    # einsum is fast in either memory order, where sum() over a short row is ten times slower;
    # counting in bytes, where they suffice, is faster again.
    counter = np.uint8 if bits.shape[1] < 2**8 else np.uint32
    counts: NDArray[Any] = np.einsum("ij->i", bits.view(np.uint8), dtype=counter)
    return counts


def _winner(
    ones: NDArray[Any], zeros: NDArray[Any], ties: str, coins: np.random.Generator
) -> NDArray[np.uint8]:
    guesses = (ones > zeros).view(np.uint8)
    if ties == "coin":
        tied = np.flatnonzero(ones == zeros)
        guesses[tied] = coins.integers(0, 2, size=tied.size, dtype=np.uint8)
    return guesses


def law(bit: RoundedBit, dimension: int, *, ties: str) -> VoteLaw:
    """Exact law of the guess when `dimension` independent coordinates have the law `bit`.

    Sums of binomial probabilities in log space: nothing underflows. Given how many coordinates are
    numbers, the number of ones among them is binomial; the number of numbers is binomial too.
    """
    number = float(np.logaddexp(bit.zero, bit.one))
    if bit.nan == -math.inf:
        return VoteLaw(*_binomial_vote(bit.zero, bit.one, dimension, ties), none=-math.inf)
    voters = np.arange(dimension + 1)
    weights = _log_binomial(voters, dimension, success=number, failure=bit.nan)
    votes = [_binomial_vote(bit.zero - number, bit.one - number, int(m), ties) for m in voters[1:]]
    zero, one = (logsumexp(weights[1:] + np.array(side)) for side in zip(*votes, strict=True))
    return VoteLaw(float(zero), float(one), float(weights[0]))


def _binomial_vote(zero: float, one: float, voters: int, ties: str) -> tuple[float, float]:
    ones = np.arange(voters + 1)
    logs = _log_binomial(ones, voters, success=one, failure=zero)
    tied = logs[2 * ones == voters]
    half = tied - math.log(2.0) if ties == "coin" else tied
    lost, won = logs[2 * ones < voters], logs[2 * ones > voters]
    to_one = half if ties == "coin" else half[:0]
    return _log_sum(np.concatenate([lost, half])), _log_sum(np.concatenate([won, to_one]))


def _log_binomial(k: NDArray[np.int_], n: int, *, success: float, failure: float) -> NDArray[np.float64]:
    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    terms: NDArray[np.float64] = ways + _times(k, success) + _times(n - k, failure)
    return terms


def _times(k: NDArray[np.int_], log_probability: float) -> NDArray[np.float64]:
    # 0 * -inf is 0 here: an impossible thing that happens zero times costs nothing.
    if log_probability == -math.inf:
        return np.where(k == 0, 0.0, -np.inf)
    return np.asarray(k * log_probability, dtype=np.float64)


def _log_sum(logs: NDArray[np.float64]) -> float:
    if logs.size == 0 or logs.max() == -np.inf:
        return -math.inf
    return min(0.0, float(logsumexp(logs)))
