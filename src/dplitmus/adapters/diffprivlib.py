"""diffprivlib: mechanisms know epsilon, delta and sensitivity; tools and models must be told their bounds.

The library names no neighbour relation. For a tool it is the one that the sensitivity in its code is right
for; for a model, whose parts differ in this, the user must say.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dplitmus.adapters import installed
from dplitmus.adapters.base import Adapted, cannot, missing, outside
from dplitmus.claim import Claim
from dplitmus.errors import one_line, one_of
from dplitmus.mechanisms.base import each
from dplitmus.neighbours import DATASETS, as_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dplitmus.neighbours import Pair

_AUDITS = (
    "instances of its mechanisms (all but Vector)",
    "the functions of diffprivlib.tools",
    "instances of its models that are not forests",
)
# A cell of a histogram moves by 1 when a record comes or goes; all other tools divide by, or bound by, the
# number of records, which is then public: a record can only be replaced.
_ADD_REMOVE = ("histogram", "histogram2d", "histogramdd")
_RELEASED = {
    "GaussianNB": ("theta_", "var_", "class_count_"),
    "KMeans": ("cluster_centers_",),
    "LinearRegression": ("coef_", "intercept_"),
    "LogisticRegression": ("coef_", "intercept_"),
    "PCA": ("components_", "mean_", "explained_variance_"),
    "StandardScaler": ("mean_", "var_"),
}
_LEAST_EPSILON = 1e-9  # stands for the epsilon of 0 of a mechanism that spends delta only


def adapt(
    thing: Any,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    neighbours: Iterable[Any] | None = None,
    relation: str | None = None,
    name: str | None = None,
    **arguments: Any,
) -> Adapted:
    """A mechanism, a tool with its `arguments` (bounds, bins, ...) or a model, with what it claims."""
    installed.load("diffprivlib")
    kind = thing if callable(thing) and hasattr(thing, "__qualname__") else type(thing)
    part = str(kind.__module__).split(".")[1:2]
    if isinstance(thing, type) or part not in (["mechanisms"], ["tools"], ["models"]):
        made = (
            "it is a class, not an instance" if isinstance(thing, type) else "it releases nothing by itself"
        )
        raise cannot(kind.__qualname__, why=made, audits=_AUDITS, library="diffprivlib")
    build = {"mechanisms": _mechanism, "tools": _tool, "models": _model}[part[0]]
    adapted = build(thing, epsilon, neighbours, relation, arguments)
    return replace(adapted.judged_by(epsilon, delta), name=name or adapted.name)


def _said(words: str) -> str:
    return f"diffprivlib {installed.version('diffprivlib')}, {words}"


def _mechanism(
    thing: Any, _epsilon: Any, neighbours: Iterable[Any] | None, relation: str | None, _arguments: Any
) -> Adapted:
    kind = type(thing).__name__
    release: Callable[[Any], Any] = thing.randomise
    sensitivity = getattr(thing, "sensitivity", None)
    covers = None
    if kind in {"Exponential", "PermuteAndFlip"}:
        release = _with_utility(thing)
        words = f"every utility moves by at most {sensitivity:g}"
        words += ", all in one direction" if thing.monotonic else ""
        pairs = _utilities(thing)
    elif kind == "Binary":
        words, pairs = "any two values", [(thing.value0, thing.value1)]
    elif hasattr(thing, "utility_list"):
        values = sorted({value for *two, _ in thing.utility_list for value in two})
        words, pairs = "any two values", list(itertools.combinations(values, 2))[:10]
    elif kind == "Bingham":
        words = f"matrices that differ by one of norm at most {sensitivity:g}"
        first, second = (np.diag(np.eye(2)[row]) * sensitivity for row in (0, 1))
        pairs = [(np.zeros((2, 2)), first), (first, second)]
    elif sensitivity is not None:
        whole = kind.startswith("Geometric") or kind == "GaussianDiscrete"
        release = _of_number(thing, whole=whole)
        words = f"numbers at distance at most {sensitivity:g}"
        pairs = _numbers(thing, sensitivity, whole=whole)

        def covers(pair: Pair) -> None:
            if abs(float(pair.x_prime) - float(pair.x)) > sensitivity * (1 + 1e-9):
                raise outside(pair, relation=words, help="give pairs within the mechanism's sensitivity")
    else:
        raise cannot(
            kind,
            why="it releases a function; audit the model that uses it, as models.LogisticRegression",
            audits=_AUDITS,
            library="diffprivlib",
        )
    given = as_pairs(pairs if neighbours is None else neighbours)
    return Adapted(
        mechanism=each(release),
        name=kind,
        claim=Claim(epsilon=thing.epsilon or _LEAST_EPSILON, delta=thing.delta),
        claimed_by=_said(_shown(thing)),
        relation=relation or words,
        neighbours=tuple(given),
        sensitivity=sensitivity,
        covers=covers,
    )


def _shown(thing: Any) -> str:
    own = repr(thing).rsplit(".", maxsplit=1)[-1] if "(" not in repr(thing) else repr(thing)
    return one_line(own.removeprefix(f"{type(thing).__module__}."), 120)


def _of_number(thing: Any, *, whole: bool) -> Callable[[Any], Any]:
    return lambda x: thing.randomise(int(x) if whole else float(x))


def _with_utility(thing: Any) -> Callable[[Any], Any]:
    """The data of such a mechanism is its utility, given when it is made: make one for every input."""
    settings = {"epsilon": thing.epsilon, "sensitivity": thing.sensitivity, "monotonic": thing.monotonic}
    settings["candidates"] = thing.candidates
    if getattr(thing, "measure", None) is not None and type(thing).__name__ == "Exponential":
        settings["measure"] = thing.measure
    made: dict[tuple[float, ...], Any] = {}

    def release(x: Any) -> Any:
        utility = tuple(float(value) for value in x)
        if utility not in made:
            made.clear()
            made[utility] = type(thing)(utility=list(utility), **settings)
        return made[utility].randomise()

    return release


def _utilities(thing: Any) -> list[tuple[Any, Any]]:
    base = np.asarray(thing.utility, dtype=float)
    step = np.zeros_like(base)
    step[0] = thing.sensitivity
    if thing.monotonic:
        return [(base, base + step), (base, base + thing.sensitivity - step)]
    return [(base, base + 2 * step - thing.sensitivity), (base, base - 2 * step + thing.sensitivity)]


def _numbers(thing: Any, sensitivity: float, *, whole: bool) -> list[tuple[float, float]]:
    """Numbers as far apart as is allowed: at both ends of the domain and between them."""
    low, high = (getattr(thing, end, np.inf) for end in ("lower", "upper"))
    if whole and np.isfinite(low):
        low = np.ceil(low)
    if not np.isfinite([low, high]).all():
        start = float(low) if np.isfinite(low) else 0.0
        return [(start, start + sensitivity)]
    high = np.floor(high) if whole else high
    step = min(sensitivity, high - low)
    starts = dict.fromkeys((low, low + (high - low - step) // 2, high - step))
    return [(float(start), float(start + step)) for start in starts]


def _tool(
    thing: Any,
    epsilon: float | None,
    neighbours: Iterable[Any] | None,
    relation: str | None,
    arguments: dict[str, Any],
) -> Adapted:
    name = thing.__name__
    limits = "range" if name in _ADD_REMOVE else "bounds"
    if limits not in arguments and name != "count_nonzero":
        raise missing(
            limits,
            of=f"tools.{name}",
            why="without it the limits come from the data, which is not private",
            help=f"adapt(tools.{name}, {limits}=(0, 1)), as it is called in your code",
        )
    own = "add-remove" if name in _ADD_REMOVE else "replace-one"
    chosen = one_of("relation", relation or own, DATASETS)
    budget = 1.0 if epsilon is None else epsilon
    from diffprivlib import BudgetAccountant

    def release(x: Any) -> Any:
        data = np.asarray(x)
        columns = data.T if name == "histogram2d" else (data,)
        # An accountant of its own: an audit spends nothing of the user's, which would also slow it down.
        released = thing(*columns, epsilon=budget, **{"accountant": BudgetAccountant(), **arguments})
        # Of a histogram the counts: its edges are what the user asked for.
        return np.asarray(released[0]).reshape(-1) if name in _ADD_REMOVE else released

    found = as_pairs(_datasets(name, arguments, chosen) if neighbours is None else neighbours, chosen)
    said = ", ".join(f"{key}={value!r}" for key, value in {"epsilon": budget, **arguments}.items())
    by, note = _said(one_line(f"{name}({said})", 120)), None
    if chosen != own:
        promise = "2 epsilon, for it is two steps" if own == "add-remove" else "nothing"
        by = f"you; the object is of {by}"
        note = (
            f"diffprivlib's {name} is calibrated to {own}; under {chosen}, which you asked for, it promises "
            f"{promise}. A violation here is no fault of the library."
        )
    return Adapted(
        mechanism=each(release),
        name=name,
        claim=Claim(epsilon=budget),
        claimed_by=by,
        relation=chosen,
        neighbours=tuple(found),
        note=note,
    )


def _datasets(name: str, arguments: dict[str, Any], relation: str) -> list[tuple[Any, Any]]:
    """Four records, all at one end of the limits or at their quarters, and one that is at the other."""
    limits = arguments.get("range", arguments.get("bounds", (0, 1)))
    ends = np.asarray(limits[0] if np.ndim(limits) > 1 else limits, dtype=float)
    if ends.shape != (2,):
        raise missing(
            "its neighbours",
            of=f"tools.{name}",
            why="dplitmus makes datasets of numbers with one pair of limits only",
            help="give pairs of datasets: neighbours=[(x, x_prime)]",
        )
    low, high = ends
    columns = {"histogram2d": 2, "histogramdd": np.ndim(limits) and len(limits)}.get(name, 0)
    found: list[tuple[Any, Any]] = []
    quarter = (high - low) / 4
    for one, other in ((low, high), (high, low), (low + quarter, high - quarter)):
        start = [one, one, one, one]
        end = [*start, other] if relation == "add-remove" else [one, one, one, other]
        found.append((np.asarray(start), np.asarray(end)))
    if columns:
        found = [
            (np.repeat(x[:, np.newaxis], columns, axis=1), np.repeat(y[:, np.newaxis], columns, axis=1))
            for x, y in found
        ]
    return found


def _model(
    thing: Any,
    _epsilon: float | None,
    neighbours: Iterable[Any] | None,
    relation: str | None,
    arguments: dict[str, Any],
) -> Adapted:
    kind = type(thing).__name__
    released = arguments.get("release", _RELEASED.get(kind))
    if released is None:
        raise cannot(
            kind,
            why="what it releases is a structure, not numbers; say which attributes: release=('coef_',)",
            audits=_AUDITS,
            library="diffprivlib",
        )
    absent = [limit for limit in ("bounds", "bounds_X", "bounds_y", "data_norm") if _unset(thing, limit)]
    if kind == "PCA" and thing.centered:
        absent = [limit for limit in absent if limit != "bounds"]
    if absent:
        raise missing(
            " and ".join(absent),
            of=kind,
            why="without it the limits come from the data, which is not private",
            help=f"make it as {kind}({absent[0]}=...)",
        )
    for what, value, example in (
        ("its neighbour relation", relation, "relation='replace-one'"),
        ("its neighbours", neighbours, "neighbours=[((X, y), (X_prime, y_prime))]"),
    ):
        if value is None:
            raise missing(what, of=kind, why="the library names none for models", help=f"say it: {example}")
    from diffprivlib import BudgetAccountant
    from sklearn.base import clone

    def release(x: Any) -> Any:
        columns = tuple(x.values()) if isinstance(x, dict) else x if isinstance(x, tuple) else (x,)
        model = clone(thing).set_params(accountant=BudgetAccountant())  # the user's budget is not spent
        model.fit(*(np.asarray(column) for column in columns))
        return np.concatenate([np.ravel(getattr(model, attribute)) for attribute in released])

    chosen = one_of("relation", relation, DATASETS)
    return Adapted(
        mechanism=each(release),
        name=kind,
        claim=Claim(epsilon=thing.epsilon),
        claimed_by=_said(one_line(" ".join(repr(thing).split()), 120)),
        relation=chosen,
        neighbours=tuple(as_pairs(neighbours or [], chosen)),
        note="the library names no relation for its models: the one above is yours.",
    )


def _unset(thing: Any, limit: str) -> bool:
    return hasattr(thing, limit) and getattr(thing, limit) is None
