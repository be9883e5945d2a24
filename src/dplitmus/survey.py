"""The survey: audit every mechanism with a known answer, and compare.

Takes a budget, an alpha and a seed; gives a row per mechanism as each audit ends, and the summary of all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from dplitmus.auditing import audit
from dplitmus.mechanisms.zoo import ZOO
from dplitmus.target import zoo_setting
from dplitmus.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dplitmus.adapters import Adapted
    from dplitmus.mechanisms.zoo import Entry
    from dplitmus.verdict import Result


class Row(NamedTuple):
    """One mechanism: what is known of it, and what the audit said."""

    entry: Entry
    result: Result

    @property
    def true_epsilon(self) -> float:
        """At the default parameters."""
        return self.entry.true_epsilon(self.entry.epsilon, self.entry.dimension)

    @property
    def violated(self) -> bool:
        """Whether the audit refuted the claim."""
        return self.result.verdict is Verdict.VIOLATED


def audit_one(
    name: str, *, samples: int, alpha: float, seed: int, progress: Callable[[int], None] | None = None
) -> Row:
    """Audit one mechanism of the zoo with its own claim and inputs."""
    setting = zoo_setting(f"zoo:{name}", epsilon=None, dimension=None)
    result = audit(
        setting.mechanism,
        epsilon=setting.epsilon,
        delta=setting.delta,
        neighbours=setting.neighbours,
        samples=samples,
        alpha=alpha,
        seed=seed,
        progress=progress,
        target=setting.target,
    )
    return Row(ZOO[name], result)


def audit_adapted(
    adapted: Adapted,
    *,
    samples: int,
    alpha: float,
    seed: int,
    level: str = "ideal",
    progress: Callable[[int], None] | None = None,
) -> Result:
    """Audit one mechanism of a library by its own claim, on its own neighbours."""
    return audit(adapted, samples=samples, alpha=alpha, seed=seed, level=level, progress=progress)


@dataclass(frozen=True)
class Summary:
    """Names by what they are and what was said of them."""

    found: list[str]
    missed: list[str]
    accused: list[str]
    cleared: list[str]  # correct, and nothing was found

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Summary:
        """Sort the rows."""
        names: dict[tuple[bool, bool], list[str]] = {}
        for row in rows:
            names.setdefault((row.entry.broken, row.violated), []).append(row.entry.name)
        kinds = ((True, True), (True, False), (False, True), (False, False))
        return cls(*(names.get(kind, []) for kind in kinds))
