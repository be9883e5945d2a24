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
    would count twice. More are tried than are needed: the first that are accepted have the same law.
    """
    parts: list[Integers] = [np.zeros(0, dtype=np.int64)]
    missing = size
    while missing > 0:
        tries = 8 + 5 * missing // 3  # 0.63 of them are accepted
        part = uniform_below(scale, tries, source)
        part = part[_bernoulli_exp(part, scale, source)]
        magnitude = part + scale * _geometric(part.size, source)
        negative = uniform_below(2, part.size, source).astype(bool)
        usable = ~(negative & (magnitude == 0))
        parts.append(np.where(negative, -magnitude, magnitude)[usable])
        missing -= parts[-1].size
    return np.concatenate(parts)[:size]


def uniform_below(bound: int, size: int, source: Source) -> Integers:
    """Integers uniform on 0 .. bound - 1: 63 random bits, the incomplete last block drawn again."""
    limit = 2**63 - 2**63 % bound
    bits = np.frombuffer(source(8 * size), dtype=np.uint64) >> np.uint64(1)
    drawn = (bits % np.uint64(bound)).astype(np.int64)
    if (again := np.flatnonzero(bits >= np.uint64(limit))).size:
        drawn[again] = uniform_below(bound, again.size, source)
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
    """How many coins with probability exp(-1) came up before the first failure, for `size` series of coins.

    One long series is cut after each failure: its parts are independent and have this law.
    """
    counts = np.zeros(0, dtype=np.int64)
    carried = 0  # successes since the last failure
    while counts.size < size:
        tosses = 8 + 5 * (size - counts.size) // 3  # a part takes 1.58 tosses on average
        coins = _bernoulli_exp(np.ones(tosses, dtype=np.int64), 1, source)
        failures = np.flatnonzero(~coins)
        found = np.diff(failures, prepend=-1) - 1
        if found.size:
            found[0] += carried
            carried = 0
        carried += tosses - 1 - (int(failures[-1]) if failures.size else -1)
        counts = np.concatenate([counts, found])
    return counts[:size]
