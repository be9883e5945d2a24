"""An audit as one offline page.

Takes a finding (the plain data of an audit, as in its JSON); gives HTML. Everything in a finding may have
come from a stranger: it is escaped by the parts of `report.html`, which alone write markup.
"""

from __future__ import annotations

import json as standard_json
import shlex
from typing import TYPE_CHECKING, Any

from dplitmus.neighbours import in_relation_words
from dplitmus.report import computing, drawing, html, json
from dplitmus.report.text import at_least
from dplitmus.target import MODEL_TARGET

if TYPE_CHECKING:
    from collections.abc import Iterator

Finding = dict[str, Any]
_MOST_ROWS = 200  # of a table of pairs
_LONG = 12  # numbers of an input that are shown one by one
_SHORT_COMMAND = 400


def page(finding: Finding) -> str:
    """The whole page."""
    return html.page(title(finding), [*body(finding, "f"), html.embedded(json.compact(finding))])


def card(finding: Finding) -> str:
    """The answer and what it rests on, for a notebook."""
    name = html.paragraph(title(finding))
    return html.fragment(
        [name, _banner(finding), *_counterexample(finding), *drawing.distributions(finding, "n")]
    )


def title(finding: Finding) -> str:
    """Mechanism and verdict."""
    return f"{finding['mechanism']}: {verdict_words(finding)}"


def violated(finding: Finding) -> bool:
    """Whether the claim is refuted."""
    return bool(finding["verdict"] == "violated")


def verdict_words(finding: Finding) -> str:
    """The verdict as it is printed."""
    return "VIOLATED" if violated(finding) else "NOT FOUND"


def body(finding: Finding, identity: str) -> list[str]:
    """All parts below the title; `identity` keeps the charts of several findings on one page apart."""
    return [
        _banner(finding),
        html.facts(_facts(finding)),
        *_counterexample(finding),
        *drawing.distributions(finding, identity),
        html.heading("How the bound was computed"),
        *(html.paragraph(text) for text in computing.paragraphs(finding)),
        *drawing.history(finding, identity),
        *_pairs(finding),
        html.heading("What the run could have seen"),
        html.paragraph(computing.sight(finding)),
        *_notes(finding),
        *_again(finding),
    ]


def claimed(finding: Finding) -> str:
    """The claim in words."""
    claim = finding["claim"]
    return f"epsilon {claim['epsilon']:g}" + (f", delta {claim['delta']:g}" if claim["delta"] else "")


def _banner(finding: Finding) -> str:
    bound = at_least(finding["epsilon_lower"])
    if violated(finding):
        words = (
            f"The claim of {claimed(finding)} is refuted: the true epsilon is at least {bound}. A run on a "
            f"mechanism that keeps its claim says so with probability at most {finding['alpha']:g}."
        )
    else:
        words = (
            f"No counterexample to {claimed(finding)} was found; certified is epsilon >= {bound}. That does "
            "not show that the claim is true."
        )
    if not finding.get("finished", True):
        words += " The run was interrupted: this is what it had seen."
    return html.banner(verdict_words(finding), words, bad=violated(finding))


def _facts(finding: Finding) -> Iterator[tuple[str, str]]:
    yield "mechanism", str(finding["mechanism"])
    yield "claimed", claimed(finding)
    if finding.get("claimed_by"):
        yield "", f"by {finding['claimed_by']}"
    if finding.get("relation"):
        yield "neighbours", in_relation_words(finding["relation"])
    yield "certified", f"epsilon >= {at_least(finding['epsilon_lower'])}"
    if finding["claim"]["delta"] or (finding["level"] == "bits" and finding["delta_lower"]):
        yield "", f"delta >= {finding['delta_lower']:.3g} at the claimed epsilon"
    yield "draws", f"{finding['samples']:,} of {finding['budget']:,}"
    yield "false alarm", f"probability at most {finding['alpha']:g}, over the whole run"
    yield "judged", "the released bits" if finding["level"] == "bits" else "ideal arithmetic"
    if finding.get("seconds") is not None:
        yield "time", f"{finding['seconds']:.2f} s"


def _counterexample(finding: Finding) -> Iterator[str]:
    found = finding["counterexample"]
    if found is None:
        if violated(finding):
            yield html.heading("Counterexample")
            yield html.paragraph("The bets of the panel as a whole; no simple event was found.")
        return
    yield html.heading("Counterexample")
    remark = [("remark", found["remark"])] if found["remark"] else []
    yield html.facts(
        [
            ("x", shown(found["x"])),
            ("x'", shown(found["x_prime"])),
            *_difference(found),
            ("event", found["event"]),
            *remark,
        ]
    )
    yield html.paragraph(
        f"When the event happens, guess {found['guess']}. Of {found['draws']:,} fresh draws, with a fair "
        "coin for "
        f"the input, {found['guesses']:,} had the event, and {found['correct']:,} of these guesses were "
        "right."
    )
    other = "x" if found["guess"] == "x'" else "x'"
    wrong = found["guesses"] - found["correct"]
    yield html.table(
        "Draws with the event, by the input they came from",
        ["input", "draws with the event", "share"],
        [
            (name, [html.cell(f"{number:,}"), html.cell(f"{number / max(1, found['guesses']):.4f}")])
            for name, number in ((found["guess"], found["correct"]), (other, wrong))
        ],
    )


