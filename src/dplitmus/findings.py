"""Reading findings: the JSON of an audit, alone or inside a report.

Takes a path; gives plain data that has been checked against the schema, or refuses with DP209. Nothing in
a file is executed.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dplitmus.errors import InputError, one_line
from dplitmus.report.html import DATA_OPENS

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

Finding = dict[str, Any]
_WRITTEN_BY = "a finding is written by  dplitmus audit ... --json FILE,  --html FILE  or  result.save(FILE)"
_MOST_BYTES = 256 * 2**20
_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
    "integer": int,
    "number": (int, float),
}


def schema_text() -> str:
    """The JSON Schema of a finding, as it is in the package."""
    return resources.files("dplitmus.report").joinpath("finding.schema.json").read_text(encoding="utf-8")


@cache
def _schema() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(schema_text())
    return found


def read(path: str | os.PathLike[str]) -> list[Finding]:
    """All findings of a file: one in a JSON file, one or more in a report."""
    file = Path(path)
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise refusal(file, "it is larger than 256 MB")
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise refusal(file, error.strerror or str(error)) from error
    except ValueError as error:
        raise refusal(file, "it is not JSON, nor text at all") from error
    if text.lstrip().startswith("<"):
        texts = _embedded(text)
        if not texts:
            raise refusal(file, "it is a page without a finding, or cut off before it")
    else:
        texts = [text]
    return [checked(file, one) for one in texts]


def _embedded(page: str) -> list[str]:
    """The data of a report; a piece without its end is left for the parser to refuse."""
    return [piece.split("</script>")[0] for piece in page.split(DATA_OPENS)[1:]]


def checked(file: str | os.PathLike[str], text: str) -> Finding:
    """One finding from its text; `file` is named in the refusal."""
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise refusal(file, "it is not JSON, or cut off") from error
    if not isinstance(value, dict) or "schema" not in value or value.get("kind") != "audit":
        raise refusal(file, "it is not the JSON of an audit")
    if value["schema"] != 1:
        shown = one_line(repr(value["schema"]))
        raise refusal(file, f"its schema is {shown}, and this version reads schema 1: a newer dplitmus may")
    problem = next(problems(value, _schema(), "finding"), None)
    if problem:
        raise refusal(file, problem)
    restored: Finding = _restored(value, _schema())
    return restored


def _no_constant(name: str) -> float:
    raise ValueError(name)  # bare NaN and Infinity are no JSON


def problems(value: Any, schema: dict[str, Any], place: str) -> Iterator[str]:
    """What is wrong, in words; knows the part of JSON Schema that our schema uses."""
    schema = _followed(schema)
    if "anyOf" in schema and all(any(problems(value, one, place)) for one in schema["anyOf"]):
        deepest = [one for one in schema["anyOf"] if _is(value, _followed(one).get("type"))]
        yield from problems(value, deepest[0], place) if deepest else [_wrong(place, value)]
        return
    wrong = (
        ("const" in schema and (value != schema["const"] or isinstance(value, bool)))
        or ("enum" in schema and value not in schema["enum"])
        or ("type" in schema and not _is(value, schema["type"]))
        or ("minimum" in schema and value < schema["minimum"])
        or ("maximum" in schema and value > schema["maximum"])
        or ("exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"])
        or ("minItems" in schema and len(value) < schema["minItems"])
    )
    if wrong:
        yield _wrong(place, value)
        return
    if isinstance(value, dict):
        yield from (f"{place}.{name} is missing" for name in schema.get("required", []) if name not in value)
        for name, inner in schema.get("properties", {}).items():
            if name in value:
                yield from problems(value[name], inner, f"{place}.{name}")
    if isinstance(value, list) and "items" in schema:
        for number, item in enumerate(value):
            yield from problems(item, schema["items"], f"{place}[{number}]")


def _wrong(place: str, value: Any) -> str:
    return f"{place} is {one_line(repr(value), 40)}, which schema 1 does not allow"


def _is(value: Any, kinds: str | list[str] | None) -> bool:
    if kinds is None:
        return False
    names = [kinds] if isinstance(kinds, str) else kinds
    return any(
        isinstance(value, _TYPES[name]) and (name == "boolean" or not isinstance(value, bool))
        for name in names
    )


def _followed(schema: dict[str, Any]) -> dict[str, Any]:
    reference = schema.get("$ref")
    found: dict[str, Any] = _schema()["$defs"][reference.rpartition("/")[2]] if reference else schema
    return found


def _restored(value: Any, schema: dict[str, Any]) -> Any:
    """Strings that stand for infinities and NaN become numbers, where the schema says number."""
    if isinstance(value, str) and value in _schema()["$defs"]["number"]["anyOf"][1]["enum"]:
        choices = schema.get("anyOf", [schema])
        return float(value) if {"$ref": "#/$defs/number"} in [_bare(one) for one in choices] else value
    schema = _followed(schema)
    if isinstance(value, dict | list):
        schema = next((one for one in schema.get("anyOf", []) if _is(value, one.get("type"))), schema)
    if isinstance(value, dict):
        inner = schema.get("properties", {})
        return {name: _restored(item, inner.get(name, {})) for name, item in value.items()}
    if isinstance(value, list) and "items" in schema:
        return [_restored(item, schema["items"]) for item in value]
    return value


def _bare(schema: dict[str, Any]) -> dict[str, Any]:
    return {name: item for name, item in schema.items() if name == "$ref"}


def refusal(path: str | os.PathLike[str], reason: str, help: str = _WRITTEN_BY) -> InputError:
    """DP209: this file cannot be used."""
    return InputError(f"cannot read {str(path)!r}: {reason}", code="DP209", help=help)
