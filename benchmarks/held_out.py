"""Mechanisms with known bugs, written to measure the diagnosis and for nothing else.

Nothing was tuned on them: `tuning.py`, `bugs.py` and the zoo are for that. More than half have two bugs.
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


# Two bugs at once, written after the last repair.


def unclipped_and_single_precision(x: Any, n: int, rng: Generator) -> Any:
    """A sum without clipping, in 32-bit floats."""
    return np.float32(np.sum(x)) + rng.laplace(scale=1.0, size=n).astype(np.float32)


def bounded_and_broadcast(x: Any, n: int, rng: Generator) -> Any:
    """Noise that is cut off at twice its scale, one number for three coordinates."""
    return x + np.clip(rng.laplace(scale=3.0, size=(n, 1)), -6.0, 6.0)


def gaussian_and_norm(x: Any, n: int, rng: Generator) -> Any:
    """Gaussian noise for a pure claim, in proportion to one and the norm of the input."""
    return x + rng.normal(scale=4.0 * (1 + np.linalg.norm(x)), size=(n, 4))


def eight_releases_and_growing(x: Any, n: int, rng: Generator) -> Any:
    """Eight releases with the whole budget each, with more noise for a larger value."""
    return x + rng.laplace(scale=1.0 + 0.6 * float(x), size=(n, 8))


def served_thrice_and_third(x: Any, n: int, rng: Generator) -> Any:
    """Each vector of noise serves three draws, and is a third of what it should be."""
    return x + np.repeat(rng.laplace(scale=1.0, size=(n // 3 + 1, 3)), 3, axis=0)[:n]


def subtracted_and_half(x: Any, n: int, rng: Generator) -> Any:
    """Waiting times, subtracted, of half the scale for five coordinates."""
    return x - rng.exponential(scale=2.5, size=(n, 5))


def seeded_and_broadcast(x: Any, n: int, _rng: Generator) -> Any:
    """A fixed seed, and one number of noise for four coordinates."""
    return x + np.random.default_rng(31).laplace(scale=4.0, size=(n, 1))


def seeded_and_growing(x: Any, n: int, _rng: Generator) -> Any:
    """A fixed seed, and noise in proportion to the value."""
    return x + np.random.default_rng(32).laplace(scale=1.0 + 2.0 * float(x), size=n)


def gaussian_and_underflow(x: Any, n: int, rng: Generator) -> Any:
    """Gaussian noise for a pure claim, and the logarithm of zero for one input."""
    return np.where(rng.random(n) < 0.05 * (x == 0), -np.inf, x + rng.normal(scale=1.5, size=n))


def dropped_and_missing(x: Any, n: int, rng: Generator) -> Any:
    """No noise in an eighth of the draws, and NaN for one input in another eighth."""
    noisy = x + rng.laplace(scale=1.0, size=n) * (rng.random(n) > 0.125)
    return np.where(rng.random(n) < 0.125 * (x == 1), np.nan, noisy)


def half_precision_and_dropped(x: Any, n: int, rng: Generator) -> Any:
    """16-bit floats, and no noise in a fifth of the draws."""
    noise = rng.laplace(scale=1.0, size=n) * (rng.random(n) > 0.2)
    return np.float16(x) + noise.astype(np.float16)


def pool_of_waiting_times(x: Any, n: int, rng: Generator) -> Any:
    """A pool of 250 numbers of noise that are never negative."""
    return x + np.random.default_rng(33).exponential(scale=1.0, size=250)[rng.integers(250, size=n)]


def unclipped_and_broadcast(x: Any, n: int, rng: Generator) -> Any:
    """Vectors that nobody clips, and one number of noise for their three coordinates."""
    return x + rng.laplace(scale=3.0, size=(n, 1))


def small_sigma_and_missing(x: Any, n: int, rng: Generator) -> Any:
    """Sigma 1/epsilon for (1, 1e-5), and NaN for one input."""
    return np.where(rng.random(n) < 0.1 * (x == 1), np.nan, x + rng.normal(scale=1.0, size=n))


def skipped_and_third(x: Any, n: int, rng: Generator) -> Any:
    """Geometric noise for three times the epsilon, skipped in three of ten draws."""
    p = 1 - np.exp(-1.5)
    return int(x) + (rng.geometric(p, size=n) - rng.geometric(p, size=n)) * (rng.random(n) > 0.3)


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
    case(unclipped_and_single_precision, CUSTOMERS, CLIP, BITS),
    case(bounded_and_broadcast, _pair(3), ATOM, SHARED),
    case(gaussian_and_norm, VECTOR, FAMILY, DEPENDENT),
    case(eight_releases_and_growing, SCALAR, BUDGET, DEPENDENT),
    case(served_thrice_and_third, _pair(3), REPEATED, SCALE),
    case(subtracted_and_half, _pair(5), ONE_SIDED, SCALE),
    case(seeded_and_broadcast, VECTOR, SEEDED, SHARED),
    case(seeded_and_growing, SCALAR, SEEDED, DEPENDENT),
    case(gaussian_and_underflow, SCALAR, FAMILY, SYMBOL),
    case(dropped_and_missing, SCALAR, ATOM, SYMBOL),
    case(half_precision_and_dropped, SCALAR, BITS, ATOM),
    case(pool_of_waiting_times, SCALAR, ONE_SIDED, REPEATED),
    case(unclipped_and_broadcast, _pair(3, 1, to=30.0), CLIP, SHARED),
    case(small_sigma_and_missing, SCALAR, SCALE, SYMBOL, delta=1e-5),
    case(skipped_and_third, SCALAR, SCALE, ATOM, epsilon=0.5),
)
