"""Is every line of the trophy case what its command gives?"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dplitmus import cli
from dplitmus.report.text import at_least

PAGE = (Path(__file__).parents[2] / "docs" / "trophies.md").read_text(encoding="utf-8")
FOUND = re.findall(r"^\| `zoo:(\S+)` \|.*\| (\S+) \| (\S+) \| (\S+) \|$", PAGE, re.MULTILINE)
MISSED = re.findall("`zoo:([a-z0-9-]+)`", PAGE.split("## Not found")[1])
pytestmark = pytest.mark.slow


def audit(name: str, tmp_path: Path) -> dict[str, object]:
    file = tmp_path / "found.json"
    assert cli.run(["audit", f"zoo:{name}", "--seed", "1", "--samples", "200000", "--json", str(file)]) in {
        0,
        1,
    }
    found: dict[str, object] = json.loads(file.read_text())
    return found


@pytest.mark.parametrize(("name", "claimed", "certified", "draws"), FOUND, ids=[row[0] for row in FOUND])
def test_what_is_found(name: str, claimed: str, certified: str, draws: str, tmp_path: Path) -> None:
    found = audit(name, tmp_path)
    assert found["verdict"] == "violated"
    assert found["claim"] == {"epsilon": float(claimed), "delta": 0.0}
    assert at_least(found["epsilon_lower"]) == certified  # type: ignore[arg-type]
    assert f"{found['samples']:,}" == draws


@pytest.mark.parametrize("name", MISSED)
def test_what_is_not_found(name: str, tmp_path: Path) -> None:
    assert audit(name, tmp_path)["verdict"] == "not-found"


def test_the_page_was_read() -> None:
    assert len(FOUND) >= 11
    assert len(MISSED) >= 3
