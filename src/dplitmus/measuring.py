"""The sensitivity of a query: a search for neighbours between which it moves more than is claimed.

Takes a query without noise and its neighbours; gives the pair that moves it most. No statistics are needed:
a pair that moves it too far is a proof, and anybody can evaluate the query on it. Not to find one proves
nothing.
"""

from __future__ import annotations

import copy
import inspect
import math
import sys
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dplitmus.adapters import library_of, opendp
from dplitmus.errors import (
    InputError,
    MechanismError,
    bad_value,
    in_words,
    one_line,
    one_of,
    positive_number,
    whole_number,
)
from dplitmus.mechanisms.base import as_callee
from dplitmus.neighbours import Domain, Pair, as_pairs
from dplitmus.samples import checked_seed, stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Query = Callable[[Any], Floats]

NORMS = ("l1", "l2", "linf")
_PHASE = 70
_ROUNDING = 1e-9  # relative: two floating-point ways to one number are no violation
_RANDOM = 0.1  # of the evaluations are spent on random pairs, the rest on moving the best ones
_BEST = 8  # pairs from which the local search starts
_LARGEST_STEP, _SMALLEST_STEP = 0.5, 1e-3  # of the range
_ASCENT_STEPS, _ASCENT_STARTS = 100, 4
_SAME_SEED = 32  # draws with one seed on both inputs


@dataclass(frozen=True, kw_only=True)
class Sensitivity:
    """How far a query moves between neighbours, at least, with the pair that shows it."""

    query: str
    norm: str
    claimed: float
    found: float  # the largest distance that was seen
    x: Any
    x_prime: Any
    how: str  # where the pair comes from
    evaluations: int  # pairs on which the query was evaluated
    failed: int  # pairs on which it raised
    seed: int
    additive: bool | None = (
        None  # of a mechanism, run with one seed on both inputs: whether its noise cancels
    )
    relation: str | None = None  # which inputs are neighbours, and whose claim it is, where a library tells
    claimed_by: str | None = None

    @property
    def violated(self) -> bool:
        """Whether the claim is refuted by the pair; noise that does not cancel refutes nothing."""
        return self.found > self.claimed * (1 + _ROUNDING) and self.additive is not False

    def __str__(self) -> str:
        from dplitmus.report.text import sensitivity as as_text  # noqa: PLC0415  (a later stage)

        return as_text(self)


def sensitivity(
    query: Any,
    neighbours: Domain | Iterable[Any] | None = None,
    claimed: float | None = None,
    norm: str | None = None,
    *,
    evaluations: int = 4000,
    seed: int | None = None,
) -> Sensitivity:
    """Look for neighbours between which `query` moves by more than `claimed`, in the named norm ("l1").

    `neighbours` are pairs, or a domain from `dplitmus.neighbours` (`vectors`, `datasets`), in which patterns,
    corners, random pairs and a local search are tried; for a torch module a gradient ascent, too. A mechanism
    (x, n, rng) may stand for its query: it is run with the same seed on both inputs, so that noise that is
    merely added cancels. An OpenDP transformation tells neighbours, claim and norm itself. The result is a
    function of the arguments and the seed.

    >>> from dplitmus.neighbours import vectors
    >>> clip = lambda x: x / max(1.0, np.linalg.norm(x))            # to L2 norm 1
    >>> found = sensitivity(clip, vectors(16, low=-1.0), claimed=2.0)
    >>> found.violated, round(found.found, 3)                       # L1: 2 sqrt(16), not 2
    (True, 8.0)
    """
    told = opendp.query(query, neighbours=neighbours) if library_of(query) == "opendp" else None
    where = neighbours if told is None else told.neighbours
    claimed_by = None if told is None else told.claimed_by if claimed is None else "you"
    if told is not None:
        claimed, norm = told.claimed if claimed is None else claimed, norm or told.norm
    claimed, norm = positive_number("claimed", claimed), one_of("norm", norm or "l1", NORMS)
    whole_number("evaluations", evaluations, least=1, most=10**9, help="try evaluations=4000")
    seed = checked_seed(seed)
    run = _Search(_as_query(query if told is None else told.function, seed), norm)
    if isinstance(where, Domain):
        _explore(run, where, evaluations, stream(seed, _PHASE))
        if _is_module(query):
            _ascend(run, query, where)
    else:
        for pair in as_pairs(() if where is None else where, told.relation if told else None):
            run.tried(pair)
    if not run.best:
        raise run.nothing(query)
    distance, pair = run.best[0]
    return Sensitivity(
        query=_name_of(query),
        norm=norm,
        claimed=claimed,
        found=distance,
        x=pair.x,
        x_prime=pair.x_prime,
        how=pair.name,
        evaluations=run.evaluations,
        failed=run.failed,
        seed=seed,
        additive=_additive(query, pair, seed) if told is None and _is_mechanism(query) else None,
        relation=told.relation if told else None,
        claimed_by=claimed_by,
    )


