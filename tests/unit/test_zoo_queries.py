"""Truths of noisy max and sparse vector, by quadrature over the one noise that all answers share."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from dplitmus.mechanisms import zoo
from dplitmus.mechanisms.laplace import standard_laplace_cdf as cdf
from dplitmus.mechanisms.zoo.sparse_vector import SparseVector, svt_2, svt_3, svt_4
from dplitmus.neighbours import patterns

N = 100_000
Array = NDArray[Any]
Outcome = tuple[int, ...]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def loss(here: ArrayLike, there: ArrayLike) -> float:
    return float(np.abs(np.log(np.asarray(here) / np.asarray(there))).max())


def assert_frequencies(chances: Array, counts: Array) -> None:
    """Each count within six standard errors, and eight more where few are expected: below 1e-8 each."""
    n = counts.sum()
    assert np.all(np.abs(counts - n * chances) < 6 * np.sqrt(n * chances) + 8)


# Noisy max.


def winners(x: ArrayLike, scale: float, *, exponential: bool) -> Array:
    """Chances of each index: over the winning value, its density times the others' CDFs."""
    x = np.asarray(x, dtype=float)
    step = scale / 500  # divides the integers at the scales used here: no kink inside a cell
    start = x.max() if exponential else x.min() - 50 * scale
    z = np.arange(start, x.max() + 50 * scale, step) + step / 2
    t = (z - x[:, np.newaxis]) / scale
    below = -np.expm1(-t) if exponential else cdf(t)
    density = np.exp(-t) if exponential else np.exp(-np.abs(t)) / 2
    others = np.array([np.delete(below, i, axis=0).prod(axis=0) for i in range(len(x))])
    chances: Array = (density * others).sum(axis=1) * step / scale
    return chances


@pytest.mark.parametrize(("name", "on_patterns"), [("rnm-1", 0.0946149), ("rnm-2", 0.1)])
def test_the_winner_of_noisy_max_loses_epsilon_at_most(name: str, on_patterns: float) -> None:
    exponential = name == "rnm-2"
    losses = []
    for pair in patterns("all", 5):
        here, there = (winners(x, 20.0, exponential=exponential) for x in (pair.x, pair.x_prime))
        np.testing.assert_allclose([1.0, 1.0], [here.sum(), there.sum()], rtol=1e-6)
        losses.append(loss(here, there))
    assert math.isclose(on_patterns, max(losses), rel_tol=1e-4)
    assert max(losses) <= zoo.find(name).true_epsilon(0.1, 5) + 1e-6


@pytest.mark.parametrize("dimension", [2, 5])
def test_the_winner_of_laplace_noisy_max_loses_epsilon_for_large_gaps(dimension: int) -> None:
    """For two answers as 1 - 2/gap: the tail of a difference is exponential times linear."""
    losses = []
    for gap in (50.0, 100.0, 200.0):
        x = np.concatenate([[0.0], np.full(dimension - 1, gap)])
        x_prime = np.concatenate([[1.0], np.full(dimension - 1, gap - 1)])
        here, there = (winners(each, 2.0, exponential=False) for each in (x, x_prime))
        losses.append(loss(here[0], there[0]))
    np.testing.assert_array_less(-1e-12, np.diff(losses))
    assert 0.98 < losses[-1] < 1 + 1e-12


@pytest.mark.parametrize("name", ["rnm-1", "rnm-2"])
def test_noisy_max_follows_its_law(name: str) -> None:
    x = np.array([0.0, 1.0, 2.0])
    counts = np.bincount(zoo.find(name).build(1.0, 3)(x, N, rng(1)), minlength=3)
    assert_frequencies(winners(x, 2.0, exponential=name == "rnm-2"), counts)


