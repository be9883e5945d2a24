"""What the guesses so far promise."""

from __future__ import annotations

import numpy as np
import pytest

from dplitmus import evidence
from dplitmus.bounds import guess_lower
from dplitmus.prospects import Horizon, best


def counted(*levels: tuple[float, int, int], silent: int = 0) -> np.ndarray:
    """Counts of (logit, correct, wrong), and of abstentions."""
    counts = np.zeros((2, evidence.LEVELS.size), dtype=np.int64)
    counts[0, 0] = silent
    for logit, correct, wrong in levels:
        counts[:, evidence.level_of(np.array([logit]))[0]] += correct, wrong
    return counts


def test_a_promise_is_about_what_the_exact_bound_will_be() -> None:
    """For as many draws again with the same shares, and no caution."""
    counts = counted((1.0, 7311, 2689), silent=10_000)
    horizon = Horizon(draws=20_000, alpha=0.05, delta=0.0)
    prospect = best(counts, horizon)
    assert prospect.guesses == 10_000
    assert prospect.share == 0.5
    assert prospect.expected(horizon) == pytest.approx(guess_lower(7311, 10_000, 20_000, 0.05), abs=0.01)
    assert prospect.promise < prospect.expected(horizon)


def test_a_rare_level_is_chosen_only_for_many_draws() -> None:
    counts = counted((2.0, 88, 12), (0.5, 62_000, 38_000))
    few, many = Horizon(2_000, 1e-3, 0.0), Horizon(10**7, 1e-3, 0.0)
    assert best(counts, few).guesses == 100_100
    assert best(counts, many).guesses == 100


def test_a_lucky_streak_promises_little() -> None:
    """Three right guesses of three, by a panel that says itself that they are worth nothing."""
    counts = counted((0.01, 3, 0), (0.005, 50_500, 49_500))
    assert best(counts, Horizon(10**6, 0.05, 0.0)).guesses == 100_003


def test_a_rare_level_is_not_chosen_for_its_luck() -> None:
    """500 guesses that were right more often than the panel said, by more than a standard error."""
    counts = counted((0.005, 30_075, 29_925), (0.03, 15_225, 14_775), (0.06, 272, 228))
    assert best(counts, Horizon(880_000, 0.09, 0.0)).guesses == 30_500


def test_delta_is_taken_off() -> None:
    counts = counted((3.0, 50, 0), silent=99_950)
    without, with_delta = Horizon(10**5, 0.05, 0.0), Horizon(10**5, 0.05, 1e-3)
    assert best(counts, without).promise > 0.5
    assert best(counts, with_delta).promise < 0


def test_without_doubt_a_panel_is_believed_over_the_counts() -> None:
    """It says 0.02 of 2,000 guesses that were right more often: luck, if there is little doubt."""
    counts = counted((0.005, 30_075, 29_925), (0.02, 1_100, 900))
    horizon = Horizon(880_000, 0.09, 0.0)
    assert best(counts, horizon, doubt=10.0).epsilon > 0.15
    assert best(counts, horizon, doubt=0.1).epsilon < 0.04
