"""Certificates from a fixed number of draws.

Takes counts (never a mechanism); gives bounds on probabilities, and on epsilon, that hold with a
stated probability for every sample size.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import betainccinv, betaincinv, expit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dplitmus.counts import VoteCounts

    Floats = NDArray[np.float64]

_OUTSIDE = 1e-14  # probability beyond the points that a tail is summed over; added to it
_ROUNDING = 1e-11  # of a tail that is summed by a Fourier transform: more than it ever is; added too
_NOTHING = 80.0  # minus the log of a number that changes no sum of numbers around one
_PRECISE = 1e-7  # of a bound that is found by halving an interval: it is its lower end
_LARGEST_EPSILON = 700.0  # beyond it e^epsilon is no number


def clopper_pearson_lower(successes: int, trials: int, alpha: float) -> float:
    """Lower confidence bound on a probability.

    Guarantee: exceeds the true p with probability at most alpha, for every p and every `trials`.
    Proof sketch: the bound is the p at which P[Bin(trials, p) >= successes] = alpha; it exceeds the
    true p only if the true tail probability is below alpha, which happens with probability <= alpha.
    The binomial tail is an incomplete beta function, whence the inverse.
    Reference: Clopper and Pearson (1934), Biometrika 26(4).
    """
    if successes == 0:
        return 0.0
    bound = float(betaincinv(successes, trials - successes + 1, alpha))
    return 0.0 if math.isnan(bound) else bound  # the trivial bound where the quantile fails


def clopper_pearson_upper(successes: int, trials: int, alpha: float) -> float:
    """Upper confidence bound on a probability; guarantee and proof as for the lower one.

    Zero successes give 1 - alpha**(1/trials): finite and above zero, where the maximum likelihood
    estimate is 0 and its loss "infinite".
    """
    if successes == trials:
        return 1.0
    bound = float(betainccinv(successes + 1, trials - successes, alpha))
    return 1.0 if math.isnan(bound) else bound


class RatioBound(NamedTuple):
    """A lower bound on ln(p / q), with what a reader needs to recompute it."""

    log_ratio: float
    p_lower: float
    q_upper: float


def log_ratio_lower(k: int, n: int, k_below: int, n_below: int, alpha: float) -> RatioBound:
    """Lower confidence bound on ln(p / q), where k of n counts estimate p and the others q.

    Guarantee: exceeds ln(p / q) with probability at most alpha: that needs p below its lower bound
    or q above its upper one, each of probability at most alpha / 2. (Independence is not used.)
    """
    p_lower = clopper_pearson_lower(k, n, alpha / 2)
    q_upper = clopper_pearson_upper(k_below, n_below, alpha / 2)
    return RatioBound(math.log(p_lower / q_upper) if p_lower > 0 else -math.inf, p_lower, q_upper)


def guess_lower(correct: int, guesses: int, draws: int, alpha: float, delta: float = 0.0) -> float:
    """Lower confidence bound on epsilon, at this delta, from guesses or abstentions by a fixed rule.

    Each of `draws` outputs was made from one of two neighbouring inputs by a fair coin; the rule, fixed
    before, guessed the coin for some of them.

    Guarantee: exceeds the true epsilon with probability at most alpha. Proof sketch: given the output, the
    posterior odds of the coin are at most e^epsilon under epsilon-DP, so given that it guesses the rule
    is right with probability at most u = 1 / (1 + e^-epsilon), and `correct` is Bin(guesses, p) with p <= u:
    Clopper-Pearson on p. For delta > 0, add (epsilon, delta)-DP of both kinds of guesses: Pr(correct) <=
    e^epsilon Pr(wrong) + delta, with Clopper-Pearson at alpha / 2 on both.
    Reference: Steinke, Nasr and Jagielski (2023), "Privacy auditing with one training run" (guesses and
    abstentions; their coins are all in one run).
    """
    wrong = guesses - correct
    if delta == 0:
        right = clopper_pearson_lower(correct, guesses, alpha)
        return math.log(right / (1 - right)) if 0.5 < right < 1 else 0.0
    above = clopper_pearson_lower(correct, draws, alpha / 2) - delta
    below = clopper_pearson_upper(wrong, draws, alpha / 2)
    return max(0.0, math.log(above / below)) if above > 0 else 0.0


def guess_delta_lower(correct: int, guesses: int, draws: int, alpha: float, epsilon: float) -> float:
    """Lower confidence bound on delta, at this epsilon, from the same guesses.

    Guarantee: with probability 1 - alpha both this and `guess_lower` for any delta > 0 hold, for they follow
    from the same two Clopper-Pearson bounds and from Pr(correct) <= e^epsilon Pr(wrong) + delta.
    """
    above = clopper_pearson_lower(correct, draws, alpha / 2)
    below = clopper_pearson_upper(guesses - correct, draws, alpha / 2)
    return max(0.0, above - math.exp(epsilon) * below)


class Grade(NamedTuple):
    """Guesses that count alike: `weight` for every right one."""

    weight: int
    guesses: int
    correct: int


def graded_lower(grades: Sequence[Grade], alpha: float) -> float:
    """Lower confidence bound on epsilon from guesses of several weights, the surest counting most.

    For every draw a fair coin chose one of two neighbouring inputs; a rule guessed the coin on as many draws
    of each weight as was fixed beforehand. On which draws, and what, it may choose by all outputs of a
    chunk, by earlier chunks and by their coins: it may go on learning, and change the pair of inputs.

    Guarantee: exceeds the true epsilon with probability at most alpha. Proof sketch: given the outputs of a
    chunk and everything before it, the coins of the chunk are independent and each has posterior odds of at
    most e^epsilon, so that a guess is wrong with probability at least v = 1 / (1 + e^epsilon). Join every
    guess with a uniform number of our own, such that it is marked with probability exactly v, and only if
    it is wrong: given the past every mark has the same law, whatever was chosen, so that the marks of all
    weights are independent, and what they weigh, X, is the sum of w Bin(guesses of weight w, v). The wrong
    guesses weigh at least X. The bound is the epsilon at which P[X <= weight of the wrong guesses] = alpha,
    and exceeds the true one only if that probability is below alpha under the true v.
    References: Clopper and Pearson (1934) for one weight; Doob (1936), "Note on probability", for choosing
    as one goes; Steinke, Nasr and Jagielski (2023) for guesses and abstentions.
    """
    low, high = 0.0, 1.0
    if graded_p_value(grades, low) > alpha:
        return 0.0
    while graded_p_value(grades, high) <= alpha:
        low, high = high, 2 * high
        if high > _LARGEST_EPSILON:
            return low
    while high - low > _PRECISE * high:
        middle = (low + high) / 2
        low, high = (middle, high) if graded_p_value(grades, middle) <= alpha else (low, middle)
    return low


def graded_p_value(grades: Sequence[Grade], epsilon: float) -> float:
    """Probability, under epsilon-DP, of wrong guesses that weigh no more than these; at least that.

    The law of the weight X of all wrong guesses is a convolution of binomials, which its Fourier transform
    gives on a circle of so many points that what lies beyond them has probability `_OUTSIDE` (Bernstein's
    inequality, 1946): that, and more than the error of rounding, is added. Where the tail is smaller than
    these, Chernoff's bound (1952) is smaller, too.
    """
    grades = [grade for grade in grades if grade.guesses]
    if not grades:
        return 1.0
    weight = np.array([grade.weight for grade in grades])
    guesses = np.array([float(grade.guesses) for grade in grades])
    lost = sum(grade.weight * (grade.guesses - grade.correct) for grade in grades)
    v = float(expit(-epsilon))
    expected, variance = float(v * weight @ guesses), float(v * (1 - v) * weight**2 @ guesses)
    if lost >= expected:
        return 1.0  # at most; nobody asks for more
    away = -math.log(_OUTSIDE / 2)
    reach = math.sqrt(2 * variance * away) + 2 / 3 * float(weight.max()) * away
    found = _chernoff(weight, guesses, v, lost)
    if lost > expected - reach:
        first = max(0, math.floor(expected - reach))
        law = _law(weight, guesses, v, first, 2 ** math.ceil(math.log2(2 * reach + 2)))
        tail = float(law[: lost - first + 1].sum())
        found = min(found, max(tail, 0.0) + _OUTSIDE + _ROUNDING)
    return found


def _law(weight: Floats, guesses: Floats, v: float, first: int, points: int) -> Floats:
    """The law of the sum of w Bin(guesses, v) on a circle of so many points, of which `first` comes first."""
    angle = 2 * math.pi / points * np.arange(points // 2 + 1)
    sizes = np.zeros(angle.size)
    with np.errstate(divide="ignore"):  # a fair coin has a zero at half a turn
        for w, m in zip(weight, guesses, strict=True):
            sizes += m / 2 * np.log1p(-2 * v * (1 - v) * (1 - np.cos(w * angle)))
    matter = sizes > -_NOTHING  # few do, where there are many guesses
    turns = -first * angle[matter]
    for w, m in zip(weight, guesses, strict=True):
        turn = w * angle[matter]
        turns += m * np.arctan2(v * np.sin(turn), 1 - v + v * np.cos(turn))
    transform = np.zeros(angle.size, dtype=np.complex128)
    transform[matter] = np.exp(sizes[matter] - 1j * turns)
    return np.fft.irfft(transform, points)


def _chernoff(weight: Floats, guesses: Floats, v: float, lost: int) -> float:
    """The least of E[e^(t (lost - X))] over t >= 0, which bounds P[X <= lost]."""

    def falls(t: float) -> bool:
        tilted = v * np.exp(-t * weight)
        return bool(lost < (guesses * weight * tilted / (1 - v + tilted)).sum())

    low, high = 0.0, 1.0
    while falls(high) and high < _LARGEST_EPSILON:
        low, high = high, 2 * high
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if falls(middle) else (low, middle)
    return min(1.0, math.exp(float((guesses * np.log1p(v * np.expm1(-low * weight))).sum()) + low * lost))


class VoteBound(NamedTuple):
    """A certified lower bound on epsilon, and the event that gives it."""

    epsilon_lower: float
    event: int  # guess 0, guess 1, or 2: no vote
    likelier_on_x_prime: bool
    ratio: RatioBound
    level: float  # of each of the two Clopper-Pearson bounds


def vote_lower(counts: VoteCounts, alpha: float) -> VoteBound:
    """Certified lower bound on epsilon from the guesses of one attack on two inputs; at least 0.

    An output leads to guess 0, guess 1 or no vote. For epsilon-DP each of these events S satisfies
    |ln(Pr(M(x) in S) / Pr(M(x') in S))| <= epsilon. The bound is the largest of the six lower
    bounds on these log ratios (three events, two directions), each at level alpha / 6.

    Guarantee: exceeds the true epsilon with probability at most alpha. Proof sketch: if it does, one
    of the six exceeds its true log ratio, which is at most epsilon; a union bound gives alpha. So
    the attack, its direction and the meaning of NaN need no assumption.
    Reference: the event bound of Ding et al. (2018), "Detecting violations of differential privacy",
    with Clopper-Pearson intervals in place of Fisher's test.
    """
    candidates = []
    for event, (k, k_prime) in enumerate(zip(counts.x.guesses, counts.x_prime.guesses, strict=True)):
        on_x, on_x_prime = (k, counts.x.total), (k_prime, counts.x_prime.total)
        for likelier_on_x_prime in (True, False):
            above, below = (on_x_prime, on_x) if likelier_on_x_prime else (on_x, on_x_prime)
            ratio = log_ratio_lower(*above, *below, alpha / 6)
            bound = max(0.0, ratio.log_ratio)
            candidates.append(VoteBound(bound, event, likelier_on_x_prime, ratio, alpha / 12))
    return max(candidates, key=lambda candidate: candidate.ratio.log_ratio)
