"""Certified lower bounds beside those of jax-privacy and privacy-estimates, from the same number of draws.

Those two make bounds of the scores or counts of an attack, which somebody else has to bring. Here they
get the best one: the outputs themselves, or the log-likelihood ratio where outputs are vectors, and the
same number of draws on each input. dplitmus sees raw outputs and has to learn; all its draws are counted.
privacy-estimates takes the counts of one threshold: it is chosen on half of the draws and counted on the
other half. Its joint beta interval, which takes most of the time here, is a Bayesian one.

    pip install jax-privacy privacy-estimates      # or into an environment of their own
    python benchmarks/other_tools.py [DRAWS] [SEEDS]
"""

from __future__ import annotations

import math
import statistics
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import dplitmus

if TYPE_CHECKING:
    from collections.abc import Callable

    from dplitmus.mechanisms.base import FloatArray

ALPHA = 0.05


class Case(NamedTuple):
    """A mechanism, the two inputs, the true epsilon at this delta, and the best score of an output."""

    name: str
    mechanism: Callable[[Any, int, np.random.Generator], FloatArray]
    pair: tuple[Any, Any]
    true: float
    delta: float
    score: Callable[[FloatArray], FloatArray]


def laplace(scale: float) -> Callable[[Any, int, np.random.Generator], FloatArray]:
    """Laplace noise on every number of the input."""

    def mechanism(x: Any, n: int, rng: np.random.Generator) -> FloatArray:
        return np.asarray(x + rng.laplace(scale=scale, size=(n, *np.shape(x))))

    return mechanism


def gaussian(x: float, n: int, rng: np.random.Generator) -> FloatArray:
    """Standard normal noise."""
    return x + rng.normal(size=n)


def response(x: float, n: int, rng: np.random.Generator) -> FloatArray:
    """Randomised response at epsilon 1."""
    return np.asarray(np.abs(x - (rng.random(n) < 1 / (1 + math.e))))


def ratio(outputs: FloatArray) -> FloatArray:
    """The log-likelihood ratio of Laplace noise of scale 1, the input all ones against all zeros."""
    return np.asarray((np.abs(outputs) - np.abs(outputs - 1)).sum(axis=-1))


def itself(outputs: FloatArray) -> FloatArray:
    """For noise that is added to one number, larger outputs speak for the larger input."""
    return outputs


ZEROS, ONES = np.zeros(8), np.ones(8)
CASES = (
    Case("Laplace, epsilon 1", laplace(1.0), (0.0, 1.0), 1.0, 0.0, itself),
    Case("Laplace, epsilon 2", laplace(0.5), (0.0, 1.0), 2.0, 0.0, itself),
    Case("Laplace in 8 dimensions, 8", laplace(1.0), (ZEROS, ONES), 8.0, 0.0, ratio),
    Case("randomised response, 1", response, (0.0, 1.0), 1.0, 0.0, itself),
    # Phi(1/2 - e) - exp(e) Phi(-1/2 - e) = 0.01 at e = 2.3178: the inputs are one deviation apart.
    Case("Gaussian, delta 0.01", gaussian, (0.0, 1.0), 2.3178, 0.01, itself),
)


def scores(case: Case, draws: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Of outputs on the second and on the first input: "in" and "out" in the others' words."""
    low, high = (case.score(case.mechanism(x, draws // 2, rng)) for x in case.pair)
    return high, low


def jax_privacy(case: Case, draws: int, seed: int) -> dict[str, float]:
    """Clopper-Pearson at every threshold (its default), and at one that half of the scores chose."""
    from jax_privacy import auditing  # noqa: PLC0415  (not in any extra of ours)

    auditor = auditing.CanaryScoreAuditor(*scores(case, draws, np.random.default_rng(seed)))
    ways = {"all thresholds": auditing.Bonferroni(), "split": auditing.Split(seed=seed)}
    return {
        f"jax-privacy, {name}": float(
            auditor.epsilon_clopper_pearson(ALPHA, case.delta, one_sided=False, threshold_strategy=way)
        )
        for name, way in ways.items()
    }


def privacy_estimates(case: Case, draws: int, seed: int) -> dict[str, float]:
    """Clopper-Pearson and the joint posterior, of the counts at one threshold."""
    from privacy_estimates import AttackResults, compute_eps_lo  # noqa: PLC0415  (the same)

    high, low = scores(case, draws, np.random.default_rng(seed))
    half = draws // 4
    edges = np.unique(np.concatenate([high[:half], low[:half]]))

    def counts(edge: float, part: slice) -> Any:
        above = [int((side[part] >= edge).sum()) for side in (high, low)]
        size = high[part].size
        return AttackResults(TP=above[0], FN=size - above[0], FP=above[1], TN=size - above[1])

    tried = edges[:: max(1, edges.size // 400)]
    learning, rest = slice(None, half), slice(half, None)
    chosen = max(tried, key=lambda edge: compute_eps_lo(counts(edge, learning), case.delta, ALPHA, "beta"))
    found = counts(chosen, rest)
    return {
        f"privacy-estimates, {name}": float(compute_eps_lo(found, case.delta, ALPHA, method))
        for name, method in (("Clopper-Pearson", "beta"), ("joint beta", "joint-beta"))
    }


def ours(case: Case, draws: int, seed: int) -> dict[str, float]:
    """An audit that spends all draws on its bound."""
    result = dplitmus.audit(
        case.mechanism,
        epsilon=case.true / 2,
        delta=case.delta,
        neighbours=[case.pair],
        samples=draws,
        alpha=ALPHA,
        seed=seed,
        stop="never",
    )
    return {"dplitmus": result.epsilon_lower}


def main(draws: int, seeds: int) -> None:
    """Print medians, and how often a bound exceeded the truth."""
    for case in CASES:
        runs = [
            jax_privacy(case, draws, seed) | privacy_estimates(case, draws, seed) | ours(case, draws, seed)
            for seed in range(seeds)
        ]
        print(f"{case.name} (true {case.true:g}), {draws:,} draws, alpha {ALPHA:g}, {seeds} seeds")
        for name in runs[0]:
            found = [run[name] for run in runs]
            above = sum(value > case.true for value in found)
            print(f"  {name:<36}{statistics.median(found):>8.3f}   above the truth: {above}")


if __name__ == "__main__":
    given = [int(float(word)) for word in sys.argv[1:]]
    main(*(given + [10_000, 3][len(given) :]))
