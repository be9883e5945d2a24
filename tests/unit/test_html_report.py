"""The report as a page: what it says, that it is whole, and that nothing from outside gets markup into it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dplitmus
from dplitmus import cli, findings
from dplitmus.errors import InputError
from dplitmus.report import finding as page
from dplitmus.report.json import as_input
from dplitmus.report.text import at_least

VOID = {"meta", "link", "br", "img", "hr", "input"}
HOSTILE = "<script>alert('1')</script>&\"'\u202e\x00"


class Outline(HTMLParser):
    """Tags that are balanced, and the tables and charts among them."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open it."""
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note it."""
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Close what was opened last."""
        assert self.open.pop() == tag


def outline(text: str) -> Outline:
    parser = Outline()
    parser.feed(text)
    assert parser.open == []
    return parser


def noisy(x: float, n: int, rng: np.random.Generator) -> Any:
    return x + rng.laplace(scale=0.5, size=n)


def wide(x: float, n: int, rng: np.random.Generator) -> Any:
    return x + rng.laplace(scale=2.0, size=n)


def audited(mechanism: Any = noisy, **settings: Any) -> dplitmus.Result:
    usual: dict[str, Any] = {"epsilon": 1.0, "neighbours": [(0.0, 1.0)], "seed": 1, "samples": 20_000}
    return dplitmus.audit(mechanism, **usual | settings)


def check_is_readable(text: str) -> None:
    seen = outline(text)
    for tag, attributes in seen.tags:
        assert not any(name.startswith("on") for name in attributes), "no inline handlers"
        assert "src" not in attributes
        assert str(attributes.get("href", "#")).startswith("#")
        if tag == "th":
            assert attributes["scope"] in {"row", "col"}
        if tag == "svg":
            assert attributes["role"] == "img"
    identifiers = [attributes["id"] for _, attributes in seen.tags if "id" in attributes]
    assert len(identifiers) == len(set(identifiers))
    for _, attributes in seen.tags:
        named = (attributes.get("aria-labelledby") or "").split()
        assert set(named) <= set(identifiers)


SECTIONS = [
    "Both output distributions",
    "How the bound was computed",
    "Bound and wealth against draws",
    "Pairs tried",
    "What the run could have seen",
    "Notes",
    "Reproduce",
]


def test_a_violation_has_every_section_and_its_own_numbers() -> None:
    result = audited()
    text = result.to_html()
    check_is_readable(text)
    assert re.findall("<h2>(.*?)</h2>", text) == ["Counterexample", *SECTIONS]
    assert f"at least {at_least(result.epsilon_lower)}" in text
    assert result.counterexample
    assert result.counterexample.event.replace("<", "&lt;").replace(">", "&gt;") in text
    assert f"P[Bin({result.counterexample.guesses}, u) &gt;= {result.counterexample.correct}]" in text
    assert len(text.encode()) < 100_000
    assert text.count("<svg") == text.count("<title id=") == 3


def test_not_found_never_says_private_and_says_what_it_could_have_seen() -> None:
    text = audited(wide).to_html()
    check_is_readable(text)
    assert re.findall("<h2>(.*?)</h2>", text) == SECTIONS
    assert "NOT FOUND" in text
    assert "would have been caught with probability 99 %" in text
    shown = re.sub("<style>.*?</style>|<script.*?</script>", "", text, flags=re.DOTALL).lower()
    for word in (" safe", "passed", "is private"):
        assert word not in shown


def test_what_came_from_the_user_is_escaped() -> None:
    def mechanism(x: str, n: int, rng: np.random.Generator) -> list[str]:
        return [x if coin < 0.5 else "other" for coin in rng.random(n)]

    mechanism.__qualname__ = mechanism.__name__ = HOSTILE
    result = audited(mechanism, neighbours=[(HOSTILE, "</script><img src=x onerror=alert(1)>")])
    for text in (result.to_html(), result._repr_html_()):
        check_is_readable(text)
        tags = [tag for tag, _ in outline(text).tags]
        assert "img" not in tags
        assert tags.count("script") == (1 if text.startswith("<!doctype") else 0)
    assert "alert" in result.to_html(), "what was escaped is shown"


def test_a_finding_that_somebody_forged_is_escaped_too(tmp_path: Path) -> None:
    forged = findings.read(audited().save(tmp_path / "f.json"))[0]
    bad = "<img src=x onerror=alert(1)>"
    for name in ("mechanism", "target", "version", "platform", "level"):
        forged[name] = bad
    forged["counterexample"] |= {"event": bad, "remark": bad, "x": bad}
    forged["exam"] |= {"pair": bad}
    forged["pairs"][0]["name"] = bad
    forged["notes"] = [{"code": bad, "text": bad}]
    forged["distributions"] |= {"of": bad, "pair": bad}
    forged["distributions"]["bins"][0]["name"] = bad
    assert "img" not in [tag for tag, _ in outline(page.page(forged)).tags]


