from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplitmus import samples
from dplitmus.errors import InputError, MechanismError
from dplitmus.mechanisms.base import as_callee


@given(st.integers(1, 10**9), st.integers(1, 10**7))
def test_a_plan_sums_to_its_samples_in_chunks_of_bounded_memory(total: int, dimension: int) -> None:
    rows = max(1, samples.CHUNK_VALUES // dimension)
    if total / rows > 10**4:
        total = rows * 10**4 - 1  # the law is the same; the list would be long
    chunks = samples.plan(total, dimension=dimension)
    assert sum(chunks) == total
    assert all(0 < size <= rows for size in chunks)


def test_streams_of_different_keys_differ_and_of_the_same_key_do_not() -> None:
    keys = [(0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 0)]
    first = [samples.stream(1, *key).random() for key in keys]
    assert len(set(first)) == len(keys)
    assert first == [samples.stream(1, *key).random() for key in keys]
    assert samples.stream(2, *keys[0]).random() not in first


def test_a_missing_seed_is_chosen_and_can_be_used_again() -> None:
    assert samples.checked_seed(samples.checked_seed(None)) >= 0
    for seed in (-1, 1.5, "1"):
        with pytest.raises(InputError, match="seed="):
            samples.checked_seed(seed)  # type: ignore[arg-type]


def draw(mechanism: Any, *, n: int = 5, dimension: int = 2) -> Any:
    x = np.zeros(dimension)
    return samples.draw(as_callee(mechanism), x, n, np.random.default_rng(0))


def raises(x: Any, n: int, rng: Any) -> Any:
    raise KeyError("missing")


def in_place(x: Any, n: int, rng: Any) -> Any:
    x += 1
    return np.tile(x, (n, 1))


@pytest.mark.parametrize(
    ("mechanism", "code", "words"),
    [
        (raises, "DP401", r"raises raised KeyError: 'missing'  \(test_samples.py:\d+\)"),
        (in_place, "DP404", "in_place changes its input in place"),
        (lambda x, n, rng: x, "DP402", r"shape \(2,\) for n=5 draws of dimension 2"),
        (lambda x, n, rng: np.zeros((n, 3)), "DP402", r"shape \(5, 3\)"),
        (lambda x, n, rng: np.zeros((n, 2, 1)), "DP402", r"shape \(5, 2, 1\)"),
        (lambda x, n, rng: 3.0, "DP402", r"shape \(\)"),
        (lambda x, n, rng: [[1.0, 2.0], [3.0]], "DP402", "a list that is no array"),
        (lambda x, n, rng: np.zeros((n, 2), complex), "DP403", "complex numbers"),
        (lambda x, n, rng: [[None, None]] * n, "DP403", "values of type object"),
        (lambda x, n, rng: [["a", "b"]] * n, "DP403", "values of type <U1"),
        (lambda x, n, rng: None, "DP403", "values of type object"),
    ],
)
def test_what_a_mechanism_may_not_do_is_told_with_its_code(mechanism: Any, code: str, words: str) -> None:
    with pytest.raises(MechanismError, match=words) as caught:
        draw(mechanism)
    assert caught.value.code == code
    assert caught.value.exit_status == 3


@pytest.mark.parametrize(
    "outputs",
    [
        [[0.0, 1.0]] * 5,
        np.zeros((5, 2), dtype=bool),
        np.zeros((5, 2), dtype=np.float16),
        np.full((5, 2), np.nan),
        np.full((5, 2), -np.inf),
    ],
)
def test_what_a_mechanism_may_return(outputs: Any) -> None:
    assert draw(lambda x, n, rng: outputs).shape == (5, 2)


def test_one_dimension_may_come_without_its_axis() -> None:
    assert draw(lambda x, n, rng: np.zeros(n), dimension=1).shape == (5, 1)


def test_the_mechanism_gets_its_own_copy_of_the_input() -> None:
    seen = []

    def keeps(x: Any, n: int, rng: Any) -> Any:
        seen.append(x)
        return np.zeros((n, 2))

    draw(keeps)
    draw(keeps)
    assert seen[0] is not seen[1]
