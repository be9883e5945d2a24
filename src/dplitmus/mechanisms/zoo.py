"""Mechanisms with a known answer, by name: `zoo:NAME` on the command line.

Takes a name, epsilon and a dimension; gives the mechanism that claims epsilon on zeros against
ones in that dimension, and the truth about it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from dplitmus.errors import InputError, did_you_mean
from dplitmus.mechanisms.adept import adept
from dplitmus.mechanisms.baselines import Copy, HalvedOutput, Random
from dplitmus.mechanisms.dptext import DPText
from dplitmus.mechanisms.laplace import Laplace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dplitmus.mechanisms.base import Mechanism


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One mechanism of the zoo: how to build it, and its true epsilon on zeros against ones."""

    name: str
    summary: str
    build: Callable[[float, int], Mechanism]
    true_epsilon: Callable[[float, int], float]
    truth: str

    @property
    def broken(self) -> bool:
        """Whether the true epsilon exceeds the claim in some dimension."""
        return self.true_epsilon(1.0, 2) > 1.0


def _as_claimed(epsilon: float, _dimension: int) -> float:
    return epsilon


def _infinite(_epsilon: float, _dimension: int) -> float:
    return math.inf


def _laplace(sampler: str) -> Entry:
    return Entry(
        name="laplace" if sampler == "eq4" else f"laplace-{sampler}",
        summary=f"x + Lap(n/epsilon), sampler {sampler}",
        build=lambda epsilon, n: Laplace(epsilon=epsilon, sensitivity=n, sampler=sampler),
        true_epsilon=_as_claimed,
        truth="epsilon",
    )


def _dptext(name: str, reading: str, what: str) -> Entry:
    return Entry(
        name=name,
        summary=f"DPText, eqs. (8)+(9), NaN {what}",
        build=lambda epsilon, n: DPText(epsilon=epsilon, sensitivity=n, reading=reading),
        true_epsilon=_infinite,
        truth="infinite",
    )


_ENTRIES = (
    _laplace("eq4"),
    _laplace("eq5"),
    _laplace("eq7"),
    _laplace("numpy"),
    Entry(
        name="adept",
        summary="ADePT: x + Lap(1/epsilon) for any n",
        build=lambda epsilon, _n: adept(epsilon=epsilon),
        true_epsilon=lambda epsilon, n: n * epsilon,
        truth="n * epsilon",
    ),
    _dptext("dptext-nan0", "zero", "set to 0"),
    _dptext("dptext-redraw", "redraw", "redrawn"),
    _dptext("dptext-nan", "keep", "kept"),
    Entry(
        name="halved-output",
        summary="half of laplace's output",
        build=lambda epsilon, n: HalvedOutput(laplace=Laplace(epsilon=epsilon, sensitivity=n)),
        true_epsilon=_as_claimed,
        truth="epsilon",
    ),
    Entry(
        name="copy",
        summary="the input itself",
        build=lambda _epsilon, _n: Copy(),
        true_epsilon=_infinite,
        truth="infinite",
    ),
    Entry(
        name="random",
        summary="fair coins, whatever the input",
        build=lambda _epsilon, _n: Random(),
        true_epsilon=lambda _epsilon, _n: 0.0,
        truth="0",
    ),
)
ZOO: Mapping[str, Entry] = MappingProxyType({entry.name: entry for entry in _ENTRIES})
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
