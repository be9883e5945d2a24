"""Randomised response on bits, and RAPPOR on any value (Erlingsson et al. 2014): the local model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dplitmus.mechanisms.base import as_vector
from dplitmus.mechanisms.zoo.entry import Entry, as_claimed

Bits = NDArray[np.int8]
_WORD = 0xFFFFFFFF


@dataclass(frozen=True, kw_only=True)
class RandomisedResponse:
    """Keeps each of n bits with the odds exp(epsilon/n), otherwise flips it."""

    epsilon: float
    name: ClassVar[str] = "randomised-response"

    def __call__(self, x: Any, n: int, rng: np.random.Generator) -> Bits:
        """Return n rows of 0 and 1; an input of 0.5 or more counts as 1."""
        bits = as_vector(x) >= 0.5
        flip = 1.0 / (1.0 + math.exp(self.epsilon / bits.size))
        flipped = rng.random((bits.size, n)) < flip
        return (flipped ^ bits[:, np.newaxis]).astype(np.int8).T


@dataclass(frozen=True, kw_only=True)
class Rappor:
    """A value as a Bloom filter of `k` bits and `h` hashes, of which each bit is randomised.

    Permanently: set to 1 with probability f/2, to 0 with f/2, otherwise kept. Then in each report: 1 with
    probability `q` if the bit is 1, `p` if it is 0. A one-time report is p = 0, q = 1: no second step.
    Defaults are DP-Sniper's. Outputs are rows of k bits.
    """

    name: str = "rappor"
    k: int = 20
    h: int = 4
    f: float = 0.75
    p: float = 0.45
    q: float = 0.55

    def __call__(self, x: Any, n: int, rng: np.random.Generator) -> Bits:
        """Return n reports of the value `x`; a whole number is the same value as int or float."""
        u = rng.random((self.k, n))
        bits = np.where(u < self.f, u < self.f / 2, self.filter(x)[:, np.newaxis])
        if (self.p, self.q) != (0.0, 1.0):
            bits = rng.random(bits.shape) < np.where(bits, self.q, self.p)
        return bits.astype(np.int8).T

    def filter(self, x: Any) -> NDArray[np.bool_]:
        """Return the Bloom filter of one value."""
        value = np.asarray(x).reshape(-1)[0].item()
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        bits = np.zeros(self.k, dtype=bool)
        bits[[murmur3(str(value).encode(), seed) % self.k for seed in range(self.h)]] = True
        return bits

    def loss_per_bit(self) -> float:
        """The larger log ratio of a reported bit between a filter bit of 1 and one of 0."""
        one, zero = (self.f / 2 * (self.p + self.q) + (1 - self.f) * r for r in (self.q, self.p))
        return math.log(max(one / zero, (1 - zero) / (1 - one)))


ONE_TIME = Rappor(name="one-time-rappor", f=0.95, p=0.0, q=1.0)


def murmur3(data: bytes, seed: int) -> int:
    """MurmurHash3 of 32 bits, signed, as `mmh3.hash` gives it.

    >>> murmur3(b"foo", 0)
    -156908512
    """
    state = seed
    whole = len(data) - len(data) % 4
    for start in range(0, whole, 4):
        state ^= _mixed(data[start : start + 4])
        state = (_rotated(state, 13) * 5 + 0xE6546B64) & _WORD
    state ^= _mixed(data[whole:]) ^ len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        state = (state ^ state >> shift) * factor & _WORD
    return state - 2**32 if state >= 2**31 else state


def _mixed(block: bytes) -> int:
    word = int.from_bytes(block, "little") * 0xCC9E2D51 & _WORD
    return _rotated(word, 15) * 0x1B873593 & _WORD


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> (32 - bits)) & _WORD


def _rappor(rappor: Rappor, summary: str, truth: str) -> Entry:
    # Bits are independent, so the loss is that of one bit times the number of differing bits: at most 2h,
    # for two values with h positions each and none in common. Of the pairs, 1 and 0 (DP-Sniper's)
    # differ in 6 bits, 3 and 4 in all 8.
    worst = 2 * rappor.h * rappor.loss_per_bit()
    return Entry(
        name=rappor.name,
        summary=summary,
        make=lambda _epsilon, _n: rappor,
        relation="any",
        epsilon=worst,
        dimension=1,
        pairs=((1, 0), (3, 4)),
        claim=lambda _epsilon, _n: (worst, 0.0),
        true_epsilon=lambda _epsilon, _n: worst,
        truth=truth,
    )


ENTRIES = (
    Entry(
        name="randomised-response",
        summary="n bits, each kept with odds e^(eps/n)",
        make=lambda epsilon, _n: RandomisedResponse(epsilon=epsilon),
        relation="any",
        dimension=1,
        true_epsilon=as_claimed,  # n independent bits, each with log odds epsilon/n
        truth="epsilon",
    ),
    _rappor(Rappor(), "RAPPOR report, k=20 h=4; claims 0.4001", "0.4001"),
    _rappor(ONE_TIME, "RAPPOR, first step only; claims 0.8007", "0.8007"),
)
