"""Discrete Laplace noise from a secure source of bytes: exact, on whole numbers, no floats.

Takes a scale t (a whole number) and a source of random bytes; gives integers with P[y] proportional to
exp(-|y| / t). Every comparison is between uniform integers, so no rounding shapes the law.

Reference: Canonne, Kamath, Steinke (2020), "The Discrete Gaussian for Differential Privacy", algorithms 1
and 2; their loops are run here on arrays.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Source = Callable[[int], bytes]
Integers = NDArray[np.int64]
LARGEST_SCALE = 2**48  # t times the loop counter stays below 2**63


def discrete_laplace(scale: int, size: int, source: Source = secrets.token_bytes) -> Integers:
    """Draw `size` integers y with P[y] proportional to exp(-|y| / scale).

    |y| = U + scale * V with U below `scale` accepted with probability exp(-U / scale), and V geometric with
    ratio exp(-1): exp(-|y| / scale) in product. A sign bit is added, and -0 is drawn again, because zero
    would count twice.
    """
    result = np.zeros(size, dtype=np.int64)
    missing = np.arange(size)
    while missing.size:
        part = uniform_below(scale, missing.size, source)
        kept = _bernoulli_exp(part, scale, source)
        kept_part = part[kept]
        size_of = kept_part + scale * _geometric(kept_part.size, source)
        negative = uniform_below(2, kept_part.size, source).astype(bool)
        usable = ~(negative & (size_of == 0))
        result[missing[kept][usable]] = np.where(negative, -size_of, size_of)[usable]
        kept[kept] = usable
        missing = missing[~kept]
    return result


def uniform_below(bound: int, size: int, source: Source) -> Integers:
    """Integers uniform on 0 .. bound - 1: 63 random bits, the incomplete last block drawn again."""
    limit = 2**63 - 2**63 % bound
    drawn = np.zeros(size, dtype=np.int64)
    missing = np.arange(size)
    while missing.size:
        bits = np.frombuffer(source(8 * missing.size), dtype=np.uint64) >> np.uint64(1)
        usable = bits < np.uint64(limit)
        drawn[missing[usable]] = (bits[usable] % np.uint64(bound)).astype(np.int64)
        missing = missing[~usable]
    return drawn


def _bernoulli_exp(numerator: Integers, denominator: int, source: Source) -> NDArray[np.bool_]:
    """One coin each, true with probability exp(-numerator / denominator); the ratio is at most 1.

    Coins with probability x/k, k = 1, 2, ..., until one fails: the chance that the first failure has an odd
    number is the alternating series of exp(-x).
    """
    rounds = np.ones(numerator.size, dtype=np.int64)
    running = np.arange(numerator.size)
    k = 1
    while running.size:
        success = uniform_below(denominator * k, running.size, source) < numerator[running]
        running = running[success]
        k += 1
        rounds[running] = k
    return np.asarray(rounds % 2 == 1)


def _geometric(size: int, source: Source) -> Integers:
    """How many coins with probability exp(-1) came up before the first failure."""
    count = np.zeros(size, dtype=np.int64)
    running = np.arange(size)
    while running.size:
        running = running[_bernoulli_exp(np.ones(running.size, dtype=np.int64), 1, source)]
        count[running] += 1
    return count
