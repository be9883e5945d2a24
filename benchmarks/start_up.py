"""Start-up: `import dplitmus` and `reproduce acl2022 --exact`, against an empty Python and against numpy.

python benchmarks/start_up.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

RUNS = 7
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "import numpy": [sys.executable, "-c", "import numpy"],
    "import dplitmus": [sys.executable, "-c", "import dplitmus"],
    "dplitmus --help": [sys.executable, "-m", "dplitmus", "--help"],
    "reproduce acl2022 --exact": [sys.executable, "-m", "dplitmus", "reproduce", "acl2022", "--exact"],
}


def seconds(command: list[str]) -> float:
    """Median wall time of several runs."""
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603  (our own interpreter)
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def main() -> None:
    """Print a line per command."""
    baseline = seconds(COMMANDS["python -c pass"])
    for name, command in COMMANDS.items():
        taken = seconds(command)
        print(f"{name:28}{taken:>8.2f} s   {taken / baseline:>6.1f} times an empty Python")


if __name__ == "__main__":
    main()
