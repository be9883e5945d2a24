"""The answer: what was found, and what else was seen on the way."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Verdict(StrEnum):
    """The two answers. There is no third: "not found" is not "private"."""

    VIOLATED = "violated"
    NOT_FOUND = "not-found"


class Note(NamedTuple):
    """Something seen that the user should know, with the code that explains it."""

    code: str
    text: str
