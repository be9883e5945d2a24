"""Truths of the local model's bit mechanisms, exactly; and what is special about each noise layer."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dplitmus.mechanisms import Laplace, zoo
from dplitmus.mechanisms.zoo.layers import Ome, TrainingNoise
from dplitmus.mechanisms.zoo.randomised import ONE_TIME, Rappor, murmur3

N = 100_000
Array = NDArray[Any]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def assert_bits(chances: Array, outputs: Array) -> None:
    """Each share of ones, and each correlation, within six standard errors: below 1e-6 in all."""
    assert outputs.dtype == np.int8
    assert np.all(np.abs(outputs.mean(axis=0) - chances) < 6 * np.sqrt(chances * (1 - chances) / N))
    correlations = np.corrcoef(outputs.T) - np.eye(outputs.shape[1])
    assert np.abs(correlations).max() < 6 / math.sqrt(N)


def worst_loss(here: Array, there: Array) -> float:
    """The largest loss over all outputs of independent bits: the sum over bits of the larger one."""
    ones, zeros = np.log(here / there), np.log((1 - here) / (1 - there))
    return float(max(np.maximum(ones, zeros).sum(), np.maximum(-ones, -zeros).sum()))


def response_law(epsilon: float, bits: Array) -> Array:
    keep = 1 / (1 + math.exp(-epsilon / len(bits)))
    return np.where(bits == 1, keep, 1 - keep)


@pytest.mark.parametrize("dimension", [1, 3])
def test_randomised_response_loses_epsilon(dimension: int) -> None:
    laws = [response_law(0.7, np.array(bits)) for bits in itertools.product((0, 1), repeat=dimension)]
    losses = [worst_loss(here, there) for here, there in itertools.combinations(laws, 2)]
    assert math.isclose(zoo.find("randomised-response").true_epsilon(0.7, dimension), max(losses))


def test_randomised_response_follows_its_law() -> None:
    bits = np.array([1, 0, 1])
    assert_bits(response_law(0.7, bits), zoo.find("randomised-response").build(0.7, 3)(bits, N, rng(1)))


@pytest.mark.parametrize(
    ("data", "seed", "value"),
    [
        (b"", 0, 0),
        (b"", 1, 0x514E28B7),
        (b"foo", 0, -156908512),
        (b"foo", 42, -1322301282),
        (b"Hello, world!", 0x9747B28C, 0x24884CBA),
    ],
)
def test_murmur3_gives_the_published_values(data: bytes, seed: int, value: int) -> None:
    assert value == murmur3(data, seed)


def rappor_law(rappor: Rappor, value: object) -> Array:
    """Chance of each reported bit, by the two steps of the definition."""
    kept = np.where(rappor.filter(value), 1.0, 0.0) * (1 - rappor.f) + rappor.f / 2
    return kept * rappor.q + (1 - kept) * rappor.p


@pytest.mark.parametrize(("rappor", "per_bit"), [(Rappor(), 0.05001), (ONE_TIME, 0.10008)])
def test_rappor_loses_per_differing_bit_and_no_pair_of_values_more(rappor: Rappor, per_bit: float) -> None:
    assert math.isclose(per_bit, rappor.loss_per_bit(), rel_tol=1e-3)
    laws = [rappor_law(rappor, value) for value in range(-10, 11)]
    losses = [worst_loss(here, there) for here, there in itertools.combinations(laws, 2)]
    entry = zoo.find(rappor.name)
    assert math.isclose(max(losses), entry.true_epsilon(1.0, 1))
    assert entry.pairs is not None
    on_pairs = [worst_loss(rappor_law(rappor, x), rappor_law(rappor, x_prime)) for x, x_prime in entry.pairs]
    np.testing.assert_allclose([6 * rappor.loss_per_bit(), 8 * rappor.loss_per_bit()], on_pairs)


@pytest.mark.parametrize("rappor", [Rappor(), ONE_TIME, Rappor(q=0.75, p=0.5)])
def test_rappor_follows_its_law(rappor: Rappor) -> None:
    assert_bits(rappor_law(rappor, 3), rappor(3, N, rng(2)))


def test_the_worse_report_of_a_bit_counts_when_chances_are_not_symmetric() -> None:
    rappor = Rappor(q=0.75, p=0.5)
    laws = (rappor_law(rappor, 3), rappor_law(rappor, 4))
    # Of eight differing bits four are 1 in one filter and four in the other.
    one, zero = laws[0].max(), laws[0].min()
    assert math.isclose(4 * math.log(one * (1 - zero) / (zero * (1 - one))), worst_loss(*laws))
    assert math.isclose(rappor.loss_per_bit(), max(math.log(one / zero), math.log((1 - zero) / (1 - one))))


def test_a_value_is_the_same_value_in_any_type() -> None:
    filters = [Rappor().filter(value) for value in (1, 1.0, np.array(1), np.array([1.0]), "1")]
    assert all(np.array_equal(filters[0], other) for other in filters)
    assert not np.array_equal(filters[0], Rappor().filter(1.5))


def ome_law(epsilon: float, bits: Array) -> Array:
    alpha, n = 5.0, len(bits)
    even = np.arange(n) % 2 == 0
    ones = np.where(even, alpha / (1 + alpha), 1 / (1 + alpha**3))
    return np.where(bits == 1, ones, 1 / (1 + alpha * math.exp(epsilon / n)))


def test_ome_loses_1280_where_10_is_claimed() -> None:
    bits = np.arange(550) % 2
    truth = zoo.find("ome").true_epsilon(10.0, 550)
    assert round(truth) == 1280
    assert math.isclose(truth, worst_loss(ome_law(10.0, bits), ome_law(10.0, 1 - bits)))


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_no_pair_of_bit_vectors_makes_ome_lose_more(dimension: int) -> None:
    laws = [ome_law(1.0, np.array(bits)) for bits in itertools.product((0, 1), repeat=dimension)]
    losses = [worst_loss(here, there) for here, there in itertools.combinations(laws, 2)]
    assert math.isclose(zoo.find("ome").true_epsilon(1.0, dimension), max(losses))


def test_ome_follows_its_law_and_its_pair_is_the_worst() -> None:
    entry = zoo.find("ome")
    assert entry.pairs is not None
    ((x, x_prime),) = (np.array(pair) for pair in entry.pairs)
    assert_bits(ome_law(1.0, x), Ome(epsilon=1.0)(x, N, rng(3)))
    truth = entry.true_epsilon(1.0, 8)
    assert math.isclose(truth, worst_loss(ome_law(1.0, x), ome_law(1.0, x_prime)))
    assert entry.truth == f"{truth:.1f} at 1, 8"


def test_dpnr_gives_the_normalised_input_away() -> None:
    x = np.array([3.0, -1.0, 1.0, 2.0])
    outputs = zoo.find("dpnr").build(0.1, 4)(x, 100, rng(4))
    recovered = outputs - outputs.min(axis=1, keepdims=True)
    np.testing.assert_allclose(np.tile([1.0, 0.0, 0.5, 0.75], (100, 1)), recovered, atol=1e-12)


def test_dpnr_has_nothing_to_say_of_a_constant_vector() -> None:
    outputs = zoo.find("dpnr").build(1.0, 3)(np.full(3, 7.0), 100, rng(5))
    assert np.all(outputs == outputs[:, :1])


def test_noise_that_is_on_in_training_is_laplace_noise() -> None:
    x = np.array([0.0, 1.0])
    training = TrainingNoise(epsilon=0.5, training=True)(x, 100, rng(6))
    np.testing.assert_array_equal(Laplace(epsilon=0.5, sensitivity=2)(x, 100, rng(6)), training)


def test_seeded_noise_repeats_in_every_draw_and_every_call() -> None:
    mechanism = zoo.find("seeded").build(1.0, 3)
    outputs = np.concatenate([mechanism(np.zeros(3), 5, rng(seed)) for seed in (7, 8)])
    assert len(np.unique(outputs, axis=0)) == 1
    assert len(np.unique(outputs[0])) == 3


def test_the_scale_follows_the_data() -> None:
    """Mean absolute noise is the scale: six standard errors, false failure below 1e-8."""
    mechanism = zoo.find("data-dependent-scale").build(0.5, 2)
    for largest in (0.5, 1.0):
        noise = mechanism(np.array([largest, 0.0]), N, rng(9)) - [largest, 0.0]
        scale = 4 * largest
        np.testing.assert_allclose(scale, np.abs(noise).mean(axis=0), atol=6 * scale / math.sqrt(N))


def test_half_precision_outputs_are_16_bit_floats() -> None:
    assert zoo.find("half-precision-laplace").build(1.0, 1)(np.zeros(1), 3, rng()).dtype == np.float16