class _Search:
    """The best pairs so far."""

    def __init__(self, query: Query, norm: str) -> None:
        self.query, self.norm = query, norm
        self.best: list[tuple[float, Pair]] = []
        self.evaluations = self.failed = 0
        self.error: Exception | None = None

    def tried(self, pair: Pair) -> float:
        """How far the query moves on a pair; -inf where it fails."""
        self.evaluations += 1
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")  # an empty dataset has no mean
                here, there = (self.query(copy.deepcopy(end)) for end in (pair.x, pair.x_prime))
        except MechanismError:
            raise
        except Exception as error:  # noqa: BLE001  (a user's query may raise anything)
            self.failed, self.error = self.failed + 1, error
            return -math.inf
        if here.shape != there.shape:
            raise MechanismError(
                f"the query gives {here.size} numbers on one input and {there.size} on its neighbour",
                code="DP402",
                help="a sensitivity needs answers of one shape: make the query return a fixed number of them",
            )
        moved = distance(here, there, self.norm)
        if math.isnan(moved):
            self.failed += 1
            return -math.inf
        if len(self.best) < _BEST or moved > self.best[-1][0]:
            # Of pairs that are equal but for rounding the first, which is the simplest, stays in front.
            self.best = sorted([*self.best, (moved, pair)], key=lambda one: -float(f"{one[0]:.9g}"))[:_BEST]
        return moved

    def nothing(self, query: object) -> MechanismError:
        """What to say if the query failed on every pair."""
        why = (
            f"{type(self.error).__name__}: {one_line(in_words(str, self.error), 200)}"
            if self.error
            else "NaN"
        )
        return MechanismError(
            f"{_name_of(query)} failed on all {self.evaluations} pairs: {why}",
            code="DP401",
            help="call it yourself on one input: query(numpy.zeros(dimension))",
        )


def distance(here: Floats, there: Floats, norm: str) -> float:
    """Between two answers."""
    with np.errstate(invalid="ignore", over="ignore"):
        away = np.abs(there - here).reshape(-1)
    if norm == "l1":
        return float(away.sum())
    return float(np.sqrt(np.square(away).sum()) if norm == "l2" else away.max(initial=0.0))


def _explore(run: _Search, domain: Domain, evaluations: int, rng: np.random.Generator) -> None:
    """Corners, then random pairs, then steps from the best ones that shrink as time goes by."""
    for pair in domain.corners():
        run.tried(pair)
    for _ in range(int(_RANDOM * evaluations)):
        run.tried(domain.drawn(rng))
    left = evaluations - run.evaluations
    for turn in range(max(0, left)):
        if not run.best:
            run.tried(domain.drawn(rng))
            continue
        step = _LARGEST_STEP * (_SMALLEST_STEP / _LARGEST_STEP) ** (turn / left)
        _, start = run.best[int(len(run.best) * rng.random() ** 2)]
        run.tried(domain.moved(start, rng, step))