def test_the_value_of_laplace_noisy_max_loses_n_times_half_epsilon() -> None:
    """The maximum is below t with the product of the CDFs; 100,000 draws agree (DKW: 1e-6)."""
    entry = zoo.find("rnm-3")
    chances = [cdf((1.0 - x) / 20.0) ** 5 for x in (1.0, 2.0)]
    assert math.isclose(entry.true_epsilon(0.1, 5), loss(*chances))
    values = np.sort(entry.build(0.1, 5)(np.ones(5), N, rng(2)))
    distance = np.abs(cdf((values - 1.0) / 20.0) ** 5 - np.arange(N) / N).max()
    assert distance < math.sqrt(math.log(2e6) / (2 * N)) + 1 / N


def test_the_value_of_exponential_noisy_max_is_never_below_the_largest_answer() -> None:
    """On ones it is below 2 with probability (1 - exp(-epsilon/2))^n: within six standard errors."""
    values = zoo.find("rnm-4").build(2.0, 3)(np.ones(3), N, rng(3))
    chance = (-math.expm1(-1.0)) ** 3
    assert_frequencies(np.array([chance, 1 - chance]), np.bincount(values >= 2))
    assert values.min() >= 1


# Sparse vector.


def outcomes(queries: int, positives: int | None) -> list[Outcome]:
    """Every row of answers: 0 FALSE, 1 TRUE, 2 ABORTED."""
    most = queries if positives is None else positives
    rows = set()
    for row in itertools.product((0, 1), repeat=queries):
        before = np.cumsum(row) - row
        rows.add(tuple(int(a) for a in np.where(before >= most, 2, row)))
    return sorted(rows)


def chances_of(svt: SparseVector, x: ArrayLike, rows: list[Outcome], *, reach: float = 50.0) -> Array:
    """Chances of rows of answers: over the threshold's noise, its density times each answer's chance."""
    step = svt.rho / 100
    z = np.arange(-reach * svt.rho, reach * svt.rho, step) + step / 2
    density = np.exp(-np.abs(z) / svt.rho) * step / (2 * svt.rho)
    t = (svt.threshold + z - np.asarray(x, dtype=float)[:, np.newaxis]) / svt.nu
    factors = np.stack([cdf(t), cdf(-t), np.ones_like(t)])
    queries = np.arange(len(t))
    return np.array([density @ factors[row, queries].prod(axis=0) for row in map(list, rows)])


def built(name: str, epsilon: float, dimension: int) -> SparseVector:
    svt = zoo.find(name).build(epsilon, dimension)
    assert isinstance(svt, SparseVector)
    return svt


@pytest.mark.parametrize(
    ("name", "on_patterns"), [("svt-1", 0.08853), ("svt-2", 0.08823), ("svt-4", 0.17247), ("svt-6", 0.42003)]
)
def test_no_answers_on_the_patterns_lose_more_than_the_truth(name: str, on_patterns: float) -> None:
    svt = built(name, 0.1, 10)
    rows = outcomes(10, svt.positives)
    losses = []
    for pair in patterns("all", 10):
        here, there = (chances_of(svt, x, rows) for x in (pair.x, pair.x_prime))
        np.testing.assert_allclose([1.0, 1.0], [here.sum(), there.sum()], rtol=1e-4)
        losses.append(loss(here, there))
    assert math.isclose(on_patterns, max(losses), rel_tol=1e-3)
    assert max(losses) <= zoo.find(name).true_epsilon(0.1, 10)


def far_loss(svt: SparseVector, falses: int, trues: int, *, far: float) -> float:
    """The loss of FALSE, ..., TRUE, ... with FALSE queries far above and TRUE ones far below."""
    row = (0,) * falses + (1,) * trues
    side = np.where(row, -1.0, 1.0)
    here, there = (
        chances_of(svt, svt.threshold + side * gap, [row], reach=3 * far / svt.rho) for gap in (far, far + 1)
    )
    return loss(here, there)


