"""OpenDP: a measurement knows its metric, its measure and its privacy map, which together are the claim.

A transformation adds no noise: `query` gives what a check of its sensitivity needs.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dplitmus.adapters import installed
from dplitmus.adapters.base import Adapted, cannot, missing, outside
from dplitmus.claim import Claim
from dplitmus.errors import InputError, in_words, one_line
from dplitmus.mechanisms.base import each
from dplitmus.neighbours import DATASETS, Domain, as_pairs, datasets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dplitmus.neighbours import Pair

_AUDITS = ("Measurement",)
_NORMS = {1: "l1", 2: "l2", math.inf: "linf"}
_ROWS, _WIDEST = 5, 100.0  # of the datasets that are searched where the domain gives no size and no bounds
_NUMERIC = {"AbsoluteDistance": 1, "L1Distance": 1, "L2Distance": 2, "LInfDistance": math.inf}
_UNORDERED = ("SymmetricDistance", "InsertDeleteDistance")
_REPLACING = ("ChangeOneDistance", "HammingDistance")
_RENYI_ORDERS = (1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 32.0, 64.0, 128.0)


class Query(NamedTuple):
    """A transformation as a query: how far apart its answers on neighbours may be, by its own map."""

    function: Callable[[Any], Any]
    neighbours: tuple[Pair, ...] | Domain
    claimed: float  # the largest distance of two answers
    norm: str  # of that distance: "l1", "l2" or "linf"
    relation: str
    claimed_by: str


def adapt(
    measurement: Any,
    *,
    d_in: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    neighbours: Iterable[Any] | None = None,
    relation: str | None = None,
    name: str = "measurement",
) -> Adapted:
    """A measurement, with the claim that its privacy map makes for inputs at distance `d_in`.

    Without `d_in` it is the largest distance of the given numeric `neighbours`, or the smallest distance of
    two different datasets, or 1. Concentrated privacy is turned into (epsilon, delta) at the given `delta`.
    """
    installed.load("opendp")
    if type(measurement).__name__ == "Transformation":
        raise cannot(
            "an OpenDP transformation",
            why="it adds no noise; chain it with a measurement, or check its stability map: dplitmus "
            "sensitivity TARGET, dplitmus.sensitivity(transformation)",
            audits=_AUDITS,
            library="opendp",
        )
    if type(measurement).__name__ != "Measurement":
        kind = type(measurement).__name__
        raise cannot(f"an OpenDP {kind}", why="it is no measurement", audits=_AUDITS, library="opendp")
    space = _space(measurement, d_in, neighbours, relation)
    claim, how = _claim(measurement, space.d_in, epsilon, delta)
    carrier = str(measurement.input_carrier_type)

    def release(x: Any) -> Any:
        return measurement(_carried(x, carrier))

    release.__name__ = name
    return Adapted(
        mechanism=each(release),
        name=name,
        claim=claim,
        claimed_by=f"opendp {installed.version('opendp')}, {how}",
        relation=space.relation,
        neighbours=space.pairs,
        sensitivity=space.d_in if space.norm is not None else None,
        covers=space.covers,
    ).judged_by(epsilon, delta)


def query(
    transformation: Any, *, d_in: float | None = None, neighbours: Iterable[Any] | Domain | None = None
) -> Query:
    """A transformation as a query, with the sensitivity that its stability map claims at distance `d_in`.

    Without `neighbours` they are all datasets of numbers in the domain (numbers up to 100 where it has no
    bounds, five records where it has no size), and usual pairs of anything else.
    """
    installed.load("opendp")
    metric = str(getattr(transformation, "output_metric", "")).split("(")[0]
    if type(transformation).__name__ != "Transformation" or metric not in _NUMERIC:
        raise cannot(
            f"an OpenDP {type(transformation).__name__}",
            why="only a transformation whose answers are numbers or vectors has a sensitivity",
            audits=(f"transformations to {', '.join(_NUMERIC)}",),
            library="opendp",
        )
    given = None if isinstance(neighbours, Domain) else neighbours
    space = _space(transformation, d_in, given, None)
    for pair in space.pairs:
        space.covers(pair)
    if isinstance(neighbours, Domain) and neighbours.relation != space.relation:
        raise InputError(
            f"relation={neighbours.relation!r} must be the one of the transformation, {space.relation!r}",
            code="DP244",
            help=f"its input metric is {transformation.input_metric}; search neighbours of that relation",
        )
    carrier = str(transformation.input_carrier_type)
    where: Domain | tuple[Pair, ...] | None = neighbours if isinstance(neighbours, Domain) else None
    if neighbours is None:
        where = _Domain.of(transformation.input_domain).searched(space.relation)
    return Query(
        function=lambda x: transformation(_carried(x, carrier)),
        neighbours=where or space.pairs,
        claimed=float(_mapped(transformation, space.d_in)),
        norm=_NORMS[_NUMERIC[metric]],
        relation=space.relation,
        claimed_by=f"opendp {installed.version('opendp')}, stability map at d_in = {space.d_in}",
    )


class _Space(NamedTuple):
    """Which inputs are neighbours, and how far apart they are in the metric."""

    d_in: Any
    relation: str
    pairs: tuple[Pair, ...]
    norm: float | None  # None between datasets and categories

    def covers(self, pair: Pair) -> None:
        """Refuse a pair that is farther apart than the distance of the claim."""
        if self.norm is not None and _distance(pair, self.norm) > self.d_in * (1 + 1e-9):
            raise outside(pair, relation=self.relation, help="raise d_in: the privacy map answers for any")


def _space(
    measurement: Any, d_in: float | None, neighbours: Iterable[Any] | None, relation: str | None
) -> _Space:
    metric = str(measurement.input_metric).split("(")[0]
    domain = _Domain.of(measurement.input_domain)
    if metric in _NUMERIC:
        norm = _NUMERIC[metric]
        given = None if neighbours is None else as_pairs(neighbours)
        far = max((_distance(pair, norm) for pair in given), default=1.0) if given else 1.0
        d_in = far if d_in is None else d_in
        d_in = math.ceil(d_in) if _is_whole(str(measurement.input_distance_type)) else float(d_in)
        pairs = given or as_pairs(domain.vectors(d_in, norm))
        return _Space(d_in, f"{metric} at most {d_in:g}", tuple(pairs), norm)
    if metric in (*_UNORDERED, *_REPLACING):
        by_replacing = metric in _REPLACING or domain.size is not None or relation == "replace-one"
        relation = "replace-one" if by_replacing else "add-remove"
        # To replace a record is to remove one and to add one, where that is how distances are counted.
        least = 2 if by_replacing and metric in _UNORDERED else 1
        found = as_pairs(domain.datasets(relation) if neighbours is None else neighbours, relation)
        return _Space(int(d_in or least), relation, tuple(found), None)
    if metric == "DiscreteDistance":
        found = as_pairs([domain.two()] if neighbours is None else neighbours)
        return _Space(1, "any two values", tuple(found), None)
    if d_in is None or neighbours is None:
        raise missing(
            "its neighbours",
            of="the measurement",
            why=f"{metric} is a metric of which dplitmus knows no usual pairs",
            help="give both: adapt(measurement, d_in=..., neighbours=[(x, x_prime)])",
        )
    return _Space(d_in, f"{metric} at most {d_in!s}", tuple(as_pairs(neighbours)), None)


def _claim(measurement: Any, d_in: Any, epsilon: float | None, delta: float | None) -> tuple[Claim, str]:
    measure = str(measurement.output_measure)
    shown = f"{d_in:g}" if isinstance(d_in, int | float) else str(d_in)
    how = f"privacy map at d_in = {shown}"
    loss = _mapped(measurement, d_in)
    if measure in {"ZeroConcentratedDivergence", "Approximate(ZeroConcentratedDivergence)"}:
        from opendp.combinators import make_zCDP_to_approxDP

        delta = _needed(delta, measure)
        loss = (_mapped(make_zCDP_to_approxDP(measurement), d_in).epsilon(delta), delta)
    elif measure == "SmoothedMaxDivergence":
        delta = _needed(delta, measure)
        loss = (loss.epsilon(delta), delta)
    elif measure == "RenyiDivergence":
        # Mironov (2017), proposition 3: for every order a, epsilon = loss(a) + ln(1/delta) / (a - 1).
        delta = _needed(delta, measure)
        loss = (min(loss(a) + math.log(1 / delta) / (a - 1) for a in _RENYI_ORDERS), delta)
    elif measure not in {"MaxDivergence", "Approximate(MaxDivergence)", "FixedSmoothedMaxDivergence"}:
        if epsilon is None:
            raise missing(
                "an epsilon",
                of="the measurement",
                why=f"its measure is {measure}",
                help="say what is claimed: epsilon=..., delta=...",
            )
        loss = (epsilon, delta or 0.0)
    found, at = loss if isinstance(loss, tuple) else (loss, 0.0)
    if not math.isfinite(found):
        raise cannot(
            "a measurement whose privacy map gives infinity",
            why="it claims nothing for such neighbours",
            audits=("measurements with a finite privacy map",),
            library="opendp",
        )
    return Claim(epsilon=max(found, 1e-9), delta=at), how


def _needed(delta: float | None, measure: str) -> float:
    if delta is None:
        raise missing(
            "a delta",
            of="the measurement",
            why=f"its measure is {measure}, which gives an epsilon at every delta",
            help="choose one: delta=1e-6, on the command line --delta 1e-6",
        )
    return Claim(epsilon=1.0, delta=delta).delta


def _mapped(measurement: Any, d_in: Any) -> Any:
    try:
        return measurement.map(d_in)
    except Exception as error:
        raise InputError(
            f"opendp gives no bound at d_in={d_in!r}: {one_line(in_words(str, error), 150)}",
            code="DP243",
            help="give a d_in that its metric allows: adapt(measurement, d_in=...)",
        ) from error


def _distance(pair: Pair, norm: float) -> float:
    difference = np.asarray(pair.x_prime, dtype=float) - np.asarray(pair.x, dtype=float)
    return float(np.linalg.norm(np.atleast_1d(difference).reshape(-1), norm))


class _Domain(NamedTuple):
    """What the description of a domain says: the type of an atom, its bounds, the number of records."""

    atom: str
    bounds: tuple[float, float] | None
    size: int | None
    vector: bool

    @classmethod
    def of(cls, domain: Any) -> _Domain:
        """Read the description, the same in all known versions; the attributes of domains have changed."""
        text = str(domain)
        atom = re.search(r"T=(\w+)", text)
        bounds = re.search(r"bounds=\[([^,\]]+), ([^,\]]+)\]", text)
        size = re.search(r"size=(\d+)", text)
        return cls(
            atom[1] if atom else text,
            (float(bounds[1]), float(bounds[2])) if bounds else None,
            int(size[1]) if size else None,
            text.startswith("VectorDomain"),
        )

    def vectors(self, d_in: float, norm: float) -> list[tuple[Any, Any]]:
        """Inputs as far apart as is allowed: along one coordinate, and spread over all of them."""
        low, high = self.bounds or (0.0, d_in)
        step = min(d_in, high - low)
        if not self.vector:
            return [(low, low + step)]
        length = self.size or 2
        base = np.full(length, low)
        moved = base.copy()
        moved[0] += step
        spread = min(step, d_in / (length if norm == 1 else math.sqrt(length) if norm == 2 else 1))
        whole = _is_whole(self.atom) and spread != int(spread)
        found = [(base, moved)] + [(base, base + spread)] * (length > 1 and not whole)
        return [*found, (moved, base + step - (moved - base))] if norm == math.inf else found

    def datasets(self, relation: str) -> list[tuple[Any, Any]]:
        """Few records, all alike, but for one that is as different as can be."""
        one, other = self.two()
        if relation == "add-remove":
            return [([one, one], [one, one, other]), ([other, other], [other, other, one])]
        length = self.size or 3
        return [([one] * length, [one] * (length - 1) + [other])]

    def searched(self, relation: str) -> Domain | tuple[Pair, ...] | None:
        """All datasets of numbers; of whole numbers, corners only; None of anything else."""
        if relation not in DATASETS or not (self.atom in {"f32", "f64"} or _is_whole(self.atom)):
            return None
        low, high = self.bounds or (0.0 if self.atom.startswith("u") else -_WIDEST, _WIDEST)
        domain = datasets(self.size or _ROWS, low=low, high=high, relation=relation)
        if not _is_whole(self.atom):
            return domain
        return tuple(pair for pair in domain.corners() if np.all(np.rint(pair.x) == pair.x))

    def two(self) -> tuple[Any, Any]:
        """Two values: the bounds, or 0 and 1 in the type."""
        values: dict[str, tuple[Any, Any]] = {"bool": (False, True), "String": ("a", "b")}
        if self.bounds or self.atom in values:
            return self.bounds or values[self.atom]
        if self.atom in {"f32", "f64"} or _is_whole(self.atom):
            return 0.0, 1.0
        raise missing(
            "its neighbours",
            of="the measurement",
            why=f"dplitmus knows no values of {self.atom}",
            help="give pairs: neighbours=[(x, x_prime)]",
        )


def _is_whole(atom: str) -> bool:
    return re.fullmatch(r"[iu](\d+|size)", atom) is not None


def _carried(x: Any, carrier: str) -> Any:
    """The input as the Python type that OpenDP takes for its own; a pair's vector of numbers is an array."""
    if carrier.startswith("Vec<"):
        return [_carried(item, carrier[4:-1]) for item in x]
    if carrier in {"f32", "f64"}:
        return float(x)
    if carrier == "bool":
        return bool(x)
    return int(x) if _is_whole(carrier) else x
