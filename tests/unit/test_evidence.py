from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplitmus import evidence
from dplitmus.evidence import LEVELS, Tally


def counts(level: int, correct: int, wrong: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    table = np.zeros((2, LEVELS.size), dtype=np.int64)
    table[:, level] = correct, wrong
    return table


def wealth(tally: Tally, epsilon: float, delta: float = 0.0) -> float:
    return float(evidence.log_wealth(tally, np.array([epsilon]), np.array([delta]))[0])


@given(st.floats(-20, 20))
def test_a_level_is_within_half_a_percent_of_its_logit(logit: float) -> None:
    level = int(evidence.level_of(np.array([logit]))[0])
    size = min(abs(logit), float(LEVELS[-1]))
    if size < 1e-3:
        assert level == 0
    else:
        assert math.isclose(size, LEVELS[level], rel_tol=0.0051)


@given(
    st.floats(0.05, 3.0),
    st.sampled_from([0.0, 1e-5, 0.01, 0.3]),
    st.integers(1, LEVELS.size - 1),
    st.floats(0, 1),
)
def test_no_bet_gains_on_average_under_the_claim(
    epsilon: float, delta: float, level: int, share: float
) -> None:
    """Exact expectation of one draw's payoff under the worst mechanisms that satisfy the claim.

    An output shows with probability p on x' and q on x, where p <= e^epsilon q + delta and the same with the
    roles exchanged; the forecaster bets at `level` when it shows, and abstains otherwise.
    """
    p = max(share, 1e-6)
    q = max((p - delta) / math.exp(epsilon), 0.0)
    for bet in evidence.streams(np.array([epsilon]), np.array([delta]), LEVELS):
        correct, wrong = math.exp(bet.correct[0, level]), math.exp(bet.wrong[0, level])
        abstain = math.exp(bet.correct[0, 0])
        shows = p / 2 * correct + q / 2 * wrong
        hides = (1 - p / 2 - q / 2) * abstain
        assert shows + hides <= 1 + 1e-12


def test_abstaining_costs_nothing_without_delta() -> None:
    tally = Tally()
    tally.add(counts(0, 1000, 0))
    assert math.isclose(0.0, wealth(tally, 1.0), abs_tol=1e-12)


def test_the_wealth_of_pure_dp_is_the_clipped_likelihood_ratio() -> None:
    """One product from the first draw on, margin 0: eta/u when correct, (1-eta)/(1-u) when wrong."""
    level = int(evidence.level_of(np.array([2.0]))[0])
    eta, u = (1 / (1 + math.exp(-logit)) for logit in (LEVELS[level], 1.0))
    tally = Tally()
    tally.add(counts(level, 30, 3))
    product = 30 * math.log(eta / u) + 3 * math.log((1 - eta) / (1 - u))
    # Both margins bet at this level, so that only the uninvested cash of 0.2 stands beside.
    assert math.isclose(np.logaddexp(math.log(0.8) + product, math.log(0.2)), wealth(tally, 1.0))


def test_later_starts_use_half_of_the_cash_and_forget_what_was_before() -> None:
    level = int(evidence.level_of(np.array([3.0]))[0])
    bad = Tally()
    bad.add(counts(level, 0, 100))  # a disaster
    ruined = wealth(bad, 1.0)
    assert math.isclose(math.log(0.2), ruined, rel_tol=1e-6)
    bad.add(counts(level, 200, 0))
    assert wealth(bad, 1.0) > math.log(1e6)
    np.testing.assert_allclose([0.8, 0.1], [mass for mass, _ in bad.starts])
    assert math.isclose(1.0, sum(mass for mass, _ in bad.starts) + bad.cash)


def test_the_bound_grows_with_evidence_and_stays_below_the_accuracy() -> None:
    """Randomised response at epsilon 1 with expected counts: the bound approaches 1 from below."""
    level = int(evidence.level_of(np.array([1.0]))[0])
    u = 1 / (1 + math.exp(-1))
    found = []
    for n in (1000, 10_000, 100_000):
        tally = Tally()
        tally.add(counts(level, round(u * n), n - round(u * n)))
        against = partial(evidence.log_wealth, tally, delta=np.zeros(1))
        found.append(evidence.largest_refuted(evidence.EPSILONS, against, 1e-3))
    assert found == sorted(found)
    assert 0.96 < found[-1] < 1.0


@pytest.mark.parametrize("standing", [0, 1, 127, 128, 129, 256, 299, 300])
def test_largest_refuted_stops_at_the_first_standing_point(standing: int) -> None:
    """Wherever it lies among the points that are looked at together; what is refuted beyond is no matter."""
    grid = np.arange(1.0, 301.0)
    logs = np.where(grid == standing + 1, 0.0, math.log(1e7))
    found = evidence.largest_refuted(grid, lambda some: logs[np.searchsorted(grid, some)], 1e-6)
    assert found == standing


def test_an_average_of_wealths_is_their_average() -> None:
    mixed = evidence.combined([np.log([2.0]), np.log([6.0])], [0.5, 0.5])
    assert math.isclose(math.log(4.0), float(mixed[0]))


def some_tally() -> Tally:
    """With three starts."""
    tally = Tally()
    for _ in range(5):
        tally.add(counts(700, 40, 5) + counts(1200, 20, 1) + counts(0, 50, 0) + counts(3, 9, 8))
    assert len(tally.starts) == 3
    return tally


@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_the_wealth_is_the_mixture_of_the_products_of_all_payoffs(delta: float) -> None:
    tally = some_tally()
    for epsilon in (0.05, 0.7, 2.0, 30.0):
        wealth = tally.cash
        for bet in evidence.streams(np.array([epsilon]), np.array([delta]), LEVELS):
            for mass, before in tally.starts:
                right, wrong = tally.counts - before
                wealth += mass * bet.mass * math.exp(float(bet.correct[0] @ right + bet.wrong[0] @ wrong))
        found = evidence.log_wealth(tally, np.array([epsilon]), np.array([delta]))
        np.testing.assert_allclose(found[0], math.log(wealth), rtol=1e-9, atol=1e-12)


def test_stored_bets_give_the_same_wealth() -> None:
    claims = np.array([0.7]), np.array([1e-3])
    stored = evidence.log_wealth(some_tally(), *claims, bets=evidence.streams(*claims, LEVELS))
    np.testing.assert_allclose(evidence.log_wealth(some_tally(), *claims), stored)