def _difference(found: Finding) -> list[tuple[str, str]]:
    """Where two long inputs differ."""
    x, x_prime = found["x"], found["x_prime"]
    if not isinstance(x, list) or not isinstance(x_prime, list) or len(x) != len(x_prime) or len(x) <= _LONG:
        return []
    places = [i for i, (one, other) in enumerate(zip(x, x_prime, strict=True)) if one != other]
    few = ", ".join(str(place) for place in places[:8]) + (", ..." if len(places) > 8 else "")
    return [("they differ", f"in {len(places):,} of {len(x):,} places: {few}")]


def shown(value: Any) -> str:
    """An input in a line; long ones are summed up, the JSON has all of them."""
    if isinstance(value, list) and len(value) > _LONG:
        first = ", ".join(shown(item) for item in value[:4])
        return f"[{first}, ... {len(value) - 4:,} more]"
    text = value if isinstance(value, str) else json.compact(value)
    return text if len(text) <= 400 else f"{text[:200]} ... ({len(text):,} characters)"


def _pairs(finding: Finding) -> Iterator[str]:
    ranked = sorted(finding["pairs"], key=lambda pair: (-pair["epsilon_lower"], -pair["draws"]))
    yield html.heading("Pairs tried")
    caption = "What each pair alone would have certified; across pairs only the bound of the run is valid."
    if len(ranked) > _MOST_ROWS:
        caption += f" The best {_MOST_ROWS} of {len(ranked):,}; the JSON has all."
    rows = [
        (shown(pair["name"]), [html.cell(f"{pair['draws']:,}"), html.cell(at_least(pair["epsilon_lower"]))])
        for pair in ranked[:_MOST_ROWS]
    ]
    yield html.table(caption, ["pair", "draws", "epsilon >="], rows)


def _notes(finding: Finding) -> Iterator[str]:
    yield html.heading("Notes")
    notes = [f"{note['text']} ({note['code']}: dplitmus explain {note['code']})" for note in finding["notes"]]
    yield html.bullets(notes) if notes else html.paragraph("Nothing else was seen.")


def command(finding: Finding) -> str | None:
    """The command line of the same audit, if one line can say it."""
    target, pairs = finding["target"], finding["pairs"]
    if not isinstance(target, str) or target.startswith(MODEL_TARGET):
        return None
    if any(set(pair.get("forms", ["repr"])) - {"numbers", "json"} for pair in pairs):
        return None
    claim = finding["claim"]
    words = ["dplitmus", "audit", target, "--epsilon", repr(claim["epsilon"])]
    words += ["--delta", repr(claim["delta"])] if claim["delta"] else []
    for pair in pairs:
        if max(_size(pair["x"]), _size(pair["x_prime"])) > _SHORT_COMMAND:
            return None
        words += ["--pair", *(standard_json.dumps(pair[name]) for name in ("x", "x_prime"))]
    words += [
        "--samples",
        str(finding["budget"]),
        "--alpha",
        repr(finding["alpha"]),
        "--seed",
        str(finding["seed"]),
    ]
    usual = {"stop": "violated", "level": "ideal", "on_error": "fail", "piece": None}
    for name, value in usual.items():
        if finding.get(name, value) != value:
            words += ["--" + name.replace("_", "-"), str(finding[name])]
    words += ["--isolate"] if finding.get("isolate") else []
    line = shlex.join(words)
    return line if len(line) <= 4 * _SHORT_COMMAND else None


def _size(value: Any) -> int:
    return sum(map(_size, value)) if isinstance(value, list) else len(str(value))


def _again(finding: Finding) -> Iterator[str]:
    yield html.heading("Reproduce")
    if finding["replayable"] and isinstance(finding["target"], str):
        yield html.paragraph("This page holds its finding as JSON; the same audit runs again with")
        yield html.preformatted("dplitmus replay THIS-FILE.html")
        line = command(finding)
        if line:
            yield html.paragraph("or, by hand,")
            yield html.preformatted(line)
    elif finding["replayable"]:
        yield html.paragraph(
            "The mechanism was a local function or object: no command can load it. The same seed gives "
            "the same "
            "result in the program that has it."
        )
    else:
        yield html.paragraph("Not replayable bit for bit: the mechanism has randomness of its own.")
    code = "DP101" if violated(finding) else "DP102"
    yield html.facts(
        [
            ("seed", str(finding["seed"])),
            ("dplitmus", str(finding["version"])),
            ("platform", str(finding["platform"])),
            ("explained by", f"dplitmus explain {code}"),
        ]
    )
