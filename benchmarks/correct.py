"""Correct mechanisms of kinds that the zoo lacks: nothing is to be named in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.bugs import SCALAR, case

if TYPE_CHECKING:
    from numpy.random import Generator

PRICES = np.array([0.3, 1.1, 7.77, 9.2, 12.5, 13.37, 20.0])


def chosen_price(x: Any, n: int, rng: Generator) -> Any:
    """The exponential mechanism over prices that lie on no grid; every score moves by at most 1."""
    odds = np.exp(np.array([0, 0.3, 0.7, 1, 0.7, 0.3, 0]) * x / 2)
    return rng.choice(PRICES, p=odds / odds.sum(), size=n)


def chosen_word(x: Any, n: int, rng: Generator) -> Any:
    """The word with the largest noisy count, one count of which moves."""
    best = np.argmax(np.array([x, 1.0, 0.5]) + rng.laplace(scale=2.0, size=(n, 3)), axis=1)
    return [("yes", "no", "perhaps")[place] for place in best]


def clamped(x: Any, n: int, rng: Generator) -> Any:
    """Laplace noise, and the answer clamped to the range of the input."""
    return np.clip(x + rng.laplace(size=n), 0.0, 1.0)


def not_negative(x: Any, n: int, rng: Generator) -> Any:
    """A count is not published below zero."""
    return np.maximum(x + rng.laplace(size=n), 0.0)


def cents(x: Any, n: int, rng: Generator) -> Any:
    """Laplace noise, and the answer in cents."""
    return np.round(x + rng.laplace(size=n), 2)


def wide_range(x: Any, n: int, rng: Generator) -> Any:
    """Gaussian noise for values in [0, 8]."""
    return x + rng.normal(scale=8 * 3.7305, size=n)


def bounded(x: Any, n: int, rng: Generator) -> Any:
    """Uniform noise, which needs a large delta: a tenth."""
    return x + rng.uniform(-5.0, 5.0, size=n)


def mean_of_five(x: Any, n: int, rng: Generator) -> Any:
    """The mean of five records in [0, 1]."""
    return np.mean(x) + rng.laplace(scale=0.2, size=n)


def often_silent(x: Any, n: int, rng: Generator) -> Any:
    """No answer in a tenth of the draws, whatever the input."""
    noisy = x + rng.laplace(size=n)
    return [None if silent else float(y) for y, silent in zip(noisy, rng.random(n) < 0.1, strict=True)]


def two_scales(x: Any, n: int, rng: Generator) -> Any:
    """Laplace noise, of three times the scale in half of the draws."""
    return x + rng.laplace(size=n) * np.where(rng.random(n) < 0.5, 1.0, 3.0)


def running_sums(x: Any, n: int, rng: Generator) -> Any:
    """Sums of noisy counts."""
    return np.cumsum(x + rng.laplace(scale=2.0, size=(n, 4)), axis=1)


def counts_and_total(x: Any, n: int, rng: Generator) -> Any:
    """Three noisy counts, and their total computed from them."""
    noisy = x + rng.laplace(scale=3.0, size=(n, 3))
    return np.column_stack([noisy, noisy.sum(axis=1)])


RECORDS = ((np.array([0.0, 0.2, 0.4, 0.9, 1.0]), np.array([1.0, 0.2, 0.4, 0.9, 1.0])),)
CORRECT = (
    case(chosen_price, SCALAR),
    case(chosen_word, SCALAR),
    case(clamped, SCALAR),
    case(not_negative, SCALAR),
    case(cents, SCALAR),
    case(wide_range, ((0.0, 8.0),), delta=1e-5),
    case(bounded, SCALAR, epsilon=0.1, delta=0.1),
    case(mean_of_five, RECORDS),
    case(often_silent, SCALAR),
    case(two_scales, SCALAR),
    case(running_sums, ((np.zeros(4), np.array([1.0, 0.0, 0.0, 0.0])),), epsilon=0.5),
    case(counts_and_total, ((np.zeros(3), np.ones(3)),)),
)
