"""What several tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

REPOSITORY = Path(__file__).parents[1]

# Time is never asserted (a busy machine is no bug), and the same commit tries the same examples.
settings.register_profile("dplitmus", deadline=None, derandomize=True)
settings.load_profile("dplitmus")


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