def test_the_page_can_be_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "report.html"
    command = [
        "audit",
        "zoo:dptext",
        "--epsilon",
        "1",
        "--pair",
        "0",
        "1",
        "--seed",
        "1",
        "--html",
        str(file),
    ]
    assert cli.run(command) == 1
    assert f"dplitmus replay {file}" in capsys.readouterr().out
    assert dplitmus.replay(file).status == "stands"
    assert cli.run(["replay", str(file)]) == 1
    again = page.command(findings.read(file)[0])
    assert again == (
        "dplitmus audit 'zoo:dptext-nan0(1.0,1)' --epsilon 1.0 --pair 0 1 --samples 1000000 "
        "--alpha 1e-06 --seed 1"
    )


def test_many_findings_give_an_index(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = audited().save(tmp_path / "a.json")
    second = audited(wide).save(tmp_path / "b.json")
    index = tmp_path / "index.html"
    assert cli.run(["report", str(first), str(second), "--html", str(index)]) == 0
    assert "False-alarm probability of all 2 audits together: at most 2e-06" in capsys.readouterr().out
    text = index.read_text()
    check_is_readable(text)
    assert "1 of 2 claims are refuted" in text
    assert [one["verdict"] for one in findings.read(index)] == ["violated", "not-found"]
    assert dplitmus.replay(index, number=2).status == "stands"
    with pytest.raises(InputError, match="it holds 2 findings"):
        dplitmus.replay(index)
    with pytest.raises(InputError, match="no finding number 3"):
        dplitmus.replay(index, number=3)
    assert cli.run(["report", str(index), "--html", str(tmp_path / "again.html")]) == 0
    assert (tmp_path / "again.html").read_text() == text


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("<!doctype html><p>hello", "a page without a finding"),
        ('<script type="application/json" class="dplitmus-finding">{"schema": 1, "ki', "cut off"),
        ("<", "a page without a finding"),
    ],
)
def test_foreign_and_truncated_pages_are_refused(content: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(content)
    with pytest.raises(InputError, match=rf"DP209.*{words}"):
        findings.read(file)


def test_every_truncation_of_a_page_is_refused(tmp_path: Path) -> None:
    text = audited(samples=2000).to_html()
    start = text.index('class="dplitmus-finding"')
    end = text.index("</script>", start)
    for length in range(0, end, 997):
        file = tmp_path / "cut.html"
        file.write_text(text[:length])
        with pytest.raises(InputError, match="DP209"):
            findings.read(file)


def test_a_pair_of_very_many_numbers_is_summed_up_and_kept(tmp_path: Path) -> None:
    """What people read stays short; the JSON, in a file or in the page, gives the inputs back."""
    places = 250_000
    x = np.zeros(places)
    x_prime = x.copy()
    x_prime[[3, 123_456]] = 1.0, -np.inf
    result = audited(lambda x, n, rng: x[3] + rng.laplace(scale=0.1, size=n), neighbours=[(x, x_prime)])
    text, card = str(result), result._repr_html_()
    assert len(text) < 3000
    assert "they differ in 2 of 250,000 places: 3, 123456" in text
    page = result.to_html(tmp_path / "big.html")
    shown = re.sub("<script.*?</script>", "", page, flags=re.DOTALL)
    assert len(card) < len(shown) < 100_000
    assert "in 2 of 250,000 places: 3, 123456" in shown
    for file in (result.save(tmp_path / "big.json"), tmp_path / "big.html"):
        pair = findings.read(file)[0]["pairs"][0]
        for name, value in (("x", x), ("x_prime", x_prime)):
            np.testing.assert_array_equal(value, as_input(pair[name], "numbers"))


def test_to_html_writes_the_page_and_refuses_where_it_cannot(tmp_path: Path) -> None:
    result = audited(samples=2000)
    assert result.to_html(tmp_path / "r.html") == (tmp_path / "r.html").read_text()
    with pytest.raises(InputError, match="DP206"):
        result.to_html(tmp_path)


def test_a_notebook_shows_the_answer_without_touching_the_rest_of_the_page() -> None:
    card = audited()._repr_html_()
    check_is_readable(card)
    assert "VIOLATED" in card
    style = re.search("<style>(.*?)</style>", card, re.DOTALL)
    assert style
    rules = re.sub(r"@media[^{]*\{(.*?\})\s*\}", r"\1", style[1], flags=re.DOTALL)
    selectors = [part for rule in rules.split("}") if "{" in rule for part in rule.split("{")[0].split(",")]
    assert all(selector.strip().startswith(".dplitmus") for selector in selectors)
