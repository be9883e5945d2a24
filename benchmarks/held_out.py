"""Mechanisms with known bugs, written to measure the diagnosis and for nothing else.

Nothing was tuned on them: `tuning.py`, `bugs.py` and the zoo are for that. Half of them have two bugs.
"""

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
    case,
)

if TYPE_CHECKING:
    from numpy.random import Generator

POOL = np.random.default_rng(11).normal(scale=3.75, size=1000)


# One bug each.


def overflowing_softmax(x: Any, n: int, rng: Generator) -> Any:
    """An exponential overflows for one input in a sixth of the draws."""
    noisy = x + rng.laplace(scale=5.0, size=(n, 5))
    noisy[rng.random(n) < x[4] / 6] = np.inf
    return noisy


def error_message(x: Any, n: int, rng: Generator) -> Any:
    """The message of an exception is returned in place of the answer."""
    noisy = x + rng.laplace(size=n)
    failed = (rng.random(n) < 0.15) & (x == 0)
    return ["division by zero" if fails else float(y) for y, fails in zip(noisy, failed, strict=True)]


def sentinel(x: Any, n: int, rng: Generator) -> Any:
    """Minus one stands for an answer that one of the inputs does not have."""
    noisy = x + rng.laplace(scale=1.0, size=n)
    return np.where((rng.random(n) < 0.2) & (x == 1), -1.0, noisy)


def seeded_gaussian(x: Any, n: int, _rng: Generator) -> Any:
    """Right for (1, 1e-5), but for its seed."""
    return x + np.random.default_rng(1234).normal(scale=3.75, size=n)


def ring_of_noise(x: Any, n: int, rng: Generator) -> Any:
    """A thousand numbers of noise, made at start-up."""
    return x + POOL[rng.integers(POOL.size, size=n)]


