"""The mechanisms of the paper: zeros against ones in {0, 1}^n, where any two vectors are neighbours."""

from __future__ import annotations

from dplitmus.mechanisms.adept import adept
from dplitmus.mechanisms.baselines import Copy, HalvedOutput, Random
from dplitmus.mechanisms.dptext import DPText
from dplitmus.mechanisms.laplace import Laplace
from dplitmus.mechanisms.zoo.entry import Entry, as_claimed, infinite


def _laplace(sampler: str) -> Entry:
    return Entry(
        name="laplace" if sampler == "eq4" else f"laplace-{sampler}",
        summary=f"x + Lap(n/epsilon), sampler {sampler}",
        make=lambda epsilon, n: Laplace(epsilon=epsilon, sensitivity=n, sampler=sampler),
        relation="any",
        true_epsilon=as_claimed,  # L1 distance n over scale n/epsilon
        truth="epsilon",
    )


def _dptext(name: str, reading: str, what: str) -> Entry:
    return Entry(
        name=name,
        summary=f"DPText, eqs. (8)+(9), NaN {what}",
        make=lambda epsilon, n: DPText(epsilon=epsilon, sensitivity=n, reading=reading),
        relation="any",
        true_epsilon=infinite,  # the noise is never negative: below 1 is impossible on ones
        truth="infinite",
    )


ENTRIES = (
    _laplace("eq4"),
    _laplace("eq5"),
    _laplace("eq7"),
    _laplace("numpy"),
    Entry(
        name="adept",
        summary="ADePT: x + Lap(1/epsilon) for any n",
        make=lambda epsilon, _n: adept(epsilon=epsilon),
        relation="any",
        true_epsilon=lambda epsilon, n: n * epsilon,  # L1 distance n over scale 1/epsilon
        truth="n * epsilon",
    ),
    _dptext("dptext-nan0", "zero", "set to 0"),
    _dptext("dptext-redraw", "redraw", "redrawn"),
    _dptext("dptext-nan", "keep", "kept"),
    Entry(
        name="halved-output",
        summary="half of laplace's output",
        make=lambda epsilon, n: HalvedOutput(laplace=Laplace(epsilon=epsilon, sensitivity=n)),
        relation="any",
        true_epsilon=as_claimed,  # a bijection of laplace's output
        truth="epsilon",
    ),
    Entry(
        name="copy",
        summary="the input itself",
        make=lambda _epsilon, _n: Copy(),
        relation="any",
        true_epsilon=infinite,
        truth="infinite",
    ),
    Entry(
        name="random",
        summary="fair coins, whatever the input",
        make=lambda _epsilon, _n: Random(),
        relation="any",
        true_epsilon=lambda _epsilon, _n: 0.0,
        truth="0",
    ),
)
