"""What an audit costs beside the mechanism's own time.

Steady state: microseconds of CPU a draw beyond 100,000 draws, for a correct Laplace mechanism in n
dimensions, less the time the mechanism takes by itself. Start: CPU seconds of the first 300 draws; as a ratio
to a hundred thousand sums of eight numbers, for machines differ and so do hours; and by what factor they grow
if BLAS may use all cores for the experts' small matrices, which they do not let it.
Slow mechanisms: wall time of an audit whose every draw sleeps for 1 ms, as a ratio to that of as many draws
on the same threads without an audit, measured before and after it. Medians of REPEATS, and the range.

    python benchmarks/harness.py [REPEATS]
"""

from __future__ import annotations

import contextlib
import multiprocessing
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import dplitmus
from dplitmus import arithmetic

if TYPE_CHECKING:
    from collections.abc import Sequence

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


class _AllCores:
    """In place of what keeps BLAS on one core."""

    def limit(self, **_: object) -> contextlib.AbstractContextManager[None]:
        """No limit."""
        return contextlib.nullcontext()


def first_draws(dimension: int, all_cores: bool) -> float:  # noqa: FBT001
    """CPU seconds of the first 300 draws, in a process of their own: BLAS remembers what it was told."""
    if all_cores:
        arithmetic._blas = _AllCores  # type: ignore[assignment]  # noqa: SLF001
    mechanism = Laplace(dimension)
    cpu(mechanism, 334)  # warm up
    return cpu(mechanism, 334)[0]


def on_all_cores(dimension: int) -> float:
    """The same if experts may use all cores, as a ratio to what they take as they are."""
    fresh = multiprocessing.get_context("spawn")
    with fresh.Pool(1) as one, fresh.Pool(1) as other:
        return other.apply(first_draws, (dimension, True)) / one.apply(first_draws, (dimension, False))


def small_sums() -> float:
    """CPU seconds of a hundred thousand sums of eight numbers: how fast this machine is just now."""
    numbers = np.arange(8.0)
    started = time.process_time()
    for _ in range(100_000):
        numbers.sum()
    return time.process_time() - started


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


def over_bare(pool: ThreadPoolExecutor, budget: int, seed: int) -> float:
    """Wall time of a slow audit over that of its draws without an audit."""
    before = bare(pool, 9000)
    started = time.perf_counter()
    result = dplitmus.audit(
        dplitmus.each(slow), epsilon=1.0, neighbours=[(0.0, 1.0)], samples=budget, seed=seed, executor=pool
    )
    wall = time.perf_counter() - started
    return wall / ((before + bare(pool, 9000)) / 2 * result.samples / 9000)


def steady(mechanism: Laplace) -> float:
    """Microseconds of CPU a draw beyond the first hundred thousand, less those of the mechanism."""
    (long, many), (short, few) = cpu(mechanism, LONG), cpu(mechanism, SHORT)
    return ((long - short) / (many - few) - own_time(mechanism, 500_000)) * 1e6


def in_words(values: Sequence[float], digits: int) -> str:
    """The median, and the range."""
    middle, least, most = (
        f"{value:.{digits}f}" for value in (statistics.median(values), min(values), max(values))
    )
    return f"{middle} ({least} to {most})"


def main() -> None:
    """Print both tables."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    heads = ("first 300 draws, s", "in small sums", "times, on all cores", "steady, us a draw")
    print(f"{'n':>8}", *(f"{head:>26}" for head in heads), sep="")
    for dimension in (1, 8, 32):
        mechanism = Laplace(dimension)
        cpu(mechanism, 334)  # warm up
        starts, sums = zip(*((cpu(mechanism, 334)[0], small_sums()) for _ in range(repeats)), strict=True)
        ratios = [start / yardstick for start, yardstick in zip(starts, sums, strict=True)]
        cores = in_words([on_all_cores(dimension) for _ in range(repeats)], 2)
        late = in_words([steady(mechanism) for _ in range(repeats)], 2)
        start, ratio = in_words(starts, 3), in_words(ratios, 2)
        print(f"{dimension:>8}{start:>26}{ratio:>26}{cores:>26}{late:>26}", flush=True)
    print(f"\n{'threads':>8}{'draws':>8}{'times the same draws alone':>30}")
    for budget in (10_000, 40_000):
        for threads in (1, 2, 4):
            with ThreadPoolExecutor(threads) as pool:
                ratios = [over_bare(pool, budget, seed) for seed in range(repeats)]
            print(f"{threads:>8}{budget * 9 // 10:>8}{in_words(ratios, 2):>30}", flush=True)


if __name__ == "__main__":
    main()
