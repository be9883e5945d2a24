"""Do the examples run, and say what they promise?"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_broken_layer_is_found_and_the_repaired_one_is_not() -> None:
    """A false alarm on the repaired one has probability at most 1e-6."""
    command = [sys.executable, str(EXAMPLES / "my_noise.py")]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "broken: VIOLATED" in out
    assert "repaired: NOT FOUND" in out
