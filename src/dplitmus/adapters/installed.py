"""Whether a library is there, and in a version that the adapters know."""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING, NamedTuple

from dplitmus.errors import InputError, MissingExtraError, in_words, one_line

if TYPE_CHECKING:
    from types import ModuleType


class Known(NamedTuple):
    """A library's name on PyPI and the versions that were tried: from `oldest`, below `unknown`."""

    package: str
    oldest: str
    unknown: str
    repair: str = ""  # what else must be in a certain version
    remark: str = ""  # what works only in part


# An untried version is refused: an adapter that misreads a claim accuses wrongly.
KNOWN = {
    "opendp": Known("opendp", "0.12", "0.17"),
    "diffprivlib": Known(
        "diffprivlib",
        "0.6.5",
        "0.7",
        "'scikit-learn<1.9'",
        "its LogisticRegression needs scikit-learn below 1.8",
    ),
    "pydp": Known("python-dp", "1.1.4", "1.2"),
    "opacus": Known("opacus", "1.5", "1.7"),
    "torch": Known("torch", "2.4", "3"),
}


def load(library: str, module: str | None = None) -> ModuleType:
    """Import a library, or a module of it, in a version that works; else say which do."""
    known = KNOWN[library]
    found = version(library)
    if not _parts(known.oldest) <= _parts(found) < _parts(known.unknown):
        age = "old" if _parts(found) < _parts(known.oldest) else "new"
        raise _refusal(known, f"{known.package} {found} is too {age} for this adapter")
    try:
        return importlib.import_module(module or library)
    except Exception as error:
        words = one_line(in_words(str, error), 150)
        raise _refusal(known, f"{known.package} {found} cannot be imported: {words}") from error


def version(library: str) -> str:
    """The installed version; refuses with the pip command if there is none."""
    from importlib import metadata  # slow to import, and no need where no library is asked for

    known = KNOWN[library]
    try:
        return metadata.version(known.package)
    except metadata.PackageNotFoundError:
        raise MissingExtraError(
            known.package, extra="adapters", purpose=f"the adapter for {library}"
        ) from None


def raised_in(error: BaseException) -> str | None:
    """What to say of an exception that came from inside a library that the adapters know."""
    trace, library = error.__traceback__, None
    while trace is not None:
        root = str(trace.tb_frame.f_globals.get("__name__", "")).split(".", maxsplit=1)[0]
        library, trace = root if root in KNOWN else library, trace.tb_next
    if library is None:
        return None
    known = KNOWN[library]
    remark = f"; {known.remark}" if known.remark else ""
    return f"it was raised in {known.package} {version(library)}; {_wanted(known)} is known to work{remark}"


def _wanted(known: Known) -> str:
    return f"'{known.package}>={known.oldest},<{known.unknown}' {known.repair}".strip()


def _refusal(known: Known, what: str) -> InputError:
    wanted = _wanted(known)
    return InputError(
        what,
        code="DP241",
        help=f"pip install {wanted}  or audit its functions as your own: dplitmus.each(f)",
    )


def _parts(number: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", number.split("+", maxsplit=1)[0])[:3])
