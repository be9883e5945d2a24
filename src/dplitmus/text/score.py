"""A share of successes with its interval and what a guesser without any knowledge would reach."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

_RESAMPLES = 2000


@dataclass(frozen=True, kw_only=True)
class Score:
    """`value` with a 95 % bootstrap interval; `baseline` is the majority class or chance."""

    value: float
    low: float
    high: float
    baseline: float
    macro_f1: float | None = None

    @classmethod
    def of(
        cls, successes: ArrayLike, *, baseline: float, macro_f1: float | None = None, seed: int = 0
    ) -> Score:
        """The share of successes; resampling yes-or-no outcomes is drawing binomials."""
        hits = np.asarray(successes, dtype=bool)
        share = float(hits.mean())
        resampled = np.random.default_rng(seed).binomial(hits.size, share, _RESAMPLES) / hits.size
        low, high = np.quantile(resampled, [0.025, 0.975])
        return cls(value=share, low=float(low), high=float(high), baseline=baseline, macro_f1=macro_f1)

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def majority(labels: Sequence[Any]) -> float:
    """The share of the most frequent class: what ignoring the data gives."""
    return Counter(labels).most_common(1)[0][1] / len(labels)
