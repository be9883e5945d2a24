"""Draws that an audit needs to refute epsilon = 1 at alpha = 1e-6, learned from nothing.

The limit is ln(1/alpha) / g with g the growth rate of the optimal bet on the true posterior: no valid
test needs fewer on average. Prints medians over seeds and their ratio to the limit.

    python benchmarks/efficiency.py [SEEDS] [PROCESSES]
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
from dplitmus.mechanisms import DPText

if TYPE_CHECKING:
    from collections.abc import Callable


class Case(NamedTuple):
    """A broken mechanism, the limit, and the claim it breaks."""

    mechanism: Callable[..., Any]
    pair: tuple[Any, Any]
    limit: float
    delta: float = 0.0


@dataclass(frozen=True)
class Noise:
    """The input plus noise of one kind."""

    kind: str
    scale: float

    def __call__(self, x: Any, n: int, rng: np.random.Generator) -> Any:
        """Return n outputs on x."""
        shape = (n, *np.shape(x))
        draws: dict[str, Callable[[], Any]] = {
            "laplace": lambda: rng.laplace(size=shape),
            "normal": lambda: rng.normal(size=shape),
            "cauchy": lambda: rng.standard_cauchy(size=shape),
            "exponential": lambda: rng.exponential(size=shape),
            "none": lambda: np.zeros(shape),
        }
        return x + self.scale * draws[self.kind]()


def arg_max(x: Any, n: int, rng: np.random.Generator) -> Any:
    """Report noisy max with scale 1: the index."""
    return np.argmax(x + rng.laplace(size=(n, len(x))), axis=1)


def noisy_max(x: Any, n: int, rng: np.random.Generator) -> Any:
    """Report noisy max with scale 2: the value."""
    return np.max(x + rng.laplace(scale=2, size=(n, len(x))), axis=1)


def svt_without_query_noise(x: Any, n: int, rng: np.random.Generator) -> Any:
    """Noise on the threshold only."""
    return (x >= 0.5 + rng.laplace(scale=2, size=(n, 1))).astype(np.int8)


def svt_unlimited(x: Any, n: int, rng: np.random.Generator) -> Any:
    """Any number of positive answers."""
    noise = rng.laplace(scale=2, size=(n, len(x)))
    return (x + noise >= 0.5 + rng.laplace(scale=2, size=(n, 1))).astype(np.int8)


def nan_sometimes(x: float, n: int, rng: np.random.Generator) -> Any:
    """NaN with probability 0.02 or 0.2, otherwise correct noise."""
    return np.where(rng.random(n) < (0.2 if x else 0.02), np.nan, x + rng.laplace(size=n))


def strings(x: int, n: int, rng: np.random.Generator) -> list[str]:
    """Twenty words, five of them likelier by e^2 on each input."""
    weights = np.ones(20)
    weights[5 * x : 5 * x + 5] *= math.exp(2)
    return [f"word{i}" for i in rng.choice(20, size=n, p=weights / weights.sum())]


@dataclass(frozen=True)
class Revealing:
    """Randomised response at epsilon 1 that reveals its input with probability delta."""

    delta: float

    def __call__(self, x: float, n: int, rng: np.random.Generator) -> Any:
        """Return n outputs on x."""
        answer = np.where(rng.random(n) < 1 / (1 + math.exp(-1)), x, 1 - x)
        return np.where(rng.random(n) < self.delta, 2 + x, answer)


def ends(n: int) -> tuple[Any, Any]:
    """Zeros and ones."""
    return np.zeros(n), np.ones(n)


# Limits: quadrature or closed form; index of noisy max and sparse vector: from 2 million draws on each input.
CASES = {
    "copy": Case(Noise("none", 0.0), ends(1), 44),
    "ADePT n=2": Case(Noise("laplace", 1.0), ends(2), 533),
    "ADePT n=8": Case(Noise("laplace", 1.0), ends(8), 88),
    "ADePT n=32": Case(Noise("laplace", 1.0), ends(32), 46),
    "scale -50% n=1": Case(Noise("laplace", 0.5), ends(1), 310),
    "scale -50% n=8": Case(Noise("laplace", 4.0), ends(8), 7308),
    "scale -20% n=1": Case(Noise("laplace", 0.8), ends(1), 3644),
    "scale -5% n=1": Case(Noise("laplace", 0.95), ends(1), 75800),
    "noisy max, index": Case(arg_max, (np.ones(5), np.array([2.0, 0, 0, 0, 0])), 7754),
    "noisy max, value": Case(noisy_max, ends(5), 2672),
    "SVT, no query noise": Case(
        svt_without_query_noise, (np.array([0.0, 0, 1, 1]), np.array([1.0, 1, 0, 0])), 199
    ),
    "SVT, unlimited": Case(svt_unlimited, (np.ones(10), np.array([2.0] * 5 + [0.0] * 5)), 1103),
    "DPText n=8": Case(DPText(epsilon=1.0, sensitivity=8.0), ends(8), 44),
    "one-sided": Case(Noise("exponential", 1.0), ends(1), 139),
    "NaN": Case(nan_sometimes, (0.0, 1.0), 1133),
    "strings": Case(strings, (0, 1), 255),
    "mixed directions": Case(
        Noise("laplace", 1.0), (np.zeros(8), np.array([1.0, -1, 0, 0, 1, -1, 0, 0])), 181
    ),
    "Gaussian sd .7": Case(Noise("normal", 0.7), ends(1), 302),
    "Gaussian sd 2, n=8": Case(Noise("normal", 2.0), ends(8), 311),
    "Cauchy .3": Case(Noise("cauchy", 0.3), ends(1), 220),
    "delta .02 for .001": Case(Revealing(0.02), (0.0, 1.0), 2340, 1e-3),
    "delta .002 for 1e-5": Case(Revealing(0.002), (0.0, 1.0), 22000, 1e-5),
}


def draws_needed(job: tuple[str, int]) -> tuple[float, float]:
    """Draws of the search until the claim was refuted, and CPU seconds."""
    case = CASES[job[0]]
    started = time.process_time()
    result = dplitmus.audit(
        case.mechanism,
        epsilon=1.0,
        delta=case.delta,
        neighbours=[case.pair],
        samples=3_000_000,
        seed=1000 + job[1],
    )
    found = result.verdict == "violated"
    return (result.pairs[0].draws if found else math.inf), time.process_time() - started


def main() -> None:
    """Print a row per mechanism."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    processes = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    print(f"draws to refute epsilon = 1 at alpha = 1e-6, {seeds} seeds")
    print(f"{'mechanism':22}{'limit':>8}{'median':>9}{'90%':>9}{'x limit':>9}{'CPU s':>8}")
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        for name, case in CASES.items():
            outcomes = pool.map(draws_needed, [(name, seed) for seed in range(seeds)], chunksize=1)
            draws = [draws for draws, _ in outcomes]
            median, most = np.median(draws), np.quantile(draws, 0.9)
            cpu = float(np.mean([cpu for _, cpu in outcomes]))
            row = f"{name:22}{case.limit:>8.0f}{median:>9.0f}{most:>9.0f}{median / case.limit:>9.2f}"
            print(f"{row}{cpu:>8.2f}", flush=True)


if __name__ == "__main__":
    main()
