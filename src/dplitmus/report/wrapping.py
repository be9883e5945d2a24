"""Lines that fit: paragraphs and notes of 80 columns, and any text in fewer.

Takes text; gives lines. A command to paste stays one for the shell, however narrow the terminal is.
"""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dplitmus.verdict import Note

WIDTH = 80
_HANGING = " " * 8  # of a note
_COMMAND = re.compile(r"(?:([A-Z][\w ]*:) +)?(dplitmus .*)")
_WORD = re.compile(r"(?:'[^']*'|[^' ])+")  # of a shell


def noted(note: Note) -> list[str]:
    """A note, with its code at the end of its last line."""
    *lines, last = wrapped(f"Note: {note.text}")
    if len(last) + len(note.code) + 2 > WIDTH:
        return [*lines, last, f"{note.code:>{WIDTH}}"]
    return [*lines, f"{last:<{WIDTH - len(note.code)}}{note.code}"]


def wrapped(text: str) -> list[str]:
    """A paragraph; notes hang."""
    indent = _HANGING if text.startswith("Note") else "  "
    return textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent=indent)


def narrowed(text: str, width: int) -> str:
    """The same text in fewer columns: a line that is too long gives up its gaps, and is broken.

    >>> print(narrowed("    mechanism      claimed   certified", 24))
        mechanism  claimed
          certified
    """
    lines: list[str] = []
    for line in _joined(text.split("\n")):
        lines += broken(line, width)
    return "\n".join(lines)


def broken(line: str, width: int) -> list[str]:
    r"""One line in fewer columns; a command to paste stays one for the shell.

    >>> print(*broken("  Again:  dplitmus audit my_noise.py:layer --pair '[0, 0]' '[1, 1]'", 34), sep="\n")
      Again:
        dplitmus audit \
        my_noise.py:layer --pair \
        '[0, 0]' '[1, 1]'
    """
    if len(line) <= width:
        return [line]
    words = line.lstrip()
    indent = line[: len(line) - len(words)][: width // 4]
    command = _COMMAND.fullmatch(words)
    if command:
        name, typed = command.groups()
        first = [indent + name, indent + "  "] if name else [indent]
        return [*first[:-1], *_continued(_WORD.findall(typed), first[-1], indent + "  ", width)]
    return textwrap.wrap(
        re.sub(" {3,}", "  ", words),
        width,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_on_hyphens=False,
    )


def _continued(words: Sequence[str], first: str, next_: str, width: int) -> list[str]:
    """A command on several lines with these indents, none of its words broken."""
    lines = [first + words[0]]
    for word in words[1:]:
        if len(lines[-1]) + len(word) + 3 <= width:
            lines[-1] += " " + word
        else:
            lines[-1] += " \\"
            lines.append(next_ + word)
    return lines


def _joined(lines: Sequence[str]) -> list[str]:
    """Lines of one paragraph as one: prose fills its lines, a note hangs, a table has gaps."""
    joined: list[str] = []
    full = note = False
    for line in lines:
        prose = bool(line.strip()) and "   " not in line.strip()
        if (note and _indent(line) >= len(_HANGING)) or (
            full and prose and _indent(line) == _indent(joined[-1])
        ):
            joined[-1] += " " + line.strip()
        else:
            joined.append(line)
            note = line.startswith("  Note: ")
        full = prose and len(line) > WIDTH - 16
    return joined


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
