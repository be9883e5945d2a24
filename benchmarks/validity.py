"""How often an audit accuses the innocent, at the exact boundary, with early stopping.

Every mechanism here satisfies its claim exactly, with no room to spare: the hardest case. With alpha =
0.05 at most 5 % of the audits may refute it, whenever they stop. Prints the rate and its 97.5 %
Clopper-Pearson upper limit. To save time a chunk is 30 % of the draws before it instead of 5 %; the
guarantee does not depend on it.

    python benchmarks/validity.py [RUNS] [PROCESSES] [PART OF A NAME]
"""

from __future__ import annotations

import math
import multiprocessing
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import dplitmus
from dplitmus import search
from dplitmus.bounds import clopper_pearson_upper

if TYPE_CHECKING:
    from collections.abc import Callable

ALPHA = 0.05
search._GROWTH_EARLY = 0.3  # noqa: SLF001


class Null(NamedTuple):
    """A mechanism at the boundary of its claim."""

    mechanism: Callable[..., Any]
    pair: tuple[Any, Any]
    epsilon: float
    delta: float
    draws: int
    stop: str = "violated"


def laplace(x: Any, n: int, rng: np.random.Generator) -> Any:
    """Scale = dimension: epsilon = 1 on zeros against ones."""
    return x + rng.laplace(scale=len(x), size=(n, len(x)))


def randomised_response(x: float, n: int, rng: np.random.Generator) -> Any:
    """Every output is at the boundary."""
    return np.where(rng.random(n) < 1 / (1 + math.exp(-1)), x, 1 - x)


def geometric(x: float, n: int, rng: np.random.Generator) -> Any:
    """The two-sided geometric mechanism."""
    p = 1 - math.exp(-1)
    return x + rng.geometric(p, n) - rng.geometric(p, n)


def noisy_max(x: Any, n: int, rng: np.random.Generator) -> Any:
    """Report the index of the largest noisy answer: epsilon = 1 at large gaps."""
    return np.argmax(x + rng.exponential(scale=2.0, size=(n, len(x))), axis=1)


def sparse_vector(x: Any, n: int, rng: np.random.Generator) -> Any:
    """Above threshold, once: (0 = below, 1 = above, 2 = aborted) per query."""
    threshold = 0.5 + rng.laplace(scale=2.0, size=(n, 1))
    above = x + rng.laplace(scale=4.0, size=(n, len(x))) >= threshold
    before = np.cumsum(above, axis=1) - above
    return np.where(before > 0, 2, above).astype(np.int8)


def length(x: float, n: int, rng: np.random.Generator) -> Any:
    """Randomised response, told by how many numbers there are: a panel begins anew when they get more."""
    return [list(rng.random(1 + int(answer))) for answer in randomised_response(x, n, rng)]


def one_geometric(x: float, rng: np.random.Generator) -> float:
    """One draw: chunks are drawn ahead and judged later, by what was learned meanwhile."""
    return float(geometric(x, 1, rng)[0])


@dataclass(frozen=True)
class Canonical:
    """The mechanism that is tight for (1, delta): reveals its input with probability delta."""

    delta: float

    def __call__(self, x: float, n: int, rng: np.random.Generator) -> Any:
        """Randomised response, or the truth in other words."""
        answer = randomised_response(x, n, rng)
        return np.where(rng.random(n) < self.delta, 2 + x, answer)


ZEROS_ONES_8 = (np.zeros(8), np.ones(8))
NULLS = {
    "Laplace n=1": Null(laplace, (np.zeros(1), np.ones(1)), 1.0, 0.0, 400),
    "Laplace n=8": Null(laplace, ZEROS_ONES_8, 1.0, 0.0, 400),
    "randomised response": Null(randomised_response, (0.0, 1.0), 1.0, 0.0, 600),
    "geometric": Null(geometric, (0.0, 1.0), 1.0, 0.0, 400),
    "canonical (1, 0.05)": Null(Canonical(0.05), (0.0, 1.0), 1.0, 0.05, 400),
    "canonical (1, 0.001)": Null(Canonical(0.001), (0.0, 1.0), 1.0, 0.001, 400),
    "canonical (1, 1e-5)": Null(Canonical(1e-5), (0.0, 1.0), 1.0, 1e-5, 400),
    "noisy max": Null(noisy_max, (np.array([3.0, 0, 0]), np.array([2.0, 1, 1])), 1.0, 0.0, 400),
    "sparse vector": Null(sparse_vector, (np.array([0.0, 0, 1]), np.array([1.0, 1, 0])), 1.0, 0.0, 400),
    "lengths": Null(length, (0.0, 1.0), 1.0, 0.0, 400),
    "geometric, one by one": Null(dplitmus.each(one_geometric), (0.0, 1.0), 1.0, 0.0, 400),
    # For the tightest bound: most of alpha is the exam's, in which the panel learns on.
    "Laplace n=1, exam": Null(laplace, (np.zeros(1), np.ones(1)), 1.0, 0.0, 2000, "never"),
    "rand. response, exam": Null(randomised_response, (0.0, 1.0), 1.0, 0.0, 2000, "never"),
    "geometric, exam": Null(geometric, (0.0, 1.0), 1.0, 0.0, 2000, "never"),
    "noisy max, exam": Null(
        noisy_max, (np.array([3.0, 0, 0]), np.array([2.0, 1, 1])), 1.0, 0.0, 2000, "never"
    ),
}


def one_run(job: tuple[str, int]) -> tuple[bool, bool]:
    """Whether the claim was refuted, and whether the bound exceeds the truth."""
    null = NULLS[job[0]]
    result = dplitmus.audit(
        null.mechanism,
        epsilon=null.epsilon,
        delta=null.delta,
        neighbours=[null.pair],
        samples=int(null.draws / 0.9),
        alpha=ALPHA,
        seed=job[1],
        stop=null.stop,
    )
    return result.verdict == "violated", result.epsilon_lower > null.epsilon


def main() -> None:
    """Print a row per mechanism."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    processes = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    wanted = sys.argv[3] if len(sys.argv) > 3 else ""
    print(f"alpha = {ALPHA}, {runs} runs each, early stopping")
    print(f"{'null':24}{'draws':>7}{'refuted':>9}{'rate':>8}{'97.5% upper':>13}{'bound above truth':>19}")
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        for name, null in NULLS.items():
            if wanted not in name:
                continue
            started = time.perf_counter()
            outcomes = pool.map(one_run, [(name, seed) for seed in range(runs)], chunksize=20)
            refuted = sum(refuted for refuted, _ in outcomes)
            above = sum(above for _, above in outcomes)
            upper = clopper_pearson_upper(refuted, runs, 0.025)
            print(
                f"{name:24}{null.draws:>7}{refuted:>9}{refuted / runs:>8.4f}{upper:>13.4f}{above:>19}"
                f"   {time.perf_counter() - started:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