def _ascend(run: _Search, module: Any, domain: Domain) -> None:
    """Gradient ascent on both members of the best pairs at once: Adam, projected to the domain."""
    import torch  # noqa: PLC0415  (only for who brings a torch module)

    kind = next((parameter.dtype for parameter in module.parameters()), torch.float32)
    free = domain.relation == "any"
    for _, start in run.best[:_ASCENT_STARTS]:
        if np.shape(start.x) != np.shape(start.x_prime):
            return  # a record more or less has no gradient
        ends = [
            torch.tensor(np.asarray(end), dtype=kind, requires_grad=True) for end in (start.x, start.x_prime)
        ]
        differ = torch.tensor(np.asarray(start.x) != np.asarray(start.x_prime))
        optimiser = torch.optim.Adam(ends, lr=0.05 * (domain.high - domain.low))
        for _ in range(_ASCENT_STEPS):
            optimiser.zero_grad()
            away = (_torch_call(module, ends[1]) - _torch_call(module, ends[0])).abs().reshape(-1)
            moved = {"l1": away.sum, "l2": lambda away=away: away.square().sum().sqrt(), "linf": away.max}
            (-moved[run.norm]()).backward()
            optimiser.step()
            with torch.no_grad():
                for end in ends:
                    end.clamp_(domain.low, domain.high)
                if not free:  # neighbours differ where they differed
                    ends[1][~differ] = ends[0][~differ]
        members = [end.detach().numpy().astype(float) for end in ends]
        run.tried(Pair(members[0], members[1], "found by gradient ascent"))


def _torch_call(module: Any, x: Any) -> Any:
    """A module's answer on one input; most modules want a batch."""
    try:
        return module(x[None])[0]
    except (RuntimeError, TypeError, ValueError, IndexError):
        return module(x)


def _is_module(query: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(query, torch.nn.Module)


def _is_mechanism(query: Any) -> bool:
    """Whether it takes a number of draws and a generator, as in (x, n, rng)."""
    if _is_module(query) or not callable(query):
        return False
    try:
        parameters = inspect.signature(query).parameters.values()
    except (TypeError, ValueError):
        return False
    needed = [
        p
        for p in parameters
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    return len(needed) >= 2 or any(p.name == "rng" for p in parameters)


def _as_query(query: Any, seed: int) -> Query:
    if not callable(query):
        raise bad_value(
            "query", query, "be callable", code="DP205", help="a query is a function of one input"
        )
    if _is_module(query):
        torch = sys.modules["torch"]
        kind = next((parameter.dtype for parameter in query.parameters()), torch.float32)

        def evaluated(x: Any) -> Floats:
            with torch.no_grad():
                return np.asarray(_torch_call(query, torch.as_tensor(np.asarray(x), dtype=kind)), dtype=float)

        return evaluated
    if _is_mechanism(query):
        callee = as_callee(query)
        if not callee.takes_rng:
            raise InputError(
                f"{callee.name} takes no rng: its noise cannot be the same on two inputs",
                code="DP205",
                help="give the query without its noise, as a function of one input",
            )
        return lambda x: _numbers(callee.call(x, 1, stream(seed, _PHASE, 1)))
    return lambda x: _numbers(query(x))


def _numbers(answer: Any) -> Floats:
    if hasattr(answer, "detach"):
        answer = answer.detach()
    try:
        numbers = np.asarray(answer)
        if numbers.dtype.kind in "biuf":
            return numbers.astype(float)
    except (TypeError, ValueError, RuntimeError):
        pass
    raise MechanismError(
        f"the query returned a {type(answer).__name__}, not numbers",
        code="DP402",
        help="return a number or an array of numbers",
    )


def _additive(query: Any, pair: Pair, seed: int) -> bool:
    """Whether outputs on both inputs, drawn with one seed, differ by the same amount in every draw."""
    callee = as_callee(query)
    low, high = (
        _numbers(callee.call(end, _SAME_SEED, stream(seed, _PHASE, 2))) for end in (pair.x, pair.x_prime)
    )
    apart = high - low
    size = max(float(np.abs(low).max(initial=0.0)), float(np.abs(high).max(initial=0.0)))
    return bool((np.ptp(apart, axis=0) <= 1e-6 * max(size, 1e-300)).all())


def _name_of(query: object) -> str:
    name = getattr(query, "name", None) or getattr(query, "__name__", None)
    return one_line(name if isinstance(name, str) else type(query).__name__, 40)
