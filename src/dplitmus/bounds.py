"""Certificates from a fixed number of draws.

Takes counts (never a mechanism); gives bounds on probabilities, and on epsilon, that hold with a
stated probability for every sample size.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from scipy.special import betainccinv, betaincinv

if TYPE_CHECKING:
    from dplitmus.counts import VoteCounts


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
