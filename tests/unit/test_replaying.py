from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dplitmus
from dplitmus import cli
from dplitmus.errors import InputError

MODULE = """
def layer(x, n, rng):
    return x + rng.laplace(scale=SCALE, size=n)
"""


@pytest.fixture
def finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "noise_to_replay.py").write_text(MODULE.replace("SCALE", "0.3"))
    command = ["audit", "noise_to_replay.py:layer", "--epsilon", "1", "--seed", "1", "--json", "found.json"]
    assert cli.run(command) == 1
    return tmp_path / "found.json"


def test_a_finding_stands_when_nothing_changed(finding: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dplitmus.replay(finding).status == "stands"
    capsys.readouterr()
    assert cli.run(["replay", str(finding)]) == 1
    shown = capsys.readouterr()
    assert "The finding stands" in shown.out
    assert f"Runs:  {finding.parent / 'noise_to_replay.py'}:layer\n" == shown.err


def test_what_a_file_wants_to_run_is_shown_before_it_runs_and_fit_to_print(
    finding: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = json.loads(finding.read_text()) | {"target": "program:false \x1b[31m"}
    finding.write_text(json.dumps(hostile))
    assert cli.run(["replay", str(finding)]) == 3
    assert "Runs:  program:false  [31m\n" in capsys.readouterr().err


def test_a_repaired_mechanism_changes_the_finding(finding: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (finding.parent / "noise_to_replay.py").write_text(MODULE.replace("SCALE", "3.0"))
    assert cli.run(["replay", str(finding)]) == 0
    assert "has CHANGED" in capsys.readouterr().out


@pytest.mark.parametrize("early", [{"time_limit": 0.5}, {"finished": False}])
def test_a_run_that_was_ended_early_has_not_changed(
    early: dict[str, Any], finding: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dplitmus.replay(finding).finding["time_limit"] is None
    saved = json.loads(finding.read_text())
    finding.write_text(json.dumps(saved | early))
    assert dplitmus.replay(finding).status == "stands", "the end came before the limit"
    finding.write_text(json.dumps(saved | early | {"samples": 20, "verdict": "not-found"}))
    assert cli.run(["replay", str(finding)]) == 1
    assert "Not comparable: a time limit or Ctrl-C ended" in capsys.readouterr().out


@pytest.mark.parametrize("target", ["zoo:dptext", "zoo:rappor"])
def test_zoo_findings_can_be_replayed(target: str, tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    assert cli.run(["audit", target, "--samples", "1500", "--seed", "4", "--json", str(file)]) in {0, 1}
    assert dplitmus.replay(file).status == "stands"


def test_a_saved_result_names_its_mechanism(tmp_path: Path) -> None:
    result = dplitmus.audit(_copy, epsilon=1.0, neighbours=[(0.0, 1.0)], samples=2000, seed=1)
    saved = json.loads(result.save(tmp_path / "found.json").read_text())
    assert saved["target"].endswith(":_copy")
    assert saved["counterexample"]["guesses"] > 0
    contract = "schema verdict claim epsilon_lower alpha samples seconds seed level mechanism counterexample"
    assert {*contract.split(), "pairs", "notes", "replayable", "version", "platform"} <= saved.keys()
    local = dplitmus.audit(lambda x, n, rng: [x] * n, epsilon=1.0, neighbours=[(0, 1)], samples=2000, seed=1)
    with pytest.raises(InputError, match="names no target"):
        dplitmus.replay(local.save(tmp_path / "local.json"))


def _copy(x: float, n: int, rng: Any) -> list[float]:
    return [x] * n


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "it is not JSON"),
        ("{", "it is not JSON"),
        ("[1, 2]", "not the JSON of an audit"),
        ('{"schema": 1}', "not the JSON of an audit"),
        ("[" * 100_000, "it is not JSON"),
        ("\udcff", "it is not JSON"),
    ],
)
def test_what_is_no_finding_is_refused(content: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    file.write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(InputError, match=rf"DP209.*{words}"):
        dplitmus.replay(file)


def test_other_schemas_and_missing_files_are_refused(finding: Path) -> None:
    changed = json.loads(finding.read_text()) | {"schema": 2}
    finding.write_text(json.dumps(changed))
    with pytest.raises(InputError, match="its schema is 2"):
        dplitmus.replay(finding)
    with pytest.raises(InputError, match="DP209"):
        dplitmus.replay(finding.parent / "absent.json")
