"""The audit, the zoo and hostile circumstances on the command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dplitmus import cli

COMMAND = [sys.executable, "-m", "dplitmus"]
CODE = """
import sys, time
from helper_of_noise import SCALE
def layer(x, n, rng):
    from helper_of_noise import SCALE          # imported late: the directory must still be on the path
    return x + rng.laplace(scale=SCALE, size=(n, x.size))
def leaves(x, n, rng): sys.exit(0)
def sleeps(x, n, rng):
    open("asleep", "w").close()
    time.sleep(60)
class Rude(Exception):
    def __str__(self): raise ValueError
def rude(x, n, rng): raise Rude
def own(x, n, rng):
    import numpy
    return x + numpy.random.laplace(size=(n, x.size))
def seeded(x, n, rng):
    import numpy
    return x + numpy.random.default_rng(1).laplace(size=(n, x.size))
def optional(x, n, scale=1.0):
    import numpy
    return x + numpy.random.laplace(scale=scale, size=(n, x.size))
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "helper_of_noise.py").write_text("SCALE = 1.0\n")
    (tmp_path / "noise.py").write_text("from __future__ import annotations\n" + CODE)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = cli.run(list(arguments))
    captured = capsys.readouterr()
    return status, captured.out, captured.err


CHECK = ["--epsilon", "1", "--dimension", "2", "--samples", "2000", "--seed", "1"]


@pytest.mark.parametrize(
    ("function", "status", "words"),
    [
        ("layer", 1, ""),
        ("optional", 1, ""),
        ("own", 1, ""),
        ("leaves", 3, "error[DP401]: leaves raised SystemExit"),
        ("rude", 3, "error[DP401]: rude raised Rude: <Rude that cannot be printed>"),
        ("seeded", 3, "error[DP405]: seeded repeats its draws"),
    ],
)
@pytest.mark.usefixtures("here")
def test_every_mechanism_ends_in_a_verdict_or_a_coded_failure(
    function: str, status: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found, out, err = run(capsys, "sanity-check", f"noise.py:{function}", *CHECK)
    assert found == status
    assert words in err
    assert ("DP303" in out) == (function in {"own", "optional"})


@pytest.mark.usefixtures("here")
def test_an_audit_keeps_its_finding_and_names_it(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "audit", "zoo:copy", "--epsilon", "1", "--pair", "0", "1", "--seed", "1")
    assert status == 1
    file = Path(next(line for line in out.splitlines() if "Reproduce:" in line).split()[-1])
    assert file.parent == Path(".dplitmus")
    assert json.loads(file.read_text())["verdict"] == "violated"
    assert max(map(len, out.splitlines())) <= 80
    assert run(capsys, "audit", "zoo:random", "--pair", "0", "1", "--seed", "1", "--samples", "3000")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ("audit noise.py:layer", "DP202", "Missing option '--epsilon'"),
        ("audit noise.py:layer --epsilon 1 --pair 0 0", "DP201", "two different members"),
        ("audit noise.py:layer --epsilon 1 --pair x 0", "DP201", "must be JSON"),
        ("audit noise.py:layer --epsilon 1 --pair [0] [0,1]", "DP201", "members of one shape"),
        ("audit noise.py:layer --epsilon 1 --relation some", "DP201", "relation='some' must be one of"),
        ("audit zoo:nothing", "DP204", "no mechanism named"),
        ("audit zoo:laplace --epsilon 0", "DP201", "epsilon=0.0 must"),
        ("audit zoo:laplace --delta 2", "DP201", "delta=2.0 must"),
        ("audit zoo:laplace --samples 1e30", "DP201", "must be at most"),
        ("audit zoo:laplace --stop soon", "DP201", "stop='soon' must be"),
        ("replay absent.json", "DP209", "No such file"),
        ("sanity-check zoo:laplace --epsilon 1 --dimension 1e30", "DP201", "must be at most"),
        (
            "sanity-check zoo:laplace --epsilon 1e-320 --dimension 3",
            "DP201",
            "sensitivity / epsilon=inf must",
        ),
        ("sanity-check dptext --epsilon 1 --dimension 1", "DP203", "did you mean 'zoo:dptext'"),
        ("reproduce acl2022 --threads 0", "DP201", "threads=0 must"),
        ("reproduce acl2022 --exact --theorems", "DP202", "exclude each other"),
    ],
)
@pytest.mark.usefixtures("here")
def test_bad_input_is_a_coded_error(
    arguments: str, code: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run(capsys, *arguments.split())
    assert (status, out) == (2, "")
    assert err.startswith(f"error[{code}]")
    assert words in err


def test_an_unforeseen_failure_is_never_status_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("inside")

    monkeypatch.setattr("dplitmus.bounds.vote_lower", broken)
    status, _, err = run(capsys, "sanity-check", "zoo:copy", *CHECK)
    assert status == 2
    assert "error[DP210]: unexpected ZeroDivisionError: inside" in err


def test_a_reader_who_has_gone_away_changes_neither_status_nor_files(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    command = [*COMMAND, "sanity-check", "zoo:random", *CHECK, "--json", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert process.returncode == 0
    assert json.loads(file.read_text())["verdict"] == "not-found"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_disk_behind_standard_output_is_an_error() -> None:
    with Path("/dev/full").open("w") as full:
        process = subprocess.run(
            [*COMMAND, "zoo"], stdout=full, stderr=subprocess.PIPE, check=False, env={**os.environ}
        )
    assert process.returncode == 2
    assert b"error[DP206]: cannot write to standard output" in process.stderr


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_an_interrupt_does_not_wait_for_a_slow_mechanism(here: Path) -> None:
    """One SIGINT ends the process although its threads sleep for a minute; `timeout` is the check."""
    command = [*COMMAND, "sanity-check", "noise.py:sleeps", *CHECK, "--threads", "2"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, cwd=here) as process:
        while not (here / "asleep").exists() and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"interrupted" in err


def test_results_go_through_pipes_and_links(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("old")
    link.symlink_to(real)
    run(capsys, "sanity-check", "zoo:copy", *CHECK, "--json", str(link))
    assert link.is_symlink()
    assert json.loads(real.read_text())["verdict"] == "violated"


def test_the_zoo_can_be_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from dplitmus.mechanisms import zoo

    few = {name: zoo.ZOO[name] for name in ("laplace", "copy", "prefix-sum", "rnm-4")}
    monkeypatch.setattr(zoo, "ZOO", few)
    status, out, _ = run(capsys, "zoo", "--run", "--samples", "2000")
    assert status == 0
    assert "Broken: 2, found: 1. Not found: rnm-4." in out
    assert "Correct: 2, accused: none" in out
