"""Sphinx: the documentation as pages; what the code knows itself is generated from it at every build."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from dplitmus import __version__, cli, explanations, findings
from dplitmus.paper import figures, grid

project = "dplitmus"
version = release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_show_copyright = False
html_title = f"dplitmus {__version__}"
exclude_patterns = ["_build"]
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
suppress_warnings = ["myst.header"]  # pages of codes start at their own level

_GENERATED = Path(__file__).parent / "reference" / "generated"
_FIGURES = Path(__file__).parent / "explanations" / "generated"
_SAMPLES = 10_000  # a build takes seconds; `dplitmus reproduce acl2022` draws a thousand times as many


def setup(app: Any) -> None:
    """Write the generated pages before Sphinx looks for them."""
    del app
    _GENERATED.mkdir(exist_ok=True)
    _FIGURES.mkdir(exist_ok=True)
    if not (_FIGURES / "figure3.svg").exists():
        checks = grid.run(_SAMPLES, seed=2022)
        for figure in (figures.figure_1(), figures.figure_2(checks), figures.figure_3(2022)):
            (_FIGURES / f"{figure.name}.svg").write_bytes(figure.svg)
    for name, text in (("cli", _commands()), ("codes", _codes()), ("json", _fields())):
        file = _GENERATED / f"{name}.md"
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


def _commands() -> str:
    parts = ["# Command line\n\nMade from `--help` of every command.\n"]
    context = click.Context(cli.cli, info_name="dplitmus")
    for name in cli.cli.list_commands(context):
        command = cli.cli.get_command(context, name)
        if command is not None:
            parts += _help(command, context, name)
    return "\n".join(parts)


def _help(command: click.Command, parent: click.Context, name: str) -> list[str]:
    context = click.Context(command, info_name=name, parent=parent, **command.context_settings)
    context.max_content_width = 90
    parts = [f"## {context.command_path}\n\n```text\n{command.get_help(context)}\n```\n"]
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            if found is not None:
                parts += _help(found, context, inner)
    return parts


def _codes() -> str:
    pages = (explanations.explanation(code) for code in explanations.codes())
    lowered = (page.replace("\n## ", "\n### ").replace("# DP", "## DP", 1) for page in pages)
    head = "# Codes\n\nEvery message has one; `dplitmus explain CODE` prints its page.\n\n"
    return head + "\n\n".join(lowered) + "\n"


def _fields() -> str:
    schema = json.loads(findings.schema_text())
    rows = list(_rows(schema, schema, ""))
    table = "\n".join(f"| `{name}` | {kind} | {words} |" for name, kind, words in rows)
    return (
        f"# JSON\n\n{schema['title']}. {schema['description']} `dplitmus report --schema` prints the JSON "
        "Schema, from which this table is made.\n\nA field without `?` is always there.\n\n"
        f"| field | type | meaning |\n|---|---|---|\n{table}\n"
    )


def _rows(schema: dict[str, Any], part: dict[str, Any], prefix: str) -> Any:
    for name, inner in part.get("properties", {}).items():
        optional = "" if name in part.get("required", []) else "?"
        yield f"{prefix}{name}{optional}", _kind(inner), inner.get("description", "")
        for choice in inner.get("anyOf", [inner]):
            yield from _rows(schema, choice, f"{prefix}{name}.")
            yield from _rows(schema, choice.get("items", {}), f"{prefix}{name}[].")


def _kind(part: dict[str, Any]) -> str:
    if "$ref" in part:
        return str(part["$ref"]).rpartition("/")[2]
    if "anyOf" in part:
        return " or ".join(_kind(choice) for choice in part["anyOf"])
    if "enum" in part:
        return ", ".join(f"`{value}`" for value in part["enum"])
    if "const" in part:
        return f"`{part['const']}`"
    kinds = part.get("type", "any")
    return kinds if isinstance(kinds, str) else " or ".join(kinds)
