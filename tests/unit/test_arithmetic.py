"""Experts keep to one core, and give the others back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import dplitmus
from dplitmus.arithmetic import careful
from dplitmus.forecast.clamp import Clamp

CORES = 2  # of numpy's BLAS, whatever the environment says


def cores() -> int:
    """How many numpy's BLAS may use now."""
    (found,) = {library["num_threads"] for library in threadpool_info() if "numpy" in library["filepath"]}
    return int(found)


@pytest.fixture(autouse=True)
def two_cores() -> Iterator[None]:
    with threadpool_limits(limits=CORES, user_api="blas"):
        yield


def test_matrices_stay_on_one_core_and_others_are_given_back() -> None:
    with careful():
        assert cores() == 1
        with careful():
            assert cores() == 1
        assert cores() == 1
    assert cores() == CORES


def test_an_error_gives_the_cores_back() -> None:
    with pytest.raises(ZeroDivisionError), careful():
        _ = 1 // 0
    assert cores() == CORES


def test_numbers_beyond_floats_are_no_reason_to_warn() -> None:
    with careful():
        assert np.isinf(np.float64(1e308) * 10)


def test_experts_have_one_core_and_the_mechanism_all(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism, experts = set(), set()
    forecast = Clamp.forecast

    def noisy(x: Any, n: int, rng: np.random.Generator) -> Any:
        mechanism.add(cores())
        return x + rng.laplace(size=(n, 8))

    def watched(self: Clamp, batch: Any) -> Any:
        experts.add(cores())
        return forecast(self, batch)

    monkeypatch.setattr(Clamp, "forecast", watched)
    dplitmus.audit(noisy, epsilon=8.5, neighbours=[(np.zeros(8), np.ones(8))], samples=40, seed=1)
    assert ({CORES}, {1}) == (mechanism, experts)
