"""What every adapter gives: a mechanism together with what its library claims of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dplitmus.claim import Claim
from dplitmus.errors import InputError, one_line
from dplitmus.mechanisms.base import as_callee

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dplitmus.neighbours import Pair


@dataclass(frozen=True, kw_only=True)
class Adapted:
    """An object of another library as a mechanism, with its claim; `dplitmus.audit` takes it as it is.

    `relation` says which inputs are neighbours under the claim, and `claimed_by` who says so; both are
    printed with every answer. `covers` refuses a pair of inputs of which the claim says nothing.
    """

    mechanism: Any  # (x, n) or (x, n, rng)
    name: str
    claim: Claim
    claimed_by: str
    relation: str
    neighbours: tuple[Pair, ...]
    sensitivity: float | None = None
    covers: Callable[[Pair], None] | None = field(default=None, repr=False)
    note: str | None = None  # what a reader of the verdict must know
    dplitmus_target: str | None = None  # where `replay` finds it

    def __post_init__(self) -> None:
        self.mechanism.__name__ = self.name  # what reports and errors call it

    def __call__(self, x: Any, n: int, rng: np.random.Generator | None = None) -> Any:
        """Draw n outputs on x, with the generator if the mechanism takes one."""
        return as_callee(self.mechanism).call(x, n, rng or np.random.default_rng())

    def judged_by(self, epsilon: float | None, delta: float | None) -> Adapted:
        """The same mechanism under the user's claim, where the user makes one that differs."""
        claim = Claim(
            epsilon=self.claim.epsilon if epsilon is None else epsilon,
            delta=self.claim.delta if delta is None else delta,
        )
        if claim == self.claim:
            return self
        return replace(self, claim=claim, claimed_by=f"you; the object is of {self.claimed_by}")


def missing(what: str, *, of: str, why: str, help: str) -> InputError:
    """DP243: an adapter asks for what it cannot derive from the object."""
    return InputError(f"{of} does not tell {what}: {why}", code="DP243", help=help)


def cannot(thing: str, *, why: str, audits: Iterable[str], library: str) -> InputError:
    """DP242: there is nothing to audit in this object; say what can be audited."""
    return InputError(
        f"{one_line(thing, 120)} cannot be audited: {why}",
        code="DP242",
        help=f"of {library} dplitmus audits {', '.join(audits)}; anything else as a function (x, n, rng)",
    )


def outside(pair: Pair, *, relation: str, help: str) -> InputError:
    """DP244: the claim says nothing of this pair."""
    return InputError(f"the pair {pair.name} is not in the relation {relation!r}", code="DP244", help=help)
