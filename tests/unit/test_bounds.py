from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import bdtr, bdtrc, gammaln

from dplitmus import bounds
from dplitmus.counts import SideCounts, VoteCounts


@given(st.integers(1, 500), st.data(), st.sampled_from([1e-9, 1e-6, 1e-3, 0.05]))
def test_clopper_pearson_is_where_the_tail_has_probability_alpha(
    n: int, data: st.DataObject, alpha: float
) -> None:
    k = data.draw(st.integers(0, n))
    lower, upper = bounds.clopper_pearson_lower(k, n, alpha), bounds.clopper_pearson_upper(k, n, alpha)
    assert 0 <= lower <= k / n <= upper <= 1
    below, above = 1 - 1e-12, 1 + 1e-12  # to either side of what a double can hold near 1
    if k > 0:
        assert bdtrc(k - 1, n, lower * below) <= alpha * above
        assert bdtrc(k - 1, n, min(1.0, lower * above)) >= alpha * below
    if k < n:
        assert bdtr(k, n, upper * below) >= alpha * below
        assert bdtr(k, n, min(1.0, upper * above)) <= alpha * above


def test_zero_counts_give_the_zero_count_rule() -> None:
    assert bounds.clopper_pearson_lower(0, 100, 0.05) == 0.0
    assert bounds.clopper_pearson_upper(100, 100, 0.05) == 1.0
    n = 10_000_000
    assert math.isclose(-math.expm1(math.log(1e-6) / n), bounds.clopper_pearson_upper(0, n, 1e-6))


def test_the_bound_stays_accurate_for_very_many_draws() -> None:
    """At 10^15 draws the upper bound of a zero count is still ln(1/alpha)/n, not rounding noise."""
    assert math.isclose(math.log(1e6) / 1e15, bounds.clopper_pearson_upper(0, 10**15, 1e-6), rel_tol=1e-6)


def side(zero: int, one: int, none: int = 0) -> SideCounts:
    return SideCounts(zero=zero, one=one, none=none)


@pytest.mark.parametrize(
    ("x", "x_prime", "event", "likelier_on_x_prime"),
    [
        (side(900, 100), side(500, 500), 1, True),
        (side(500, 500), side(100, 900), 0, False),
        (side(500, 500), side(900, 100), 1, False),  # an attack that is always wrong is an attack too
        (side(500, 500), side(450, 450, 100), 2, True),
    ],
)
def test_every_event_and_direction_can_carry_the_certificate(
    x: SideCounts,
    x_prime: SideCounts,
    event: int,
    likelier_on_x_prime: bool,  # noqa: FBT001
) -> None:
    bound = bounds.vote_lower(VoteCounts(x, x_prime), 1e-6)
    assert (event, likelier_on_x_prime) == (bound.event, bound.likelier_on_x_prime)
    assert bound.epsilon_lower > 0
    assert bound.epsilon_lower == math.log(bound.ratio.p_lower / bound.ratio.q_upper)


def test_no_difference_certifies_nothing() -> None:
    assert bounds.vote_lower(VoteCounts(side(500, 500), side(500, 500)), 1e-6).epsilon_lower == 0.0


def test_a_never_wrong_guess_gives_a_finite_number() -> None:
    n = 1000
    bound = bounds.vote_lower(VoteCounts(side(n, 0), side(0, n)), 1e-6).epsilon_lower
    each = 1e-6 / 12
    assert math.isclose(math.log(each ** (1 / n) / -math.expm1(math.log(each) / n)), bound)


def test_more_draws_with_the_same_shares_certify_more() -> None:
    found = [
        bounds.vote_lower(VoteCounts(side(9 * k, k), side(5 * k, 5 * k)), 1e-6).epsilon_lower
        for k in (10, 100, 1000, 100_000)
    ]
    assert sorted(found) == found
    # 5.23 normal deviates at level alpha / 12, on each of the two log probabilities
    margin = 5.3 * (math.sqrt(0.9 / 100_000) + math.sqrt(0.5 / 500_000))
    assert found[-1] < math.log(5) < found[-1] + margin


def exact_tail(grades: list[bounds.Grade], epsilon: float) -> float:
    """P[weight of the wrong guesses <= that of these], by convolving the binomials one by one."""
    v = 1 / (1 + math.exp(epsilon))
    law = np.ones(1)
    for grade in grades:
        each = np.zeros(grade.weight * grade.guesses + 1)
        k = np.arange(grade.guesses + 1)
        each[:: grade.weight] = np.exp(
            gammaln(grade.guesses + 1) - gammaln(k + 1) - gammaln(grade.guesses - k + 1)
        ) * (v**k * (1 - v) ** (grade.guesses - k))
        law = np.convolve(law, each)
    lost = sum(grade.weight * (grade.guesses - grade.correct) for grade in grades)
    return float(law[: lost + 1].sum())


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 2.0, 6.0])
@pytest.mark.parametrize(
    "grades",
    [
        [bounds.Grade(1, 40, 38)],
        [bounds.Grade(16, 7, 7), bounds.Grade(3, 20, 18), bounds.Grade(1, 60, 50)],
        [bounds.Grade(16, 90, 80), bounds.Grade(12, 60, 45), bounds.Grade(2, 300, 180)],
        [bounds.Grade(8, 100, 100), bounds.Grade(4, 100, 100)],
    ],
)
def test_the_tail_of_weighted_guesses_is_that_of_the_convolution_and_never_less(
    grades: list[bounds.Grade], epsilon: float
) -> None:
    exact, found = exact_tail(grades, epsilon), bounds.graded_p_value(grades, epsilon)
    if exact > 0.5:
        assert found >= exact * (1 - 1e-12)
    else:
        assert exact * (1 - 1e-12) <= found <= exact + 2e-11


@pytest.mark.parametrize(
    ("guesses", "correct"), [(50, 50), (1000, 800), (300_000, 299_990), (10**6, 507_000)]
)
@pytest.mark.parametrize("weight", [1, 16])
@pytest.mark.parametrize("alpha", [0.1, 1e-6])
def test_guesses_of_one_weight_are_bounded_as_by_clopper_pearson(
    guesses: int, correct: int, weight: int, alpha: float
) -> None:
    plain = bounds.guess_lower(correct, guesses, guesses, alpha)
    graded = bounds.graded_lower([bounds.Grade(weight, guesses, correct)], alpha)
    assert plain * (1 - 1e-4) <= graded <= plain + 1e-12


def test_a_very_small_alpha_is_left_to_chernoff() -> None:
    grades = [bounds.Grade(3, 100, 100), bounds.Grade(1, 200, 190)]
    assert 1.0 < bounds.graded_lower(grades, 1e-20) < bounds.graded_lower(grades, 1e-10)
    for epsilon in (0.0, 0.1):
        assert exact_tail(grades, epsilon) <= bounds.graded_p_value(grades, epsilon) < 1e-20


@pytest.mark.parametrize("grades", [[], [bounds.Grade(1, 0, 0)], [bounds.Grade(2, 100, 40)]])
def test_no_guesses_and_bad_guesses_certify_nothing(grades: list[bounds.Grade]) -> None:
    assert bounds.graded_lower(grades, 0.1) == 0.0


def test_endlessly_right_guesses_certify_a_number() -> None:
    assert 30 < bounds.graded_lower([bounds.Grade(1, 10**15, 10**15)], 0.1) < 35
