"""How often each input led to each guess: all the evidence there is, and all that travels.

Takes guesses; gives integers that add up over chunks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dplitmus.forecast.majority import Votes


@dataclass(frozen=True)
class SideCounts:
    """Outputs on one input, by guess, and how many of them held a NaN or an infinity.

    >>> SideCounts(zero=3, one=1) + SideCounts(zero=1, one=0, none=2, nan=2)
    SideCounts(zero=4, one=1, none=2, nan=2, infinite=0)
    """

    zero: int
    one: int
    none: int = 0
    nan: int = 0
    infinite: int = 0

    @classmethod
    def tally(cls, votes: Votes) -> SideCounts:
        """Count guesses: 0, 1, and anything else as no vote."""
        one = int(np.count_nonzero(votes.guesses == 1))
        zero = int(np.count_nonzero(votes.guesses == 0))
        none = votes.guesses.size - zero - one
        return cls(zero=zero, one=one, none=none, nan=votes.nan, infinite=votes.infinite)

    def __add__(self, other: SideCounts) -> SideCounts:
        return SideCounts(
            zero=self.zero + other.zero,
            one=self.one + other.one,
            none=self.none + other.none,
            nan=self.nan + other.nan,
            infinite=self.infinite + other.infinite,
        )

    @property
    def guesses(self) -> tuple[int, int, int]:
        """Counts of guess 0, guess 1 and no vote."""
        return (self.zero, self.one, self.none)

    @property
    def total(self) -> int:
        """All outputs on this input."""
        return self.zero + self.one + self.none


@dataclass(frozen=True)
class VoteCounts:
    """Guesses on `x` (zeros) and on `x_prime` (ones)."""

    x: SideCounts
    x_prime: SideCounts

    def __add__(self, other: VoteCounts) -> VoteCounts:
        return VoteCounts(self.x + other.x, self.x_prime + other.x_prime)

    @property
    def matrix(self) -> list[list[int]]:
        """The 2x2 table of the paper: rows x and x', columns guess 0 and guess 1."""
        return [[self.x.zero, self.x.one], [self.x_prime.zero, self.x_prime.one]]
