"""What a mechanism does with its generator and its calls: seeds, and draws that depend on each other."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest

import dplitmus
from dplitmus.errors import MechanismError
from dplitmus.habits import habits
from dplitmus.mechanisms.base import as_callee

Rng = np.random.Generator


def coin(x: float, draw: float) -> float:
    return x if draw < 0.73 else 1 - x


def seeded_coins(x: float, n: int, rng: np.random.Generator) -> Any:
    return [coin(x, draw) for draw in np.random.default_rng(3).random(n)]


def test_a_slow_mechanism_is_drawn_from_no_more_than_needed() -> None:
    """Two draws from another stream show that there is no fixed seed; who takes no stream cannot replay."""
    calls: list[float] = []

    def noisy(x: float, rng: np.random.Generator) -> float:
        calls.append(x)
        return x + rng.laplace()

    def own(x: float) -> float:
        calls.append(x)
        return float(np.random.default_rng().laplace())

    for function, expected, replays in ((noisy, 16 + 2 + 16, True), (own, 16 + 2, False)):
        calls.clear()
        seen = habits(as_callee(dplitmus.each(function)), 0.0, 1)
        assert (expected, expected, replays, False) == (len(calls), seen.seen, seen.replays, seen.repeats)


def test_a_fixed_seed_shows_in_few_different_outputs_too() -> None:
    """Sixty-four coins that fall alike from two streams are no chance; after sixteen, more are tossed."""
    own = np.random.default_rng(3)
    restarted = dplitmus.each(lambda x, rng: coin(x, np.random.default_rng(3).random()))
    one_by_one = dplitmus.each(lambda x, rng: coin(x, rng.random()))
    cases: list[tuple[Any, tuple[bool, bool, bool]]] = [
        (seeded_coins, (True, True, False)),
        (lambda x, n, rng: [coin(x, draw) for draw in rng.random(n)], (False, True, False)),
        (lambda x, n, rng: np.where(own.random(n) < 0.73, x, 1 - x), (False, False, False)),
        (one_by_one, (False, True, False)),
        (restarted, (False, True, True)),
    ]
    for mechanism, expected in cases:
        seen = habits(as_callee(mechanism), 0.0, 1)
        assert expected == (seen.repeats, seen.replays, seen.constant)
    audited = dplitmus.audit(seeded_coins, epsilon=1.0, neighbours=[(0.0, 1.0)], samples=5000, seed=1)
    assert audited.verdict == "not-found"
    assert "DP305" in [note.code for note in audited.notes]


def once_for_all(x: float, n: int, rng: Rng) -> Any:
    """Keeps epsilon = 1, and gives one release n times."""
    return np.full(n, x + rng.laplace())


def short_table(x: float, n: int, rng: Rng) -> Any:
    return x + rng.choice(rng.laplace(size=4), size=n)


def in_twos(x: float, n: int, rng: Rng) -> Any:
    return x + np.repeat(rng.laplace(size=n), 2)[:n]


@pytest.mark.parametrize("mechanism", [once_for_all, short_table, in_twos], ids=lambda one: one.__name__)
def test_calls_that_give_one_noise_again_and_again_are_seen(mechanism: Any) -> None:
    assert all(habits(as_callee(mechanism), 0.0, seed).shares for seed in range(20))


@pytest.mark.parametrize("executor", [None, partial(ThreadPoolExecutor, 2)], ids=["alone", "threads"])
def test_one_noise_for_a_whole_call_is_one_witness(executor: Callable[[], Any] | None) -> None:
    """It keeps its claim, and was accused when each row counted for one; the bound is on a single release."""
    for seed in range(3):
        with executor() if executor else ThreadPoolExecutor(1) as pool:
            result = dplitmus.audit(
                once_for_all,
                epsilon=1.0,
                neighbours=[(0.0, 1.0)],
                samples=4000,
                seed=seed,
                executor=pool if executor else None,
            )
        assert result.verdict == "not-found"
        assert 0.6 < result.epsilon_lower <= 1.0
        assert "DP307" in [note.code for note in result.notes]


def test_one_noise_that_is_too_small_is_found_all_the_same() -> None:
    result = dplitmus.audit(
        lambda x, n, rng: np.full(n, x + rng.laplace(scale=0.3)),
        epsilon=1.0,
        neighbours=[(0.0, 1.0)],
        samples=4000,
        seed=1,
    )
    assert result.verdict == "violated"
    assert 1.0 < result.epsilon_lower < 1 / 0.3


def test_the_sanity_check_refuses_one_noise_for_a_whole_call() -> None:
    with pytest.raises(MechanismError, match=r"error\[DP407\]"):
        dplitmus.sanity_check(
            lambda x, n, rng: np.tile(x + rng.laplace(size=2), (n, 1)), epsilon=1.0, dimension=2, samples=1000
        )
