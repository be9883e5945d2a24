"""Footnote 7: how much the estimate varies from run to run.

The paper repeats ADePT, n = 2, epsilon = 0.1, a hundred times: mean 0.195, standard deviation 0.0008.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dplitmus.mechanisms.adept import adept
from dplitmus.samples import stream
from dplitmus.sanity import exact_vote, sanity_check

if TYPE_CHECKING:
    from collections.abc import Callable

REPETITIONS = 100
EPSILON, DIMENSION = 0.1, 2
_PHASE = 12


@dataclass(frozen=True)
class Footnote:
    """The estimates of repeated runs, and the exact value they scatter around."""

    samples: int
    estimates: tuple[float, ...]
    exact: float

    @property
    def infinite(self) -> int:
        """How many estimates are infinite: so few samples that a guess was never wrong."""
        return sum(math.isinf(estimate) for estimate in self.estimates)

    @property
    def mean(self) -> float:
        """Mean of the estimates."""
        return float(np.mean(self.estimates)) if not self.infinite else math.inf

    @property
    def standard_deviation(self) -> float:
        """Standard deviation of the estimates."""
        return float(np.std(self.estimates, ddof=1)) if not self.infinite else math.nan


def total_draws(samples: int) -> int:
    """How many vectors `run` draws: what its progress adds up to."""
    return 2 * samples * REPETITIONS


def run(
    samples: int,
    *,
    seed: int,
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Footnote:
    """Repeat the sanity check with independent seeds."""
    mechanism = adept(epsilon=EPSILON)
    seeds = stream(seed, _PHASE).integers(0, 2**63, size=REPETITIONS)
    checks = [
        sanity_check(
            mechanism,
            epsilon=EPSILON,
            dimension=DIMENSION,
            samples=samples,
            seed=int(one),
            threads=threads,
            progress=progress,
        )
        for one in seeds
    ]
    exact = exact_vote(mechanism, DIMENSION)
    if exact is None:
        raise AssertionError("adept has a closed form")
    return Footnote(samples, tuple(check.estimate for check in checks), exact.loss)
