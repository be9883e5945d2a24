"""What an audit costs beside the mechanism's own time.

Steady state: microseconds of CPU a draw beyond 100,000 draws, for a correct Laplace mechanism in n
dimensions, less the time the mechanism takes by itself. Start: CPU seconds of the first 300 draws.
Slow mechanisms: wall time of an audit whose every draw sleeps for 1 ms, as a ratio to that of as many draws
on the same threads without an audit.

    python benchmarks/harness.py
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

import dplitmus

LONG, SHORT = 1_100_000, 100_000


@dataclass(frozen=True)
class Laplace:
    """Scale = dimension: epsilon 1 on zeros against ones."""

    dimension: int

    def __call__(self, x: Any, n: int, rng: np.random.Generator) -> Any:
        """Return n noised vectors."""
        return x + rng.laplace(scale=self.dimension, size=(n, self.dimension))

    @property
    def pair(self) -> tuple[Any, Any]:
        """Zeros and ones."""
        return np.zeros(self.dimension), np.ones(self.dimension)


def cpu(mechanism: Laplace, samples: int) -> tuple[float, int]:
    """CPU seconds of an audit, and its draws."""
    started = time.process_time()
    result = dplitmus.audit(mechanism, epsilon=1.0, neighbours=[mechanism.pair], samples=samples, seed=1)
    return time.process_time() - started, result.samples


def own_time(mechanism: Laplace, draws: int) -> float:
    """CPU seconds a draw of the mechanism alone, in chunks of the same size."""
    rng = np.random.Generator(np.random.SFC64(1))
    size = 2**14
    started = time.process_time()
    for _ in range(draws // size):
        mechanism(mechanism.pair[0], size, rng)
    return (time.process_time() - started) / (draws // size * size)


def slow(x: float, rng: np.random.Generator) -> float:
    """A millisecond a draw."""
    time.sleep(0.001)
    return x + rng.laplace()


def bare(pool: ThreadPoolExecutor, draws: int) -> float:
    """Seconds of so many slow draws on the same threads, in hundred tasks."""

    def some(seed: int) -> list[float]:
        rng = np.random.default_rng(seed)
        return [slow(0.0, rng) for _ in range(draws // 100)]

    started = time.perf_counter()
    list(pool.map(some, range(100)))
    return time.perf_counter() - started


def main() -> None:
    """Print both tables."""
    print(f"{'n':>4}{'first 300 draws':>18}{'steady us a draw':>18}{'mechanism alone':>17}")
    for dimension in (1, 8, 32):
        mechanism = Laplace(dimension)
        cpu(mechanism, 334)  # warm up
        start = min(cpu(mechanism, 334)[0] for _ in range(5))
        (long, many), (short, few) = cpu(mechanism, LONG), cpu(mechanism, SHORT)
        alone = own_time(mechanism, 500_000)
        steady = (long - short) / (many - few) - alone
        print(f"{dimension:>4}{start:>16.3f} s{steady * 1e6:>18.2f}{alone * 1e6:>17.2f}", flush=True)
    print(f"\n{'threads':>8}{'draws':>7}{'wall s':>9}{'without an audit s':>20}{'ratio':>8}")
    for budget in (10_000, 40_000):
        for threads in (1, 2, 4):
            with ThreadPoolExecutor(threads) as pool:
                before = bare(pool, 9000)
                started = time.perf_counter()
                result = dplitmus.audit(
                    dplitmus.each(slow),
                    epsilon=1.0,
                    neighbours=[(0.0, 1.0)],
                    samples=budget,
                    seed=1,
                    executor=pool,
                )
                wall = time.perf_counter() - started
                without = (before + bare(pool, 9000)) / 2 * result.samples / 9000
            print(
                f"{threads:>8}{result.samples:>7}{wall:>9.2f}{without:>20.2f}{wall / without:>8.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
