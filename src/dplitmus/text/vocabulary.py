"""Words and their numbers.

Takes training texts; gives a vocabulary that turns texts into rows of numbers and back. The words of the
training texts are part of the model: rare ones can give their writer away, so that a minimum count is the
default.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from dplitmus.errors import InputError, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PAD, START, END, UNKNOWN = range(4)
SPECIAL = ("<pad>", "<start>", "<end>", "<unknown>")


def tokens_of(text: str) -> list[str]:
    """Lower-case words and punctuation marks; control characters only part them.

    >>> tokens_of("I'd fly to St. Louis!")
    ["i'd", 'fly', 'to', 'st', '.', 'louis', '!']
    """
    return re.findall(r"\w+(?:'\w+)*|[^\w\s\x00-\x1f\x7f-\x9f]", text.lower())


def normal(text: str) -> str:
    """A text as the systems see it: tokens with blanks between them."""
    return " ".join(tokens_of(text))


@dataclass(frozen=True)
class Vocabulary:
    """The known words; the first four are marks."""

    words: tuple[str, ...]

    @classmethod
    def of(cls, texts: Iterable[str], *, most: int, least_count: int) -> Vocabulary:
        """The most frequent words of the texts, each seen at least `least_count` times."""
        counts = Counter(token for text in texts for token in tokens_of(text))
        kept = [word for word, count in counts.most_common(most) if count >= least_count]
        if not kept:
            raise InputError(
                f"no word occurs {least_count} times in the training texts",
                code="DP221",
                help="give more texts, or lower the minimum count",
            )
        return cls((*SPECIAL, *kept))

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each word."""
        return {word: number for number, word in enumerate(self.words)}

    def encode(
        self, texts: Sequence[str], *, longest: int, truncate: bool, strict: bool = True
    ) -> list[list[int]]:
        """Rows of numbers; DP222 refuses a text that is too long or, if `strict`, has no known word."""
        rows = []
        for place, text in enumerate(texts, start=1):
            tokens = tokens_of(text)
            if len(tokens) > longest and not truncate:
                raise InputError(
                    f"text {place} has {len(tokens)} tokens, and the limit is {longest}",
                    code="DP222",
                    help="train with a larger max_length (--max-length), or with truncate (--truncate)",
                )
            row = [self.numbers.get(token, UNKNOWN) for token in tokens[:longest]]
            if strict and all(number == UNKNOWN for number in row):
                raise InputError(
                    f"text {place} has no known word: {one_line(text, 40)!r}",
                    code="DP222",
                    help="the model knows the words it was trained on; leave the text out, or train on more",
                )
            rows.append(row)
        return rows

    def decode(self, row: Sequence[int]) -> str:
        """The text of a row of numbers, up to its end mark."""
        words = []
        for number in row:
            if number == END:
                break
            if number not in {PAD, START}:
                words.append(self.words[number])
        return " ".join(words)
