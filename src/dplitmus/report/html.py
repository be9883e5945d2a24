"""Parts of an offline page: no request, no script needed, readable on paper, a phone and in the dark.

Takes text and data, escapes all of it; gives HTML. Only the functions here write markup.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

DATA_OPENS = '<script type="application/json" class="dplitmus-finding">'
_LIGHT = (
    "--ink: #1b1b1b; --paper: #fff; --soft: #5c5c5c; --line: #ddd; --bad: #a33c00; --good: #00664a;"
    " --x: #0063a0; --xp: #b34700; --plum: #87309c; --event: #f3e3a2;"
)
_DARK = (
    "--ink: #e8e8e8; --paper: #161616; --soft: #aaa; --line: #3a3a3a; --bad: #ff9a5c; --good: #4fd1a5;"
    " --x: #6cb8ee; --xp: #ff9a5c; --plum: #d59ce6; --event: #4a4420;"
)
_PAGE = """
:root { color-scheme: light dark; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { line-height: 1.2; } h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
figure { margin: 1rem 0; }
@media print { body { max-width: none; } h2 { break-after: avoid; } figure, table { break-inside: avoid; }
  .scroll { overflow: visible; } details { display: block; } }
"""
# Parts stand in a page of ours or in somebody's notebook: nothing outside of them may change.
_PARTS = """
.dplitmus figcaption, .dplitmus .soft { color: var(--soft); }
.dplitmus .scroll { overflow-x: auto; max-width: 100%; }
.dplitmus table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.dplitmus th, .dplitmus td { padding: .25rem .6rem; border-bottom: 1px solid var(--line); text-align: right; }
.dplitmus th, .dplitmus td { overflow-wrap: normal; }
.dplitmus th[scope=row] { overflow-wrap: anywhere; min-width: 7rem; }
.dplitmus th:first-child, .dplitmus td:first-child { text-align: left; }
.dplitmus td small { color: var(--soft); display: block; white-space: nowrap; }
.dplitmus td.bad { color: var(--bad); font-weight: 600; }
.dplitmus pre { overflow-x: auto; padding: .75rem; border: 1px solid var(--line); white-space: pre-wrap; }
.dplitmus .verdict { padding: .75rem 1rem; border-left: .4rem solid var(--soft); font-size: 1.15rem; }
.dplitmus .verdict.bad { border-color: var(--bad); } .dplitmus .verdict.bad strong { color: var(--bad); }
.dplitmus dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; }
.dplitmus dt { color: var(--soft); } .dplitmus dd { margin: 0; min-width: 0; overflow-wrap: anywhere; }
.dplitmus .charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr));
  gap: 1rem; }
.dplitmus .charts figure { margin: 0; max-width: 34rem; }
.dplitmus svg { width: 100%; height: auto; font: 12px system-ui, sans-serif; fill: var(--ink); }
.dplitmus svg text { paint-order: stroke; stroke: var(--paper); stroke-width: 3px; stroke-linejoin: round; }
.dplitmus svg .line { fill: none; stroke-width: 2; } .dplitmus svg .grid { stroke: var(--line); }
.dplitmus svg .x { --colour: var(--x); } .dplitmus svg .xp { --colour: var(--xp); }
.dplitmus svg .good { --colour: var(--good); } .dplitmus svg .bad { --colour: var(--bad); }
.dplitmus svg .ink { --colour: var(--ink); } .dplitmus svg .soft { --colour: var(--soft); }
.dplitmus svg .plum { --colour: var(--plum); }
.dplitmus svg .line, .dplitmus svg .bar { stroke: var(--colour); }
.dplitmus svg .line.xp { stroke-dasharray: 5 2; } .dplitmus svg .line.soft { stroke-dasharray: 2 2; }
.dplitmus svg .fill { fill: var(--colour); }
.dplitmus svg .event { fill: var(--event); }
.dplitmus svg .mark { stroke: var(--ink); stroke-dasharray: 4 3; }
.dplitmus button { font: inherit; font-weight: inherit; color: inherit; background: none; border: 0;
  padding: 0; cursor: pointer; text-decoration: underline dotted; }
