"""What the zoo knows of one mechanism: how to build it, what it claims, and the truth."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from dplitmus.errors import positive_number, whole_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from dplitmus.mechanisms.base import Mechanism

Relation = Literal["one", "all", "any"]
_ROUNDING = 1e-9  # two floating-point ways to one number are no violation


def as_claimed(epsilon: float, _dimension: int) -> float:
    """The true epsilon of a correct and tight mechanism: the one it was built for."""
    return epsilon


def infinite(_epsilon: float, _dimension: int) -> float:
    """The true epsilon where an output is possible on one input and impossible on the other."""
    return math.inf


def pure(epsilon: float, _dimension: int) -> tuple[float, float]:
    """The usual claim: epsilon, and delta = 0."""
    return epsilon, 0.0


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One mechanism of the zoo.

    `make(epsilon, dimension)` constructs it; `claim(epsilon, dimension)` is the (epsilon, delta) that
    it promises, and `true_epsilon(epsilon, dimension)` the smallest epsilon that would be true at that
    delta: a supremum over all neighbouring inputs and all events, of outputs as real numbers.

    `relation` says which inputs are neighbours: "one" coordinate changes by at most 1, "all" may change
    by at most 1 each, or "any" two inputs are neighbours (the local model; vectors in [0, 1]^n unless
    the mechanism says otherwise). `pairs` are inputs of the default `dimension` that show the truth; None
    means that the patterns of `dplitmus.neighbours` for the relation do.
    """

    name: str
    summary: str
    make: Callable[[float, int], Mechanism]
    true_epsilon: Callable[[float, int], float]
    truth: str
    relation: Relation
    claim: Callable[[float, int], tuple[float, float]] = pure
    epsilon: float = 1.0
    dimension: int = 2
    pairs: tuple[tuple[Any, Any], ...] | None = None

    def build(self, epsilon: float, dimension: int) -> Mechanism:
        """Return the mechanism for these parameters."""
        positive_number("epsilon", epsilon)
        whole_number("dimension", dimension, least=1, help="try dimension=1")
        return self.make(epsilon, dimension)

    @property
    def broken(self) -> bool:
        """Whether the true epsilon exceeds the claim at the default parameters."""
        claimed, _ = self.claim(self.epsilon, self.dimension)
        return self.true_epsilon(self.epsilon, self.dimension) > claimed * (1 + _ROUNDING)
