from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dplitmus
from dplitmus import bits
from dplitmus.mechanisms import zoo
from dplitmus.neighbours import patterns


def test_the_grain_is_the_exponent_of_the_lowest_set_bit() -> None:
    numbers = np.array([1.0, 12.0, 0.375, -0.5, 2.0**-1074, 1.0 + 2.0**-52, 3.0 * 2.0**600])
    assert bits.grain(numbers).tolist() == [0, 2, -3, -1, -1074, -52, 600]


def test_what_has_no_grain_is_coarser_than_every_number() -> None:
    assert (bits.grain(np.array([0.0, np.nan, np.inf, -np.inf])) == bits.COARSE).all()


@pytest.mark.parametrize(("kind", "precision"), [(np.float16, 11), (np.float32, 24), (np.float64, 53)])
def test_the_format_of_numbers_is_found(kind: type, precision: int) -> None:
    numbers = np.random.default_rng(1).normal(size=1000).astype(kind).astype(float)
    assert bits.precision(numbers) == precision


@pytest.mark.parametrize(("kind", "precision"), [(np.float16, 11), (np.float32, 24), (np.float64, 53)])
@pytest.mark.parametrize("end", [0.0, 1.0, 0.75, 6.0])
def test_an_input_plus_a_float_is_never_beyond_its_own_lattice(
    kind: type, precision: int, end: float
) -> None:
    noise: Any = np.random.default_rng(2).laplace(size=10_000).astype(kind)
    values = (kind(end) + noise).astype(float)
    assert (bits.beyond(values, np.array(end), precision) <= 0).all()
    if end == 0.0:  # but many are beyond that of another input
        assert (bits.beyond(values, np.array(1.0), precision) > 0).sum() > 1000


def noise(kind: str, dtype: type = np.float64) -> Any:
    def mechanism(x: Any, n: int, rng: np.random.Generator) -> Any:
        drawn = rng.laplace(size=n) if kind == "laplace" else rng.normal(scale=3.7305, size=n)
        return dtype(x) + drawn.astype(dtype)

    return mechanism


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_naive_noise_is_refuted_by_its_bits_and_only_noted_as_ideal(kind: str, dtype: type) -> None:
    """The fresh draws on the grain almost surely show it; a false alarm at level ideal: at most 1e-6."""
    settings: dict[str, Any] = {
        "epsilon": 1.0,
        "delta": 0.0 if kind == "laplace" else 1e-5,
        "neighbours": [(0.0, 1.0)],
        "seed": 1,
    }
    released = dplitmus.audit(noise(kind, dtype), samples=20_000, level="bits", **settings)
    assert str(released.verdict) == "violated"
    assert released.counterexample is not None
    assert "multiple of" in released.counterexample.event or "bit float" in released.counterexample.event
    assert released.delta_lower > 0.01
    assert "the released bits" in str(released)
    ideal = dplitmus.audit(noise(kind, dtype), samples=6000, **settings)
    assert str(ideal.verdict) == "not-found"
    assert "DP314" in [note.code for note in ideal.notes]
    assert "ideal arithmetic" in str(ideal)


@pytest.mark.parametrize("name", ["geometric", "snapping"])
def test_noise_on_a_grid_is_left_alone(name: str) -> None:
    """False alarms: at most 1e-6 each."""
    result = dplitmus.audit(
        zoo.find(name).make(1.0, 1), epsilon=1.0, neighbours=[(0.0, 1.0)], samples=3000, seed=1, level="bits"
    )
    assert str(result.verdict) == "not-found"
    assert not [note.code for note in result.notes]


def test_a_vector_is_refuted_by_the_bits_of_one_coordinate() -> None:
    def mechanism(x: Any, n: int, rng: np.random.Generator) -> Any:
        return x + rng.laplace(scale=3.0, size=(n, 3))

    pair = (np.zeros(3), np.array([1.0, 0.0, 0.0]))
    result = dplitmus.audit(mechanism, epsilon=1.0, neighbours=[pair], samples=20_000, seed=1, level="bits")
    assert str(result.verdict) == "violated"


def test_the_shares_of_alpha_add_up_when_delta_is_scanned() -> None:
    result = dplitmus.audit(
        noise("laplace"), epsilon=1.0, neighbours=[(0.0, 1.0)], samples=5000, seed=1, level="bits"
    )
    assert result.alphas is not None
    assert result.alphas.delta > 0
    assert sum(result.alphas) == pytest.approx(result.alpha)
    assert "Delta." in result.to_html()


@pytest.mark.parametrize("relation", ["one", "all", "any"])
def test_patterns_for_bits_add_neighbours_of_different_magnitude(relation: str) -> None:
    usual, more = patterns(relation, 3), patterns(relation, 3, level="bits")
    assert [pair.name for pair in usual] == [pair.name for pair in more][: len(usual)]
    assert len(more) > len(usual)
    # Whatever is added keeps the relation: no number changes by more than 1.
    assert all(np.abs(pair.x_prime - pair.x).max() <= 1 for pair in more if relation != "all")
