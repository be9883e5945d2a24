"""The privacy budget of a person, and what was spent of it.

Takes a budget and releases; refuses the release that would overspend. Composition is the basic one: epsilons
add up. Each release is of one text per person; a person with more texts in it pays for each of them.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dplitmus import store
from dplitmus.errors import InputError, positive_number

if TYPE_CHECKING:
    import os

_KIND = "dplitmus-ledger"


class Entry(NamedTuple):
    """One release: what it cost every person in it, and what it was."""

    epsilon: float
    note: str


@dataclass
class Ledger:
    """A budget and its releases; with a `path`, every entry is written before the release happens."""

    budget: float
    entries: list[Entry] = field(default_factory=list)
    path: Path | None = None

    def __post_init__(self) -> None:
        self.budget = positive_number("budget", self.budget)

    def spent(self) -> float:
        """The epsilons of all releases, rounded up."""
        return _above(self._spent())

    def rest(self) -> float:
        """What is left to spend, rounded down."""
        return max(0.0, -_above(self._spent() - Fraction(self.budget)))

    def _spent(self) -> Fraction:
        # Exactly: a million rounded additions may drift below the budget.
        return sum((Fraction(entry.epsilon) for entry in self.entries), Fraction(0))

    def spend(self, epsilon: float, note: str) -> None:
        """Enter a release, or refuse it with DP224 and leave the ledger as it was."""
        cost = positive_number("epsilon", epsilon)
        if self._spent() + Fraction(cost) > Fraction(self.budget):
            raise InputError(
                f"epsilon={cost:g} must be at most {self.rest():g}, the rest of the budget {self.budget:g}",
                code="DP224",
                help="release less, at a smaller epsilon, or agree on a larger budget beforehand",
            )
        self.entries.append(Entry(cost, note))
        if self.path:
            store.write(self.path, self._text())

    def _text(self) -> str:
        entries = [entry._asdict() for entry in self.entries]
        return json.dumps({"kind": _KIND, "budget": self.budget, "entries": entries}, indent=2) + "\n"

    @classmethod
    def open(cls, path: str | os.PathLike[str], budget: float) -> Ledger:
        """The ledger in a file, or a new one; another budget than the file's own is refused."""
        file = Path(path)
        if not file.exists():
            return cls(budget, path=store.prepare_file(file))
        try:
            found = json.loads(file.read_text(encoding="utf-8"))
            budgets = {_KIND: found["budget"]}
            entries = [Entry(positive_number("epsilon", e["epsilon"]), e["note"]) for e in found["entries"]]
            ledger = cls(budgets[found["kind"]], entries, file)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{str(file)!r} is not a ledger", code="DP224", help="name a new file, or the ledger's own"
            ) from error
        if not math.isclose(ledger.budget, budget):
            raise InputError(
                f"budget={budget:g} must be {ledger.budget:g}, as the ledger {str(file)!r} was opened with",
                code="DP224",
                help="a budget is agreed on once; a larger one is another ledger, and another promise",
            )
        return ledger


def _above(exact: Fraction) -> float:
    """The nearest float that is not below."""
    number = float(exact)
    return number if Fraction(number) >= exact else math.nextafter(number, math.inf)
