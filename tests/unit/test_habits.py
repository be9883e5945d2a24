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
from dplitmus.habits import check_independence, habits
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


def walk(x: float, n: int, rng: Rng) -> Any:
    return x + np.cumsum(rng.laplace(size=n))


def mostly_once(x: float, n: int, rng: Rng) -> Any:
    """A noise for the call and a little for each row: keeps epsilon = 1, and looks as if it did not."""
    return x + rng.laplace() + 0.02 * rng.laplace(size=n)


def mirrored(x: float, n: int, rng: Rng) -> Any:
    noise = rng.laplace(size=n)
    noise[1::2] = -noise[: n - 1 : 2]
    return x + noise


def other_words(x: float, n: int, rng: Rng) -> Any:
    """What kind of output there is depends on the call."""
    return ["a"] * n if rng.random() < 0.5 else [float(value) for value in x + rng.laplace(size=n)]


def vectors(x: float, n: int, rng: Rng) -> Any:
    return x + rng.laplace(size=(n, 20)) + np.array([0.0] * 9 + [30 * rng.random()] + [0.0] * 10)


INDEPENDENT: dict[str, Callable[..., Any]] = {
    "numbers": lambda x, n, rng: x + rng.laplace(size=n),
    "vectors": lambda x, n, rng: x + rng.standard_cauchy(size=(n, 40)),
    "a coin": lambda x, n, rng: rng.random(n) < 0.73,
    "rarely": lambda x, n, rng: rng.random(n) < 0.03,
    "integers": lambda x, n, rng: x + rng.geometric(0.3, n) - rng.geometric(0.3, n),
    "two hundred words": lambda x, n, rng: [f"word {k}" for k in rng.integers(0, 200, n)],
    "few and many": lambda x, n, rng: np.where(rng.random(n) < 0.4, x, rng.laplace(size=n)),
    "not a number": lambda x, n, rng: np.where(rng.random(n) < 0.3, np.nan, rng.laplace(size=n)),
    "lists of whole numbers": lambda x, n, rng: [[1] * int(k) for k in rng.integers(1, 3, n)],
    "lengths": lambda x, n, rng: [[0.5] * int(k) for k in rng.integers(1, 4, n)],
    "always the same": lambda x, n, rng: np.full(n, x),
}


@pytest.mark.parametrize("name", INDEPENDENT)
def test_independent_draws_are_not_said_to_depend(name: str) -> None:
    """False-failure probability below 1e-6: 100 tests, each wrong with probability 1e-8 at the most."""
    callee = as_callee(INDEPENDENT[name])
    for seed in range(100):
        assert not habits(callee, 0.0, seed).shares
        check_independence(callee, 0.0, seed)


@pytest.mark.parametrize("mechanism", [once_for_all, short_table, in_twos], ids=lambda one: one.__name__)
def test_calls_that_give_one_noise_again_and_again_are_seen(mechanism: Any) -> None:
    assert all(habits(as_callee(mechanism), 0.0, seed).shares for seed in range(20))


@pytest.mark.parametrize(
    "mechanism",
    [once_for_all, in_twos, walk, mostly_once, mirrored, other_words, vectors],
    ids=lambda one: one.__name__,
)
def test_draws_that_depend_on_their_call_are_refused(mechanism: Any) -> None:
    for seed in range(20):
        with pytest.raises(MechanismError, match=r"error\[DP407\].*depend on each other"):
            check_independence(as_callee(mechanism), 0.0, seed)


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


def test_nobody_is_accused_by_draws_that_depend_on_each_other() -> None:
    """Each of these audits either does not find anything or is refused; some would have accused."""
    outcomes: set[str] = set()
    for seed in range(8):
        try:
            result = dplitmus.audit(
                mostly_once, epsilon=1.0, neighbours=[(0.0, 1.0)], samples=5000, seed=seed
            )
            outcomes.add(result.verdict)
        except MechanismError as error:
            outcomes.add(error.code)
    assert "DP407" in outcomes
    assert "violated" not in outcomes


def test_the_sanity_check_refuses_one_noise_for_a_whole_call() -> None:
    with pytest.raises(MechanismError, match=r"error\[DP407\]"):
        dplitmus.sanity_check(
            lambda x, n, rng: np.tile(x + rng.laplace(size=2), (n, 1)), epsilon=1.0, dimension=2, samples=1000
        )
