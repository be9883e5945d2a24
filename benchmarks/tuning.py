"""Mechanisms with known bugs on which the thresholds of the diagnosis were chosen, beside the zoo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.bugs import (
    ATOM,
    BITS,
    BUDGET,
    CLIP,
    DEPENDENT,
    FAMILY,
    ONE_SIDED,
    REPEATED,
    SCALAR,
    SCALE,
    SEEDED,
    SHARED,
    SYMBOL,
    VECTOR,
    Case,
    case,
)
from dplitmus.mechanisms import zoo
from dplitmus.target import zoo_setting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.random import Generator


def infinite_for_zero(x: Any, n: int, rng: Generator) -> Any:
    """A logarithm of zero that is published."""
    noisy = x + rng.laplace(scale=3.0, size=(n, 3))
    noisy[(rng.random(n) < 0.05) & bool(np.any(x == 0)), 1] = -np.inf
    return noisy


def cached_noise(x: Any, n: int, rng: Generator) -> Any:
    """Every noise vector is used for three draws."""
    return x + np.repeat(rng.laplace(scale=4.0, size=(n // 3 + 1, 4)), 3, axis=0)[:n]


def masked_noise(x: Any, n: int, rng: Generator) -> Any:
    """Noise is multiplied by a mask that is zero for one draw in twenty."""
    return x + rng.laplace(scale=1.0, size=n) * (rng.random(n) > 0.05)


def half_normal(x: Any, n: int, rng: Generator) -> Any:
    """The absolute value of Gaussian noise."""
    return x + np.abs(rng.normal(scale=4.0, size=n))


def one_sided_sum(x: Any, n: int, rng: Generator) -> Any:
    """A sum minus exponential noise."""
    return np.sum(x) - rng.exponential(scale=1.0, size=n)


def rolled_noise(x: Any, n: int, rng: Generator) -> Any:
    """The noise of the first coordinate is used for the third, too."""
    noise = rng.laplace(scale=4.0, size=(n, 4))
    noise[:, 2] = noise[:, 0]
    return x + noise


def mostly_shared(x: Any, n: int, rng: Generator) -> Any:
    """A common part and a small part of its own: together the differences are well known."""
    return x + rng.normal(scale=3.0, size=(n, 1)) + rng.normal(scale=0.2, size=(n, 3))


def thirds(x: Any, n: int, rng: Generator) -> Any:
    """A third of the scale, for a sum."""
    return np.sum(x) + rng.laplace(scale=1 / 3, size=n)


def square_root_of_two(x: Any, n: int, rng: Generator) -> Any:
    """The variance b^2 of something else was taken for 2 b^2."""
    return x + rng.laplace(scale=1 / np.sqrt(2), size=n)


def gaussian_half_sigma(x: Any, n: int, rng: Generator) -> Any:
    """Half of the least sigma for (1, 1e-5)."""
    return x + rng.normal(scale=3.73 / 2, size=n)


def geometric_double(x: Any, n: int, rng: Generator) -> Any:
    """Geometric noise for twice the epsilon."""
    p = 1 - np.exp(-2.0)
    return int(x) + rng.geometric(p, size=n) - rng.geometric(p, size=n)


def gaussian_vector(x: Any, n: int, rng: Generator) -> Any:
    """Gaussian noise for a pure claim, in four dimensions."""
    return x + rng.normal(scale=4.0, size=(n, 4))


def uniform_sum(x: Any, n: int, rng: Generator) -> Any:
    """Uniform noise on a sum."""
    return np.sum(x) + rng.uniform(-3, 3, size=n)


def scale_from_range(x: Any, n: int, rng: Generator) -> Any:
    """Noise by the range of the data at hand."""
    return np.mean(x) + rng.laplace(scale=(np.ptp(x) + 0.5) / 3, size=n)


def unclipped_vector(x: Any, n: int, rng: Generator) -> Any:
    """Noise for coordinates in [0, 1] that may be anything."""
    return x + rng.laplace(scale=3.0, size=(n, 3))


def unclipped_mean(x: Any, n: int, rng: Generator) -> Any:
    """A mean of records that should lie in [0, 1]."""
    return np.mean(x) + rng.laplace(scale=0.2, size=n)


def three_statistics(x: Any, n: int, rng: Generator) -> Any:
    """A count, twice the count and minus the count, the budget for each."""
    return np.array([x, 2 * x, -x]) + rng.laplace(scale=[1.0, 2.0, 1.0], size=(n, 3))


def half_precision_vector(x: Any, n: int, rng: Generator) -> Any:
    """16-bit arithmetic in two dimensions."""
    return np.asarray(x, dtype=np.float16) + rng.laplace(scale=2.0, size=(n, 2)).astype(np.float16)


def seeded_small(x: Any, n: int, _rng: Generator) -> Any:
    """A fixed seed, and half the scale."""
    return x + np.random.default_rng(8).laplace(scale=0.5, size=n)


def masked_and_small(x: Any, n: int, rng: Generator) -> Any:
    """Some draws without noise, and a quarter of the scale."""
    return x + rng.laplace(scale=0.25, size=n) * (rng.random(n) > 0.4)


def one_sided_gaussian_shared(x: Any, n: int, rng: Generator) -> Any:
    """The absolute value of one Gaussian number for all coordinates."""
    return x + np.abs(rng.normal(scale=5.0, size=(n, 1)))


def missing_and_small(x: Any, n: int, rng: Generator) -> Any:
    """NaN for one input now and then, and half the scale."""
    noisy = x + rng.laplace(scale=0.5, size=n)
    return np.where(rng.random(n) < 0.2 * (x == 0.0), np.nan, noisy)


def dependent_uniform(x: Any, n: int, rng: Generator) -> Any:
    """Uniform noise whose width depends on the value."""
    width = 2.0 + 2.0 * float(x)
    return x + rng.uniform(-width, width, size=n)


def unclipped_and_tenth(x: Any, n: int, rng: Generator) -> Any:
    """A sum without clipping, and a tenth of the scale."""
    return np.sum(x) + rng.laplace(scale=0.1, size=n)


# Two bugs at once: a second set that was held out, until five mistakes of the diagnosis were repaired on it.


def salaries_and_uniform(x: Any, n: int, rng: Generator) -> Any:
    """A sum of salaries that nobody clips, with uniform noise."""
    return np.sum(x) + rng.uniform(-3.0, 3.0, size=n)


def masked_and_broadcast(x: Any, n: int, rng: Generator) -> Any:
    """One Gaussian number for six coordinates, and for a fifth of the draws none."""
    return x + rng.normal(scale=3.75, size=(n, 1)) * (rng.random((n, 1)) > 0.2)


def upward_and_timeout(x: Any, n: int, rng: Generator) -> Any:
    """A count that noise only raises, and a word where one input takes too long."""
    noisy = int(x) + rng.geometric(1 - np.exp(-1.0), size=n) - 1
    late = rng.random(n) < 0.07 * (x == 1)
    return ["timeout" if fails else int(y) for y, fails in zip(noisy, late, strict=True)]


def pool_of_uniforms(x: Any, n: int, rng: Generator) -> Any:
    """Three hundred uniform numbers, used again and again."""
    return x + np.random.default_rng(21).uniform(-4.0, 4.0, size=300)[rng.integers(300, size=n)]


def mirrored_and_quarter(x: Any, n: int, rng: Generator) -> Any:
    """Two coordinates get minus the noise of the other two, and all a quarter of the scale."""
    noise = rng.laplace(scale=1.0, size=(n, 2))
    return x + np.concatenate([noise, -noise[:, ::-1]], axis=1)


def growing_and_broadcast(x: Any, n: int, rng: Generator) -> Any:
    """One number of noise for three coordinates, the larger the more they hold."""
    return x + rng.laplace(scale=3.0 * (1 + np.sum(x)), size=(n, 1))


def unclipped_and_overflow(x: Any, n: int, rng: Generator) -> Any:
    """A mean without clipping that overflows for a large record now and then."""
    noisy = np.mean(x) + rng.laplace(scale=0.2, size=n)
    return np.where(rng.random(n) < 0.1 * (np.max(x) > 20), np.inf, noisy)


def pooled_rounds(x: Any, n: int, rng: Generator) -> Any:
    """Six releases with the whole budget each, and noise from a pool of four hundred numbers."""
    return x + np.random.default_rng(22).laplace(scale=1.0, size=400)[rng.integers(400, size=(n, 6))]


def half_precision_and_broadcast(x: Any, n: int, rng: Generator) -> Any:
    """16-bit floats, and one number of noise for all coordinates."""
    return np.asarray(x, dtype=np.float16) + rng.laplace(scale=4.0, size=(n, 1)).astype(np.float16)


def single_precision_and_one_sided(x: Any, n: int, rng: Generator) -> Any:
    """Noise that is never negative, in 32-bit floats, which tell no more: nothing cancels."""
    return np.float32(x) + rng.exponential(scale=1.0, size=n).astype(np.float32)


def seeded_and_masked(x: Any, n: int, _rng: Generator) -> Any:
    """A fixed seed, and noise that is masked in a seventh of the draws."""
    fixed = np.random.default_rng(23)
    return x + fixed.laplace(scale=1.0, size=n) * (fixed.random(n) > 1 / 7)


def root_of_dimension_and_dropped(x: Any, n: int, rng: Generator) -> Any:
    """The scale for the L2 norm of nine coordinates, and a tenth of them without noise."""
    return x + rng.laplace(scale=3.0, size=(n, 9)) * (rng.random((n, 9)) > 0.1)


def unclipped_and_growing(x: Any, n: int, rng: Generator) -> Any:
    """A sum without clipping, with noise that grows with the largest record."""
    return np.sum(x) + rng.laplace(scale=1.0 + np.max(x) / 10, size=n)


def seeded_and_missing(x: Any, n: int, _rng: Generator) -> Any:
    """A fixed seed, and NaN for one input."""
    fixed = np.random.default_rng(24)
    noisy = x + fixed.laplace(scale=1.0, size=n)
    return np.where(fixed.random(n) < 0.1 * (x == 0), np.nan, noisy)


ZEROS3, ONES3 = np.zeros(3), np.ones(3)
CUSTOMERS = ((np.array([1.0, 0, 1, 1, 0]), np.array([25.0, 0, 1, 1, 0])),)
RECORDS = ((np.array([0.0, 1.0, 0.5, 0.0, 1.0]), np.array([6.0, 1.0, 0.5, 0.0, 1.0])),)
UNIT_RECORDS = ((np.array([0.0, 1.0, 0.5]), np.array([1.0, 1.0, 0.5])),)
TUNING = (
    case(infinite_for_zero, ((ZEROS3, ONES3),), SYMBOL),
    case(cached_noise, VECTOR, REPEATED),
    case(masked_noise, SCALAR, ATOM),
    case(half_normal, SCALAR, ONE_SIDED, delta=1e-3),
    case(one_sided_sum, UNIT_RECORDS, ONE_SIDED),
    case(rolled_noise, VECTOR, SHARED),
    case(mostly_shared, ((ZEROS3, np.array([1.0, 0.0, 0.0])),), SHARED, delta=1e-5),
    case(thirds, UNIT_RECORDS, SCALE),
    case(square_root_of_two, SCALAR, SCALE),
    case(gaussian_half_sigma, SCALAR, SCALE, delta=1e-5),
    case(geometric_double, SCALAR, SCALE),
    case(gaussian_vector, VECTOR, FAMILY),
    case(uniform_sum, UNIT_RECORDS, FAMILY),
    case(scale_from_range, ((np.array([0.5, 0.5, 0.5]), np.array([1.0, 0.5, 0.5])),), DEPENDENT),
    case(unclipped_vector, ((ZEROS3, np.array([20.0, 0.0, 0.0])),), CLIP),
    case(unclipped_mean, RECORDS, CLIP),
    case(three_statistics, SCALAR, BUDGET),
    case(half_precision_vector, ((np.zeros(2), np.ones(2)),), BITS),
    case(seeded_small, SCALAR, SEEDED, SCALE),
    case(masked_and_small, SCALAR, ATOM, SCALE),
    case(one_sided_gaussian_shared, VECTOR, ONE_SIDED, SHARED),
    case(missing_and_small, SCALAR, SYMBOL, SCALE),
    case(dependent_uniform, SCALAR, FAMILY, DEPENDENT),
    case(unclipped_and_tenth, UNIT_RECORDS, SCALE),
    case(salaries_and_uniform, CUSTOMERS, CLIP, FAMILY),
    case(masked_and_broadcast, ((np.zeros(6), np.eye(6)[2]),), SHARED, ATOM, delta=1e-5),
    case(upward_and_timeout, SCALAR, ONE_SIDED, SYMBOL),
    case(pool_of_uniforms, SCALAR, REPEATED, FAMILY),
    case(mirrored_and_quarter, VECTOR, SHARED, SCALE),
    case(growing_and_broadcast, ((ZEROS3, ONES3),), DEPENDENT, SHARED),
    case(unclipped_and_overflow, CUSTOMERS, CLIP, SYMBOL),
    case(pooled_rounds, SCALAR, BUDGET, REPEATED),
    case(half_precision_and_broadcast, VECTOR, BITS, SHARED),
    case(single_precision_and_one_sided, SCALAR, ONE_SIDED),
    case(seeded_and_masked, SCALAR, SEEDED, ATOM),
    case(root_of_dimension_and_dropped, ((np.zeros(9), np.ones(9)),), SCALE, ATOM),
    case(unclipped_and_growing, CUSTOMERS, CLIP, DEPENDENT),
    case(seeded_and_missing, SCALAR, SEEDED, SYMBOL),
)
# What the broken mechanisms of the zoo do wrong; where several codes are right, any of them is.
ZOO_CAUSES = {
    "adept": (SCALE,),
    "dptext-nan0": (ONE_SIDED, ATOM),
    "dptext-redraw": (ONE_SIDED,),
    "dptext-nan": (ONE_SIDED,),
    "copy": ("DP304",),
    "noisy-hist-2": (SCALE,),
    "laplace-minus-20": (SCALE,),
    "laplace-minus-50": (SCALE,),
    "gaussian-wrong-sigma": (SCALE,),
    "rnm-3": (BUDGET,),
    "svt-5": (BUDGET, SHARED),  # all answers hang on one noisy threshold
    "svt-6": (BUDGET,),
    "adept-l2": (SCALE,),
    "adept-half": (SCALE,),
    "dpnr": (SHARED,),
    "one-scalar-for-all": (SHARED,),
    "ome": (SCALE,),
    "seeded": ("DP304",),
    "noise-in-eval-off": ("DP304",),
    "clip-missing": (CLIP,),
    "data-dependent-scale": (DEPENDENT,),
    "half-precision-laplace": (BITS,),
}


def zoo_cases() -> Iterator[Case]:
    """The zoo's broken mechanisms, with their own claims and inputs."""
    for name, causes in ZOO_CAUSES.items():
        # At epsilon 0.1 some are found after millions of draws only.
        setting = zoo_setting(
            f"zoo:{name}", epsilon=2.0 if name in {"rnm-3", "svt-6"} else None, dimension=None
        )
        pairs = tuple((pair[0], pair[1]) for pair in setting.neighbours or ())
        yield Case(
            zoo.find(name).name,
            setting.mechanism,
            setting.epsilon or 1.0,
            pairs,
            frozenset(causes),
            setting.delta or 0.0,
        )
