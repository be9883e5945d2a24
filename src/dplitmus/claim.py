"""What is promised: the privacy claim that dplitmus tries to falsify."""

from __future__ import annotations

from dataclasses import dataclass

from dplitmus.errors import bad_value, number, positive_number


@dataclass(frozen=True, kw_only=True)
class Claim:
    """`epsilon`-differential privacy, or (`epsilon`, `delta`) when `delta` is above zero.

    >>> Claim(epsilon=1)
    Claim(epsilon=1.0, delta=0.0)
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive_number("epsilon", self.epsilon))
        delta = number("delta", self.delta)
        if not 0.0 <= delta < 1.0:
            raise bad_value("delta", delta, "be at least 0 and below 1", help="delta=0 is pure privacy")
        object.__setattr__(self, "delta", delta)
