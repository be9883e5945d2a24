"""Do the examples run, and say what they promise?"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_broken_layer_is_found_and_the_repaired_one_is_not() -> None:
    """A false alarm on the repaired one has probability at most 1e-6."""
    command = [sys.executable, str(EXAMPLES / "my_noise.py")]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "broken: VIOLATED" in out
    assert "repaired: NOT FOUND" in out


@pytest.mark.parametrize("library", ["diffprivlib", "opendp"])
def test_hand_made_neighbour_tests_are_replaced_by_one_call(library: str, tmp_path: Path) -> None:
    """Three audits each: a false alarm has probability at most 3e-6."""
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    file = EXAMPLES / "neighbour_tests" / f"test_{library}.py"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        str(file),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "False-alarm probability of all 3 audits together: at most 3e-06" in done.stdout


def test_the_notebook_runs_and_shows_its_answer() -> None:
    """Its cells are executed in order, as a notebook would."""
    notebook = json.loads((EXAMPLES / "first_audit.ipynb").read_text(encoding="utf-8"))
    names: dict[str, object] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)  # noqa: S102  (our own file)
            assert cell["outputs"] == [], "outputs are made by whoever runs it"
    result = names["result"]
    assert "VIOLATED" in result._repr_html_()  # type: ignore[attr-defined]
