"""Names, outputs and terminals that printing does not like."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dplitmus
from dplitmus import findings
from dplitmus.report import text

CODE = """
class Silent:
    def __repr__(self): raise ValueError
def silent(x, n, rng): return [Silent() if rng.random() < .5 else x for _ in range(n)]

class Nameless:
    def __call__(self, x, n, rng): return x + rng.laplace(scale=.2, size=n)
    def __getattribute__(self, name):
        if name in ("__qualname__", "__name__"): raise ValueError
        return super().__getattribute__(name)
    def __repr__(self): raise ValueError
nameless = Nameless()

def surrogate(x, n, rng): return ["\\udcff" + str(x) for _ in range(n)]
surrogate.__name__ = surrogate.__qualname__ = "s\\udcff\\x1b[31m"

def umlaut(x, n, rng): return ["\\u00fc" + str(x) for _ in range(n)]
umlaut.__name__ = umlaut.__qualname__ = "sch\\u00f6n"
"""
ASCII = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize("environment", [{}, ASCII, {"NO_COLOR": "1", "COLUMNS": "40"}], ids=str)
@pytest.mark.parametrize("name", ["silent", "nameless", "surrogate", "umlaut"])
def test_what_cannot_be_printed_is_audited_reported_and_replayed(
    name: str, environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "odd.py").write_text(CODE)
    command = [sys.executable, "-m", "dplitmus"]
    audit = f"audit odd.py:{name} --epsilon 1 --pair 0 1 --seed 1 --samples 3000 --html a.html --json a.json"
    for arguments, words in ((audit.split(), b"VIOLATED"), (["replay", "a.html"], b"finding stands")):
        done = subprocess.run(
            [*command, *arguments],
            cwd=tmp_path,
            capture_output=True,
            env=os.environ | environment,
            check=False,
        )
        assert done.returncode == 1, done.stderr
        assert words in done.stdout
        assert b"Traceback" not in done.stderr
        assert b"\x1b" not in done.stdout
    assert findings.read(tmp_path / "a.html") == findings.read(tmp_path / "a.json")


def test_forty_columns_break_lines_and_lose_no_word() -> None:
    result = dplitmus.audit(
        lambda x, n, rng: x + rng.laplace(scale=0.3, size=n), epsilon=1.0, neighbours=[(0, 1)], seed=1
    )
    narrow = text.audit(result, width=40)
    assert max(map(len, narrow.splitlines())) <= 40
    assert narrow.split() == text.audit(result).split()
    note = narrow.split("Note:")[1].split("\n\n")[0].splitlines()
    assert {len(line) - len(line.lstrip()) for line in note[1:]} == {4}, "a note is one paragraph"


def test_a_long_name_has_a_line_of_its_own() -> None:
    result = dplitmus.audit(lambda x, n, rng: [x] * n, epsilon=1.0, neighbours=[(0, 1)], seed=1)
    short, long = (str(replace(result, mechanism="m" * letters)).splitlines() for letters in (9, 70))
    assert max(map(len, short + long)) <= 80
    assert short[0].split() == (long[0].replace("m" * 70, "m" * 9) + long[1]).split()
    assert short[2:] == long[3:]


def test_long_vectors_show_where_they_differ() -> None:
    x, x_prime = np.zeros(1000), np.eye(1000)[3]
    result = dplitmus.audit(
        lambda x, n, rng: x.sum() + rng.laplace(scale=0.1, size=n),
        epsilon=1.0,
        neighbours=[(x, x_prime)],
        seed=1,
    )
    assert "they differ in 1 of 1,000 places: 3" in str(result)
