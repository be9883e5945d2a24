"""Mechanisms with a known answer, by name: `zoo:NAME` on the command line.

Takes a name; gives an entry, which builds the mechanism for an epsilon and a dimension and knows the
truth about it. One file per family.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from dplitmus.errors import InputError, did_you_mean
from dplitmus.mechanisms.zoo import (
    counting,
    gaussian,
    layers,
    noise,
    noisy_max,
    paper,
    randomised,
    sparse_vector,
)
from dplitmus.mechanisms.zoo.entry import Entry

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ALIASES", "ZOO", "Entry", "find"]

_FAMILIES = (paper, noise, counting, gaussian, noisy_max, sparse_vector, randomised, layers)
ZOO: Mapping[str, Entry] = MappingProxyType(
    {entry.name: entry for family in _FAMILIES for entry in family.ENTRIES}
)
ALIASES: Mapping[str, str] = MappingProxyType({"dptext": "dptext-nan0", "coin": "random"})


def find(name: str) -> Entry:
    """Return the entry of that name, or refuse with the closest one."""
    entry = ZOO.get(ALIASES.get(name, name))
    if entry is None:
        hint = did_you_mean(f"zoo:{name}", [f"zoo:{known}" for known in (*ZOO, *ALIASES)])
        raise InputError(
            f"no mechanism named 'zoo:{name}'",
            code="DP204",
            help=f"{hint}  List them with: dplitmus zoo".strip(),
        )
    return entry
