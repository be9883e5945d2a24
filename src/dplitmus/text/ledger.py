"""The privacy budget of a person, and what was spent of it.

Takes a budget and releases; refuses the release that would overspend. Composition is the basic one: epsilons
add up. Each release is of one text per person; a person with more texts in it pays for each of them.

A ledger in a file may be used by several processes: each looks at the file again, and enters its release,
while it holds the file's lock.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from dplitmus import store
from dplitmus.errors import InputError, positive_number

if TYPE_CHECKING:
    import os
    from pathlib import Path

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
        if self.path is None:
            self._enter(cost, note)
            return
        with store.locked(self.path):
            if self.path.exists():  # another process may have spent since we looked
                _, self.entries = _read(self.path, self.budget)
            self._enter(cost, note)
            store.write(self.path, self._text())

    def _enter(self, cost: float, note: str) -> None:
        if self._spent() + Fraction(cost) > Fraction(self.budget):
            raise InputError(
                f"epsilon={cost:g} must be at most {self.rest():g}, the rest of the budget {self.budget:g}",
                code="DP224",
                help="release less, at a smaller epsilon, or agree on a larger budget beforehand",
            )
        self.entries.append(Entry(cost, note))

    def _text(self) -> str:
        entries = [entry._asdict() for entry in self.entries]
        return json.dumps({"kind": _KIND, "budget": self.budget, "entries": entries}, indent=2) + "\n"

    @classmethod
    def open(cls, path: str | os.PathLike[str], budget: float | None = None) -> Ledger:
        """The ledger in a file, or a new one of this budget; another budget than the file's is refused."""
        file = store.prepare_file(path)
        if file.exists():
            return cls(*_read(file, budget), file)
        if budget is None:
            raise InputError(f"no ledger {str(file)!r}", code="DP224", help="a new one needs a budget")
        return cls(budget, [], file)


def _read(file: Path, budget: float | None) -> tuple[float, list[Entry]]:
    """The budget of a file, which must be this one if it is given, and what was spent."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        own = {_KIND: positive_number("budget", found["budget"])}[found["kind"]]
        entries = [Entry(positive_number("epsilon", e["epsilon"]), str(e["note"])) for e in found["entries"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(
            f"{str(file)!r} is not a ledger", code="DP224", help="name a new file, or the ledger's own"
        ) from error
    if budget is not None and not math.isclose(own, positive_number("budget", budget)):
        raise InputError(
            f"budget={budget:g} must be {own:g}, as the ledger {str(file)!r} was opened with",
            code="DP224",
            help="a budget is agreed on once; a larger one is another ledger, and another promise",
        )
    return own, entries


def _above(exact: Fraction) -> float:
    """The nearest float that is not below."""
    number = float(exact)
    return number if Fraction(number) >= exact else math.nextafter(number, math.inf)
