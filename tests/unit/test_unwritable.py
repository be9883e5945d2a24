"""Places that cannot be written to: refused at once, with DP206, whoever runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import dplitmus
from dplitmus import cli

NOBODY = 65534
AUDIT = ["audit", "zoo:adept", "--samples", "3000", "--seed", "1"]


@pytest.fixture
def occupied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file where a directory would be needed: not even root can write below it."""
    monkeypatch.chdir(tmp_path)
    assert cli.run([*AUDIT, "--json", "found.json"]) in {0, 1}
    (tmp_path / "file").write_text("")
    return tmp_path / "file"


@pytest.mark.parametrize(
    "command",
    [
        [*AUDIT, "--json", "{}/a.json"],
        [*AUDIT, "--html", "{}/a.html"],
        ["report", "found.json", "--html", "{}/a.html"],
        ["reproduce", "acl2022", "--samples", "1e15", "--out", "{}/a"],
        ["reproduce", "acl2022", "--exact", "--out", "{}/a"],
        ["text", "compare", "--demo", "--out", "{}/a"],
        ["text", "train", "adept", "--demo", "--out", "{}/a"],
    ],
    ids=lambda command: " ".join(command[:3]) + " " + command[-2],
)
@pytest.mark.parametrize("place", ["file", "/proc/nothing"])
def test_every_command_refuses_before_the_work(
    command: list[str], place: str, occupied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(occupied.parent.iterdir())
    assert cli.run([word.format(place) for word in command]) == 2
    out, err = capsys.readouterr()
    assert "error[DP206]: cannot write to" in err
    assert "VIOLATED" not in out
    assert sorted(occupied.parent.iterdir()) == before


def test_the_library_refuses_with_the_same_code(occupied: Path) -> None:
    result = dplitmus.audit(lambda x, n, rng: rng.random(n), epsilon=1.0, neighbours=[(0, 1)], samples=50)
    for write in (result.save, result.to_html):
        with pytest.raises(dplitmus.DplitmusError, match=r"error\[DP206\]: cannot write to"):
            write(occupied / "a.json")


AS_ANOTHER_USER = f"""
import os, sys
from dplitmus import cli

os.chdir(sys.argv[1])
cli.run({AUDIT})  # so that everything is imported while this user can still read it
os.chdir(sys.argv[2])
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid({NOBODY})
    os.setuid({NOBODY})
sys.exit(cli.run({AUDIT}) * 10 + cli.run({AUDIT} + ["--json", "a.json"]))
"""


def test_permissions_bind_those_whom_they_bind(tmp_path: Path) -> None:
    """A directory that may be entered and not changed, by another user when this one is root."""
    mine, locked = tmp_path / "mine", tmp_path / "locked"
    mine.mkdir()
    locked.mkdir(mode=0o555)
    command = [sys.executable, "-c", AS_ANOTHER_USER, str(mine), str(locked)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 22
    assert done.stderr.count("error[DP206]: cannot write to") == done.stderr.count("Permission denied") == 2
    assert "Traceback" not in done.stderr
    assert list(locked.iterdir()) == []
