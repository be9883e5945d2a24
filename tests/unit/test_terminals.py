"""What people see in real terminals: 40 columns, without colour, without UTF-8."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from dplitmus import cli

Terminal = Callable[..., tuple[int, str]]
PLAIN = {"NO_COLOR": "1", "TERM": "dumb"}
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""}
LATIN = {"PYTHONIOENCODING": "latin-1"}
WORDS = """
def words(x, n, rng):
    return ["na\u00efve \u2192 " + str(int(x)) if coin < 0.5 else "\u65e5\u672c" for coin in rng.random(n)]
"""
AUDIT = ["audit", "words.py:words", "--epsilon", "1", "--pair", "0", "1", "--seed", "1", "--json", "f.json"]


def seen(shown: str) -> list[str]:
    """The lines that stay on the screen: a progress bar takes itself away."""
    return [line.rsplit("\r", 1)[-1] for line in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown).split("\n")]


@pytest.mark.parametrize(
    ("command", "status", "words"),
    [
        ("zoo", 0, "zoo:laplace"),
        ("sanity-check zoo:dptext --epsilon 1 --dimension 2 --samples 1000 --seed 1", 1, "VIOLATED"),
        ("audit zoo:adept --samples 20000 --seed 1", 1, "VIOLATED"),
        ("explain DP102", 0, "DP102"),
        ("audit zoo:laplce --epsilon 1", 2, "did you mean"),
        ("audit zoo:laplace --epsilon much", 2, "DP202"),
        ("replay absent.json", 2, "DP209"),
        ("reproduce", 2, "acl2022"),
    ],
)
def test_nothing_is_wider_than_forty_columns(
    command: str, status: int, words: str, terminal: Terminal
) -> None:
    code, shown = terminal(*command.split(), **PLAIN)
    assert code == status
    assert words in shown
    assert max(map(len, seen(shown))) <= 40


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        yield from commands(found, (*path, name)) if isinstance(found, click.Group) else [(*path, name)]


@pytest.mark.parametrize("path", list(commands(cli.cli)), ids=" ".join)
def test_every_help_page_fits_and_loses_no_word(
    path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pages = []
    for columns in ("80", "40"):
        monkeypatch.setenv("COLUMNS", columns)
        assert cli.run([*path, "--help"]) == 0
        pages.append(capsys.readouterr().out)
    wide, narrow = pages
    assert max(map(len, wide.splitlines())) <= 80
    assert max(map(len, narrow.splitlines())) <= 40
    assert "..." not in wide.replace("[ARGS]...", "").replace("[FILES]...", "").replace("tcp://...", "")
    wide, narrow = ("".join(page.replace("\\\n", "").split()) for page in pages)
    assert narrow == wide


def test_a_command_that_was_broken_is_still_one_for_the_shell(tmp_path: Path, terminal: Terminal) -> None:
    _, shown = terminal("audit", "zoo:adept", "--samples", "20000", "--seed", "1", **PLAIN)
    pasted = shown.split("Reproduce:", 1)[1].split("Explain:", 1)[0]
    words = shlex.split(pasted.replace("\\\n", ""))
    assert words[:2] == ["dplitmus", "replay"]
    assert (tmp_path / words[2]).is_file()
    assert len(words) == 3


def test_a_narrow_table_loses_its_gaps_and_no_words(terminal: Terminal) -> None:
    _, wide = terminal("zoo", columns=80)
    _, narrow = terminal("zoo", columns=40)
    assert wide.split() == narrow.split()


def test_without_colour_there_is_none(tmp_path: Path, terminal: Terminal) -> None:
    (tmp_path / "words.py").write_text(WORDS, encoding="utf-8")
    for command in (AUDIT, ["replay", "f.json"], ["report", "f.json"], ["zoo"]):
        _, shown = terminal(*command, **PLAIN)
        assert "\x1b" not in shown


@pytest.mark.parametrize("locale", [ASCII, LATIN], ids=["ascii", "latin-1"])
def test_without_utf8_letters_are_spelt_and_the_files_are_whole(
    locale: dict[str, str], tmp_path: Path, terminal: Terminal
) -> None:
    (tmp_path / "words.py").write_text(WORDS, encoding="utf-8")
    audits = [[*AUDIT, "--html", "f.html"], ["replay", "f.html"]]
    for command in audits:
        status, shown = terminal(*command, **PLAIN, **locale)
        assert status == 1
        assert r"\u2192" in shown
        lines = [line for line in seen(shown) if not line.startswith("Runs:")]  # a path stays whole
        assert max(map(len, lines)) <= 46  # escapes are longer than the letters they spell
    assert terminal("report", "f.json", **PLAIN, **locale)[0] == 0
    assert "\u2192" in (tmp_path / "f.html").read_text(encoding="utf-8")


def test_what_may_be_copied_is_not_broken(terminal: Terminal) -> None:
    status, shown = terminal("report", "--schema")
    assert status == 0
    assert max(map(len, seen(shown))) > 40