@pytest.mark.parametrize("dimension", [1, 2, 3, 4, 5, 10])
@pytest.mark.parametrize("name", ["svt-1", "svt-2", "svt-4", "svt-6"])
def test_answers_to_far_queries_reach_the_truth(name: str, dimension: int) -> None:
    """Within 2.5%: where the bounds of `compared_loss` tie, the limit is approached as 1/far only."""
    svt = built(name, 1.0, dimension)
    truth = zoo.find(name).true_epsilon(1.0, dimension)
    most = dimension if svt.positives is None else svt.positives
    losses = [far_loss(svt, dimension - t, t, far=100.0) for t in range(min(most, dimension) + 1)]
    assert max(losses) <= truth * (1 + 1e-3)
    assert max(losses) >= truth * (1 - 2.5e-2)


@pytest.mark.parametrize("name", ["svt-1", "svt-2", "svt-3", "svt-4", "svt-6", "numerical-svt"])
def test_sparse_vector_follows_its_law(name: str) -> None:
    x = np.array([0.0, 3.0, 1.0])
    svt = built(name, 1.0, 3)
    drawn = svt(x, N, rng(4))
    if name == "svt-3":
        drawn = np.where(np.isnan(drawn), 0, np.where(np.isinf(drawn), 2, 1))
    elif name == "numerical-svt":
        drawn = np.where(drawn == 0, 0, np.where(np.isinf(drawn), 2, 1))
    else:
        assert drawn.dtype == np.int8
    rows = outcomes(3, svt.positives)
    counts = np.array([np.count_nonzero((drawn == row).all(axis=1)) for row in rows])
    assert counts.sum() == N
    assert_frequencies(chances_of(svt, x, rows), counts)


def test_a_new_threshold_makes_answers_after_a_true_independent() -> None:
    """The second algorithm with two TRUE answers: chances multiply across the first of them."""
    svt = svt_2(1.0, positives=2)
    drawn = svt(np.array([3.0, 0.0, 1.0]), N, rng(5))
    first = chances_of(svt, [3.0], [(1,)])[0]
    rest = chances_of(svt, [0.0, 1.0], [(0, 0), (0, 1), (1, 2)])
    counts = np.array(
        [np.count_nonzero((drawn == (1, *row)).all(axis=1)) for row in [(0, 0), (0, 1), (1, 2)]]
    )
    assert_frequencies(np.append(first * rest, 1 - first * rest.sum()), np.append(counts, N - counts.sum()))


def published_between(svt: SparseVector, x: Array, low: float, high: float) -> float:
    """Chance that all answers but the last are FALSE and the last publishes a value from low to high."""
    step = svt.rho / 500
    z = high - svt.threshold - np.arange(step / 2, 200 * svt.rho, step)  # the threshold is below the value
    density = np.exp(-np.abs(z) / svt.rho) * step / (2 * svt.rho)
    falses = cdf((svt.threshold + z - x[:-1, np.newaxis]) / svt.nu).prod(axis=0)
    least = (np.maximum(low, svt.threshold + z) - x[-1]) / svt.nu
    most = np.full_like(least, (high - x[-1]) / svt.nu)
    # In each tail the difference of the smaller probabilities: no digits are lost.
    value = np.where(least > 0, cdf(-least) - cdf(-most), cdf(most) - cdf(least))
    return float((density * falses * value).sum())


@pytest.mark.parametrize("dimension", [1, 2, 10])
def test_publishing_what_was_compared_loses_half_epsilon_per_query(dimension: int) -> None:
    entry = zoo.find("svt-3")
    svt = svt_3(0.1)
    chances = [published_between(svt, np.full(dimension, x), -math.inf, 1.0) for x in (1.0, 2.0)]
    assert math.isclose(entry.true_epsilon(0.1, dimension), loss(*chances), rel_tol=1e-9)


def test_published_values_follow_their_law() -> None:
    """Two frequencies within six standard errors: false failure below 1e-8."""
    x = np.array([0.0, 1.0, 2.0])
    drawn = svt_3(1.0)(x, N, rng(6))
    seen = np.isnan(drawn[:, :2]).all(axis=1) & (drawn[:, 2] < 2.5)
    chance = published_between(svt_3(1.0), x, -math.inf, 2.5)
    assert_frequencies(np.array([1 - chance, chance]), np.bincount(seen, minlength=2))


