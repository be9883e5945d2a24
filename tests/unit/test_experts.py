"""Every expert on the case it is there for, and all of them on what none should trip over."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest

from dplitmus.forecast.clamp import Clamp
from dplitmus.forecast.common import Common
from dplitmus.forecast.features import Atoms, Coordinates, Decorrelated, Ramps, Regression
from dplitmus.forecast.logistic import Posterior
from dplitmus.forecast.noise import Noise
from dplitmus.forecast.order import clipped, column_quantiles, finite, median, quantiles, row_sums
from dplitmus.forecast.panel import Expert, Panel, Together
from dplitmus.forecast.rates import together
from dplitmus.forecast.tables import Edges, Regions, Symbols, Tree, _tree_forecasts
from dplitmus.mechanisms.base import as_callee
from dplitmus.neighbours import Pair
from dplitmus.outputs import Batch
from dplitmus.samples import draw_labelled, stream

EXPERTS: dict[str, Any] = {
    "clamp": lambda: Clamp(oriented=True),
    "raw clamp": lambda: Clamp(oriented=False),
    "clamp with intercept": lambda: Clamp(oriented=True, intercept=True),
    "decorrelated": lambda: Regression(Decorrelated()),
    "ramps": lambda: Regression(Ramps()),
    "coordinates": lambda: Regression(Coordinates()),
    "atoms": lambda: Regression(Atoms()),
    "symbols": Symbols,
    "regions": Regions,
    "tree": Tree,
    "edges": Edges,
    "noise": Noise,
    "common": Common,
}


def laplace(x: Any, n: int, rng: np.random.Generator) -> Any:
    return x + rng.laplace(scale=0.5, size=(n, *np.shape(x)))


def one_coordinate(x: Any, n: int, rng: np.random.Generator) -> Any:
    return x + rng.laplace(scale=0.5, size=(n, 4))


def zero_or_noise(x: float, n: int, rng: np.random.Generator) -> Any:
    return x + np.where(rng.random(n) < 0.5, 0.0, rng.exponential(size=n))


def shifted_uniform(x: float, n: int, rng: np.random.Generator) -> Any:
    return rng.random(n) + 0.3 * x


def running_sums(x: Any, n: int, rng: np.random.Generator) -> Any:
    return np.cumsum(x + rng.laplace(size=(n, 6)), axis=1)


def wider(x: float, n: int, rng: np.random.Generator) -> Any:
    """A one-sided difference: the middle says little, the far side says x'."""
    return np.where(rng.random(n) < 0.5 * x, 10.0, rng.standard_normal(n))


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
        ("clamp with intercept", wider, (0.0, 1.0), 0.50),
        ("decorrelated", running_sums, (np.zeros(6), np.full(6, 0.5)), 0.56),
        ("ramps", laplace, (0.0, 1.0), 0.475),
        ("coordinates", one_coordinate, (np.zeros(4), np.array([0.0, 0.0, 1.0, 0.0])), 0.47),
        ("atoms", zero_or_noise, (0.0, 1.0), 0.40),
        ("regions", zero_or_noise, (0.0, 1.0), 0.25),
        ("symbols", words, (0.0, 1.0), 0.52),
        ("tree", bump, (0.0, 1.0), 0.68),
        ("edges", shifted_uniform, (0.0, 1.0), 0.52),
        ("noise", laplace, (np.array([0.0, 1.0]), np.array([1.0, 0.0])), 0.30),
    ],
)
def test_each_expert_beats_guessing_on_its_own_case(
    name: str, mechanism: Any, pair: tuple[Any, Any], best: float
) -> None:
    """Log loss on 3000 fresh draws; fixed seeds. (The truth for Laplace of scale 1/2 is 0.445 +- 0.01.)"""
    expert = EXPERTS[name]()
    expert.learn(sample(mechanism, 3000, pair=pair), whole=True)
    assert mean_log_loss(expert, sample(mechanism, 3000, pair=pair, key=1)) < best < math.log(2)


def test_a_feature_that_moves_only_after_the_fit_does_not_drown_the_others() -> None:
    """NaN comes late: its count was constant, and must not be told in units of nothing."""
    expert = Regression(Atoms())
    expert.learn(sample(lambda x, n, rng: rng.integers(0, 9, size=n), 5000), whole=True)
    late = sample(lambda x, n, rng: np.where(np.arange(n) < 3, np.nan, rng.integers(0, 9, size=n)), 300)
    expert.learn(late, whole=False)
    assert expert.posterior is not None
    assert np.linalg.cond(expert.posterior.precision) < 1e6


