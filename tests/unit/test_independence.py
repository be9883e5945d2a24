"""Draws of one call that depend on each other are seen before anybody is accused, and in nobody else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import bdtrc

import dplitmus
from dplitmus.errors import MechanismError
from dplitmus.habits import habits
from dplitmus.independence import _stands_out, check_independence
from dplitmus.mechanisms.base import as_callee
from dplitmus.samples import draw_calls, stream

Rng = np.random.Generator


def once_for_all(x: float, n: int, rng: Rng) -> Any:
    return np.full(n, x + rng.laplace())


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


def shared_sign(x: float, n: int, rng: Rng) -> Any:
    """Laplace noise whose sign is the call's in half of the rows: keeps epsilon = 1."""
    sign = np.where(rng.random(n) < 0.5, rng.choice([-1, 1]), rng.choice([-1, 1], size=n))
    return x + sign * rng.exponential(size=n)


def shared_scale(x: float, n: int, rng: Rng) -> Any:
    return x + rng.exponential() * rng.laplace(size=n)


class InTurn:
    """Now numbers, now words: a state that outlives a call, and goes with the inputs, which come in turn."""

    calls = 0

    def __call__(self, x: float, n: int, rng: Rng) -> Any:
        """Return n outputs on x."""
        self.calls += 1
        noised = x + rng.laplace(size=n)
        return noised if self.calls % 2 else [str(value) for value in noised]


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
    """False-failure probability below 1e-6: 20 tests, each wrong with probability 1e-8 at the most."""
    callee = as_callee(INDEPENDENT[name])
    for seed in range(20):
        assert not habits(callee, 0.0, seed).shares
        check_independence(callee, 0.0, seed)


@pytest.mark.parametrize(
    "mechanism",
    [
        once_for_all,
        in_twos,
        walk,
        mostly_once,
        mirrored,
        other_words,
        vectors,
        shared_sign,
        shared_scale,
        InTurn(),
    ],
    ids=lambda one: getattr(one, "__name__", type(one).__name__),
)
def test_draws_that_depend_on_their_call_are_refused(mechanism: Any) -> None:
    for seed in range(4):
        with pytest.raises(MechanismError, match=r"error\[DP407\].*depend on each other"):
            check_independence(as_callee(mechanism), 0.0, seed)


def test_independent_draws_look_strange_in_one_round_of_a_hundred_at_most() -> None:
    """The level of one round, whatever the law; false-failure probability below 1e-6."""
    rounds, strange = 0, 0
    for number, mechanism in enumerate(INDEPENDENT.values()):
        rng, shuffling = stream(number, 1), stream(number, 2)
        for _ in range(200):
            drawn = draw_calls(as_callee(mechanism), 0.0, 8, 8, rng)
            strange += _stands_out(drawn, 8, 99, shuffling)
            rounds += 1
    assert bdtrc(strange - 1, rounds, 0.01) > 1e-6


def test_dear_draws_are_few() -> None:
    drawn = []

    def noisy(x: float, n: int, rng: Rng) -> Any:
        drawn.append(n)
        return x + rng.laplace(size=n)

    for pace, expected in ((0.0, 32 * 32), (0.01, 32 * 4)):
        drawn.clear()
        check_independence(as_callee(noisy), 0.0, 1, pace)
        assert expected == sum(drawn)


def outcome_of(test: Callable[..., Any], mechanism: Any, **settings: Any) -> str:
    """The verdict, or why there is none."""
    try:
        return str(test(mechanism, epsilon=1.0, **settings).verdict)
    except MechanismError as error:
        return error.code


@pytest.mark.parametrize("mechanism", [mostly_once, shared_sign, InTurn()], ids=["mostly", "sign", "in turn"])
def test_nobody_is_accused_by_draws_that_depend_on_each_other(mechanism: Any) -> None:
    """Each of these audits either does not find anything or is refused; some would have accused."""
    outcomes = {
        outcome_of(dplitmus.audit, mechanism, neighbours=[(0.0, 1.0)], samples=30_000, seed=seed)
        for seed in range(8)
    }
    assert "DP407" in outcomes
    assert "violated" not in outcomes


def test_no_bound_comes_from_draws_that_depend_on_each_other_though_nobody_is_accused() -> None:
    with pytest.raises(MechanismError, match=r"error\[DP407\]"):
        dplitmus.audit(mostly_once, epsilon=50.0, neighbours=[(0.0, 1.0)], samples=2000, seed=1)


def test_the_sanity_check_certifies_nothing_by_draws_that_depend_on_each_other() -> None:
    def one_sign(x: Any, n: int, rng: Rng) -> Any:
        return x + rng.choice([-1, 1]) * rng.exponential(scale=2.0, size=(n, 2))

    assert outcome_of(dplitmus.sanity_check, one_sign, dimension=2, samples=1000, seed=1) == "DP407"