def noise_for_ten(x: Any, n: int, rng: Generator) -> Any:
    """Every vector of noise serves ten draws."""
    return x + np.repeat(rng.laplace(scale=3.0, size=(n // 10 + 1, 3)), 10, axis=0)[:n]


def small_noise_is_none(x: Any, n: int, rng: Generator) -> Any:
    """Noise below a tenth is not worth adding, it was thought."""
    noise = rng.laplace(scale=1.0, size=n)
    return x + np.where(np.abs(noise) < 0.1, 0.0, noise)


def gamma_noise(x: Any, n: int, rng: Generator) -> Any:
    """Gamma noise, which is never negative."""
    return x + rng.gamma(2.0, scale=1.0, size=n)


def squared_noise(x: Any, n: int, rng: Generator) -> Any:
    """The square of Gaussian noise."""
    return x + 2.0 * rng.normal(size=(n, 2)) ** 2


def noise_that_takes(x: Any, n: int, rng: Generator) -> Any:
    """The absolute value of Gaussian noise, subtracted."""
    return x - np.abs(rng.normal(scale=6.0, size=n))


def two_of_five(x: Any, n: int, rng: Generator) -> Any:
    """The last coordinate gets the noise of the second."""
    noise = rng.laplace(scale=5.0, size=(n, 5))
    noise[:, 4] = noise[:, 1]
    return x + noise


def stretched_noise(x: Any, n: int, rng: Generator) -> Any:
    """One number of noise, stretched for each coordinate."""
    return x + rng.laplace(scale=4.0, size=(n, 1)) * np.array([1.0, 2.0, 3.0, 4.0])


def per_coordinate_budget(x: Any, n: int, rng: Generator) -> Any:
    """The scale for one coordinate, in 32 of them."""
    return x + rng.laplace(scale=1.0, size=(n, 32))


def half_the_range(x: Any, n: int, rng: Generator) -> Any:
    """Inputs lie in [-1, 1]; the sensitivity was taken as 1."""
    return x + rng.laplace(scale=2.0, size=n)


def decimal_logarithm(x: Any, n: int, rng: Generator) -> Any:
    """Geometric noise by powers of ten instead of e."""
    return int(x) + rng.geometric(0.9, size=n) - rng.geometric(0.9, size=n)


def forgotten_logarithm(x: Any, n: int, rng: Generator) -> Any:
    """Sigma is sqrt(2)/epsilon, without ln(1.25/delta)."""
    return x + rng.normal(scale=np.sqrt(2.0), size=n)


def gaussian_sum(x: Any, n: int, rng: Generator) -> Any:
    """A sum with Gaussian noise, for a pure claim."""
    return np.sum(x) + rng.normal(scale=1.5, size=n)


def uniform_plane(x: Any, n: int, rng: Generator) -> Any:
    """Uniform noise in two dimensions."""
    return x + rng.uniform(-6.0, 6.0, size=(n, 2))


def scale_by_norm(x: Any, n: int, rng: Generator) -> Any:
    """Noise in proportion to one and the norm of the input."""
    return x + rng.laplace(scale=2.0 * (1 + np.linalg.norm(x)), size=(n, 3))


def noise_if_positive(x: Any, n: int, rng: Generator) -> Any:
    """Nothing to hide, no noise."""
    return x + rng.laplace(scale=1.0, size=n) if x > 0 else np.zeros(n)


def purchases(x: Any, n: int, rng: Generator) -> Any:
    """The number of purchases in all; a customer is assumed to make one."""
    return float(np.sum(x)) + rng.laplace(scale=2.0, size=n)


def unclipped_gaussian(x: Any, n: int, rng: Generator) -> Any:
    """Gaussian noise for a norm of 1 that nobody enforces."""
    return x + rng.normal(scale=3.75, size=(n, 3))


def single_precision_gaussian(x: Any, n: int, rng: Generator) -> Any:
    """Right for (1, 1e-5), but for its 32 bits."""
    return np.float32(x) + np.float32(3.75) * rng.standard_normal(n, dtype=np.float32)


def ten_rounds(x: Any, n: int, rng: Generator) -> Any:
    """Two numbers, released in each of ten rounds with the whole budget."""
    return np.tile(x, 10) + rng.laplace(scale=2.0, size=(n, 20))


# Two bugs at once.


def positive_part(x: Any, n: int, rng: Generator) -> Any:
    """The positive part of the noise: half of it is zero, the rest on one side."""
    return x + np.maximum(rng.laplace(scale=1.0, size=n), 0.0)


def missing_and_quarter(x: Any, n: int, rng: Generator) -> Any:
    """NaN in one coordinate for one input, and a quarter of the scale."""
    noisy = x + rng.laplace(scale=1.0, size=(n, 4))
    noisy[rng.random(n) < 0.1 * (x[0] == 0), 3] = np.nan
    return noisy


def seeded_and_gaussian(x: Any, n: int, _rng: Generator) -> Any:
    """A fixed seed, and Gaussian noise for a pure claim."""
    return x + np.random.default_rng(77).normal(scale=2.0, size=n)


def reused_and_one_sided(x: Any, n: int, rng: Generator) -> Any:
    """Exponential noise, each number for two draws."""
    return x + np.repeat(rng.exponential(scale=1.0, size=n // 2 + 1), 2)[:n]


def broadcast_and_none(x: Any, n: int, rng: Generator) -> Any:
    """One number of noise for three coordinates, and infinities for one input."""
    noisy = x + rng.laplace(scale=3.0, size=(n, 1))
    noisy[rng.random(n) < 0.08 * (x[1] == 1)] = -np.inf
    return noisy


def stretched_and_gaussian(x: Any, n: int, rng: Generator) -> Any:
    """One Gaussian number, stretched, for a pure claim."""
    return x + rng.normal(scale=4.0, size=(n, 1)) * np.array([1.0, -1.0, 2.0, -2.0])


def dependent_and_one_sided(x: Any, n: int, rng: Generator) -> Any:
    """Exponential noise whose mean depends on the value."""
    return x + rng.exponential(scale=1.0 + 1.5 * x, size=n)


def dependent_and_missing(x: Any, n: int, rng: Generator) -> Any:
    """Noise in proportion to the value, and NaN for one input."""
    noisy = x + rng.laplace(scale=1.0 + 2.0 * x, size=n)
    return np.where(rng.random(n) < 0.12 * (x == 1), np.nan, noisy)


def unclipped_and_dropped(x: Any, n: int, rng: Generator) -> Any:
    """A sum without clipping whose noise is dropped in a tenth of the draws."""
    return np.sum(x) + rng.laplace(scale=1.0, size=n) * (rng.random(n) > 0.1)


def unclipped_and_seeded(x: Any, n: int, _rng: Generator) -> Any:
    """No clipping, and a fixed seed."""
    return x + np.random.default_rng(5).laplace(scale=3.0, size=(n, 3))


def four_releases_one_sided(x: Any, n: int, rng: Generator) -> Any:
    """Four releases with the whole budget each, and noise that is never negative."""
    return x + rng.exponential(scale=1.0, size=(n, 4))


def half_precision_and_dependent(x: Any, n: int, rng: Generator) -> Any:
    """16-bit floats, and noise that depends on the value."""
    return np.float16(x) + rng.laplace(scale=1.0 + float(x), size=n).astype(np.float16)


def single_precision_and_third(x: Any, n: int, rng: Generator) -> Any:
    """32-bit floats, and a third of the scale."""
    return np.float32(x) + rng.laplace(scale=1 / 3, size=n).astype(np.float32)


def uniform_and_dropped(x: Any, n: int, rng: Generator) -> Any:
    """Uniform noise, dropped in an eighth of the draws."""
    return x + rng.uniform(-2.0, 2.0, size=n) * (rng.random(n) > 0.125)


def geometric_and_none(x: Any, n: int, rng: Generator) -> Any:
    """Geometric noise for three times the epsilon, and no answer for one input."""
    p = 1 - np.exp(-1.5)
    noisy = int(x) + rng.geometric(p, size=n) - rng.geometric(p, size=n)
    failed = rng.random(n) < 0.1 * (x == 1)
    return [None if fails else int(y) for y, fails in zip(noisy, failed, strict=True)]


def three_releases_and_missing(x: Any, n: int, rng: Generator) -> Any:
    """Three releases with the whole budget each, and NaN for one input."""
    noisy = x + rng.laplace(scale=1.0, size=(n, 3))
    noisy[rng.random(n) < 0.1 * (x == 0), 1] = np.nan
    return noisy


def unclipped_and_reused(x: Any, n: int, rng: Generator) -> Any:
    """A sum without clipping in which noise of one draw serves the next, too."""
    return np.sum(x) + np.repeat(rng.laplace(scale=1.0, size=n // 2 + 1), 2)[:n]


def five_releases_single_precision(x: Any, n: int, rng: Generator) -> Any:
    """Five releases with the whole budget each, in 32-bit floats."""
    return np.float32(x) + rng.laplace(scale=1.0, size=(n, 5)).astype(np.float32)


# Two bugs at once, written later, so that these are more than half; nothing was repaired on the others.


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
    """32-bit floats, and noise that is never negative."""
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


def _pair(n: int, *up: int, to: float = 1.0) -> tuple[tuple[Any, Any], ...]:
    x_prime = np.zeros(n)
    x_prime[list(up) or slice(None)] = to
    return ((np.zeros(n), x_prime),)


CUSTOMERS = ((np.array([1.0, 0, 1, 1, 0]), np.array([25.0, 0, 1, 1, 0])),)
HELD_OUT = (
    case(overflowing_softmax, _pair(5), SYMBOL),
    case(error_message, SCALAR, SYMBOL),
    case(sentinel, SCALAR, ATOM),
    case(seeded_gaussian, SCALAR, SEEDED, delta=1e-5),
    case(ring_of_noise, SCALAR, REPEATED, delta=1e-5),
    case(noise_for_ten, _pair(3), REPEATED),
    case(small_noise_is_none, SCALAR, ATOM),
    case(gamma_noise, SCALAR, ONE_SIDED),
    case(squared_noise, _pair(2), ONE_SIDED),
    case(noise_that_takes, SCALAR, ONE_SIDED, delta=1e-3),
    case(two_of_five, _pair(5), SHARED),
    case(stretched_noise, VECTOR, SHARED),
    case(per_coordinate_budget, _pair(32), SCALE),
    case(half_the_range, ((-1.0, 1.0),), SCALE, epsilon=0.5),
    case(decimal_logarithm, SCALAR, SCALE),
    case(forgotten_logarithm, SCALAR, SCALE, delta=1e-6),
    case(gaussian_sum, _pair(4, 2), FAMILY),
    case(uniform_plane, _pair(2), FAMILY),
    case(scale_by_norm, _pair(3), DEPENDENT),
    case(noise_if_positive, SCALAR, DEPENDENT),
    case(purchases, CUSTOMERS, CLIP, epsilon=0.5),
    case(unclipped_gaussian, _pair(3, 0, to=30.0), CLIP, delta=1e-5),
    case(single_precision_gaussian, SCALAR, BITS, delta=1e-5),
    case(ten_rounds, _pair(2), BUDGET),
    case(positive_part, SCALAR, ATOM, ONE_SIDED),
    case(missing_and_quarter, VECTOR, SYMBOL, SCALE),
    case(seeded_and_gaussian, SCALAR, SEEDED, FAMILY),
    case(reused_and_one_sided, SCALAR, REPEATED, ONE_SIDED),
    case(broadcast_and_none, _pair(3), SHARED, SYMBOL),
    case(stretched_and_gaussian, VECTOR, SHARED, FAMILY),
    case(dependent_and_one_sided, SCALAR, DEPENDENT, ONE_SIDED),
    case(dependent_and_missing, SCALAR, DEPENDENT, SYMBOL),
    case(unclipped_and_dropped, CUSTOMERS, CLIP, ATOM),
    case(unclipped_and_seeded, _pair(3, 1, to=12.0), CLIP, SEEDED),
    case(four_releases_one_sided, SCALAR, BUDGET, ONE_SIDED),
    case(half_precision_and_dependent, SCALAR, BITS, DEPENDENT),
    case(single_precision_and_third, SCALAR, BITS, SCALE),
    case(uniform_and_dropped, SCALAR, FAMILY, ATOM),
    case(geometric_and_none, SCALAR, SCALE, SYMBOL, epsilon=0.5),
    case(three_releases_and_missing, SCALAR, BUDGET, SYMBOL),
    case(unclipped_and_reused, CUSTOMERS, CLIP, REPEATED),
    case(five_releases_single_precision, SCALAR, BUDGET, BITS),
    case(salaries_and_uniform, CUSTOMERS, CLIP, FAMILY),
    case(masked_and_broadcast, _pair(6, 2), SHARED, ATOM, delta=1e-5),
    case(upward_and_timeout, SCALAR, ONE_SIDED, SYMBOL),
    case(pool_of_uniforms, SCALAR, REPEATED, FAMILY),
    case(mirrored_and_quarter, VECTOR, SHARED, SCALE),
    case(growing_and_broadcast, _pair(3), DEPENDENT, SHARED),
    case(unclipped_and_overflow, CUSTOMERS, CLIP, SYMBOL),
    case(pooled_rounds, SCALAR, BUDGET, REPEATED),
    case(half_precision_and_broadcast, VECTOR, BITS, SHARED),
    case(single_precision_and_one_sided, SCALAR, BITS, ONE_SIDED),
    case(seeded_and_masked, SCALAR, SEEDED, ATOM),
    case(root_of_dimension_and_dropped, _pair(9), SCALE, ATOM),
    case(unclipped_and_growing, CUSTOMERS, CLIP, DEPENDENT),
    case(seeded_and_missing, SCALAR, SEEDED, SYMBOL),
)