@pytest.mark.parametrize("name", EXPERTS)
@pytest.mark.parametrize(
    "outputs",
    [
        lambda x, n, rng: np.full(n, np.nan),
        lambda x, n, rng: np.full(n, np.inf),
        lambda x, n, rng: np.zeros(n),
        lambda x, n, rng: np.where(rng.random(n) < 0.3, np.nan, rng.standard_cauchy(n) * 1e300),
        lambda x, n, rng: rng.integers(0, 2, size=(n, 3)),
        lambda x, n, rng: rng.standard_normal((n, 2)) * [3.0, 1e17],
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
    flipped = Batch(fresh.values, fresh.keys, ~fresh.labels, fresh.inputs, fresh.names)
    np.testing.assert_array_equal(panel.judge(fresh).logits, panel.judge(flipped).logits)


def answers(x: Any, n: int, rng: np.random.Generator) -> Any:
    """A sparse vector: queries against one noisy threshold, and the end after the first TRUE."""
    above = x + rng.laplace(scale=4.0, size=(n, len(x))) >= rng.laplace(scale=2.0, size=(n, 1))
    before = np.cumsum(above, axis=1) - above
    return np.where(before > 0, 2, above)


def two_answers(x: float, n: int, rng: np.random.Generator) -> Any:
    """Two coordinates of one input."""
    return (rng.random((n, 2)) < 0.4 + 0.2 * x).astype(float)


DOWN, SWAPPED = (np.ones(6), np.zeros(6)), (np.array([1.0, 1, 1, 0, 0, 0]), np.array([0.0, 0, 0, 1, 1, 1]))


def test_what_one_pair_teaches_serves_the_others() -> None:
    """Never drawn from, a pair is forecast almost as well as by an expert that has seen nothing else."""
    others = [DOWN, (np.zeros(6), np.eye(6)[0]), (np.ones(6), np.array([2.0, 0, 0, 0, 0, 0]))]
    taught, own = Common(), Common()
    for key, pair in enumerate(others):
        for part in range(10):
            taught.learn(sample(answers, 10_000, pair=pair, key=10 * key + part), whole=False)
    for part in range(10):
        own.learn(sample(answers, 10_000, pair=SWAPPED, key=100 + part), whole=False)
    fresh = sample(answers, 200_000, pair=SWAPPED, key=1000)
    gains = [math.log(2) - mean_log_loss(expert, fresh) for expert in (taught, own)]
    assert gains[0] > 0.7 * gains[1] > 0.0005


def test_pairs_that_move_other_coordinates_in_the_same_way_are_not_taken_for_one() -> None:
    """Each pair's outputs are read where its own input moved: the weights are those of one coordinate."""

    def bits(x: Any, n: int, rng: np.random.Generator) -> Any:
        return (rng.random((n, 2)) < 0.3 + 0.4 * x).astype(float)

    first, second = (np.zeros(2), np.array([1.0, 0.0])), (np.zeros(2), np.array([0.0, 1.0]))
    fresh = sample(bits, 1000, pair=second, key=2)
    told = []
    for pairs in ((first, second), (second, second)):
        common = Common()
        for key, pair in enumerate(pairs):
            common.learn(sample(bits, 2000, pair=pair, key=key), whole=False)
        told.append(common.forecast(fresh))
    assert told[0] == pytest.approx(told[1], abs=0.02)  # 0.1 if both are read in the first coordinate
    assert told[1].max() > 0.65


def test_common_is_taught_every_draw_once() -> None:
    """Panels refit others on their whole past; this one has a past of its own, from all panels."""
    common = Common()
    panels = [Panel.of(sample(answers, 2, pair=pair), common=common) for pair in (DOWN, SWAPPED)]
    for key in range(4):
        for panel, pair in zip(panels, (DOWN, SWAPPED), strict=True):
            batch = sample(answers, 3000, pair=pair, key=key)
            panel.learn(batch, panel.judge(batch))
    assert common.draws == 24_000
    assert all(panel.frozen for panel in panels)


def test_an_expert_that_is_best_everywhere_is_trusted_on_a_new_pair() -> None:
    shared = Together()
    first, second = (Panel.of(sample(laplace, 2), together=shared) for _ in range(2))
    alone = Panel.of(sample(laplace, 2))
    for key in range(30):
        batch = sample(laplace, 100, key=key)
        first.learn(batch, first.judge(batch))
    best = int(np.argmax(first.weights))
    assert second.weights[best] > 2 * alone.weights[best]
    assert second.weights.sum() == pytest.approx(1.0)
    assert (second.log_weights == alone.log_weights).all()


def test_pairs_that_differ_keep_experts_of_their_own() -> None:
    """Noise on one pair, a bump between the inputs on the other: neither has to follow the other's best."""
    shared = Together()
    panels = {mechanism: Panel.of(sample(mechanism, 2), together=shared) for mechanism in (laplace, bump)}
    for key in range(40):
        for mechanism, panel in panels.items():
            batch = sample(mechanism, 200, key=key)
            panel.learn(batch, panel.judge(batch))
    assert shared.lead < 0
    noise, bumps = (panel.weights for panel in panels.values())
    assert int(np.argmax(noise)) != int(np.argmax(bumps))


def test_running_sums_are_best_told_apart_by_their_steps() -> None:
    """The best of the other experts sees a fifth less."""
    pair = (np.zeros(6), np.full(6, 0.5))
    losses = {}
    for name in ("decorrelated", "coordinates", "ramps", "clamp"):
        expert = EXPERTS[name]()
        expert.learn(sample(running_sums, 4000, pair=pair), whole=True)
        losses[name] = math.log(2) - mean_log_loss(expert, sample(running_sums, 4000, pair=pair, key=1))
    assert losses["decorrelated"] > 1.2 * max(losses["coordinates"], losses["ramps"], losses["clamp"])


def test_uncorrelated_coordinates_are_left_to_others() -> None:
    expert = Regression(Decorrelated())
    batch = sample(one_coordinate, 3000, pair=(np.zeros(4), np.ones(4)))
    expert.learn(batch, whole=True)
    assert (expert.forecast(batch) == 0.5).all()


def rare_tail(x: float, n: int, rng: np.random.Generator) -> Any:
    """With probability 1/2000 the output is below -5, and then it is x'."""
    return np.where(rng.random(n) < 0.001 * x, -5 - rng.random(n), rng.standard_normal(n))


def test_a_tree_sees_a_tail_when_enough_draws_have_come() -> None:
    """Its cuts are chosen anew as the numbers double; they were frozen at 4000 draws before."""
    tree = Tree()
    tree.learn(sample(rare_tail, 4000), whole=True)
    for key in range(1, 30):
        tree.learn(sample(rare_tail, 4000, key=key), whole=False)
    fresh = sample(rare_tail, 50_000, key=99)
    beyond = fresh.values[:, 0] < -5
    assert tree.forecast(fresh.rows(beyond)).mean() > 0.9
    assert abs(tree.forecast(fresh.rows(~beyond)).mean() - 0.5) < 0.01


def test_a_copy_of_a_tree_travels_without_its_history() -> None:
    tree = Tree()
    tree.learn(sample(laplace, 5000), whole=True)
    twin = copy.deepcopy(tree)
    fresh = sample(laplace, 100, key=1)
    assert tree.history
    assert not twin.history
    assert (twin.forecast(fresh) == tree.forecast(fresh)).all()


@pytest.mark.parametrize("level", ["ideal", "bits"])
@pytest.mark.parametrize("draws", [200, 6000])  # before and after the features are frozen
@pytest.mark.parametrize("mechanism", [laplace, zero_or_noise, shifted_uniform, two_answers])
def test_what_is_learned_later_does_not_reach_a_twin(mechanism: Any, draws: int, level: str) -> None:
    """A chunk in flight is judged by the panel of the moment when it was sent out."""
    batch, more, fresh = (sample(mechanism, rows, key=key) for key, rows in enumerate((draws, 3000, 500)))
    panel = Panel.of(batch, level=level, together=Together())
    panel.learn(batch, None)
    twin = panel.twin()
    before = panel.judge(fresh)
    panel.learn(more, panel.judge(more))
    panel.learn(more, panel.judge(more))
    assert (twin.judge(fresh).logits == before.logits).all()
    assert (panel.judge(fresh).logits != before.logits).any()


def test_quantiles_and_medians_are_those_of_numpy() -> None:
    rng = stream(1)
    for size in (1, 2, 3, 10, 257):
        values = rng.normal(size=size)
        shares = np.array([0.0, 0.04, 0.3, 0.5, 0.98, 1.0])
        assert quantiles(values, shares) == pytest.approx(np.quantile(values, shares), rel=1e-12)
        assert median(values) == pytest.approx(np.median(values), rel=1e-12)


@pytest.mark.parametrize("expert", ["clamp", "clamp with intercept", "ramps", "noise"])
def test_a_chunk_is_forecast_as_its_parts_are(expert: str) -> None:
    """Large chunks have a faster way to the same numbers."""
    some = EXPERTS[expert]()
    batch = sample(laplace, 9000, pair=(np.zeros(3), np.ones(3)))
    some.learn(batch, whole=True)
    parts = [some.forecast(batch.rows(np.arange(k, k + 100))) for k in range(0, 9000, 100)]
    np.testing.assert_allclose(np.concatenate(parts), some.forecast(batch), rtol=1e-9)


@pytest.mark.parametrize("rows", [1, 100, 5000])
def test_row_sums_are_those_of_numpy(rows: int) -> None:
    values = stream(1).normal(size=(rows, 7))
    np.testing.assert_allclose(values.sum(axis=1), row_sums(values), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("size", [0, 5, 5000])
def test_clipped_and_finite_are_those_of_numpy(size: int) -> None:
    values = stream(1).normal(size=size)
    strange = np.concatenate([values, [np.nan, np.inf, -np.inf]])
    for numbers in (values, strange):
        assert np.array_equal(np.clip(numbers, -1, 0.5), clipped(numbers, -1, 0.5), equal_nan=True)
        assert np.array_equal(np.nan_to_num(numbers, posinf=9.0), finite(numbers, posinf=9.0))


@pytest.mark.filterwarnings("ignore:All-NaN slice")  # of numpy
def test_quantiles_of_columns_are_those_of_numpy() -> None:
    rng = stream(1)
    shares = np.array([0.0, 0.04, 0.3, 0.5, 0.98, 1.0])
    for rows in (1, 2, 3, 257):
        values = rng.normal(size=(rows, 4))
        values[:, 1:] = np.where(rng.random((rows, 3)) < 0.3, np.nan, values[:, 1:])
        values[:, 3] = np.nan
        found = column_quantiles(values, shares)
        np.testing.assert_allclose(found, np.nanquantile(values, shares, axis=0), rtol=1e-12)
    assert np.isnan(column_quantiles(np.zeros((0, 2)), shares)).all()


def test_coordinates_look_at_common_values_and_at_the_other_numbers_apart() -> None:
    """One column of numbers, one with a common value among them, one of NaN, one with infinities."""

    def mixed(x: float, n: int, rng: np.random.Generator) -> Any:
        columns = rng.normal(size=(n, 4)) + x
        columns[rng.random(n) < 0.5, 1] = 7.0
        columns[:, 2] = np.nan
        columns[rng.random(n) < 0.3, 3] = np.inf
        return columns

    batch = sample(mixed, 1001)
    features = Coordinates()
    assert features.choose(batch)
    assert features.moving.tolist() == [0, 1, 3]
    assert [(j, values.tolist()) for j, values in features.atoms[::2]] == [(1, [7.0]), (3, [np.inf])]
    assert np.isnan(features.atoms[1][1]).tolist() == [True]
    for place, j in enumerate((0, 1, 3)):
        column = batch.values[:, j]
        plain = np.isfinite(column) & (column != 7.0)
        centre = np.mean([np.median(column[plain & side]) for side in (batch.labels, ~batch.labels)])
        widths = np.quantile(np.abs(column[plain] - centre), [0.3, 0.8])
        assert features.centres[place] == pytest.approx(centre, rel=1e-12)
        assert features.widths[:, place] == pytest.approx(widths, rel=1e-12)


def test_equal_outputs_are_judged_once_and_alike() -> None:
    """The forecasts of a panel on few kinds of outputs are those on each output by itself."""
    batch = sample(lambda x, n, rng: rng.integers(0, 3, size=(n, 2)) * (1 + x), 3000)
    kinds, place = batch.distinct()
    assert place is not None
    assert len(kinds) < 30
    assert (kinds.keys[place] == batch.keys).all()
    panel = Panel.of(batch)
    panel.learn(batch, None)
    fresh = sample(lambda x, n, rng: rng.integers(0, 3, size=(n, 2)) * (1 + x), 3000, key=1)
    one_by_one = np.concatenate([panel.forecast(fresh.rows(slice(k, k + 1))) for k in range(200)])
    np.testing.assert_allclose(panel.forecast(fresh)[:200], one_by_one, rtol=1e-9)
    np.testing.assert_allclose(panel.judge(fresh).logits, panel.forecast(fresh), rtol=1e-9)


def test_weak_signals_are_expected_to_be_weak() -> None:
    """With the narrow prior the error on a signal of 0.02 is smaller than with the wide one alone."""
    rng = np.random.default_rng(4)
    features = np.concatenate([rng.standard_normal((4000, 10)), np.ones((4000, 1))], axis=1)
    truth = np.concatenate([np.full(10, 0.02), [0.0]])
    ones = (rng.random(4000) < 1 / (1 + np.exp(-features @ truth))).astype(float)
    wide = Posterior.prior(11, 0.7).given(features, ones, np.ones(4000), steps=8)
    assert np.square(wide.shrunk(0.7).mean - truth).sum() < 0.5 * np.square(wide.mean - truth).sum()


@pytest.mark.parametrize("family", ["laplace", "normal", "standard_cauchy"])
def test_known_noise_is_forecast_almost_as_by_its_own_density(family: str) -> None:
    """From 100 outputs: the expert's logits are within a tenth of those of the true scale."""

    def noisy(x: Any, n: int, rng: np.random.Generator) -> Any:
        return x + 0.7 * getattr(rng, family)(size=(n, 4))

    pair = (np.zeros(4), np.array([1.0, -1.0, 0.5, 0.0]))
    expert = Noise()
    expert.learn(sample(noisy, 100, pair=pair), whole=True)
    fresh = sample(noisy, 2000, pair=pair, key=1)
    ends = [fresh.values[:, :3] - end[:3] for end in pair]
    ratio = {
        "laplace": (np.abs(ends[0]) - np.abs(ends[1])) / 0.7,
        "normal": (np.square(ends[0]) - np.square(ends[1])) / (2 * 0.49),
        "standard_cauchy": np.log((np.square(ends[0]) + 0.49) / (np.square(ends[1]) + 0.49)),
    }[family].sum(axis=1)
    eta = np.clip(expert.forecast(fresh), 1e-12, 1 - 1e-12)
    logits = np.log(eta / (1 - eta))
    assert abs(float(logits @ ratio / (ratio @ ratio)) - 1) < 0.1
    assert np.corrcoef(logits, ratio)[0, 1] > 0.99


def test_symbols_are_looked_at_together() -> None:
    """Where others were strong one draw says much; where nothing was, four say little."""
    strong = np.array([[6.0, 0.0], [0.0, 7.0], [0.0, 5.0], [3.0, 0.0], [0.0, 3.0], [0.0, 4.0], [0.0, 1.0]])
    fair = np.array(
        [*[[510.0, 490.0], [495.0, 505.0]] * 10, *[[2.0, 2.0], [1.0, 3.0], [3.0, 1.0]] * 5, [0, 4]]
    )
    assert together(np.array([[0.0, 1.0]]))[-1] < 0.75
    assert together(strong)[-1] > 0.8
    assert together(np.array([[0.0, 4.0]]))[-1] > 0.8
    assert abs(together(fair)[-1] - 0.5) < 0.1
    assert np.allclose(together(fair)[:20], 0.5, atol=0.01)


def test_rare_symbols_may_tell_more_than_common_ones_and_less() -> None:
    """A name that was seen three times betrays its input where all rare ones do, and not where none does."""
    common, rare = [[500.0, 500.0], [510.0, 490.0]], [[0.0, 3.0], [4.0, 0.0], [0.0, 5.0], [0.0, 3.0]]
    assert together(np.array([*common, *rare]))[-1] > 0.9
    common, rare = [[500.0, 50.0], [51.0, 490.0]] * 3, [[2.0, 3.0], [3.0, 1.0], [1.0, 2.0], [2.0, 2.0]] * 4
    assert together(np.array([*common, *rare, [1.0, 3.0]]))[-1] < 0.6


def test_rates_do_not_depend_on_which_input_is_called_the_first() -> None:
    counts = np.array([[3.0, 1.0], [0.0, 7.0], [2.0, 2.0], [900.0, 100.0]])
    np.testing.assert_allclose(together(counts), 1 - together(counts[:, ::-1]))
    assert math.isclose(0.1, together(counts)[-1], rel_tol=0.05)
