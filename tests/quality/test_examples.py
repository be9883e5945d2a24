"""Do the examples run, and say what they promise?"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

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


def test_the_notebook_runs_in_a_kernel_and_shows_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The seeds are fixed: it fails always or never."""
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")  # or jupyter_core warns that the default will change
    notebook = nbformat.read(EXAMPLES / "first_audit.ipynb", as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] for cell in cells), "outputs are made by whoever runs it"
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    shown = [
        output.data for cell in cells for output in cell.outputs if output.output_type == "execute_result"
    ]
    assert any("VIOLATED" in data["text/html"] and "<svg" in data["text/html"] for data in shown)
    assert all(output.output_type != "error" for cell in cells for output in cell.outputs)
