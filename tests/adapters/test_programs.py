"""Any program as a mechanism: what it reads and writes, and every way in which it can fail."""

from __future__ import annotations

import pickle
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import dplitmus
from dplitmus import cli
from dplitmus.adapters import program
from dplitmus.errors import DplitmusError, InputError, MechanismError

pytestmark = pytest.mark.skipif(shutil.which("sh") is None, reason="the programs of these tests are for sh")
RNG = np.random.default_rng(0)
NOISE = """
import json, random, sys
request = json.loads(sys.stdin.readline())
source = random.Random(request["seed"])
for _ in range(request["count"]):
    print(json.dumps(request["input"] + source.expovariate(1) - source.expovariate(1)))
"""


def sh(script: str, *, timeout: float = 20.0) -> object:
    return program.adapt(["sh", "-c", script], timeout=timeout)(0.0, 3, RNG)


def test_a_program_gets_input_count_and_seed_and_its_lines_are_the_outputs() -> None:
    outputs = program.adapt(["sh", "-c", "read request; echo 1; echo '[2, 3]'; echo '\"no\"'"])(0.0, 3, RNG)
    assert outputs == [1, (2, 3), "no"]
    (request,) = program.adapt(["cat"])(np.array([1.0, 2.0]), 1, np.random.default_rng(7))
    assert request["input"] == [1.0, 2.0]
    assert request["count"] == 1
    assert request == program.adapt(["cat"])(np.array([1.0, 2.0]), 1, np.random.default_rng(7))[0]


@pytest.mark.parametrize(
    ("script", "code", "words"),
    [
        (
            "echo 'Loading model...'; echo 1; echo 2",
            "DP442",
            "'Loading model...' in line 1, which is no JSON",
        ),
        ("echo 1; echo 2", "DP442", "wrote 2 lines, not 3"),
        ("true", "DP442", "wrote 0 lines, not 3"),
        ("yes 1", "DP442", "wrote more than 3 lines"),
        (
            "echo 1; echo why it failed >&2; exit 7",
            "DP441",
            "exited with status 7; it said:\n    why it failed",
        ),
        ("kill -9 $$", "DP441", "was killed by signal 9"),
        ("printf '\\377\\376\\n1\\n2\\n'", "DP442", "in line 1, which is no JSON"),
    ],
)
def test_what_a_program_does_wrong_is_told_with_its_own_words(script: str, code: str, words: str) -> None:
    with pytest.raises(MechanismError) as caught:
        sh(script)
    assert code == caught.value.code
    assert words in caught.value.message
    assert caught.value.exit_status == 3


@pytest.mark.parametrize("script", ["sleep 600", "sleep 600 & wait", "echo 1; exec sleep 600"])
def test_a_program_that_never_ends_is_ended_with_its_children(script: str) -> None:
    with pytest.raises(MechanismError, match=r"did not end within 0.5 s; [01] of 3 lines came"):
        sh(script, timeout=0.5)


def test_a_line_that_never_ends_does_not_fill_the_memory() -> None:
    with pytest.raises(MechanismError, match="wrote a line of more than 1,048,576 bytes"):
        sh("yes '' | tr -d '\\n' < /dev/zero")


def test_endless_complaints_neither_block_nor_fill_the_memory() -> None:
    with pytest.raises(MechanismError) as caught:
        sh("i=0; while [ $i -lt 20000 ]; do echo complaint $i >&2; i=$((i+1)); done; exit 1")
    assert caught.value.message.count("    complaint") == 20
    assert "complaint 19999" in caught.value.message


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("./not-there", "cannot start './not-there': No such file"),
        (str(Path(__file__)), "Permission denied"),
        ("", "the command is empty"),
        ("sh -c 'open", "No closing quotation"),
    ],
)
def test_what_cannot_be_started_is_bad_input(command: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        program.adapt(command)(0.0, 3, RNG)
    assert caught.value.code == "DP245"


def test_a_time_limit_must_be_above_zero() -> None:
    with pytest.raises(DplitmusError, match="timeout=0 must be"):
        program.adapt("cat", timeout=0)


def test_on_the_command_line_a_program_is_refuted_and_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Noise of scale 1 at a claim of 0.1: the audit misses it with probability below 1e-6."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "noise.py").write_text(NOISE)
    target = f"program:{sys.executable} noise.py"
    asked = ["audit", target, "--epsilon", "0.1", "--samples", "20000", "--seed", "1", "--json", "found.json"]
    assert cli.run(asked) == 1
    assert "noise.py: VIOLATED" in capsys.readouterr().out
    assert dplitmus.replay("found.json").status == "stands"


def test_on_the_command_line_a_failing_program_gives_status_3(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["audit", "program:sh -c 'echo too bad >&2; exit 5'", "--epsilon", "1"]) == 3
    assert "too bad" in capsys.readouterr().err
    assert cli.run(["audit", "program:sleep 600", "--epsilon", "1", "--call-timeout", "0.3"]) == 3
    assert "DP406" in capsys.readouterr().err


def test_a_program_travels_with_its_time_limit() -> None:
    there = pickle.loads(pickle.dumps(program.adapt("sleep 600", timeout=0.3)))  # noqa: S301  (made here)
    with pytest.raises(MechanismError, match=r"did not end within 0\.3 s"):
        there(0.0, 1, RNG)
