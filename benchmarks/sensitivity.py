"""How soon usual mistakes in a sensitivity are found.

python benchmarks/sensitivity.py
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import dplitmus
from dplitmus.neighbours import datasets, vectors


def clip(x: Any) -> Any:
    """ADePT: to L2 norm 1, while Laplace noise needs L1."""
    return x / max(1.0, float(np.linalg.norm(x)))


def mean_of_those_present(x: Any) -> Any:
    """Divides by the records that are not zero."""
    return np.sum(x) / max(1, np.count_nonzero(x))


def normalised(x: Any) -> Any:
    """Each record to [0, 1] by its own range."""
    return (x - x.min()) / max(float(np.ptp(x)), 1e-12)


CASES = (
    ("ADePT, n = 32", clip, vectors(32, low=-1.0), 2.0),
    ("ADePT, n = 256", clip, vectors(256, low=-1.0), 2.0),
    ("missing clip", np.sum, datasets(10, low=-100.0, high=100.0), 1.0),
    ("mean, add-remove", np.mean, datasets(10, relation="add-remove"), 0.1),
    ("mean of those present", mean_of_those_present, datasets(10), 0.1),
    ("normalised by its own range, n = 8", normalised, vectors(8), 1.0),
)


def main() -> None:
    """Print a row for each."""
    dplitmus.sensitivity(np.sum, [(0.0, 1.0)], 1.0)
    print(f"{'query':36}{'claimed':>9}{'found':>9}{'CPU s':>8}")
    for name, query, where, claimed in CASES:
        started = time.process_time()
        found = dplitmus.sensitivity(query, where, claimed, seed=1)
        print(f"{name:36}{claimed:>9g}{found.found:>9.4g}{time.process_time() - started:>8.2f}")


if __name__ == "__main__":
    main()
