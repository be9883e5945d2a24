"""Whether a time limit holds for a slow mechanism, and what becomes of the time.

A mechanism whose every call sleeps for 20 ms, on threads. Wall time as a ratio to the limit; draws that the
result rests on, as a share of the calls that fit into the limit; and all calls over these draws, for some
look at the mechanism's habits and at the cause, and some are in flight when the run ends. A broken mechanism
(half the noise) is refuted before its limit, and then its cause is looked for.

    python benchmarks/time_limit.py [SECONDS]
"""

from __future__ import annotations

import itertools
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import dplitmus

if TYPE_CHECKING:
    import numpy as np

CALL = 0.02


@dataclass
class Slow:
    """Laplace noise, and a count of the calls."""

    scale: float
    calls: itertools.count[int] = field(default_factory=itertools.count)

    def __call__(self, x: float, rng: np.random.Generator) -> float:
        """Return one output."""
        next(self.calls)
        time.sleep(CALL)
        return x + float(rng.laplace(scale=self.scale))


def row(scale: float, stop: str, threads: int, limit: float) -> tuple[float, float, float]:
    """The three ratios of one audit."""
    slow = Slow(scale)
    settings: dict[str, Any] = {"epsilon": 1.0, "neighbours": [(0.0, 1.0)], "seed": 1, "stop": stop}
    with ThreadPoolExecutor(threads) as pool:
        started = time.perf_counter()
        result = dplitmus.audit(dplitmus.each(slow), seconds=limit, executor=pool, **settings)
        wall = time.perf_counter() - started
    return wall / limit, result.samples * CALL / (threads * limit), next(slow.calls) / result.samples


def main() -> None:
    """Print a row for each question and number of threads."""
    limit = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    row(1.0, "violated", 1, 0.1)  # what is imported late
    heads = (f"{head:>14}" for head in ("threads", "of the limit", "draws used", "calls a draw"))
    print(f"{'mechanism, stop':20}", *heads, sep="")
    for name, scale, stop in (
        ("correct, violated", 1.0, "violated"),
        ("correct, never", 1.0, "never"),
        ("broken, violated", 0.5, "violated"),
    ):
        for threads in (1, 2, 4):
            ratios = (f"{ratio:>14.2f}" for ratio in row(scale, stop, threads, limit))
            print(f"{name:20}{threads:>14}", *ratios, sep="", flush=True)


if __name__ == "__main__":
    main()
