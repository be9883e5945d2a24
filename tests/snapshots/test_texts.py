"""What a person reads, kept letter by letter in files beside this one.

After an intended change: `DPLITMUS_UPDATE=1 make test`, and read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dplitmus import cli

HERE = Path(__file__).parent


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("violated", "sanity-check zoo:dptext --epsilon 1 --dimension 2 --samples 100000 --seed 1"),
        ("not-found", "sanity-check zoo:laplace --epsilon 1 --dimension 8 --samples 100000 --seed 1"),
        ("nan", "sanity-check zoo:dptext-nan --epsilon 1 --dimension 1 --samples 100000 --seed 1"),
        ("zoo", "zoo"),
        ("exact", "reproduce acl2022 --exact"),
    ],
)
def test_the_text_is_as_it_was(name: str, arguments: str, capsys: pytest.CaptureFixture[str]) -> None:
    cli.run(arguments.split())
    text = capsys.readouterr().out
    file = HERE / f"{name}.txt"
    if os.environ.get("DPLITMUS_UPDATE"):
        file.write_text(text)
    assert file.read_text() == text
    if name == "violated":
        shown = (HERE.parents[1] / "README.md").read_text()
        indented = "".join(f"    {line}\n" if line else "\n" for line in text.splitlines())
        assert indented in shown, "the README shows another answer"
    too_wide = [line for line in text.splitlines() if len(line) > 80 and "Reproduce:" not in line]
    assert too_wide == []
