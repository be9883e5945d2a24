"""The whole grid of Figure 2: CPU time of ours against the paper's way, cell by cell.

The baseline is measured on a few cells with few samples and extrapolated: its cost is proportional to
samples times dimension for each mechanism, the same for every epsilon.

    python benchmarks/paper_grid.py [SAMPLES]
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import numpy as np

from dplitmus.paper import grid

if TYPE_CHECKING:
    from numpy.typing import NDArray

BASELINE = 200_000


def privatise(mechanism: str, data: NDArray[np.float64], epsilon: float) -> NDArray[np.float64]:
    """Each mechanism as the paper describes it, whole arrays at a time."""
    if mechanism == "copy":
        return data
    uniform = np.random.uniform(0, 1, data.size)  # noqa: NPY002  (as one would)
    if mechanism == "random":
        return uniform.reshape(data.shape).round()
    if mechanism == "dptext":
        with np.errstate(invalid="ignore"):
            noise = np.nan_to_num(-np.sign(uniform) * np.log(1 - 2 * np.abs(uniform)))
    else:
        noise = -np.sign(uniform - 0.5) * np.log(1 - 2 * np.abs(uniform - 0.5))
    sensitivity = 1 if mechanism == "adept" else data.shape[1]
    private: NDArray[np.float64] = data + sensitivity / epsilon * noise.reshape(data.shape)
    if mechanism == "halved-output":
        private *= 0.5
    return private


def naive_cell(mechanism: str, epsilon: float, dimension: int, samples: int) -> list[int]:
    """One cell: all samples in memory, round, vote."""
    ones = []
    for value in (0.0, 1.0):
        private = privatise(mechanism, np.full((samples, dimension), value), epsilon)
        rounded = np.where(private < 0.5, 0, 1)
        guesses = np.round(rounded.mean(axis=1)).astype(int)
        ones.append(int(np.count_nonzero(guesses == 1)))
    return ones


def cpu_per_sample(mechanism: str, dimension: int) -> float:
    """CPU seconds of the baseline for one sample on each input."""
    started = time.process_time()
    naive_cell(mechanism, 1.0, dimension, BASELINE)
    return (time.process_time() - started) / BASELINE


def main() -> None:
    """Print both, and the ratio."""
    samples = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10_000_000
    naive = sum(
        cpu_per_sample(mechanism, dimension) * samples * len(grid.EPSILONS)
        for mechanism in grid.MECHANISMS
        for dimension in grid.DIMENSIONS
    )
    wall, cpu = time.perf_counter(), time.process_time()
    checks = grid.run(samples, seed=2022)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    worst = max(abs(check.z or 0.0) for check in checks)
    print(f"the grid: {len(checks)} cells, {samples:,} samples on each input")
    print(f"naive     {naive:>10.0f} CPU s   extrapolated from {BASELINE:,} samples of 36 cells")
    print(f"dplitmus  {cpu:>10.0f} CPU s   {wall:.0f} s wall; largest distance {worst:.1f} standard errors")
    print(f"CPU less by {naive / cpu:.1f}")


if __name__ == "__main__":
    main()
