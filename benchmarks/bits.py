"""The level "bits": how soon naive floating-point noise is refuted, and whether careful noise is left alone.

    python -m benchmarks.bits refuted [SEEDS]          numpy and torch, Laplace and Gaussian: draws, time
    python -m benchmarks.bits silent [RUNS] [DRAWS] [NAME]...   geometric, snapped, OpenDP, python-dp

For the second, a chunk of the search doubles the draws (instead of 5 % more), to save time: a search then
needs more draws, so that numpy's noise is there for comparison. "note": audits with the note of the cheap
test, which looks at the same outputs at the level "ideal" and changes no verdict.
"""

from __future__ import annotations

import importlib
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

import dplitmus
from dplitmus import search
from dplitmus.mechanisms import zoo

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator

EPSILON, DELTA, SIGMA = 1.0, 1e-5, 3.7304  # the least sigma for them is 3.7304
DRAWS, ALPHA = 20_000, 1e-6


def numpy_laplace(x: float, n: int, rng: Generator) -> Any:
    """The textbook."""
    return x + rng.laplace(scale=1 / EPSILON, size=n)


def numpy_gaussian(x: float, n: int, rng: Generator) -> Any:
    """The textbook."""
    return x + rng.normal(scale=SIGMA, size=n)


def torch_laplace(x: float, n: int) -> Any:
    """The textbook, in 32-bit floats."""
    torch = importlib.import_module("torch")
    return x + torch.distributions.Laplace(0.0, 1 / EPSILON).sample((n,)).numpy()


def torch_gaussian(x: float, n: int) -> Any:
    """The textbook, in 32-bit floats."""
    torch = importlib.import_module("torch")
    return x + SIGMA * torch.randn(n).numpy()


def opendp(kind: str) -> Callable[..., Any]:
    """OpenDP's own float mechanisms."""
    dp = importlib.import_module("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    make = dp.m.make_laplace if kind == "laplace" else dp.m.make_gaussian
    measurement = make(*space, scale=1 / EPSILON if kind == "laplace" else SIGMA)
    return dplitmus.each(lambda x: measurement(float(x)))


def python_dp(kind: str) -> Callable[..., Any]:
    """The mechanisms of Google's C++ library."""
    numerical = importlib.import_module("pydp.algorithms.numerical_mechanisms")
    if kind == "laplace":
        mechanism = numerical.LaplaceMechanism(EPSILON, 1.0)
    else:
        mechanism = numerical.GaussianMechanism(EPSILON, DELTA, 1.0)
    return dplitmus.each(lambda x: mechanism.add_noise(float(x)))


def audited(mechanism: Any, delta: float, seed: int, draws: int) -> dplitmus.Result:
    """One audit of the bits, on 0 and 1."""
    return dplitmus.audit(
        mechanism, epsilon=EPSILON, delta=delta, neighbours=[(0.0, 1.0)], samples=draws, alpha=ALPHA,
        seed=seed, level="bits",
    )  # fmt: skip


def refuted(seeds: int) -> None:
    """Print, for each naive mechanism, how many audits refuted it, and their draws and CPU seconds."""
    importlib.import_module("torch").set_num_threads(1)
    audited(numpy_laplace, 0.0, 0, 100)  # imports are not part of the work
    print(f"{'mechanism':18}{'refuted':>10}{'draws of the search':>21}{'all draws':>11}{'most CPU s':>12}")
    for mechanism, delta in (
        (numpy_laplace, 0.0),
        (numpy_gaussian, DELTA),
        (torch_laplace, 0.0),
        (torch_gaussian, DELTA),
    ):
        found, searched, draws, seconds = 0, [], [], []
        for seed in range(1, seeds + 1):
            started = time.process_time()
            result = audited(mechanism, delta, seed, DRAWS)
            seconds.append(time.process_time() - started)
            found += str(result.verdict) == "violated"
            searched.append(sum(pair.draws for pair in result.pairs))
            draws.append(result.samples)
        name = mechanism.__name__.replace("_", " ")
        print(
            f"{name:18}{found:>6} of {seeds}{statistics.median(searched):>17,.0f}{max(draws):>15,}"
            f"{max(seconds):>12.2f}",
            flush=True,
        )


def silent(runs: int, draws: int, names: list[str]) -> None:
    """Print, for each careful mechanism, how many audits accused its bits, and how many noted them."""
    search._GROWTH_EARLY = search._GROWTH = 1.0  # noqa: SLF001
    mechanisms = {
        "geometric": (zoo.find("geometric").make(EPSILON, 1), 0.0),
        "snapping": (zoo.find("snapping").make(EPSILON, 1), 0.0),
        "OpenDP Laplace": (opendp("laplace"), 0.0),
        "OpenDP Gaussian": (opendp("gaussian"), DELTA),
        "python-dp Laplace": (python_dp("laplace"), 0.0),
        "python-dp Gaussian": (python_dp("gaussian"), DELTA),
        "(numpy Laplace)": (numpy_laplace, 0.0),
        "(numpy Gaussian)": (numpy_gaussian, DELTA),
    }
    print(f"{runs} audits of {draws:,} draws each, alpha = {ALPHA:g}")
    print(f"{'mechanism':20}{'accused':>9}{'note':>7}{'CPU s':>9}")
    for name, (mechanism, delta) in mechanisms.items():
        if names and not any(word in name for word in names):
            continue
        started = time.process_time()
        results = [audited(mechanism, delta, seed, draws) for seed in range(1, runs + 1)]
        accused = sum(str(result.verdict) == "violated" for result in results)
        noted = sum(any(note.code == "DP314" for note in result.notes) for result in results)
        print(f"{name:20}{accused:>9}{noted:>7}{time.process_time() - started:>9.0f}", flush=True)


def main() -> None:
    """Measure what is asked for."""
    np.seterr(all="ignore")
    what = sys.argv[1] if len(sys.argv) > 1 else "refuted"
    numbers = [int(word) for word in sys.argv[2:4]]
    if what == "silent":
        silent(numbers[0] if numbers else 200, numbers[1] if len(numbers) > 1 else DRAWS, sys.argv[4:])
    else:
        refuted(numbers[0] if numbers else 10)


if __name__ == "__main__":
    main()
