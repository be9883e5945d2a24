"""Theorems 3.1, 3.2 and A.1 as demonstrations: what the proof says, and evidence anyone can rerun.

Takes a seed; gives a statement, lines of evidence with this run's numbers, and whether all of it came
out as the theorem says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import kolmogorov

from dplitmus.bounds import log_ratio_lower
from dplitmus.mechanisms.dptext import DPText, inverse_cdf_eq9, standard_noise
from dplitmus.mechanisms.laplace import (
    SAMPLERS,
    inverse_cdf_eq4,
    inverse_cdf_eq5,
    inverse_cdf_eq7,
    standard_laplace_cdf,
)
from dplitmus.samples import stream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dplitmus.mechanisms.base import FloatArray

SAMPLES = 1_000_000
ALPHA = 1e-6
_PHASE = 11


@dataclass(frozen=True)
class Demonstration:
    """One theorem: its statement, the evidence, and whether the evidence agrees."""

    title: str
    statement: str
    evidence: tuple[str, ...]
    holds: bool

    @property
    def agrees(self) -> str:
        """Whether it holds, in a word."""
        return "yes" if self.holds else "NO"


def demonstrate(seed: int) -> Iterator[Demonstration]:
    """All three, in the order of the paper."""
    yield theorem_3_1(stream(seed, _PHASE, 1))
    yield theorem_3_2(stream(seed, _PHASE, 2))
    yield theorem_a_1(stream(seed, _PHASE, 3))


def theorem_3_1(rng: np.random.Generator) -> Demonstration:
    """DPText's sampler against the Laplace distribution."""
    noise = standard_noise(rng, (SAMPLES,), "keep")
    numbers = noise[~np.isnan(noise)]
    grid = np.linspace(0.05, 0.95, 19)
    values = inverse_cdf_eq9(grid)
    rises = bool((np.diff(values[~np.isnan(values)]) > 0).all() and np.isnan(values[grid > 0.5]).all())
    distance, p_log10 = _distance_to_laplace(numbers)
    control, control_p = _distance_to_laplace(SAMPLERS["eq4"](rng, (SAMPLES,)))
    expected = 5 * math.sqrt(0.25 / SAMPLES)  # five standard errors of the share of NaN
    share = 1 - numbers.size / SAMPLES
    return Demonstration(
        title="Theorem 3.1",
        statement="Sampling by (8) and (9), as in DPText, does not produce the Laplace distribution.",
        evidence=(
            f"of {SAMPLES:,} draws {share:.2%} are NaN (the logarithm of a negative number)",
            f"the smallest of the others is {numbers.min():.2e}: none is negative, where Laplace has half",
            f"equation (9) rises up to v = 0.5 and is NaN beyond, so it is no inverse CDF: {rises}",
            f"Kolmogorov-Smirnov distance to Laplace {distance:.4f} (exact: 1/2), p < 1e{math.ceil(p_log10)}",
            f"control, equation (4) with the same test: distance {control:.4f}, p = {10**control_p:.2f}",
        ),
        holds=bool(
            rises
            and abs(share - 0.5) < expected
            and numbers.min() >= 0
            and p_log10 < math.log10(ALPHA) < control_p
        ),
    )


def theorem_3_2(rng: np.random.Generator) -> Demonstration:
    """The support violation at z = 0.1, with a certificate in place of "0"."""
    evidence, holds = [], True
    for reading, words in (("zero", "NaN to zero"), ("redraw", "NaN redrawn")):
        mechanism = DPText(epsilon=1.0, sensitivity=1.0, reading=reading)
        near = [int(np.count_nonzero(np.abs(mechanism(x, SAMPLES, rng) - 0.1) <= 0.05)) for x in (0.0, 1.0)]
        bound = log_ratio_lower(near[0], SAMPLES, near[1], SAMPLES, ALPHA)
        holds &= near[0] > 0 and near[1] == 0 and bound.log_ratio > mechanism.epsilon
        evidence.append(
            f"{words}, claimed epsilon 1: {near[0]:,} of {SAMPLES:,} outputs on X = 0 lie within 0.05 of "
            f"z = 0.1, and {near[1]} on X' = 1; so Pr >= {bound.p_lower:.4g} on X, <= {bound.q_upper:.3g} on "
            f"X': epsilon >= {bound.log_ratio:.2f}, wrong with probability <= {ALPHA:g}"
        )
    return Demonstration(
        title="Theorem 3.2",
        statement="DPText based on (8) and (9) fails to guarantee differential privacy.",
        evidence=(
            *evidence,
            "the noise is never negative, so on X' = 1 no output below 1 is possible: the true loss is "
            "infinite",
        ),
        holds=holds,
    )


def theorem_a_1(rng: np.random.Generator) -> Demonstration:
    """The inverse-CDF identity: F(F^-1(u)) = u, and F^-1(U) has the law F."""
    u = np.linspace(0.0, 1.0, 100_001)[1:-1]
    errors = {
        "(4)": np.abs(standard_laplace_cdf(inverse_cdf_eq4(u)) - u).max(),
        "(5)": np.abs(standard_laplace_cdf(inverse_cdf_eq5(u)) - u).max(),
        "(7)": np.abs(standard_laplace_cdf(inverse_cdf_eq7(u - 0.5)) - u).max(),
    }
    tests = {
        name: _distance_to_laplace(SAMPLERS[sampler](rng, (SAMPLES,)))
        for name, sampler in (("(4)", "eq4"), ("(5)", "eq5"), ("(7)", "eq7"))
    }
    return Demonstration(
        title="Theorem A.1",
        statement="If U is uniform on [0, 1] and Y = F^-1(U), then Y has the CDF F.",
        evidence=(
            "largest |F(F^-1(u)) - u| on 99,999 points: "
            + ", ".join(f"{name} {error:.0e}" for name, error in errors.items()),
            f"Kolmogorov-Smirnov test of {SAMPLES:,} draws against Laplace, p: "
            + ", ".join(f"{name} {10**p:.2f}" for name, (_, p) in tests.items()),
        ),
        holds=max(errors.values()) < 1e-12 and all(p > math.log10(ALPHA) for _, p in tests.values()),
    )


def _distance_to_laplace(sample: FloatArray) -> tuple[float, float]:
    """Kolmogorov-Smirnov distance of a sample to standard Laplace, and log10 of its p-value.

    Where the p-value underflows: the Dvoretzky-Kiefer-Wolfowitz bound 2 exp(-2 n d^2), which holds
    for every n (Massart 1990).
    """
    n = sample.size
    law = standard_laplace_cdf(np.sort(sample))
    steps = np.arange(n + 1) / n
    distance = float(max((steps[1:] - law).max(), (law - steps[:-1]).max()))
    p_value = float(kolmogorov(distance * math.sqrt(n)))
    if p_value > 0:
        return distance, math.log10(p_value)
    return distance, (math.log(2) - 2 * n * distance**2) / math.log(10)
