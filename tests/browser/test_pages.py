"""The pages in a real browser: an installed Chromium, driven by playwright-core.

Without a browser they are skipped with a sentence; DPLITMUS_BROWSER=required makes that a failure (in CI),
and DPLITMUS_BROWSER=/path/to/chromium names the browser. Screenshots are kept in $DPLITMUS_SCREENSHOTS.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dplitmus
from dplitmus import findings
from dplitmus.report import index
from dplitmus.report.text import at_least

HERE = Path(__file__).parent
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
Looks = dict[tuple[str, str], dict[str, Any]]


def noisy(x: float, n: int, rng: np.random.Generator) -> Any:
    return x + rng.laplace(scale=0.5, size=n)


def wide(x: float, n: int, rng: np.random.Generator) -> Any:
    return x + rng.laplace(scale=2.0, size=n)


def words(x: str, n: int, rng: np.random.Generator) -> list[str]:
    return [x if coin < 0.5 else "other" for coin in rng.random(n)]


def pages(directory: Path) -> Path:
    hostile = "<script>alert(1)</script>"
    words.__qualname__ = words.__name__ = hostile
    found = {
        "violated": dplitmus.audit(noisy, epsilon=1.0, neighbours=[(0.0, 1.0)], seed=1),
        "not-found": dplitmus.audit(wide, epsilon=1.0, neighbours=[(0.0, 1.0)], seed=1, samples=20_000),
        "hostile": dplitmus.audit(
            words, epsilon=1.0, neighbours=[(hostile, "</script><img src=x onerror=alert(2)>" * 9)], seed=1
        ),
        "long": dplitmus.audit(
            lambda x, n, rng: x[17] + rng.laplace(scale=0.1, size=n),
            epsilon=1.0,
            neighbours=[(np.zeros(2000), np.eye(2000)[17])],
            seed=1,
        ),
    }
    for name, result in found.items():
        result.to_html(directory / f"{name}.html")
    read = [one for name in found for one in findings.read(directory / f"{name}.html")]
    (directory / "index.html").write_text(index.page(read))
    return directory


def browser() -> str | None:
    wish = os.environ.get("DPLITMUS_BROWSER", "")
    if wish not in {"", "required"}:
        return wish
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@pytest.fixture(scope="module")
def looks(tmp_path_factory: pytest.TempPathFactory) -> Looks:
    node, chromium = shutil.which("node"), browser()
    missing = [
        words
        for words, there in (
            ("no chromium", chromium),
            ("no node", node),
            ("no playwright-core (make browser)", (HERE / "node_modules" / "playwright-core").is_dir()),
        )
        if not there
    ]
    if missing:
        sentence = f"browser tests were skipped: {', '.join(missing)}"
        if os.environ.get("DPLITMUS_BROWSER"):
            pytest.fail(sentence)
        pytest.skip(sentence)
    assert node
    assert chromium
    directory = pages(tmp_path_factory.mktemp("pages"))
    out = Path(os.environ.get("DPLITMUS_SCREENSHOTS", directory)).resolve()
    out.mkdir(parents=True, exist_ok=True)
    files = sorted(map(str, directory.glob("*.html")))
    done = subprocess.run(
        [node, "look.mjs", chromium, str(out), *files],
        cwd=HERE,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {(one["page"], one["look"]): one for one in json.loads(done.stdout)}


def test_nothing_goes_wrong_and_no_request_leaves_the_file(looks: Looks) -> None:
    assert len(looks) == 25
    for one in looks.values():
        assert one["problems"] == []
        assert one["foreign"] == []


def test_no_page_scrolls_sideways(looks: Looks) -> None:
    for (page, look), one in looks.items():
        assert one["scroll"] <= one["width"], f"{page} on {look}"


def test_the_banner_says_what_the_json_says(looks: Looks) -> None:
    for (page, _), one in looks.items():
        if page == "index":
            continue
        finding = json.loads(one["data"][0])
        spoken = "VIOLATED" if finding["verdict"] == "violated" else "NOT FOUND"
        assert one["banner"].startswith(spoken)
        assert at_least(finding["epsilon_lower"]) in one["banner"]
        assert one["title"] == f"{finding['mechanism']}: {spoken}"


def test_the_dark_page_is_dark(looks: Looks) -> None:
    assert looks["violated", "desktop"]["background"] == "rgb(255, 255, 255)"
    assert looks["violated", "dark"]["background"] == "rgb(22, 22, 22)"
    assert looks["violated", "dark"]["ink"] != looks["violated", "desktop"]["ink"]


def test_without_scripts_everything_is_there(looks: Looks) -> None:
    for page in ("violated", "not-found", "index"):
        plain, full = looks[page, "plain"], looks[page, "desktop"]
        assert plain["headings"] == full["headings"]
        assert plain["banner"] == full["banner"]
        assert len(plain["mechanisms"]) == len(full["mechanisms"])


def test_charts_have_titles_and_a_size(looks: Looks) -> None:
    for look in ("desktop", "phone", "print"):
        charts = looks["violated", look]["charts"]
        assert len(charts) == 3
        assert all(chart["width"] > 250 and chart["height"] > 100 and chart["title"] for chart in charts)


def test_the_summary_can_be_sorted(looks: Looks) -> None:
    up, down = ([float(key) for key in keys] for keys in looks["index", "desktop"]["sorted"])
    assert up == sorted(up)
    assert down == sorted(down, reverse=True)
    assert len(up) == 4
    assert looks["index", "desktop"]["opened"] == 1, "a link opens the finding it leads to"