"""


def _style(root: str, rules: str) -> str:
    dark = f"@media (prefers-color-scheme: dark) {{ {root} {{ {_DARK} }} }}"
    return f"<style>{root} {{ {_LIGHT} }}\n{dark}{rules}</style>"


def page(title: str, parts: Iterable[str]) -> str:
    """A whole document from parts that are already markup."""
    name = html.escape(title)
    return (
        "<!doctype html>\n"
        f'<html lang="en"><head><meta charset="utf-8"><title>{name}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"{_style(':root', _PAGE + _PARTS)}</head>\n"
        f'<body><main class="dplitmus">\n<h1>{name}</h1>\n' + "\n".join(parts) + "\n</main></body></html>\n"
    )


def fragment(parts: Iterable[str]) -> str:
    """Parts to stand in another page, such as a notebook."""
    return f'<div class="dplitmus">{_style(".dplitmus", _PARTS)}{"".join(parts)}</div>'


def heading(text: str) -> str:
    """A section's heading."""
    return f"<h2>{html.escape(text)}</h2>"


def paragraph(text: str) -> str:
    """A paragraph of plain text."""
    return f"<p>{html.escape(text)}</p>"


def preformatted(text: str) -> str:
    """Text as in a terminal."""
    return f"<pre>{html.escape(text)}</pre>"


def bullets(items: Iterable[str]) -> str:
    """A list of plain sentences."""
    return "<ul>" + "".join(f"<li>{html.escape(item)}</li>" for item in items) + "</ul>"


def cell(text: str, *, small: str = "", bad: bool = False, key: float | None = None) -> str:
    """One table cell: a value, a remark below it, whether it is bad news, a number to sort it by."""
    attributes = (' class="bad"' if bad else "") + (f' data-key="{key!r}"' if key is not None else "")
    remark = f"<small>{html.escape(small)}</small>" if small else ""
    return f"<td{attributes}>{html.escape(text)}{remark}</td>"


def table(
    caption: str,
    columns: Sequence[str],
    rows: Iterable[tuple[str, Sequence[str]]],
    *,
    links: Sequence[str] = (),
    sortable: bool = False,
) -> str:
    """A table that scrolls inside itself on narrow screens; rows are (name, cells).

    `links` are identifiers on the same page, one for each row.
    """
    head = "".join(f'<th scope="col">{html.escape(column)}</th>' for column in columns)
    body = ""
    for number, (name, cells) in enumerate(rows):
        text = html.escape(name)
        if links:
            text = f'<a href="#{html.escape(links[number])}">{text}</a>'
        body += f'<tr><th scope="row">{text}</th>{"".join(cells)}</tr>'
    kind = ' class="sortable"' if sortable else ""
    return (
        f'<section aria-label="{html.escape(caption)}"><p>{html.escape(caption)}</p>'
        f'<div class="scroll" tabindex="0"><table{kind}><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div></section>"
    )


def banner(verdict: str, words: str, *, bad: bool) -> str:
    """The answer, in the words of the verdict and a sentence."""
    kind = "verdict bad" if bad else "verdict"
    return f'<p class="{kind}"><strong>{html.escape(verdict)}</strong> {html.escape(words)}</p>'


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """Names and values."""
    inside = "".join(f"<dt>{html.escape(name)}</dt><dd>{html.escape(value)}</dd>" for name, value in rows)
    return f"<dl>{inside}</dl>"


def charts(drawn: Iterable[tuple[str, str]]) -> str:
    """Inline SVGs with captions, beside each other where there is room."""
    figures = (
        f"<figure>{svg}<figcaption>{html.escape(caption)}</figcaption></figure>" for svg, caption in drawn
    )
    return f'<div class="charts">{"".join(figures)}</div>'


def folded(summary: str, parts: Iterable[str], *, identity: str = "") -> str:
    """Parts that open on demand, without a script."""
    name = f' id="{html.escape(identity)}"' if identity else ""
    return f"<details{name}><summary>{html.escape(summary)}</summary>{''.join(parts)}</details>"


def embedded(json_text: str) -> str:
    """Data that `dplitmus replay` finds in the page; a browser neither shows nor runs it."""
    safe = json_text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return f"{DATA_OPENS}{safe}</script>"