def test_numerical_sparse_vector_adds_the_loss_of_its_fresh_values() -> None:
    """Answers and values are independent given which are TRUE; a value beyond x and x' loses 1/scale."""
    entry = zoo.find("numerical-svt")
    svt = built("numerical-svt", 1.0, 10)
    reached = far_loss(svt, 8, 2, far=300.0) + 2 / svt.fresh
    assert entry.true_epsilon(1.0, 10) == 1.0
    assert 0.99 < reached < 1.0 + 1e-3
    x = np.array([0.0, 3.0])
    drawn = svt(x, N, rng(7))
    values = np.sort((drawn[drawn[:, 0] != 0, 0] - x[0]) / svt.fresh)
    distance = np.abs(cdf(values) - np.arange(values.size) / values.size).max()
    assert distance < math.sqrt(math.log(2e6) / (2 * values.size)) + 1 / values.size  # DKW: 1e-6


def test_the_parallel_run_publishes_algorithms_3_and_4() -> None:
    x = np.array([0.0, 3.0, 1.0])
    drawn = zoo.find("svt-34-parallel").build(1.0, 3)(x, 1000, rng(8))
    generator = rng(8)
    three, four = (svt(1.0, positives=2)(x, 1000, generator) for svt in (svt_3, svt_4))
    np.testing.assert_array_equal(np.concatenate([three, four], axis=1), drawn)


@pytest.mark.parametrize("dimension", [1, 2, 3, 4, 5, 6])
def test_the_parallel_run_loses_no_more_than_the_best_sum_on_one_pair(dimension: int) -> None:
    """Over the direction in which each query moves from x' to x, and over all rows of answers."""
    three, four = svt_3(1.0, positives=2), svt_4(1.0, positives=2)
    rows = outcomes(dimension, 2)
    bound = max(
        max(_bound(three, row, rises, published=True) for row in rows)
        + max(_bound(four, row, rises, published=False) for row in rows)
        for rises in itertools.product((-1, 1), repeat=dimension)
    )
    assert math.isclose(bound, zoo.find("svt-34-parallel").true_epsilon(1.0, dimension))


def _bound(svt: SparseVector, row: Outcome, rises: Outcome, *, published: bool) -> float:
    """Bound the log ratio by moving the threshold; next to a published value it cannot be moved."""
    falses = [rise for answer, rise in zip(row, rises, strict=True) if answer == 0]
    trues = [rise for answer, rise in zip(row, rises, strict=True) if answer == 1]
    if published:
        return (len(trues) + sum(max(0, -rise) for rise in falses)) / svt.nu
    return min(
        abs(shift) / svt.rho
        + (sum(max(0, shift - rise) for rise in falses) + sum(max(0, rise - shift) for rise in trues))
        / svt.nu
        for shift in (-1, 0, 1)
    )


def test_the_parallel_run_reaches_that_sum() -> None:
    """From x' to x the queries 9 and 10 rise, far below; the others, far above the threshold, fall.

    Algorithm 3 publishes the ninth above all values of the tenth, which adds 1/nu.
    """
    three, four = svt_3(1.0, positives=2), svt_4(1.0, positives=2)
    high, low = np.full(8, 101.0), -99.0
    here = published_between(three, np.array([*high, low]), 0.0, 50.0)
    there = published_between(three, np.array([*(high + 1), low - 1]), 0.0, 50.0)
    assert math.isclose(9 / three.nu, loss(here, there), rel_tol=1e-9)
    reached = loss(here, there) + 1 / three.nu + far_loss(four, 8, 2, far=100.0)
    assert math.isclose(reached, zoo.find("svt-34-parallel").true_epsilon(1.0, 10), rel_tol=1e-3)
