"""How often the diagnosis names the true cause, and how often one where nothing is wrong.

    python -m benchmarks.diagnosis held-out [SEEDS]     mechanisms that no threshold was tuned on
    python -m benchmarks.diagnosis tuning [SEEDS]       those that were, and the zoo
    python -m benchmarks.diagnosis correct [RUNS]       correct mechanisms: audits in all

To save time, a chunk of the search is 30 % of the draws before it instead of 5 %, and with correct mechanisms
as many as all before it.
"first": audits whose first note that names a cause names one that was put in. "causes": causes that were put
in and are among the notes. "all": audits that name every cause that was put in.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import dplitmus
from benchmarks import tuning
from benchmarks.bugs import BITS, FIRST_SET, Case
from benchmarks.correct import CORRECT
from benchmarks.held_out import HELD_OUT
from dplitmus import search
from dplitmus.mechanisms.zoo import ZOO
from dplitmus.target import zoo_setting

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Notes that name no cause: NaN that tells nothing, and what cannot be replayed.
NO_CAUSE = {"DP302", "DP303"}
SAMPLES = 200_000
CORRECT_SAMPLES = 5_000
search._GROWTH_EARLY = search._GROWTH = 0.3  # noqa: SLF001


def codes(case: Case, seed: int, samples: int = SAMPLES) -> list[str]:
    """The causes that an audit names, in their order."""
    result = dplitmus.audit(
        case.mechanism,
        epsilon=case.epsilon,
        delta=case.delta,
        neighbours=list(case.neighbours),
        samples=samples,
        seed=seed,
    )
    return [note.code for note in result.notes if note.code not in NO_CAUSE]


def first_is_right(case: Case, found: Sequence[str]) -> bool:
    """Whether the first cause named is a true one; bits are named last, and apart."""
    return bool(found) and found[0] in case.causes


def all_are_named(case: Case, found: Sequence[str]) -> bool:
    """Whether every true cause is named; of the zoo's, which have one bug under several names, any."""
    return bool(case.causes & set(found)) if case.name in ZOO else case.causes <= set(found)


def measure(cases: Sequence[Case], seeds: int) -> None:
    """Print what was wrong, and the shares."""
    first = every = total = put_in = told = 0
    for case in cases:
        for seed in range(1, seeds + 1):
            found = codes(case, seed)
            right, named = first_is_right(case, found), all_are_named(case, found)
            first, every, total = first + right, every + named, total + 1
            put_in, told = put_in + len(case.causes), told + len(case.causes & set(found))
            if not right or not named or seeds == 1:
                marks = f"{'first' if right else '-':6}{'all' if named else '-':4}"
                print(f"{case.name:36}{marks}{', '.join(sorted(case.causes)):16} found {found}", flush=True)
    print(
        f"{len(cases)} mechanisms, {total} audits: first {first / total:.1%}, causes {told / put_in:.1%}, "
        f"all {every / total:.1%}"
    )


def correct(runs: int) -> None:
    """Audit correct mechanisms, each run with another seed, and count notes that name a cause."""
    search._GROWTH_EARLY = search._GROWTH = 1.0  # noqa: SLF001
    cases = [*CORRECT, *_zoo_cases()]
    wrong = bits = 0
    for run in range(runs):
        case, seed = cases[run % len(cases)], 1000 + run
        found = codes(case, seed, CORRECT_SAMPLES)
        bits += BITS in found
        causes = [code for code in found if code != BITS]
        wrong += bool(causes)
        if causes:
            print(f"{case.name}, seed {seed}: {causes}", flush=True)
        if (run + 1) % 100 == 0:
            print(f"{run + 1} audits: {wrong} name a cause", flush=True)
    print(f"{runs} audits of {len(cases)} correct mechanisms: {wrong} name a cause; {bits} note leaking bits")


def _zoo_cases() -> Iterator[Case]:
    """The zoo's correct mechanisms, with their own claims and inputs."""
    for name, entry in ZOO.items():
        if not entry.broken:
            setting = zoo_setting(f"zoo:{name}", epsilon=None, dimension=None)
            pairs = tuple(setting.neighbours or ())
            yield Case(
                name, setting.mechanism, setting.epsilon or 1.0, pairs, frozenset(), setting.delta or 0.0
            )


def main() -> None:
    """Measure what is asked for."""
    what = sys.argv[1] if len(sys.argv) > 1 else "held-out"
    number = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    started = time.process_time()
    if what == "correct":
        correct(number or 1000)
    elif what == "tuning":
        measure([*tuning.TUNING, *FIRST_SET, *tuning.zoo_cases()], number or 1)
    else:
        measure(HELD_OUT, number or 5)
    print(f"{time.process_time() - started:.0f} s of CPU")


if __name__ == "__main__":
    main()
