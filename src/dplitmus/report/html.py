"""Parts of an offline page: no script, no request, readable on paper, a phone and in the dark.

Takes text and data, escapes all of it; gives HTML. Only the functions here write markup.
"""

from __future__ import annotations

import base64
import html
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1b; --paper: #fff; --soft: #666; --line: #ddd;
  --bad: #a33c00; --good: #00664a; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --paper: #161616; --soft: #aaa;
  --line: #3a3a3a; --bad: #ff9a5c; --good: #4fd1a5; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: break-word; }
h1 { line-height: 1.2; } h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
figure { margin: 1rem 0; } figure img { width: 100%; min-width: 44rem; height: auto;
  background: #fff; }
figcaption, .soft { color: var(--soft); }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--line); text-align: right; }
th:first-child, td:first-child { text-align: left; }
td small { color: var(--soft); display: block; white-space: nowrap; }
 td.bad { color: var(--bad); font-weight: 600; }
pre { overflow-x: auto; padding: .75rem; border: 1px solid var(--line); white-space: pre-wrap; }
@media print { body { max-width: none; } h2 { break-after: avoid; } figure, table { break-inside: avoid; } }
"""


def page(title: str, parts: Iterable[str]) -> str:
    """A whole document from parts that are already markup."""
    name = html.escape(title)
    return (
        "<!doctype html>\n"
        f'<html lang="en"><head><meta charset="utf-8"><title>{name}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{_STYLE}</style></head>\n<body><main>\n<h1>{name}</h1>\n"
        + "\n".join(parts)
        + "\n</main></body></html>\n"
    )


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


def picture(svg: bytes, *, alt: str, caption: str) -> str:
    """An SVG, embedded as an image so that its identifiers cannot clash with others'."""
    data = base64.b64encode(svg).decode("ascii")
    return (
        '<figure><div class="scroll" tabindex="0">'
        f'<img alt="{html.escape(alt)}" src="data:image/svg+xml;base64,{data}"></div>'
        f"<figcaption>{html.escape(caption)}</figcaption></figure>"
    )


def cell(text: str, *, small: str = "", bad: bool = False) -> str:
    """One table cell: a value, a remark below it, and whether it is bad news."""
    attribute = ' class="bad"' if bad else ""
    remark = f"<small>{html.escape(small)}</small>" if small else ""
    return f"<td{attribute}>{html.escape(text)}{remark}</td>"


def table(caption: str, columns: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]) -> str:
    """A table that scrolls inside itself on narrow screens; rows are (name, cells)."""
    head = "".join(f'<th scope="col">{html.escape(column)}</th>' for column in columns)
    body = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th>{"".join(cells)}</tr>' for name, cells in rows
    )
    return (
        f'<section aria-label="{html.escape(caption)}"><p>{html.escape(caption)}</p>'
        f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div></section>"
    )
