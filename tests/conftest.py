"""What several tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def published_losses() -> Path:
    """Locate the authors' published results, which are not part of this repository.

    They are looked for in $DPLITMUS_DATA, or in shared/data beside the clone.
    """
    data = Path(os.environ.get("DPLITMUS_DATA", REPOSITORY.parent / "shared" / "data"))
    path = data / "paper" / "published_losses.json"
    if not path.is_file():
        pytest.skip(f"no {path.name}: set DPLITMUS_DATA to the directory that holds paper/")
    return path
