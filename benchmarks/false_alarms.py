"""How often the zoo's correct mechanisms are accused at the default alpha = 1e-6. It should be never.

    python benchmarks/false_alarms.py [RUNS] [DRAWS] [PROCESSES]

To save time a chunk is 30 % of the draws before it instead of 5 %; the guarantee does not depend on it.
"""

from __future__ import annotations

import multiprocessing
import sys

from dplitmus import search
from dplitmus.mechanisms.zoo import ZOO
from dplitmus.survey import audit_one

ALPHA = 1e-6
search._GROWTH_EARLY = 0.3  # noqa: SLF001


def accused(job: tuple[str, int, int]) -> tuple[bool, bool]:
    """Whether the claim was refuted, and whether the bound exceeds the truth."""
    name, draws, seed = job
    row = audit_one(name, samples=draws, alpha=ALPHA, seed=seed)
    return row.violated, row.result.epsilon_lower > row.true_epsilon * (1 + 1e-9)


def main() -> None:
    """Print a row per mechanism and the total."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    draws = int(sys.argv[2]) if len(sys.argv) > 2 else 3000
    processes = int(sys.argv[3]) if len(sys.argv) > 3 else 2
    names = [name for name, entry in ZOO.items() if not entry.broken]
    print(f"{runs} runs of {draws:,} draws each, alpha = {ALPHA:g}")
    print(f"{'correct mechanism':26}{'accused':>9}{'bound above truth':>19}")
    total = 0
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        jobs = [(name, draws, seed) for name in names for seed in range(runs)]
        outcomes = pool.imap(accused, jobs, chunksize=10)
        for name in names:
            mine = [next(outcomes) for _ in range(runs)]
            total += sum(wrongly for wrongly, _ in mine)
            print(
                f"{name:26}{sum(wrongly for wrongly, _ in mine):>9}{sum(over for _, over in mine):>19}",
                flush=True,
            )
    print(f"accused: {total} of {len(names) * runs}")


if __name__ == "__main__":
    main()
