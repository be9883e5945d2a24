"""Texts with a label and private attributes, from the user's own files.

Takes CSV, TSV, JSON lines, plain text (one text per line) or standard input; gives columns. What cannot be
used is refused with the place where it stands.
"""

from __future__ import annotations

import csv
import io
import json
import random
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dplitmus.errors import InputError, did_you_mean, one_line, one_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FORMATS = ("csv", "tsv", "jsonl", "text")
_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".txt": "text",
}


@dataclass(frozen=True)
class Dataset:
    """One text per row, with its label and its private attributes if there are any."""

    texts: list[str]
    labels: list[str] | None = None
    private: dict[str, list[str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.texts)

    def rows(self, index: Sequence[int]) -> Dataset:
        """Some of the rows, in the given order."""
        return Dataset(
            [self.texts[i] for i in index],
            None if self.labels is None else [self.labels[i] for i in index],
            {name: [values[i] for i in index] for name, values in self.private.items()},
        )

    def split(self, test: float = 0.3, seed: int = 1) -> tuple[Dataset, Dataset]:
        """Shuffle and cut: what is trained on, and what is held back."""
        order = list(range(len(self)))
        random.Random(seed).shuffle(order)  # noqa: S311  (a split is no secret)
        cut = len(order) - max(1, round(test * len(order)))
        return self.rows(order[:cut]), self.rows(order[cut:])


def read(
    path: str,
    *,
    text_column: str = "text",
    label_column: str | None = None,
    private_columns: Sequence[str] = (),
    form: str | None = None,
    drop_missing: bool = False,
) -> Dataset:
    """Read a file, or standard input for "-"; the format follows the suffix if `form` is not given."""
    form = one_of("format", form, FORMATS) if form else _SUFFIXES.get(Path(path).suffix.lower(), "text")
    wanted = [text_column, *([label_column] if label_column else []), *private_columns]
    _refuse_repeats(wanted, "what was asked", "text, label and private attributes are different columns")
    source = "standard input" if path == "-" else repr(path)
    rows = _rows(_content(path, source), form, source)
    if not rows:
        raise unusable(f"{source} holds no texts", "give at least one text")
    for name in wanted:
        if not any(name in row for row in rows):
            known = sorted({key for row in rows[:100] for key in row})
            hint = did_you_mean(name, known) or f"its columns are {', '.join(map(repr, known))}"
            raise unusable(f"{source} has no column {name!r}", hint)
    if drop_missing:
        rows = [row for row in rows if all(row.get(name, "").strip() for name in wanted)]
        if not rows:
            raise unusable(f"{source} has no row without an empty cell", "name other columns")
    for number, row in enumerate(rows, start=1):
        for name in wanted:
            if not row.get(name, "").strip():
                raise unusable(
                    f"row {number} of {source} is empty in column {name!r}", "fill it, or --drop-missing"
                )
    return Dataset(
        [row[text_column] for row in rows],
        [row[label_column] for row in rows] if label_column else None,
        {name: [row[name] for row in rows] for name in private_columns},
    )


def _content(path: str, source: str) -> str:
    try:
        if path == "-":
            return sys.stdin.buffer.read().decode("utf-8-sig")
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise unusable(f"cannot read {source}: {error.strerror or error}", "check the path") from error
    except UnicodeDecodeError as error:
        raise unusable(f"{source} is not UTF-8 text", "convert it: iconv -f latin1 -t utf-8") from error


def _rows(content: str, form: str, source: str) -> list[dict[str, str]]:
    if form == "text":
        return [{"text": line} for line in content.splitlines()]
    if form == "jsonl":
        return [
            _json_row(line, number, source)
            for number, line in enumerate(content.splitlines(), 1)
            if line.strip()
        ]
    reader = csv.DictReader(io.StringIO(content, newline=""), delimiter="\t" if form == "tsv" else ",")
    try:
        _refuse_repeats(reader.fieldnames or (), source, "rename all but one of them")
        return [{name: value or "" for name, value in row.items() if isinstance(name, str)} for row in reader]
    except csv.Error as error:
        raise unusable(f"line {reader.line_num} of {source}: {error}", "repair the file") from error


def _refuse_repeats(names: Sequence[str], where: str, help_: str) -> None:
    for name, times in Counter(names).items():
        if times > 1:
            raise unusable(f"{where} has column {name!r} {times} times", help_)


def _json_row(line: str, number: int, source: str) -> dict[str, str]:
    try:
        row: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise unusable(f"line {number} of {source} is not JSON", "one object per line") from error
    if not isinstance(row, dict):
        raise unusable(f"line {number} of {source} is no JSON object", "one object per line")
    for name, value in row.items():
        if isinstance(value, (dict, list)):
            raise unusable(f"line {number} of {source} has no plain value in {name!r}", "texts or numbers")
    return {name: "" if value is None else str(value) for name, value in row.items()}


def checked_texts(texts: object) -> list[str]:
    """Return a list of texts, or refuse what is none: a single text is a list of one."""
    found = [texts] if isinstance(texts, str) else texts
    if not isinstance(found, (list, tuple)) or not all(isinstance(text, str) for text in found):
        raise unusable(
            f"texts of type {type(texts).__name__} must be a list of strings", "wrap them in a list"
        )
    if not found:
        raise unusable("texts=[] must hold at least one text", "give at least one text")
    for number, text in enumerate(found, start=1):
        if not text.strip():
            raise unusable(f"text {number} is empty", "leave empty texts out")
    return list(found)


def checked_classes(name: str, values: Sequence[str], rows: int) -> list[str]:
    """Return the classes of a column in order, or refuse a column of the wrong length or of one class."""
    if len(values) != rows:
        raise unusable(f"{name} has {len(values):,} entries for {rows:,} texts", "one for each text")
    for number, value in enumerate(values, start=1):
        if not isinstance(value, str):
            shown = one_line(repr(value), 40)
            raise unusable(f"{name} must be strings, and entry {number} is {shown}", "str() makes them so")
    counts = Counter(values)
    if len(counts) < 2:
        only = one_line(repr(values[0]), 40)
        raise unusable(f"{name} has a single class, {only}", "two classes or more are needed to tell apart")
    if len(counts) > max(50, rows // 4):
        raise unusable(f"{name} has {len(counts):,} classes in {rows:,} rows", "name a column of classes")
    return sorted(counts)


def checked_columns(private: Mapping[str, Sequence[str]] | None, rows: int) -> dict[str, list[str]]:
    """Return the classes of every private attribute."""
    if not isinstance(private or {}, dict):
        raise unusable(
            f"private of type {type(private).__name__} must be a dict",
            "private={'gender': [...]}, say",
        )
    return {name: checked_classes(name, values, rows) for name, values in (private or {}).items()}


def unusable(message: str, help_: str) -> InputError:
    """Word a refusal of data."""
    return InputError(message, code="DP221", help=help_)
