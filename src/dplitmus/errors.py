"""Every way dplitmus refuses, worded in one place.

    DplitmusError
    +-- InputError              exit status 2   what was asked cannot be done: change the request
    |   +-- MissingExtraError                   install the optional dependency it names
    +-- MechanismError          exit status 3   the audited code failed: change the mechanism

Every error carries a stable `code` (explained by `dplitmus explain CODE`), one sentence that shows
the value that was passed, and one `help` that says what to do. Codes: DP1xx verdicts, DP2xx bad
input, DP3xx notes on what was seen, DP4xx failures of the mechanism.
"""

from __future__ import annotations

import difflib
import math
import operator
from typing import TYPE_CHECKING, Any, SupportsFloat, SupportsIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


_SMALLEST_ALPHA = 1e-100


class DplitmusError(Exception):
    """Anything dplitmus refuses to do; catch this to catch them all, and print it."""

    exit_status = 2

    def __init__(self, message: str, *, code: str, help: str) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.help = help

    def __reduce__(self) -> tuple[Any, ...]:
        # Errors of workers cross process borders; the default would forget the keywords.
        return (_rebuilt, (type(self), self.message, self.code, self.help))

    def __str__(self) -> str:
        return f"error[{self.code}]: {self.message}\n  help: {self.help}"


class InputError(DplitmusError, ValueError):
    """A value, target or path that cannot be used; the message shows it, the help repairs it."""


class MissingExtraError(InputError, ImportError):
    """An optional dependency is not installed; the help is the pip command."""

    def __init__(self, package: str, *, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs {package}, which is not installed",
            code="DP207",
            help=f"pip install 'dplitmus[{extra}]'",
        )


class MechanismError(DplitmusError, RuntimeError):
    """The audited mechanism raised or returned what none may return; repair the mechanism."""

    exit_status = 3


def _rebuilt(kind: type[DplitmusError], message: str, code: str, help: str) -> DplitmusError:
    error = kind.__new__(kind, message)
    DplitmusError.__init__(error, message, code=code, help=help)
    return error


def bad_value(name: str, value: object, must: str, *, help: str, code: str = "DP201") -> InputError:
    """Word an error about one argument: `name=value must ...`."""
    return InputError(f"{name}={_shown(value)} must {must}", code=code, help=help)


def positive_number(name: str, value: object) -> float:
    """Return `value` as a float, or refuse it: finite and above zero."""
    number = _as_float(name, value)
    if not 0.0 < number < math.inf:
        raise bad_value(name, value, "be a finite number above 0", help=f"try {name}=1.0")
    return number


def probability(name: str, value: object) -> float:
    """Return `value` as a float, or refuse it: below one, and not so small that quantiles fail."""
    number = _as_float(name, value)
    if not _SMALLEST_ALPHA <= number < 1.0:
        raise bad_value(name, value, f"be at least {_SMALLEST_ALPHA:g} and below 1", help=f"try {name}=1e-6")
    return number


def whole_number(name: str, value: object, *, least: int, help: str, most: int | None = None) -> int:
    """Return `value` as an int, or refuse it: a whole number from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise bad_value(name, value, "be a whole number", help=help)
    number = operator.index(value)
    if number < least:
        raise bad_value(name, value, f"be at least {least}", help=help)
    if most is not None and number > most:
        raise bad_value(name, value, f"be at most {most:,}", help=help)
    return number


def one_of(name: str, value: object, choices: Iterable[str]) -> str:
    """Return `value`, or refuse it: one of the given names."""
    names = list(choices)
    if not isinstance(value, str) or value not in names:
        listed = ", ".join(repr(choice) for choice in names)
        raise bad_value(
            name, value, f"be one of {listed}", help=did_you_mean(str(value), names) or "pick one"
        )
    return str(value)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Suggest the closest known name, or return an empty string."""
    close = difflib.get_close_matches(word.lower(), list(known), n=1, cutoff=0.5)
    close = close or difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else ""


def _as_float(name: str, value: object) -> float:
    refusal = bad_value(name, value, "be a number", help=f"try {name}=1.0")
    if isinstance(value, bool) or not isinstance(value, SupportsFloat | SupportsIndex):
        raise refusal
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise refusal from None


def number(name: str, value: object) -> float:
    """Return `value` as a float, or refuse what is no number."""
    return _as_float(name, value)


def one_line(text: str, most: int = 80) -> str:
    """Text that came from outside, fit to print: one line, no control characters, not too long."""
    clean = "".join(letter if letter.isprintable() else " " for letter in text)
    return clean if len(clean) <= most else clean[: most - 3] + "..."


def in_words(function: Callable[[object], str], value: object) -> str:
    """`str` or `repr` of something that came from outside and may raise at it."""
    try:
        return function(value)
    except Exception:  # noqa: BLE001  (a user's method may raise anything)
        return f"<{type(value).__name__} that cannot be printed>"


def _shown(value: object) -> str:
    return one_line(in_words(repr, value))
