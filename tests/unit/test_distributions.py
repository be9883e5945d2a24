"""What an audit records for the report."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import dplitmus
from dplitmus.mechanisms.zoo import find


def halves(x: float, n: int, rng: np.random.Generator) -> Any:
    return x + rng.laplace(scale=0.5, size=n)


def words(x: int, n: int, rng: np.random.Generator) -> list[str]:
    return [f"<{x}>" if coin < 0.3 else "other" for coin in rng.random(n)]


def often_itself(x: float, n: int, rng: np.random.Generator) -> Any:
    return np.where(rng.random(n) < 0.5, x, rng.laplace(scale=20.0, size=n))


def audited(mechanism: Any, **settings: Any) -> dplitmus.Result:
    usual: dict[str, Any] = {"epsilon": 1.0, "neighbours": [(0.0, 1.0)], "seed": 1, "samples": 20_000}
    return dplitmus.audit(mechanism, **usual | settings)


def test_the_history_grows_and_ends_with_the_search() -> None:
    result = audited(halves)
    draws = [moment.draws for moment in result.history]
    assert draws == sorted(set(draws))
    assert result.history[-1].log_wealth == result.log_wealth
    assert result.history[-1].draws <= result.samples
    assert all(moment.epsilon_lower <= result.epsilon_lower for moment in result.history)
    assert len(audited(halves, samples=200_000, stop="never").history) < 64


def test_the_bins_hold_the_sample_and_the_event_begins_at_the_threshold() -> None:
    result = audited(halves)
    assert result.distributions
    bins = result.distributions.bins
    assert (bins[0].low, bins[-1].high) == (-math.inf, math.inf)
    assert all(one.high == other.low for one, other in pairwise(bins))
    shaded = [bin_.event for bin_ in bins]
    assert 0 < sum(shaded) < len(shaded)
    assert result.counterexample
    edges = {f"{bin_.low:.6g}" for bin_ in bins if bin_.low is not None}
    assert result.counterexample.event.split()[-1] in edges
    guess = result.counterexample.guess == "x'"
    inside = [(bin_.x, bin_.x_prime) for bin_ in bins if bin_.event]
    assert (sum(b for _, b in inside) > sum(a for a, _ in inside)) == guess


def test_symbols_have_bars_with_names() -> None:
    result = audited(words, neighbours=[(0, 1)])
    assert result.distributions
    bars = {bar.name: bar for bar in result.distributions.bins}
    assert set(bars) == {"'<0>'", "'<1>'", "'other'"}
    assert [bar.name for bar in bars.values() if bar.event] in (["'<0>'"], ["'<1>'"])
    assert bars["'<0>'"].x_prime == 0


def test_an_atom_among_many_numbers_has_a_bar_of_its_own() -> None:
    result = audited(often_itself, epsilon=3.0)
    assert result.counterexample
    assert result.counterexample.event in {"y == 0", "y == 1"}
    assert result.distributions
    assert result.distributions.bins[0].name in {"0", "1"}
    assert result.distributions.bins[0].event


@pytest.mark.parametrize("name", ["dptext-nan", "svt-5", "rappor", "copy", "random"])
def test_every_kind_of_output_fits_in_few_bins(name: str) -> None:
    entry = find(name)
    result = dplitmus.audit(
        entry.build(1.0, 2), epsilon=1.0, neighbours=entry.pairs or [([0, 0], [1, 1])], samples=2000, seed=1
    )
    assert result.distributions
    assert 1 <= len(result.distributions.bins) <= 48
    assert sum(bin_.x + bin_.x_prime for bin_ in result.distributions.bins) <= result.samples


def test_what_is_recorded_depends_on_the_seed_alone() -> None:
    assert audited(halves) == audited(halves)
    assert audited(halves).distributions == audited(halves).distributions


def test_numbers_among_other_things_are_drawn_along_their_axis() -> None:
    def sometimes(x: float, n: int, rng: np.random.Generator) -> Any:
        noise = rng.laplace(scale=0.5, size=n)
        return [(True, x + value) if value > 0 else (False, None) for value in noise]

    drawn = audited(sometimes).distributions
    assert drawn is not None
    assert drawn.of == "y[1]"
    assert [bin_.name for bin_ in drawn.bins if bin_.name] == ["other"]
    assert len(drawn.bins) > 16
    assert any(bin_.event for bin_ in drawn.bins)
