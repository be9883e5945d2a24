"""Release: secure noise, the grid, the ledger."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dplitmus.errors import InputError
from dplitmus.text.bound import Bound
from dplitmus.text.ledger import Ledger
from dplitmus.text.releasing import GRID, grid_scale, noised, on_grid, release
from dplitmus.text.secure import _geometric, discrete_laplace, uniform_below

BOUND = Bound(kind="l1", radius=1.0, dimension=3)


@pytest.mark.parametrize("scale", [1, 2, 7])
def test_discrete_laplace_has_its_law(scale: int) -> None:
    """Chi-square on 200,000 draws, 20 cells: a right sampler fails with probability 1e-6."""
    drawn = discrete_laplace(scale, 200_000, np.random.default_rng(5).bytes)
    reach = np.arange(-9, 10)
    weight = np.exp(-np.abs(reach) / scale)
    ratio = math.exp(-1 / scale)
    inside = weight * (1 - ratio) / (1 + ratio)
    expected = 200_000 * np.append(inside, 1 - inside.sum())
    found = np.append([(drawn == value).sum() for value in reach], (np.abs(drawn) > 9).sum())
    usable = expected > 5
    statistic = ((found - expected)[usable] ** 2 / expected[usable]).sum()
    assert statistic < 65  # 99.9999 % point of chi-square with 19 degrees of freedom is 64.4


def test_large_scales_keep_their_mean() -> None:
    """The mean of |y| / scale over 100,000 draws is 1 with a standard error of 0.003."""
    drawn = discrete_laplace(2**40, 100_000, np.random.default_rng(6).bytes)
    assert float(np.abs(drawn / 2**40).mean()) == pytest.approx(1.0, abs=0.02)
    assert float((drawn > 0).mean()) == pytest.approx(0.5, abs=0.01)


def test_series_of_coins_have_the_geometric_law_across_draws() -> None:
    """Small draws, so that parts of a series are carried over: chi-square, fails with probability 1e-6."""
    source = np.random.default_rng(12).bytes
    drawn = np.concatenate([_geometric(3, source) for _ in range(4_000)])
    ratio = math.exp(-1)
    expected = 12_000 * np.append((1 - ratio) * ratio ** np.arange(6), ratio**6)
    found = np.append([(drawn == value).sum() for value in range(6)], (drawn >= 6).sum())
    assert ((found - expected) ** 2 / expected).sum() < 38.3  # 99.9999 % point, 6 degrees of freedom


def test_uniform_integers_are_uniform_and_secure_by_default() -> None:
    drawn = uniform_below(3, 30_000, np.random.default_rng(7).bytes)
    assert np.bincount(drawn, minlength=3).min() > 9_500
    assert not np.array_equal(discrete_laplace(1000, 50), discrete_laplace(1000, 50))


@pytest.mark.parametrize("kind", ["l1", "l2", "box"])
def test_the_scale_covers_the_largest_distance_on_the_grid(kind: str) -> None:
    bound = Bound(kind=kind, radius=0.7, dimension=5)
    z = np.random.default_rng(8).normal(size=(200, 5)) * 9
    end = {"l1": np.abs(z).sum(1), "l2": np.linalg.norm(z, axis=1), "box": np.abs(z).max(1)}[kind]
    points = on_grid(0.7 * z / end[:, None], bound)
    farthest = np.abs(points[:, None] - points[None]).sum(axis=2).max()
    for epsilon in (0.1, 1.0, 3.3):
        assert farthest / grid_scale(bound, epsilon) <= epsilon


def test_a_release_lies_on_the_grid_and_is_charged() -> None:
    ledger = Ledger(3.0)
    out = release(np.zeros((4, 3)), BOUND, epsilon=1.0, ledger=ledger, texts_per_person=2)
    assert np.array_equal(out / GRID, np.rint(out / GRID))
    assert (ledger.spent(), ledger.rest()) == (2.0, 1.0)
    with pytest.raises(InputError, match=r"epsilon=2 must be at most 1, the rest"):
        release(np.zeros((1, 3)), BOUND, epsilon=2.0, ledger=ledger)
    assert ledger.spent() == 2.0
    release(np.zeros((1, 3)), BOUND, epsilon=1.0, ledger=ledger)
    assert ledger.rest() == 0.0


def test_many_small_releases_never_overspend() -> None:
    ledger = Ledger(1.0)
    for _ in range(9):
        ledger.spend(0.1, "tenth")
    assert ledger.rest() <= 0.1
    with pytest.raises(InputError, match="DP224"):
        ledger.spend(0.11, "too much")


@pytest.mark.parametrize("latents", [np.ones((1, 3)), np.full((1, 3), np.nan), np.zeros((1, 2)), np.zeros(3)])
def test_what_is_not_bounded_is_refused_and_costs_nothing(latents: np.ndarray) -> None:
    ledger = Ledger(1.0)
    with pytest.raises(InputError, match="DP225"):
        release(latents, BOUND, epsilon=1.0, ledger=ledger)
    assert ledger.spent() == 0.0


def test_an_epsilon_too_small_for_the_grid_is_refused() -> None:
    with pytest.raises(InputError, match="be at least"):
        grid_scale(BOUND, 1e-12)


def test_the_noise_of_a_release_has_the_declared_scale() -> None:
    """20,000 x 3 draws of |noise| / scale: mean 1 within 0.03, seven standard errors."""
    points = np.zeros((20_000, 3), dtype=np.int64)
    out = noised(points, grid_scale(BOUND, 2.0), np.random.default_rng(9).bytes)
    assert float(np.abs(out).mean()) == pytest.approx(2.0 / 2.0, abs=0.03)


def test_a_ledger_in_a_file_remembers(tmp_path: Path) -> None:
    file = tmp_path / "ledger.json"
    Ledger.open(file, 2.0).spend(1.5, "first")
    again = Ledger.open(file, 2.0)
    assert again.spent() == 1.5
    with pytest.raises(InputError, match="DP224"):
        again.spend(1.0, "second")
    with pytest.raises(InputError, match="budget=9 must be 2"):
        Ledger.open(file, 9.0)
    file.write_text(json.dumps({"kind": "other"}))
    with pytest.raises(InputError, match="is not a ledger"):
        Ledger.open(file, 2.0)


SPENDER = """
import sys
from dplitmus.errors import InputError
from dplitmus.text.ledger import Ledger

