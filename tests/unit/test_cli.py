"""The command line as a user meets it: exit status, wording, files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

from dplitmus import cli

QUICK = ["--samples", "20000", "--seed", "1"]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = cli.run(list(arguments))
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def commands(group: click.Command = cli.cli, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = [path]
    if isinstance(group, click.Group):
        for name, command in group.commands.items():
            found += commands(command, (*path, name))
    return found


@pytest.mark.parametrize("path", commands(), ids=" ".join)
def test_every_command_has_help_with_an_example(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = run(capsys, *path, "--help")
    assert status == 0
    assert f"Usage: {' '.join(('dplitmus', *path))}" in out
    assert f"Examples:\n    dplitmus {' '.join(path)}".rstrip() in out
    assert max(map(len, out.splitlines())) <= 90


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--version")[1].startswith("dplitmus 0.")


@pytest.mark.parametrize(
    ("target", "status"), [("zoo:laplace", 0), ("zoo:adept", 1), ("zoo:dptext", 1), ("zoo:random", 0)]
)
def test_the_exit_status_is_the_verdict(target: str, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    found, out, err = run(capsys, "sanity-check", target, "--epsilon", "1", "--dimension", "2", *QUICK)
    assert found == status
    assert err == ""
    assert ("VIOLATED" in out) == (status == 1)
    assert ("NOT FOUND" in out) == (status == 0)
    for forbidden in ("safe", "passed", "is private"):
        assert forbidden not in out


def test_the_reproduce_line_reproduces(capsys: pytest.CaptureFixture[str]) -> None:
    settings = "--epsilon 0.123456789 --dimension 4 --samples 5000 --alpha 0.01 --ties coin"
    first = run(capsys, "sanity-check", "zoo:adept", *settings.split())
    line = next(line for line in first[1].splitlines() if "Reproduce:" in line)
    assert "--epsilon 0.123456789 " in line
    assert run(capsys, *line.split()[2:]) == first


@pytest.mark.parametrize(
    ("arguments", "status", "code", "words"),
    [
        ("sanity-check zoo:laplce --epsilon 1 --dimension 1", 2, "DP204", "did you mean 'zoo:laplace'"),
        ("sanity-check zoo:laplace --epsilon 0 --dimension 1", 2, "DP201", "epsilon=0.0 must"),
        ("sanity-check zoo:laplace --epsilon nan --dimension 1", 2, "DP201", "epsilon=nan must"),
        ("sanity-check zoo:laplace --epsilon inf --dimension 1", 2, "DP201", "epsilon=inf must"),
        ("sanity-check zoo:laplace --epsilon -1 --dimension 1", 2, "DP201", "epsilon=-1.0 must"),
        ("sanity-check zoo:laplace --epsilon x --dimension 1", 2, "DP202", "not a valid float"),
        ("sanity-check zoo:laplace --epsilon 1 --dimension 0", 2, "DP201", "dimension=0 must"),
        ("sanity-check zoo:laplace --epsilon 1 --dimension 1.5", 2, "DP202", "not a whole number"),
        ("sanity-check zoo:laplace --epsilon 1 --dimension 1 --samples 0", 2, "DP201", "samples=0 must"),
        ("sanity-check zoo:laplace --epsilon 1 --dimension 1 --samples inf", 2, "DP202", "whole number"),
        ("sanity-check zoo:laplace --epsilon 1 --dimension 1 --alpha 0", 2, "DP201", "alpha=0.0 must"),
        ("sanity-check zoo:laplace --epsilon 1 --dimension 1 --ties one", 2, "DP201", "ties='one' must"),
        ("sanity-check zoo:laplace --epsilon 1 --dimension 1 --threads 0", 2, "DP201", "threads=0 must"),
        ("sanity-check zoo:laplace --epsilon 1 --dimension 1 --seed -1", 2, "DP201", "seed=-1 must"),
        ("sanity-check zoo:laplace --epsilon 1", 2, "DP202", "Missing option '--dimension'"),
        ("sanity-check zoo:laplace --wrong", 2, "DP202", "--wrong"),
        ("sanity-check", 2, "DP202", "TARGET"),
        ("sanity-chek", 2, "DP202", "did you mean 'sanity-check'"),
        ("reproduce acl2021", 2, "DP202", "did you mean 'acl2022'"),
        ("reproduce acl2022 --samples 0", 2, "DP201", "samples=0 must"),
        ("explain DP1", 2, "DP208", "no code 'DP1'"),
    ],
)
def test_bad_input_is_one_coded_error_and_no_traceback(
    arguments: str, status: int, code: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found, out, err = run(capsys, *arguments.split())
    assert found == status
    assert out == ""
    assert err.startswith(f"error[{code}]: ")
    assert "\n  help: " in err
    assert words in err


def test_a_failing_mechanism_is_status_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "noise.py").write_text("def layer(x, n, rng):\n    return x.reshape(7)\n")
    status, out, err = run(
        capsys, "sanity-check", f"{tmp_path / 'noise.py'}:layer", "--epsilon", "1", "--dimension", "2", *QUICK
    )
    assert (status, out) == (3, "")
    assert "error[DP401]: layer raised ValueError" in err
    assert "(noise.py:2)" in err
    assert "Traceback" not in err


def test_json_holds_what_was_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "out" / "result.json"
    command = ["sanity-check", "zoo:copy", "--epsilon", "1", "--dimension", "2", *QUICK, "--json", str(file)]
    status, out, _ = run(capsys, *command)
    result = json.loads(file.read_text(), parse_constant=lambda name: pytest.fail(f"bare {name}"))
    assert status == 1
    assert result["schema"] == 1
    assert result["verdict"] == "violated"
    assert result["estimate"] == result["exact"] == "Infinity"
    assert result["counts"] == [[20000, 0], [0, 20000]]
    assert f"certified epsilon >= {int(result['epsilon_lower'] * 1e4) / 1e4:.4f}" in out
    assert result["claim"] == {"epsilon": 1.0, "delta": 0.0}


def test_an_unwritable_file_is_found_before_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "occupied").write_text("")
    place = str(tmp_path / "occupied" / "x")
    for command in (
        [
            "sanity-check",
            "zoo:copy",
            "--epsilon",
            "1",
            "--dimension",
            "1",
            "--samples",
            "1e15",
            "--json",
            place,
        ],
        ["reproduce", "acl2022", "--samples", "1e15", "--out", place],
        ["reproduce", "acl2022", "--exact", "--out", place],
    ):
        status, out, err = run(capsys, *command)
        assert (status, out) == (2, "")
        assert "error[DP206]" in err


def test_zoo_lists_every_mechanism_in_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    from dplitmus.mechanisms.zoo import ALIASES, ZOO

    status, out, _ = run(capsys, "zoo")
    assert status == 0
    assert all(f"zoo:{name} " in out for name in (*ZOO, *ALIASES))
    assert max(map(len, out.splitlines())) <= 80


def test_an_interrupt_is_status_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dplitmus.sanity.draw", interrupted)
    status, out, err = run(capsys, "sanity-check", "zoo:copy", "--epsilon", "1", "--dimension", "1", *QUICK)
    assert (status, out) == (130, "")
    assert "interrupted" in err


def test_no_arguments_show_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys)
    assert status == 2
    assert "Usage: dplitmus" in out + err


def test_module_and_script_are_the_same() -> None:
    script = Path(sys.executable).with_name("dplitmus")
    for command in ([str(script)], [sys.executable, "-m", "dplitmus"]):
        found = subprocess.run([*command, "explain", "dp101"], capture_output=True, text=True, check=True)
        assert found.stdout.startswith("# DP101: The claim is violated")


def test_importing_dplitmus_does_not_import_scipy_or_the_command_line() -> None:
    unwanted = {"scipy", "click", "rich", "matplotlib"}
    code = f"import dplitmus, sys; print({unwanted} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"
