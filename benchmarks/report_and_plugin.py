"""What the report and the pytest plugin cost.

Plug-in: CPU seconds of an empty pytest run with and without it (medians of alternating runs). Report: seconds
to render the page of a million-draw audit, and its size.

    python benchmarks/report_and_plugin.py
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dplitmus

if TYPE_CHECKING:
    import numpy as np

RUNS = 15


def cpu_of(command: list[str], directory: str) -> float:
    """CPU seconds of one child process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=directory, check=True, capture_output=True)  # noqa: S603  (our own interpreter)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def plugin() -> None:
    """Print what an empty suite pays for the plug-in."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "test_nothing.py").write_text("def test_nothing():\n    pass\n")
        bare = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        times: dict[str, list[float]] = {"without": [], "with": []}
        for _ in range(RUNS):
            times["without"].append(cpu_of(bare, directory))
            times["with"].append(cpu_of([*bare, "-p", "_dplitmus_pytest"], directory))
    medians = {name: statistics.median(values) for name, values in times.items()}
    cost = 1e3 * (medians["with"] - medians["without"])
    print(f"pytest without the plug-in {1e3 * medians['without']:.0f} ms, the plug-in adds {cost:.1f} ms")


def noisy(x: float, n: int, rng: np.random.Generator) -> Any:
    """A correct mechanism: the audit spends its whole budget."""
    return x + rng.laplace(scale=1.0, size=n)


def report() -> None:
    """Print the time to render a page, and its size."""
    result = dplitmus.audit(noisy, epsilon=1.0, neighbours=[(0.0, 1.0)], samples=1_000_000, seed=1)
    result.to_html()
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        page = result.to_html()
        times.append(time.perf_counter() - started)
    milliseconds = 1e3 * statistics.median(times)
    print(f"report of {result.samples:,} draws: {milliseconds:.1f} ms, {len(page.encode()):,} bytes")


if __name__ == "__main__":
    plugin()
    report()
