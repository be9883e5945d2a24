"""Truths of additive noise: the law is checked on draws, the loss follows from the law exactly."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

from dplitmus.errors import InputError
from dplitmus.mechanisms import zoo
from dplitmus.mechanisms.laplace import standard_laplace_cdf
from dplitmus.mechanisms.zoo.counting import TruncatedGeometric
from dplitmus.mechanisms.zoo.gaussian import DELTA, delta_of, epsilon_of, sigma_of
from dplitmus.mechanisms.zoo.noise import COPIES, Snapping

N = 100_000
EPSILON, DIMENSION = 0.5, 3
X = np.array([0.25, 0.5, 0.125])
Array = NDArray[Any]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def assert_follows(cdf: Callable[[Array], Array], sample: Array) -> None:
    """Kolmogorov distance below the Dvoretzky-Kiefer-Wolfowitz bound: false failure 1e-7."""
    ordered = np.sort(sample)
    distance = np.abs(cdf(ordered) - np.arange(ordered.size) / ordered.size).max()
    assert distance < math.sqrt(math.log(2e7) / (2 * ordered.size)) + 1 / ordered.size


# name: (the noise in outputs on X, its scale, the largest L1 distance of what it is added to)
ROOT = math.sqrt(DIMENSION)
LAPLACE: dict[str, tuple[Callable[[Array], Array], float, float]] = {
    "laplace": (lambda y: y - X, DIMENSION / EPSILON, DIMENSION),
    "laplace-eq5": (lambda y: y - X, DIMENSION / EPSILON, DIMENSION),
    "laplace-eq7": (lambda y: y - X, DIMENSION / EPSILON, DIMENSION),
    "laplace-numpy": (lambda y: y - X, DIMENSION / EPSILON, DIMENSION),
    "halved-output": (lambda y: 2 * y - X, DIMENSION / EPSILON, DIMENSION),
    "adept": (lambda y: y - X, 1 / EPSILON, DIMENSION),
    "laplace-one-query": (lambda y: y - X, 1 / EPSILON, 1),
    "laplace-parallel": (lambda y: y - np.tile(X, COPIES), COPIES / EPSILON, COPIES),
    "noisy-hist-1": (lambda y: y - X, 1 / EPSILON, 1),
    "noisy-hist-2": (lambda y: y - X, EPSILON, 1),
    "prefix-sum": (lambda y: np.diff(y, axis=1, prepend=0) - X, 1 / EPSILON, DIMENSION),
    "laplace-minus-5": (lambda y: y - X, 0.95 * DIMENSION / EPSILON, DIMENSION),
    "laplace-minus-20": (lambda y: y - X, 0.8 * DIMENSION / EPSILON, DIMENSION),
    "laplace-minus-50": (lambda y: y - X, 0.5 * DIMENSION / EPSILON, DIMENSION),
    "adept-l2": (lambda y: y - X, 2 / EPSILON, 2 * ROOT),
    "adept-half": (lambda y: y - X, 1 / EPSILON, 2 * ROOT),
    "clip-missing": (lambda y: y - X, DIMENSION / EPSILON, math.inf),
}


@pytest.mark.parametrize("name", LAPLACE)
def test_independent_laplace_noise_loses_distance_over_scale(name: str) -> None:
    """The ratio of two Laplace densities is exp(distance/scale) beyond both inputs, and never more.

    Three laws err with 1e-7 each, and correlations are allowed seven standard errors.
    """
    noise_of, scale, distance = LAPLACE[name]
    entry = zoo.find(name)
    noise = noise_of(entry.build(EPSILON, DIMENSION)(X, N, rng(1))) / scale
    for column in noise.T[:3]:
        assert_follows(standard_laplace_cdf, column)
    correlations = np.corrcoef(noise.T) - np.eye(noise.shape[1])
    assert np.abs(correlations).max() < 7 / math.sqrt(N)
    assert math.isclose(distance / scale, entry.true_epsilon(EPSILON, DIMENSION))


@pytest.mark.parametrize("x", [(0.6, 0.8), (0.75, 1.0), (30.0, 40.0)])
def test_a_clipped_vector_has_the_radius_as_its_norm(x: tuple[float, float]) -> None:
    """The mean of 100,000 outputs within six standard errors: false failure below 1e-8."""
    outputs = zoo.find("adept-l2").build(1e3, 2)(np.array(x), N, rng(2))
    np.testing.assert_allclose([0.6, 0.8], outputs.mean(axis=0), atol=6 * math.sqrt(2) * 2e-3 / math.sqrt(N))


def test_the_pairs_of_adept_are_opposite_corners_of_the_ball() -> None:
    for name in ("adept-l2", "adept-half"):
        entry = zoo.find(name)
        assert entry.pairs is not None
        ((x, x_prime),) = (np.array(pair) for pair in entry.pairs)
        assert np.linalg.norm(x) == np.linalg.norm(x_prime) == 1.0
        assert np.abs(x - x_prime).sum() == 2 * math.sqrt(entry.dimension)


def test_without_clipping_the_loss_grows_with_the_input() -> None:
    entry = zoo.find("clip-missing")
    assert entry.pairs is not None
    ((x, x_prime),) = entry.pairs
    assert np.abs(np.subtract(x, x_prime)).sum() / entry.dimension * entry.epsilon == 10.0


def snapping_law(snapping: Snapping, answer: float) -> tuple[Array, Array]:
    """Every output and its exact probability, by the Laplace CDF at the edges of its cell."""
    most = math.floor(snapping.bound / snapping.grid + 0.5) + 1
    edges = (np.arange(-most, most) + 0.5) * snapping.grid
    below = standard_laplace_cdf((edges - answer) / snapping.scale)
    above = standard_laplace_cdf((answer - edges) / snapping.scale)
    # In each tail the difference of the smaller probabilities: no digits are lost.
    inner = np.where(edges[1:] < answer, np.diff(below), -np.diff(above))
    chances = np.concatenate([[below[0]], inner, [above[-1]]])
    values = np.clip(np.arange(-most, most + 1) * snapping.grid, -snapping.bound, snapping.bound)
    outputs, place = np.unique(values, return_inverse=True)
    return outputs, np.bincount(place.ravel(), chances)


@pytest.mark.parametrize("epsilon", [0.05, 0.1, 1.0])
def test_snapping_loses_epsilon_on_its_grid(epsilon: float) -> None:
    snapping = Snapping(epsilon=epsilon)
    assert snapping.grid / 2 < snapping.scale <= snapping.grid
    for x_prime in (0.0, 2.0):
        _, here = snapping_law(snapping, 1.0)
        _, there = snapping_law(snapping, x_prime)
        loss = np.abs(np.log(here / there)).max()
        assert loss <= epsilon * (1 + 1e-9)
        assert math.isclose(epsilon, loss, rel_tol=1e-9)


def test_snapping_follows_its_law() -> None:
    """About 14 frequencies within six standard errors: false failure below 1e-7."""
    snapping, n = Snapping(epsilon=0.1), 10 * N
    outputs, chances = snapping_law(snapping, 1.0)
    drawn = snapping(1.0, n, rng(3))[:, 0]
    assert set(drawn) <= set(outputs)
    counts = np.array([np.count_nonzero(drawn == output) for output in outputs])
    assert np.all(np.abs(counts - n * chances) < 6 * np.sqrt(n * chances) + 8)


def test_geometric_noise_loses_epsilon() -> None:
    """41 frequencies within six standard errors: false failure below 1e-7."""
    epsilon = 0.5
    values = np.arange(-20, 21)
    chances = math.tanh(epsilon / 2) * np.exp(-epsilon * np.abs(values))
    drawn = zoo.find("geometric").build(epsilon, 1)(np.array([7.0]), N, rng(4))[:, 0] - 7
    counts = np.array([np.count_nonzero(drawn == value) for value in values])
    assert np.all(np.abs(counts - N * chances) < 6 * np.sqrt(N * chances) + 8)
    losses = np.abs(np.diff(np.log(chances)))
    np.testing.assert_allclose(zoo.find("geometric").true_epsilon(epsilon, 1), losses)


def geosample_law(sampler: TruncatedGeometric, count: int) -> list[Fraction]:
    """The truncated geometric law with ratio 2^k/(2^k + 1), all mass beyond the ends put on them."""
    base = 2**sampler.k
    ratio = Fraction(base, base + 1)

    def at_least(distance: int) -> Fraction:
        return ratio**distance / (1 + ratio)  # Pr(noise >= distance), for distance >= 1

    def inside(z: int) -> Fraction:
        return ratio ** abs(z - count) * (1 - ratio) / (1 + ratio)

    top = sampler.largest
    law = [inside(z) for z in range(top + 1)]
    law[0] = at_least(count) if count else 1 - at_least(1)
    law[top] = at_least(top - count) if count < top else 1 - at_least(1)
    return law


@pytest.mark.parametrize("name", ["truncated-geometric", "truncated-geometric-2"])
@pytest.mark.parametrize(("epsilon", "largest"), [(0.1, 5), (1.0, 3), (0.5, 1), (3.0, 4)])
def test_truncated_geometric_loses_exactly_what_it_says(name: str, epsilon: float, largest: int) -> None:
    entry = zoo.find(name)
    sampler = entry.build(epsilon, largest)
    assert isinstance(sampler, TruncatedGeometric)
    laws = []
    for count in range(largest + 1):
        steps = np.diff([0, *sampler.table(count)])
        laws.append([Fraction(int(step), sampler.total) for step in steps])
        assert geosample_law(sampler, count) == laws[-1]
    worst = max(
        max(p / q, q / p)
        for here, there in itertools.pairwise(laws)
        for p, q in zip(here, there, strict=True)
    )
    assert worst == 1 + Fraction(1, 2**sampler.k)
    assert math.isclose(math.log(worst), entry.true_epsilon(epsilon, largest), rel_tol=1e-12)


class EveryInteger(np.random.Generator):
    """Draws each whole number of the range once: a law of integers is then met exactly."""

    def integers(self, low: Any, high: Any = None, *_: Any, endpoint: bool = False, **__: Any) -> Any:
        """Return the range in order."""
        return np.arange(low, high + endpoint)


def test_truncated_geometric_follows_its_table() -> None:
    sampler = TruncatedGeometric(epsilon=0.1, largest=5)
    counts = np.bincount(sampler(2, sampler.total, EveryInteger(np.random.PCG64(0))))
    assert counts.tolist() == [chance * sampler.total for chance in geosample_law(sampler, 2)]
    assert sampler(2, N, rng(5)).shape == (N,)


def test_geosample_needs_the_logarithm_to_base_2() -> None:
    """Balcer and Vadhan (2018), Theorem 4.7: at most epsilon, and more than 2/9 of it."""
    for epsilon in (0.01, 0.05, 0.1, 0.5, 1.0):
        assert 2 / 9 * epsilon < zoo.find("truncated-geometric-2").true_epsilon(epsilon, 5) <= epsilon
    assert math.isclose(0.117783, zoo.find("truncated-geometric").true_epsilon(0.1, 5), rel_tol=1e-5)


def test_a_table_beyond_64_bits_is_refused() -> None:
    with pytest.raises(InputError, match=r"dimension=100 must give a table below 2\*\*63"):
        zoo.find("truncated-geometric").build(0.1, 100)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0, 50.0])
@pytest.mark.parametrize("sigma", [0.2, 1.0, 3.0])
def test_delta_of_gaussian_noise_is_the_integral_of_what_exceeds(epsilon: float, sigma: float) -> None:
    z, step = np.linspace(-12 * sigma, 1 + 12 * sigma, 400_001, retstep=True)
    log_here, log_there = -0.5 * ((z - 1) / sigma) ** 2, -0.5 * (z / sigma) ** 2
    excess = np.maximum(np.exp(log_here) - np.exp(epsilon + log_there), 0)
    delta = excess.sum() * step / (sigma * math.sqrt(2 * math.pi))
    assert math.isclose(delta, delta_of(epsilon, sigma), rel_tol=1e-4, abs_tol=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_the_gaussian_is_as_small_as_its_claim_allows(epsilon: float) -> None:
    sigma = sigma_of(epsilon, DELTA)
    here, there = special.ndtr(0.5 / sigma - epsilon * sigma), special.ndtr(-0.5 / sigma - epsilon * sigma)
    assert math.isclose(DELTA, here - math.exp(epsilon) * there, rel_tol=1e-6)
    assert math.isclose(epsilon, epsilon_of(sigma, DELTA), rel_tol=1e-6)
    assert zoo.find("gaussian").claim(epsilon, 1) == (epsilon, DELTA)


def test_gaussian_truths_hold_at_the_claimed_delta() -> None:
    truth = zoo.find("gaussian-wrong-sigma").true_epsilon(1.0, 1)
    assert math.isclose(DELTA, delta_of(truth, 1.0), rel_tol=1e-9)
    assert epsilon_of(1e6, DELTA) == 0.0


@pytest.mark.parametrize(("name", "sigma"), [("gaussian", sigma_of(0.5, DELTA)), ("gaussian-wrong-sigma", 2)])
def test_gaussian_noise_follows_its_law(name: str, sigma: float) -> None:
    """Three coordinates, false failure 1e-7 each."""
    noise = (zoo.find(name).build(0.5, DIMENSION)(X, N, rng(6)) - X) / sigma
    for column in noise.T:
        assert_follows(special.ndtr, column)
