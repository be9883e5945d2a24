"""Every expert on the case it is there for, and all of them on what none should trip over."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dplitmus.forecast.clamp import Clamp
from dplitmus.forecast.features import Atoms, Coordinates, Ramps, Regression
from dplitmus.forecast.panel import Expert, Panel
from dplitmus.forecast.tables import Edges, Regions, Symbols, Tree, _tree_forecasts
from dplitmus.mechanisms.base import as_callee
from dplitmus.neighbours import Pair
from dplitmus.outputs import Batch
from dplitmus.samples import draw_labelled, stream

EXPERTS: dict[str, Any] = {
    "clamp": lambda: Clamp(oriented=True),
    "raw clamp": lambda: Clamp(oriented=False),
    "ramps": lambda: Regression(Ramps()),
    "coordinates": lambda: Regression(Coordinates()),
    "atoms": lambda: Regression(Atoms()),
    "symbols": Symbols,
    "regions": Regions,
    "tree": Tree,
    "edges": Edges,
}


def laplace(x: Any, n: int, rng: np.random.Generator) -> Any:
    return x + rng.laplace(scale=0.5, size=(n, *np.shape(x)))


def one_coordinate(x: Any, n: int, rng: np.random.Generator) -> Any:
    return x + rng.laplace(scale=0.5, size=(n, 4))


def zero_or_noise(x: float, n: int, rng: np.random.Generator) -> Any:
    return x + np.where(rng.random(n) < 0.5, 0.0, rng.exponential(size=n))


def shifted_uniform(x: float, n: int, rng: np.random.Generator) -> Any:
    return rng.random(n) + 0.3 * x


def words(x: float, n: int, rng: np.random.Generator) -> Any:
    return ["yes" if coin else "no" for coin in rng.random(n) < 0.2 + 0.6 * x]


def bump(x: float, n: int, rng: np.random.Generator) -> Any:
    return np.where(rng.random(n) < 0.5, rng.random(n), 0.4 + 0.2 * rng.random(n) if x else rng.random(n))


def sample(mechanism: Any, n: int, *, pair: tuple[Any, Any] = (0.0, 1.0), key: int = 0) -> Batch:
    return draw_labelled(as_callee(mechanism), Pair(*pair, ""), n, stream(1, key))


def mean_log_loss(expert: Expert, batch: Batch) -> float:
    eta = np.clip(expert.forecast(batch), 1e-6, 1 - 1e-6)
    return float(-np.log(np.where(batch.labels, eta, 1 - eta)).mean())


@pytest.mark.parametrize(
    ("name", "mechanism", "pair", "best"),
    [
        ("clamp", laplace, (0.0, 1.0), 0.475),
        ("raw clamp", laplace, (0.0, 1.0), 0.475),
        ("clamp", laplace, (np.array([0.0, 1.0]), np.array([1.0, 0.0])), 0.32),
        ("ramps", laplace, (0.0, 1.0), 0.475),
        ("coordinates", one_coordinate, (np.zeros(4), np.array([0.0, 0.0, 1.0, 0.0])), 0.47),
        ("atoms", zero_or_noise, (0.0, 1.0), 0.40),
        ("regions", zero_or_noise, (0.0, 1.0), 0.25),
        ("symbols", words, (0.0, 1.0), 0.52),
        ("tree", bump, (0.0, 1.0), 0.68),
        ("edges", shifted_uniform, (0.0, 1.0), 0.52),
    ],
)
def test_each_expert_beats_guessing_on_its_own_case(
    name: str, mechanism: Any, pair: tuple[Any, Any], best: float
) -> None:
    """Log loss on 3000 fresh draws; fixed seeds. (The truth for Laplace of scale 1/2 is 0.445 +- 0.01.)"""
    expert = EXPERTS[name]()
    expert.learn(sample(mechanism, 3000, pair=pair), whole=True)
    assert mean_log_loss(expert, sample(mechanism, 3000, pair=pair, key=1)) < best < math.log(2)


@pytest.mark.parametrize("name", EXPERTS)
@pytest.mark.parametrize(
    "outputs",
    [
        lambda x, n, rng: np.full(n, np.nan),
        lambda x, n, rng: np.full(n, np.inf),
        lambda x, n, rng: np.zeros(n),
        lambda x, n, rng: np.where(rng.random(n) < 0.3, np.nan, rng.standard_cauchy(n) * 1e300),
        lambda x, n, rng: rng.integers(0, 2, size=(n, 3)),
        lambda x, n, rng: [None, "a", 3.5, (1, 2)][: 4 * n] * n if n == 1 else ["a"] * n,
        lambda x, n, rng: np.zeros((n, 0)),
    ],
)
@pytest.mark.parametrize("n", [1, 2, 50])
def test_no_expert_trips_over_strange_outputs(name: str, outputs: Any, n: int) -> None:
    expert = EXPERTS[name]()
    batch = sample(lambda x, k, rng: outputs(x, k, rng)[:k], n)
    assert expert.forecast(batch).shape == (n,)  # before it has learned anything
    expert.learn(batch, whole=True)
    expert.learn(batch, whole=False)
    eta = expert.forecast(batch)
    assert eta.shape == (n,)
    assert ((eta >= 0) & (eta <= 1)).all()


@pytest.mark.parametrize("name", EXPERTS)
def test_streaming_agrees_with_fitting_everything_at_once(name: str) -> None:
    """A frozen expert that is given the rest in pieces forecasts almost what a full fit does."""
    first, rest = sample(laplace, 4000), [sample(laplace, 2000, key=k) for k in (1, 2, 3)]
    fresh = sample(laplace, 2000, key=9)
    expert = EXPERTS[name]()
    expert.learn(first, whole=True)
    for batch in rest:
        expert.learn(batch, whole=False)
    assert mean_log_loss(expert, fresh) < math.log(2) + 0.03


def test_the_tree_mixes_all_prunings() -> None:
    """Against brute force over the five prunings of a tree with four leaves."""
    leaves = np.array([[3.0, 1.0], [2.0, 2.0], [0.0, 5.0], [1.0, 0.0]])

    def kt(counts: Any) -> float:
        zeros, ones = counts
        return math.exp(
            math.lgamma(zeros + 0.5)
            + math.lgamma(ones + 0.5)
            - 2 * math.lgamma(0.5)
            - math.lgamma(zeros + ones + 1)
        )

    def mean(counts: Any) -> float:
        return float((counts[1] + 0.5) / (counts.sum() + 1))

    left, right = leaves[:2].sum(axis=0), leaves[2:].sum(axis=0)
    prunings = [
        (0.5, [leaves.sum(axis=0)] * 4, [leaves.sum(axis=0)]),
        (0.125, [left, left, right, right], [left, right]),
        (0.125, [leaves[0], leaves[1], right, right], [leaves[0], leaves[1], right]),
        (0.125, [left, left, leaves[2], leaves[3]], [left, leaves[2], leaves[3]]),
        (0.125, list(leaves), list(leaves)),
    ]
    weights = [prior * math.prod(kt(node) for node in nodes) for prior, _, nodes in prunings]
    expected = [
        sum(w * mean(at[leaf]) for w, (_, at, _) in zip(weights, prunings, strict=True)) / sum(weights)
        for leaf in range(4)
    ]
    np.testing.assert_allclose(expected, _tree_forecasts(leaves))


def test_a_panel_gives_its_weight_to_the_expert_that_forecasts_best() -> None:
    panel = Panel.of(sample(zero_or_noise, 1))
    for key in range(20):
        batch = sample(zero_or_noise, 30, key=key)
        panel.learn(batch, panel.judge(batch))
    names = [type(expert).__name__ for expert in panel.experts]
    assert names[int(np.argmax(panel.log_weights))] in {"Regions", "Symbols"}
    assert math.isclose(1.0, float(np.exp(panel.log_weights).sum()))


def test_judging_changes_nothing() -> None:
    panel = Panel.of(sample(laplace, 1))
    for key in range(5):
        batch = sample(laplace, 50, key=key)
        panel.learn(batch, panel.judge(batch))
    fresh = sample(laplace, 100, key=9)
    first = panel.judge(fresh)
    np.testing.assert_array_equal(first.logits, panel.judge(fresh).logits)


def test_a_forecast_does_not_depend_on_the_labels_it_is_scored_with() -> None:
    """Predictability: the labels of a chunk must not reach the forecasts that are bet on it."""
    panel = Panel.of(sample(laplace, 1))
    for key in range(5):
        batch = sample(laplace, 50, key=key)
        panel.learn(batch, panel.judge(batch))
    fresh = sample(laplace, 100, key=9)
    flipped = Batch(fresh.values, fresh.keys, ~fresh.labels, fresh.geometry, fresh.names)
    np.testing.assert_array_equal(panel.judge(fresh).logits, panel.judge(flipped).logits)
