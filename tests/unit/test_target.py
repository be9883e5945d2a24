from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dplitmus import target
from dplitmus.errors import InputError
from dplitmus.mechanisms import DPText

CODE = """
import helper_beside_it
def layer(x, n, rng):
    return x + rng.laplace(size=(n, x.size))
class Noise:
    @staticmethod
    def add(x, n, rng):
        return layer(x, n, rng)
number = 3
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "helper_beside_it.py").write_text("")
    (tmp_path / "my_noise.py").write_text(CODE)
    (tmp_path / "broken.py").write_text("1/0")
    (tmp_path / "leaves.py").write_text("raise SystemExit(7)")
    return tmp_path


def load(name: str) -> object:
    return target.load(name, epsilon=0.5, dimension=4)


def test_a_zoo_target_is_built_for_the_claim() -> None:
    assert load("zoo:dptext") == DPText(epsilon=0.5, sensitivity=4, reading="zero")


@pytest.mark.parametrize(
    "name", ["my_noise.py:layer", "./my_noise.py:layer", "my_noise:layer", "my_noise.py:Noise.add"]
)
@pytest.mark.usefixtures("here")
def test_functions_are_found_by_file_and_by_module(name: str) -> None:
    mechanism = load(name)
    assert callable(mechanism)
    assert mechanism(np.zeros(4), 3, np.random.default_rng(0)).shape == (3, 4)


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("my_noise.py:lyer", "DP203", "did you mean 'layer'"),
        ("my_noise.py:zzz", "DP203", "define it in my_noise.py"),
        ("my_noise.py:number", "DP205", "mechanism=3 must be callable"),
        ("absent.py:layer", "DP203", "no file 'absent.py'"),
        ("absent_module:layer", "DP203", "ModuleNotFoundError"),
        ("broken.py:layer", "DP203", "ZeroDivisionError"),
        ("leaves.py:layer", "DP203", "SystemExit"),
        ("laplace", "DP203", "did you mean 'zoo:laplace'"),
        ("my_noise.py:", "DP203", "names no function"),
        (":layer", "DP203", "names no function"),
        ("", "DP203", "names no function"),
        ("zoo:", "DP204", "no mechanism named 'zoo:'"),
        ("zoo:copi", "DP204", "did you mean 'zoo:copy'"),
    ],
)
@pytest.mark.usefixtures("here")
def test_what_cannot_be_loaded_is_told_with_help(name: str, code: str, words: str) -> None:
    with pytest.raises(InputError, match=rf"error\[{code}\](.|\n)*{words}"):
        load(name)
