"""Figure 2's experiment: six mechanisms, seven epsilons, six dimensions, by real sampling.

Takes a number of samples and a seed; gives one `SanityCheck` per cell. Common random numbers: for
one dimension and input, one draw of standard noise serves every epsilon and every mechanism that
scales it. Cells are therefore dependent across epsilon (each is right by itself), and the whole
grid costs little more than its six largest cells.
"""

from __future__ import annotations

import functools
import operator
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dplitmus import engine
from dplitmus.claim import Claim
from dplitmus.counts import SideCounts, VoteCounts
from dplitmus.mechanisms import dptext, zoo
from dplitmus.mechanisms.baselines import fair_coins
from dplitmus.mechanisms.laplace import SAMPLERS
from dplitmus.samples import plan, stream
from dplitmus.sanity import SanityCheck, exact_vote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from dplitmus.sanity import ExactVote

    GuessOfOne = tuple[str, float, int, int]  # mechanism, epsilon, dimension, input

EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
DIMENSIONS = (1, 2, 8, 32, 64, 128)
MECHANISMS = ("laplace", "adept", "dptext", "halved-output", "copy", "random")
ALPHA = 1e-6
_PHASE = 10  # streams of the grid, apart from those of a single sanity check


@dataclass(frozen=True)
class Family:
    """Mechanisms that share one standard noise.

    `threshold(input, epsilon, dimension)` of a mechanism is the standard noise from which on its
    output on that input rounds to 1, so that the noise need not be scaled for every cell.
    """

    key: int
    noise: Callable[[np.random.Generator, tuple[int, int]], NDArray[Any]]
    thresholds: dict[str, Callable[[int, float, int], float]]


def _zeros(_rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[Any]:
    return np.zeros(shape, dtype=np.uint8)


FAMILIES = (
    Family(
        key=0,
        noise=SAMPLERS["eq4"],
        thresholds={
            # output at least 1/2, where it is x + s n / epsilon
            "laplace": lambda x, epsilon, n: (0.5 - x) * epsilon / n,
            # the same, where it is x + s / epsilon
            "adept": lambda x, epsilon, _n: (0.5 - x) * epsilon,
            # the same, where it is (x + s n / epsilon) / 2
            "halved-output": lambda x, epsilon, n: (1.0 - x) * epsilon / n,
        },
    ),
    Family(
        key=1,
        noise=lambda rng, shape: dptext.standard_noise(rng, shape, "zero"),
        thresholds={"dptext": lambda x, epsilon, n: (0.5 - x) * epsilon / n},
    ),
    Family(
        key=2,
        noise=fair_coins,
        thresholds={"random": lambda _x, _epsilon, _n: 0.5},
    ),
    Family(
        key=3,
        noise=_zeros,
        thresholds={"copy": lambda x, _epsilon, _n: 0.5 - x},
    ),
)


def cells() -> Iterator[tuple[str, float, int]]:
    """All 252 (mechanism, epsilon, dimension), in the order of the results."""
    return (
        (mechanism, epsilon, dimension)
        for mechanism in MECHANISMS
        for epsilon in EPSILONS
        for dimension in DIMENSIONS
    )


def exact_losses() -> dict[tuple[str, float, int], float]:
    """The exact loss of every cell, without sampling."""
    return {cell: exact_vote_of(*cell).loss for cell in cells()}


def exact_vote_of(mechanism: str, epsilon: float, dimension: int) -> ExactVote:
    """The exact law of the guess in one cell."""
    law = exact_vote(zoo.find(mechanism).build(epsilon, dimension), dimension)
    if law is None:
        raise AssertionError(f"{mechanism} has no closed form")
    return law


def total_draws(samples: int) -> int:
    """How many vectors `run` draws: what its progress adds up to."""
    return 2 * samples * len(DIMENSIONS) * len(FAMILIES)


def run(
    samples: int,
    *,
    seed: int,
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[SanityCheck]:
    """Sample every cell, `samples` times on zeros and as often on ones."""
    ones: Counter[GuessOfOne] = Counter()
    for family in FAMILIES:
        for dimension in DIMENSIONS:
            ones += engine.run(
                functools.partial(_count_ones, family, dimension, seed),
                plan(samples, dimension=dimension),
                merge=operator.add,
                threads=engine.checked_threads(threads),
                progress=(lambda size: progress(2 * size)) if progress else None,
            )

    def side(name: str, epsilon: float, dimension: int, x: int) -> SideCounts:
        one = ones[name, epsilon, dimension, x]
        return SideCounts(zero=samples - one, one=one)

    return [
        SanityCheck(
            mechanism=mechanism,
            claim=Claim(epsilon=epsilon),
            dimension=dimension,
            samples=samples,
            alpha=ALPHA,
            seed=seed,
            ties="zero",
            counts=VoteCounts(side(mechanism, epsilon, dimension, 0), side(mechanism, epsilon, dimension, 1)),
            exact=exact_vote_of(mechanism, epsilon, dimension),
            replayable=True,
        )
        for mechanism, epsilon, dimension in cells()
    ]


def _count_ones(family: Family, dimension: int, seed: int, chunk: int, size: int) -> Counter[GuessOfOne]:
    """Count the outputs that the majority vote takes for ones, for all cells of one noise."""
    ones: Counter[GuessOfOne] = Counter()
    for x in (0, 1):
        rng = stream(seed, _PHASE, family.key, dimension, x, chunk)
        noise = family.noise(rng, (dimension, size))
        bits = np.empty(noise.shape, dtype=bool)
        known: dict[float, int] = {}  # several cells may share a threshold
        for mechanism, threshold_of in family.thresholds.items():
            for epsilon in EPSILONS:
                threshold = threshold_of(x, epsilon, dimension)
                if threshold not in known:
                    np.greater_equal(noise, threshold, out=bits)
                    votes = np.add.reduce(bits, axis=0, dtype=np.uint8)
                    known[threshold] = int(np.count_nonzero(votes > dimension // 2))
                ones[mechanism, epsilon, dimension, x] = known[threshold]
    return ones
