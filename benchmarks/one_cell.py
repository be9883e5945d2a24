"""One cell of Figure 2 (Laplace, n = 128, 10 million samples): ours against the paper's way.

The baseline is written from the paper's description, as one would: all samples of a batch in memory, one
step after the other, numpy's global generator. As its arrays for 10 million samples would need more than
20 GB, it runs on `BASELINE` samples, and its time is scaled up; its memory is that of 1 million samples.

    python benchmarks/one_cell.py
"""

from __future__ import annotations

import multiprocessing
import resource
import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import dplitmus
from dplitmus.mechanisms import Laplace

if TYPE_CHECKING:
    from collections.abc import Callable

DIMENSION, EPSILON, SAMPLES, BASELINE = 128, 1.0, 10_000_000, 1_000_000


class Cost(NamedTuple):
    """What one function used, in a process of its own."""

    wall: float
    cpu: float
    peak_mb: float
    estimate: float


def naive(samples: int) -> float:
    """The sanity check as the paper describes it."""
    ones = []
    for value in (0.0, 1.0):
        data = np.full((samples, DIMENSION), value)
        uniform = np.random.uniform(0, 1, data.size)  # noqa: NPY002  (as one would)
        noise = -np.sign(uniform - 0.5) * np.log(1 - 2 * np.abs(uniform - 0.5))
        private = data + DIMENSION / EPSILON * noise.reshape(data.shape)
        rounded = np.where(private < 0.5, 0, 1)
        guesses = np.round(rounded.mean(axis=1)).astype(int)
        ones.append(np.count_nonzero(guesses == 1))
    return float(np.log(ones[1] / ones[0]))


def ours(samples: int) -> float:
    """The same by dplitmus."""
    mechanism = Laplace(epsilon=EPSILON, sensitivity=DIMENSION)
    check = dplitmus.sanity_check(mechanism, epsilon=EPSILON, dimension=DIMENSION, samples=samples, seed=1)
    return check.estimate


def measure(function: Callable[[int], float], samples: int) -> Cost:
    """Run in a fresh process, so that its peak memory is its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measured, (function, samples))


def _measured(function: Callable[[int], float], samples: int) -> Cost:
    wall, cpu = time.perf_counter(), time.process_time()
    estimate = function(samples)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Cost(time.perf_counter() - wall, time.process_time() - cpu, peak, estimate)


def main() -> None:
    """Print both, and the ratios."""
    base, new = measure(naive, BASELINE), measure(ours, SAMPLES)
    factor = SAMPLES / BASELINE
    print(f"one cell: Laplace, n = {DIMENSION}, epsilon = {EPSILON}, {SAMPLES:,} samples on each input")
    print(f"{'':10}{'wall s':>10}{'CPU s':>10}{'peak MB':>10}{'estimate':>10}")
    print(f"{'naive':10}{base.wall * factor:>10.1f}{base.cpu * factor:>10.1f}{base.peak_mb:>10.0f}"
          f"{base.estimate:>10.4f}   measured on {BASELINE:,} samples, times x {factor:.0f}")  # fmt: skip
    print(f"{'dplitmus':10}{new.wall:>10.1f}{new.cpu:>10.1f}{new.peak_mb:>10.0f}{new.estimate:>10.4f}")
    print(f"faster by {base.wall * factor / new.wall:.1f}, CPU less by {base.cpu * factor / new.cpu:.1f}, "
          f"memory less by {base.peak_mb / new.peak_mb:.1f}")  # fmt: skip


if __name__ == "__main__":
    main()
