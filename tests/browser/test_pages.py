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
from dplitmus import cli, findings
from dplitmus.report import index
from dplitmus.report.text import at_least
from dplitmus.text import page as text_page
from dplitmus.text.comparing import CORRECTED, NO_NOISE, PUBLISHED, SAME_SIZE, Comparison, Row
from dplitmus.text.score import Score

HERE = Path(__file__).parent
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
Looks = dict[tuple[str, str], dict[str, Any]]
AUDITS = ("violated", "not-found", "hostile", "long")
HOSTILE = "<script>alert(1)</script>"


def noisy(x: float, n: int, rng: np.random.Generator) -> Any:
    return x + rng.laplace(scale=0.5, size=n)


def wide(x: float, n: int, rng: np.random.Generator) -> Any:
    return x + rng.laplace(scale=2.0, size=n)


def words(x: str, n: int, rng: np.random.Generator) -> list[str]:
    return [x if coin < 0.5 else "other" for coin in rng.random(n)]


def pages(directory: Path) -> Path:
    words.__qualname__ = words.__name__ = HOSTILE
    found = {
        "violated": dplitmus.audit(noisy, epsilon=1.0, neighbours=[(0.0, 1.0)], seed=1),
        "not-found": dplitmus.audit(wide, epsilon=1.0, neighbours=[(0.0, 1.0)], seed=1, samples=20_000),
        "hostile": dplitmus.audit(
            words, epsilon=1.0, neighbours=[(HOSTILE, "</script><img src=x onerror=alert(2)>" * 9)], seed=1
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
    (directory / "compare.html").write_text(text_page.index_html(comparison()))
    paper = directory / "paper"
    assert cli.run(["reproduce", "acl2022", "--samples", "1000", "--seed", "1", "--out", str(paper)]) == 0
    shutil.copy(paper / "index.html", directory / "reproduce.html")
    return directory


def comparison() -> Comparison:
    """What `text compare` may find, with a hostile text and a long name; its page is a function of it."""

    def score(value: float) -> Score:
        return Score(value=value, low=value - 0.04, high=value + 0.04, baseline=0.5)

    def row(system: str, variant: str, epsilon: float | None, value: float) -> Row:
        return Row(
            system=system,
            variant=variant,
            epsilon=epsilon,
            utility=score(value),
            private={"gender": score(0.6), "a rather long name of an attribute": score(value)},
            linkage=score(1 - value),
            bleu=100 * value,
            exact=value,
            certified=epsilon and epsilon * (12 if variant == PUBLISHED else 0.7),
            violated=epsilon and variant == PUBLISHED,  # type: ignore[arg-type]
            draws=6000,
            example=f"{HOSTILE} {'word ' * 30}",
        )

    rows = [
        row(system, variant, epsilon, 0.55 + 0.03 * place)
        for system in ("dptext", "adept")
        for place, (variant, epsilon) in enumerate(
            [
                (NO_NOISE, None),
                *((v, e) for e in (1.0, 10.0, 100.0) for v in (PUBLISHED, SAME_SIZE, CORRECTED)),
            ]
        )
    ]
    path = [1.5 + i / 100 for i in range(500)]
    learned = {"published, cap 5": path, "published, no cap": path[::-1], "corrected, no cap": path}
    return Comparison(
        rows=rows,
        learned=learned,
        cap=5.0,
        original=HOSTILE,
        data=HOSTILE,
        command="dplitmus text",
        seconds=9,
    )


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
    assert len(looks) == 7 * 5
    for one in looks.values():
        assert one["problems"] == []
        assert one["foreign"] == []


def test_no_page_scrolls_sideways(looks: Looks) -> None:
    for (page, look), one in looks.items():
        assert one["scroll"] <= one["width"], f"{page} on {look}"


def test_the_banner_says_what_the_json_says(looks: Looks) -> None:
    for (page, _), one in looks.items():
        if page not in AUDITS:
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
    for page in ("violated", "not-found", "index", "compare", "reproduce"):
        plain, full = looks[page, "plain"], looks[page, "desktop"]
        assert plain["headings"] == full["headings"]
        assert plain["banner"] == full["banner"]
        assert len(plain["mechanisms"]) == len(full["mechanisms"])


@pytest.mark.parametrize(("page", "number"), [("violated", 3), ("compare", 13), ("reproduce", 13)])
def test_charts_have_titles_and_a_size(page: str, number: int, looks: Looks) -> None:
    for look in ("desktop", "phone", "print"):
        charts = looks[page, look]["charts"]
        assert len(charts) == number
        assert all(chart["width"] > 250 and chart["height"] > 100 and chart["title"] for chart in charts)


def test_the_summary_can_be_sorted(looks: Looks) -> None:
    up, down = ([float(key) for key in keys] for keys in looks["index", "desktop"]["sorted"])
    assert up == sorted(up)
    assert down == sorted(down, reverse=True)
    assert len(up) == 4
    assert looks["index", "desktop"]["opened"] == 1, "a link opens the finding it leads to"
