"""Does a bound exceed the truth no more often than alpha, at the exact boundary?"""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from scipy.special import bdtrc

from dplitmus import bounds
from dplitmus.counts import SideCounts, VoteCounts

RUNS = 4000
FALSE_FAILURE = 1e-6


def most_rejections(alpha: float) -> int:
    """The smallest k with P[Bin(RUNS, alpha) > k] <= 1e-6: more would contradict the guarantee."""
    return next(k for k in range(RUNS) if bdtrc(k, RUNS, alpha) <= FALSE_FAILURE)


@pytest.mark.parametrize("alpha", [0.05, 0.01])
@pytest.mark.parametrize("p", [0.001, 0.05, 0.5, 0.97])
def test_clopper_pearson_errs_no_more_often_than_alpha(p: float, alpha: float) -> None:
    """Each bound errs with probability <= alpha; false-failure probability 1e-6 per count."""
    rng = np.random.default_rng(1)
    n = 1000
    counts = rng.binomial(n, p, size=RUNS)
    above = sum(bounds.clopper_pearson_lower(int(k), n, alpha) > p for k in counts)
    below = sum(bounds.clopper_pearson_upper(int(k), n, alpha) < p for k in counts)
    assert max(above, below) <= most_rejections(alpha)


@pytest.mark.parametrize(
    ("p", "q"),
    [
        (0.5, 0.5 * math.exp(-1)),  # halved-output at n = 1: its vote attains epsilon = 1 exactly
        (1 / (1 + math.exp(-1)), 1 / (1 + math.exp(1))),  # randomised response, tight both ways
        (0.01, 0.01 * math.exp(-1)),  # a rare event
    ],
)
def test_the_vote_bound_exceeds_the_truth_no_more_often_than_alpha(p: float, q: float) -> None:
    """At the exact boundary epsilon = ln(p/q) = 1, alpha = 0.05; false-failure probability 1e-6."""
    rng = np.random.default_rng(2)
    n, alpha = 2000, 0.05
    epsilon = math.log(p / q)
    x_prime, x = rng.binomial(n, p, size=RUNS), rng.binomial(n, q, size=RUNS)
    violations = sum(
        bounds.vote_lower(
            VoteCounts(SideCounts(zero=n - a, one=a), SideCounts(zero=n - b, one=b)), alpha
        ).epsilon_lower
        > epsilon
        for a, b in zip(x.tolist(), x_prime.tolist(), strict=True)
    )
    assert violations <= most_rejections(alpha)


def test_the_vote_bound_is_calibrated_when_some_outputs_are_nan() -> None:
    """Three outcomes, all log ratios within epsilon = 1 and one at it; false-failure 1e-6."""
    rng = np.random.default_rng(3)
    n, alpha = 2000, 0.05
    on_x = np.array([0.5, 0.3, 0.2])
    on_x_prime = np.array([0.5 * math.exp(-1), 1 - 0.5 * math.exp(-1) - 0.3, 0.3])
    assert math.isclose(1.0, np.abs(np.log(on_x / on_x_prime)).max())
    draws = zip(
        rng.multinomial(n, on_x, size=RUNS).tolist(),
        rng.multinomial(n, on_x_prime, size=RUNS).tolist(),
        strict=True,
    )
    violations = sum(
        bounds.vote_lower(VoteCounts(SideCounts(*a), SideCounts(*b)), alpha).epsilon_lower > 1.0
        for a, b in draws
    )
    assert violations <= most_rejections(alpha)


@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.05])
@pytest.mark.parametrize("share", [0.02, 1.0])
def test_the_guess_bound_exceeds_the_truth_no_more_often_than_alpha(share: float, delta: float) -> None:
    """Randomised response that reveals its input with probability delta, tight for (1, delta).

    The rule guesses on that, and on a `share` of the rest. False-failure probability 1e-6.
    """
    rng = np.random.default_rng(3)
    draws, alpha = 3000, 0.05
    revealed = rng.binomial(draws, delta, size=RUNS)
    guesses = rng.binomial(draws - revealed, share)
    correct = rng.binomial(guesses, 1 / (1 + math.exp(-1)))
    counts = [
        (int(right + shown), int(guessed + shown), draws, alpha)
        for right, guessed, shown in zip(correct, guesses, revealed, strict=True)
    ]
    assert sum(bounds.guess_lower(*count, delta) > 1.0 for count in counts) <= most_rejections(alpha)
    assert sum(bounds.guess_delta_lower(*count, 1.0) > delta for count in counts) <= most_rejections(alpha)


@pytest.mark.parametrize(
    "guesses", [{16: 3, 4: 10, 1: 40}, {16: 50, 12: 150, 8: 100, 2: 700}, {1: 300}, {6: 1, 1: 1}]
)
def test_weighted_guesses_that_are_as_good_as_the_claim_allows_err_no_more_often_than_alpha(
    guesses: dict[int, int],
) -> None:
    """Every guess is right with probability u; false-failure probability 2e-6, for two alphas."""
    rng = np.random.default_rng(7)
    u = 1 / (1 + math.exp(-0.5))
    right = np.stack([rng.binomial(some, u, size=RUNS) for some in guesses.values()], axis=1)
    found, times = np.unique(right, axis=0, return_counts=True)
    p_values = np.array(
        [
            bounds.graded_p_value(list(map(bounds.Grade, *counts)), 0.5)
            for counts in ((guesses.keys(), guesses.values(), row) for row in found.tolist())
        ]
    )
    for alpha in (0.09, 0.01):
        assert times[p_values < alpha].sum() <= most_rejections(alpha)


def test_choosing_the_weight_of_the_next_guess_by_earlier_luck_does_not_help() -> None:
    """Who is ahead risks heavy weights, who is behind light ones; false-failure probability 1e-6.

    The number of guesses of each weight is fixed; which comes next is chosen after every guess.
    """
    rng = np.random.default_rng(8)
    epsilon, alpha = 0.5, 0.05
    u = 1 / (1 + math.exp(-epsilon))
    p_value = functools.cache(
        lambda heavy, light: bounds.graded_p_value(
            [bounds.Grade(8, 20, heavy), bounds.Grade(1, 60, light)], epsilon
        )
    )
    above = 0
    for _ in range(RUNS):
        left, right = {8: 20, 1: 60}, {8: 0, 1: 0}
        ahead = 0.0
        for correct in (rng.random(80) < u).tolist():
            wanted = 8 if ahead > 0 else 1
            weight = wanted if left[wanted] else 9 - wanted
            left[weight] -= 1
            right[weight] += correct
            ahead += correct - u
        above += p_value(right[8], right[1]) < alpha
    assert above <= most_rejections(alpha)
