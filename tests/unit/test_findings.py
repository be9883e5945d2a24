"""The JSON of an audit: its schema, what is refused, and the round trip of everything JSON cannot say."""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import dplitmus
from dplitmus import cli, findings
from dplitmus.errors import InputError
from dplitmus.report import index
from dplitmus.report import json as report_json

SCHEMA = json.loads(findings.schema_text())


def noisy(x: Any, n: int, rng: np.random.Generator) -> Any:
    return np.nan_to_num(np.asarray(x, dtype=float).sum(), posinf=9.0) + rng.laplace(scale=0.3, size=n)


def audited(pair: tuple[Any, Any] = (0.0, 1.0), mechanism: Any = noisy) -> dplitmus.Result:
    return dplitmus.audit(mechanism, epsilon=1.0, neighbours=[pair], samples=4000, seed=1)


@pytest.fixture(scope="module")
def finding() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(audited().to_json())
    return found


def test_the_schema_is_a_schema_and_describes_what_is_written(finding: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(finding, SCHEMA)
    assert set(finding) == set(SCHEMA["properties"]), "every field is documented"
    quiet = dplitmus.audit(
        lambda x, n, rng: rng.random(n), epsilon=1.0, neighbours=[(0, 1)], samples=9, seed=1
    )
    written = json.loads(quiet.to_json())
    assert written["detectable"] == "Infinity"
    jsonschema.validate(written, SCHEMA)


def test_the_command_line_prints_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["report", "--schema"]) == 0
    assert json.loads(capsys.readouterr().out) == SCHEMA


DAMAGES: list[tuple[list[Any], Any]] = [
    (["claim"], 3),
    (["claim", "epsilon"], "1"),
    (["claim", "epsilon"], 0),
    (["samples"], "many"),
    (["samples"], 1.5),
    (["samples"], True),
    (["samples"], -1),
    (["verdict"], "private"),
    (["pairs"], []),
    (["pairs"], {}),
    (["pairs", 0, "name"], None),
    (["pairs", 0, "forms"], ["numbers"]),
    (["pairs", 0, "forms"], ["numbers", "pickle"]),
    (["epsilon_lower"], "infinite"),
    (["counterexample", "event"], 7),
    (["counterexample", "guess"], "y"),
    (["counterexample"], []),
    (["history", 0], None),
    (["history", 0, "draws"], "32"),
    (["distributions", "bins", 0, "low"], "low"),
    (["notes"], [{"code": "DP304"}]),
    (["alphas"], {"search": 0, "panel": 1e-8, "rule": 1e-8}),
    (["replayable"], "yes"),
    (["seed"], None),
    (["target"], 4),
]


@pytest.mark.parametrize(("place", "value"), DAMAGES, ids=lambda part: str(part)[:40])
def test_damage_is_refused_with_the_place_and_jsonschema_agrees(
    place: list[Any], value: Any, finding: dict[str, Any], tmp_path: Path
) -> None:
    damaged = copy.deepcopy(finding)
    inner = damaged
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(damaged, SCHEMA)
    file = tmp_path / "damaged.json"
    file.write_text(json.dumps(damaged))
    with pytest.raises(InputError, match=r"DP209.*finding\." + str(place[0])):
        findings.read(file)


@pytest.mark.parametrize("name", SCHEMA["required"])
def test_a_missing_field_is_named(name: str, finding: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "short.json"
    file.write_text(json.dumps({key: value for key, value in finding.items() if key != name}))
    with pytest.raises(InputError, match="DP209"):
        findings.read(file)


def test_fields_of_later_versions_are_ignored_and_other_schemas_refused(
    finding: dict[str, Any], tmp_path: Path
) -> None:
    file = tmp_path / "newer.json"
    file.write_text(json.dumps(finding | {"mood": "fine", "version": "9.9"}))
    assert findings.read(file)[0]["mood"] == "fine"
    file.write_text(json.dumps(finding | {"schema": 2}))
    with pytest.raises(InputError, match="its schema is 2, and this version reads schema 1"):
        findings.read(file)


@pytest.mark.parametrize(
    "value",
    [
        0,
        -1.5,
        math.inf,
        -math.inf,
        "NaN",
        "Infinity",
        "text",
        True,
        None,
        {"a": [1, "b"]},
        (1, 2),
        ["a", "b"],
        np.array([1.0, math.inf, -math.inf]),
        np.array([[1, 2], [3, 4]]),
    ],
    ids=repr,
)
def test_inputs_come_back_as_they_were(value: Any) -> None:
    text = report_json.dumps(report_json._inputs(value, 17))
    read = json.loads(text)
    back = report_json.as_input(read["x"], read["forms"][0])
    assert type(back) is type(value)
    assert np.array_equal(back, value) if isinstance(value, np.ndarray) else back == value


def test_nan_and_objects() -> None:
    plain = report_json._inputs(np.array([math.nan, 1.0]), {1, 2})
    read = json.loads(report_json.dumps(plain))
    assert np.isnan(report_json.as_input(read["x"], "numbers")[0])
    assert (read["x_prime"], read["forms"]) == ("{1, 2}", ["numbers", "repr"])

    class Rude:
        def __repr__(self) -> str:
            raise ValueError

    assert report_json._inputs(Rude(), 1)["x"] == "<Rude that cannot be printed>"


def test_infinite_inputs_and_results_survive_a_replay(tmp_path: Path) -> None:
    result = audited((np.array([0.0, 1.0]), np.array([math.inf, 1.0])))
    file = result.save(tmp_path / "found.json")
    jsonschema.validate(json.loads(file.read_text()), SCHEMA)
    assert dplitmus.replay(file).status == "stands"
    read = findings.read(file)[0]
    bins = read["distributions"]["bins"]
    assert {bins[0]["low"], bins[-1]["high"]} == {-math.inf, math.inf}


def test_objects_as_inputs_cannot_be_replayed(tmp_path: Path) -> None:
    result = audited(({1}, {2}), mechanism=_of_sets)
    with pytest.raises(InputError, match="objects that JSON cannot hold"):
        dplitmus.replay(result.save(tmp_path / "sets.json"))


def _of_sets(x: set[int], n: int, rng: np.random.Generator) -> Any:
    return rng.laplace(scale=0.1, size=n) + sum(x)


def test_a_huge_pair_is_summed_up_and_kept() -> None:
    x = np.zeros(300_000)
    x_prime = x.copy()
    x_prime[17] = 1.0
    result = audited((x, x_prime))
    written = json.loads(result.to_json())
    assert len(written["pairs"][0]["x"]) == 300_000
    assert max(map(len, str(result).splitlines())) <= 80
    shown = result.to_html().split("<script")[0]
    assert "in 1 of 300,000 places: 17" in shown
    assert len(shown) < 100_000


def test_bins_that_have_neither_a_name_nor_edges_are_drawn_all_the_same(finding: dict[str, Any]) -> None:
    damaged = copy.deepcopy(finding)
    damaged["distributions"]["bins"][0] |= {"name": "", "low": None}
    assert "unnamed" in index.page([findings.checked("", json.dumps(damaged))])
