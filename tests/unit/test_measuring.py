"""The sensitivity of a query: what is found, what is refused, what the command says."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dplitmus
from dplitmus.cli import run
from dplitmus.neighbours import datasets, vectors


def clipped(x: Any) -> Any:
    return x / max(1.0, float(np.linalg.norm(x)))


def test_adepts_mistake_is_found() -> None:
    found = dplitmus.sensitivity(clipped, vectors(32, low=-1.0), 2.0, "l1", seed=1)
    assert found.violated
    assert found.found == pytest.approx(2 * math.sqrt(32))
    assert not dplitmus.sensitivity(clipped, vectors(32, low=-1.0), 2.0, "l2", seed=1).violated


@pytest.mark.parametrize(
    ("query", "where", "claimed", "least"),
    [
        (np.sum, datasets(5, low=-10.0, high=10.0), 1.0, 20.0),  # nobody clips
        (np.mean, datasets(5, relation="add-remove"), 0.2, 0.5),  # divides by the records at hand
        (lambda x: np.sum(x) / max(1, np.count_nonzero(x)), datasets(5), 0.2, 1.0),  # by those that count
        (lambda x: (x - x.min()) / max(np.ptp(x), 1e-12), vectors(4), 1.0, 3.9),  # by its own range
        (lambda x: np.max(x) - np.min(x), datasets(4, high=3.0), 1.0, 3.0),
    ],
)
def test_usual_mistakes_are_found(query: Any, where: Any, claimed: float, least: float) -> None:
    found = dplitmus.sensitivity(query, where, claimed, seed=1)
    assert found.violated
    assert found.found >= least - 1e-9
    here, there = query(found.x), query(found.x_prime)
    assert np.abs(np.asarray(here) - there).sum() == pytest.approx(found.found)


@pytest.mark.parametrize(
    ("query", "where", "claimed"),
    [
        (lambda x: np.clip(x, 0, 1).sum(), datasets(5, low=-10.0, high=10.0), 1.0),
        (np.mean, datasets(5), 0.2),
        (lambda x: np.clip(x, 0, 1), vectors(6, low=-3.0, high=3.0), 6.0),
        (len, datasets(5, relation="add-remove"), 1.0),
    ],
)
def test_true_sensitivities_stand_and_are_reached(query: Any, where: Any, claimed: float) -> None:
    found = dplitmus.sensitivity(query, where, claimed, seed=1)
    assert not found.violated
    assert found.found == pytest.approx(claimed)


def test_local_search_finds_a_narrow_peak() -> None:
    def peaked(x: Any) -> float:
        return float(np.exp(-50 * np.square(np.asarray(x) - 0.3).sum()))

    found = dplitmus.sensitivity(peaked, vectors(3), 0.5, seed=1)
    assert found.found > 0.95
    assert found.how == "found by local search"


def test_gradients_of_a_torch_module_are_followed() -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.Tanh(), torch.nn.Linear(32, 8))
    few = dplitmus.sensitivity(net, vectors(64, low=-1.0), 0.1, "l2", evaluations=50, seed=1)
    assert few.violated
    assert few.how == "found by gradient ascent"


def test_a_mechanism_is_run_with_one_seed_on_both_inputs() -> None:
    def layer(x: Any, n: int, rng: np.random.Generator) -> Any:
        return 3 * x + rng.laplace(size=(n, np.size(x)))

    found = dplitmus.sensitivity(layer, vectors(2), 2.0, seed=1)
    assert found.additive
    assert found.found == pytest.approx(6.0)

    def dependent(x: Any, n: int, rng: np.random.Generator) -> Any:
        return x + rng.laplace(size=(n, np.size(x))) * (1 + np.abs(x).max())

    found = dplitmus.sensitivity(dependent, vectors(2), 2.0, seed=1)
    assert found.additive is False
    assert not found.violated
    assert "no sensitivity of a query" in str(found)


def test_the_same_seed_gives_the_same_answer() -> None:
    one, two = (dplitmus.sensitivity(clipped, vectors(5), 1.0, seed=3) for _ in range(2))
    assert str(one) == str(two)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"claimed": 0}, "claimed=0 must be a finite number above 0"),
        ({"norm": "l3"}, "norm='l3' must be one of"),
        ({"query": 3}, "query=3 must be callable"),
        ({"neighbours": [(1.0, 1.0)]}, "have two different members"),
        ({"evaluations": 0}, "evaluations=0 must be at least 1"),
        ({"query": lambda x: "text"}, "not numbers"),
        ({"query": lambda x: 1 / 0}, "failed on all"),
        ({"query": lambda x, n: x}, "takes no rng"),
    ],
)
def test_bad_input_is_refused_by_name(arguments: dict[str, Any], message: str) -> None:
    settings: dict[str, Any] = {"query": clipped, "neighbours": [(0.0, 1.0)], "claimed": 1.0}
    settings |= arguments
    with pytest.raises(dplitmus.DplitmusError, match=message.replace("(", r"\(")):
        dplitmus.sensitivity(**settings)


@pytest.mark.parametrize(
    "settings", [{"low": 2.0}, {"high": math.inf}, {"low": "x"}, {"relation": "all"}, {"dimension": 0}]
)
def test_bad_domains_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(dplitmus.InputError):
        vectors(**({"dimension": 2} | settings))


def test_the_command_says_what_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("stats.py").write_text("def total(x):\n    return sum(x)\n")
    command = ["sensitivity", "stats.py:total", "--claimed", "1", "--seed", "1", "--rows", "3"]
    assert run([*command, "--high", "4", "--json", "found.json"]) == 1
    out = capsys.readouterr().out
    assert "total: LARGER  claimed 1, found 4 (L1)" in out
    assert "dplitmus sensitivity stats.py:total --claimed 1" in out
    assert json.loads(Path("found.json").read_text())["found"] == 4.0
    assert run(command) == 0
    assert "NOT FOUND" in capsys.readouterr().out
    assert run([*command, "--pair", "[0,0,0]", "[7,0,0]"]) == 1
    assert run([*command, "--dimension", "3"]) == 2
    assert run(["sensitivity", "zoo:adept-l2", "--claimed", "2", "--dimension", "4", "--low", "-1"]) == 1
