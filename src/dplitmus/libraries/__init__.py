"""Every mechanism of a library that can be made with default parameters, adapted.

Takes the name of a library; gives its mechanisms by name, and for those that are left out the reason.
"""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from dplitmus.adapters import installed
from dplitmus.errors import DplitmusError, InputError, did_you_mean, in_words, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dplitmus.adapters import Adapted

LIBRARIES = ("diffprivlib", "opendp")


class Stock(NamedTuple):
    """What there is of a library: mechanisms by name, and names that are left out, each with the reason."""

    version: str
    mechanisms: dict[str, Adapted]
    left_out: dict[str, str]


def stock(library: str, only: Iterable[str] = ()) -> Stock:
    """Make all that can be made, those of one relation together; what cannot be made says why."""
    builders: dict[str, Callable[[], Adapted]] = importlib.import_module(
        f"dplitmus.libraries.{library}"
    ).builders()
    wanted = list(only) or list(builders)
    mechanisms: dict[str, Adapted] = {}
    left_out: dict[str, str] = {}
    for name in wanted:
        if name not in builders:
            raise InputError(
                f"no mechanism named '{library}:{one_line(name)}'",
                code="DP204",
                help=f"{did_you_mean(name, builders)}  List them: dplitmus audit-library {library} --list",
            )
        try:
            mechanisms[name] = replace(builders[name](), name=name, dplitmus_target=f"{library}:{name}")
        except DplitmusError as error:
            left_out[name] = error.message
        except Exception as error:  # noqa: BLE001  (another library's constructor may raise anything)
            left_out[name] = one_line(in_words(str, error), 120)
    relations = list(dict.fromkeys(adapted.relation for adapted in mechanisms.values()))
    ordered = sorted(mechanisms.items(), key=lambda item: relations.index(item[1].relation))
    return Stock(installed.version(library), dict(ordered), left_out)


def find(library: str, name: str) -> Adapted:
    """One mechanism, by the name that `dplitmus audit-library` prints."""
    found = stock(library, [name])
    if name in found.left_out:
        raise InputError(
            f"'{library}:{name}' is left out: {found.left_out[name]}",
            code="DP242",
            help=f"what can be audited is listed by: dplitmus audit-library {library} --list",
        )
    return found.mechanisms[name]
