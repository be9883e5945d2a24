"""python-dp (PyDP, Google's C++ library): mechanisms add noise to a number, algorithms take a dataset."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dplitmus.adapters import installed
from dplitmus.adapters.base import Adapted, cannot, missing, outside
from dplitmus.claim import Claim
from dplitmus.errors import one_of
from dplitmus.mechanisms.base import each
from dplitmus.neighbours import DATASETS, as_pairs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dplitmus.neighbours import Pair

_AUDITS = ("LaplaceMechanism", "GaussianMechanism", "the algorithms of pydp.algorithms.laplacian")


def adapt(
    thing: Any,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    neighbours: Iterable[Any] | None = None,
    relation: str | None = None,
    bounds: tuple[float, float] | None = None,
    name: str | None = None,
) -> Adapted:
    """A numerical mechanism, or an algorithm with its `bounds`, which the object does not tell."""
    installed.load("pydp")
    if not isinstance(thing, type) and hasattr(thing, "add_noise"):
        adapted = _mechanism(thing, neighbours, relation)
    elif not isinstance(thing, type) and hasattr(thing, "quick_result"):
        adapted = _algorithm(thing, neighbours, relation, bounds)
    else:
        kind = thing.__name__ if isinstance(thing, type) else type(thing).__name__
        why = "it is a class, not an instance" if isinstance(thing, type) else "it adds no noise by itself"
        raise cannot(kind, why=why, audits=_AUDITS, library="python-dp")
    return replace(adapted.judged_by(epsilon, delta), name=name or adapted.name)


def _mechanism(thing: Any, neighbours: Iterable[Any] | None, relation: str | None) -> Adapted:
    kind = type(thing).__name__
    sensitivity = float(thing.l2_sensitivity if hasattr(thing, "l2_sensitivity") else thing.sensitivity)
    words = relation or f"numbers at distance at most {sensitivity:g}"

    def covers(pair: Pair) -> None:
        if abs(float(pair.x_prime) - float(pair.x)) > sensitivity * (1 + 1e-9):
            raise outside(pair, relation=words, help="give pairs within the mechanism's sensitivity")

    def release(x: Any) -> float:
        return float(thing.add_noise(float(x)))

    epsilon, delta = float(thing.epsilon), float(getattr(thing, "delta", 0.0))
    return Adapted(
        mechanism=each(release),
        name=kind,
        claim=Claim(epsilon=epsilon, delta=delta),
        claimed_by=_said(f"{kind}: epsilon {epsilon:g}, delta {delta:g}, sensitivity {sensitivity:g}"),
        relation=words,
        neighbours=tuple(as_pairs([(0.0, sensitivity)] if neighbours is None else neighbours)),
        sensitivity=sensitivity,
        covers=covers,
    )


def _algorithm(
    thing: Any,
    neighbours: Iterable[Any] | None,
    relation: str | None,
    bounds: tuple[float, float] | None,
) -> Adapted:
    kind = type(thing).__name__
    # Google's library protects who is in the data: its contribution bounds are those of one user.
    chosen = one_of("relation", relation or "add-remove", DATASETS)
    if neighbours is None and bounds is None and kind != "Count":
        raise missing(
            "its bounds",
            of=kind,
            why="the object keeps them to itself, and the neighbours are made of them",
            help="adapt(algorithm, bounds=(0, 10)), or give neighbours=[(x, x_prime)]",
        )
    low, high = bounds or (0, 1)
    start = [low, low, high]
    made = [(start, [*start, high]), (start, [*start, low])]
    if chosen == "replace-one":
        made = [(start, [low, high, high])]
    whole = getattr(thing, "dtype", "float") == "int"

    def release(x: Any) -> float:
        records = np.asarray(x).tolist()
        try:
            return float(thing.quick_result([int(record) for record in records] if whole else records))
        except RuntimeError:
            return math.nan  # the algorithm refuses this dataset, which is an answer, too

    epsilon, delta = float(thing.epsilon), float(getattr(thing, "delta", 0.0))
    return Adapted(
        mechanism=each(release),
        name=kind,
        claim=Claim(epsilon=epsilon, delta=delta),
        claimed_by=_said(f"{kind}: epsilon {epsilon:g}, delta {delta:g}"),
        relation=chosen,
        neighbours=tuple(as_pairs(made if neighbours is None else neighbours, chosen)),
        note="python-dp bounds what one user adds or removes; under replace-one it claims twice as much."
        if chosen == "replace-one"
        else None,
    )


def _said(words: str) -> str:
    return f"python-dp {installed.version('pydp')}, {words}"