ledger = Ledger.open(sys.argv[1], 10.0)
print("ready", flush=True)
sys.stdin.readline()  # both start at once
paid = 0
for _ in range(100):
    try:
        ledger.spend(0.125, sys.argv[2])
        paid += 1
    except InputError:
        pass
print(paid)
"""


def test_two_processes_cannot_overspend_one_ledger(tmp_path: Path) -> None:
    """80 eighths fit into 10, and 200 are tried at once: exactly 80 are paid, and all of them are written."""
    file = tmp_path / "ledger.json"
    spenders = [
        subprocess.Popen(
            [sys.executable, "-c", SPENDER, str(file), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("one", "other")
    ]
    for spender in spenders:
        assert spender.stdout is not None
        assert spender.stdout.readline() == "ready\n"
    for spender in spenders:
        assert spender.stdin is not None
        spender.stdin.write("go\n")
        spender.stdin.flush()
    paid = [int(spender.communicate(timeout=60)[0]) for spender in spenders]
    notes = [entry.note for entry in Ledger.open(file, 10.0).entries]
    assert sum(paid) == 80
    assert [notes.count("one"), notes.count("other")] == paid
    assert Ledger.open(file, 10.0).rest() == 0.0


def test_a_ledger_opened_twice_with_another_budget_is_refused_when_it_spends(tmp_path: Path) -> None:
    one, other = (Ledger.open(tmp_path / "ledger.json", budget) for budget in (1.0, 2.0))
    one.spend(1.0, "first")
    with pytest.raises(InputError, match="budget=2 must be 1"):
        other.spend(1.0, "second")
    assert other.entries == []
