from __future__ import annotations

import re
from pathlib import Path

import pytest

from dplitmus import explanations
from dplitmus.errors import InputError

SOURCE = Path(explanations.__file__).parents[1]
HEADINGS = ["What it means", "Why it matters", "Example", "What to do", "References"]


@pytest.mark.parametrize("code", explanations.codes())
def test_every_page_has_its_title_and_the_five_headings(code: str) -> None:
    page = explanations.explanation(code)
    assert re.match(rf"# {code}: \w", page)
    assert re.findall(r"^## (.*)$", page, re.MULTILINE) == HEADINGS
    assert all(len(part.strip()) > 10 for part in re.split(r"^## .*$", page, flags=re.MULTILINE)[1:])
    assert max(map(len, page.splitlines())) <= 110


def test_codes_in_the_source_and_pages_are_the_same() -> None:
    files = [*SOURCE.rglob("*.py"), SOURCE.parent / "_dplitmus_pytest.py"]
    used = {code for path in files for code in re.findall(r'"(DP\d{3})"', path.read_text())}
    assert used == set(explanations.codes())


def test_case_and_blanks_do_not_matter() -> None:
    assert explanations.explanation(" dp101 ") == explanations.explanation("DP101")


@pytest.mark.parametrize("code", ["DP999", "", "../errors", "DP1O1", "\N{SNOWMAN}"])
def test_an_unknown_code_is_refused(code: str) -> None:
    with pytest.raises(InputError, match="DP208"):
        explanations.explanation(code)
