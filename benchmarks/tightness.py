"""Certified lower bounds on DP-Sniper's suite at 90 % confidence, against its best and an oracle's.

Every draw counts: search over pairs, learning and the certificate; but for the first 192, which look for a
fixed seed, and 1024 that look whether draws are independent. "oracle" is the bound from the best event of the
best pair, known beforehand, with all draws and Clopper-Pearson on both inputs;
"DP-Sniper" is the better of its two reference runs (eps_lcb in eval_sp2021/reference-results of
github.com/eth-sri/dp-sniper, dd_search_reg_data.log and dd_search_mlp_data.log; Bichsel et al. 2021), each of
614 million to 1.26 billion draws by its default settings.

    python benchmarks/tightness.py [MILLIONS] [SEEDS] [PROCESSES] [NAME...]
"""

from __future__ import annotations

import math
import multiprocessing
import sys
import time
from typing import NamedTuple

import numpy as np

import dplitmus
from dplitmus.mechanisms import zoo
from dplitmus.target import zoo_setting

ALPHA = 0.1


class Row(NamedTuple):
    """What others certify: the oracle with 2 and with 20 million draws, and DP-Sniper."""

    oracle_2: float
    oracle_20: float
    sniper: float


ROWS = {
    "laplace-one-query": Row(0.0965, 0.0989, 0.0976),
    "noisy-hist-1": Row(0.0965, 0.0989, 0.0978),
    "truncated-geometric": Row(0.1145, 0.1167, 0.1156),
    "noisy-hist-2": Row(9.651, 9.890, 4.602),
    "rnm-1": Row(0.0878, 0.0925, 0.0925),
    "rnm-2": Row(0.0932, 0.0979, 0.0979),
    "rnm-3": Row(0.2304, 0.2438, 0.2488),
    "rnm-4": Row(1.059, 2.126, 0.3534),
    "svt-1": Row(0.0662, 0.0815, 0.0858),
    "svt-2": Row(0.0661, 0.0813, 0.0859),
    "svt-3": Row(0.1826, 0.2822, 0.1822),
    "svt-4": Row(0.1459, 0.1641, 0.1696),
    "svt-5": Row(9.69, 12.00, 1.761),
    "svt-6": Row(0.2825, 0.3581, 0.2720),
    "rappor": Row(0.2738, 0.2918, 0.3008),
    "one-time-rappor": Row(0.5739, 0.5921, 0.5999),
    "laplace-parallel": Row(0.0316, 0.0490, 0.0350),
    "svt-34-parallel": Row(0.2708, 0.3359, 0.2616),
    "prefix-sum": Row(0.8681, 0.9563, 0.5774),
    "numerical-svt": Row(0.0428, 0.0608, 0.0345),
}


def certified(job: tuple[str, float, int]) -> tuple[float, float]:
    """The certified bound of one run, and its CPU seconds."""
    name, millions, seed = job
    started = time.process_time()
    setting = zoo_setting(f"zoo:{name}", epsilon=None, dimension=None)
    result = dplitmus.audit(
        setting.mechanism,
        epsilon=setting.epsilon,
        neighbours=setting.neighbours,
        samples=round(millions * 1e6),
        alpha=ALPHA,
        stop="never",
        seed=seed,
    )
    return result.epsilon_lower, time.process_time() - started


def main() -> None:
    """Print a row per mechanism, and how many reach the goals."""
    millions = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    processes = int(sys.argv[3]) if len(sys.argv) > 3 else 2
    names = sys.argv[4:] or list(ROWS)
    print(f"{millions:g} million draws in all, confidence {1 - ALPHA:.0%}, median of {seeds} seeds")
    print(
        f"{'mechanism':22}{'certified':>10}{'oracle':>9}{'of it':>7}{'DP-Sniper':>11}{'true':>9}{'above':>7}"
        f"{'CPU s':>7}"
    )
    as_oracle = as_sniper = above = 0
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        jobs = [(name, millions, seed) for name in names for seed in range(seeds)]
        outcomes = pool.imap(certified, jobs, chunksize=1)
        for name in names:
            mine = [next(outcomes) for _ in range(seeds)]
            bound = float(np.median([bound for bound, _ in mine]))
            row = ROWS[name]
            oracle = row.oracle_20 if millions >= 20 else row.oracle_2
            entry = zoo.find(name)
            truth = entry.true_epsilon(entry.epsilon, entry.dimension)
            wrong = sum(bound > truth for bound, _ in mine)
            as_oracle += bound >= 0.9 * oracle
            as_sniper += bound >= row.sniper
            above += wrong
            print(
                f"{name:22}{bound:>10.4f}{oracle:>9.4f}{bound / oracle:>7.2f}{row.sniper:>11.4f}"
                f"{f'{truth:.4f}' if math.isfinite(truth) else 'infinite':>9}{wrong:>7}"
                f"{np.mean([cpu for _, cpu in mine]):>7.1f}",
                flush=True,
            )
    print(
        f"at least 0.9 of the oracle: {as_oracle} of {len(names)}; at or above DP-Sniper: {as_sniper}; "
        f"above the truth: {above} of {seeds * len(names)} runs"
    )


if __name__ == "__main__":
    main()
