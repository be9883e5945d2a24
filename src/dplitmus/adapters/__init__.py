"""From an object of another library to a mechanism with its claim, its relation and its neighbours.

Takes a measurement, a mechanism, a model, an optimiser, a module or a command; gives what an audit needs.
Each adapter derives what the object tells, and asks (DP243) for what it does not. One third party, one file.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from dplitmus.adapters.base import Adapted
from dplitmus.claim import Claim
from dplitmus.errors import InputError
from dplitmus.neighbours import as_pairs

if TYPE_CHECKING:
    from dplitmus.neighbours import Pair

__all__ = ["Adapted", "adapt", "library_of"]
_FILES = {
    "opendp": "opendp",
    "diffprivlib": "diffprivlib",
    "pydp": "python_dp",
    "opacus": "opacus",
    "torch": "torch",
}


class Asked(NamedTuple):
    """What an audit is about, after a library's object and the user's own words are put together."""

    mechanism: Any
    details: dict[str, Any] | None  # with which a worker adapts the object again; None for a plain callable
    claim: Claim
    pairs: list[Pair]
    relation: str | None
    claimed_by: str | None
    note: str | None


def library_of(thing: object) -> str | None:
    """The library whose adapter knows this object, if there is one; imports nothing.

    >>> library_of(len) is None
    True
    """
    kind = thing if isinstance(thing, type) else type(thing)
    modules = [getattr(thing, "__module__", None), *(base.__module__ for base in kind.__mro__)]
    roots = [str(module).split(".", maxsplit=1)[0] for module in modules if module]
    found = next((root for root in roots if root in _FILES), None)
    if found == "torch" and _takes_a_number_of_draws(thing):
        return None  # a module that is written as a mechanism
    return found


def _takes_a_number_of_draws(module: object) -> bool:
    try:
        parameters = inspect.signature(module.forward).parameters.values()  # type: ignore[attr-defined]
    except (AttributeError, TypeError, ValueError):
        return False
    return [p.name for p in parameters][1:2] == ["n"]


def adapt(thing: object, **details: Any) -> Adapted:
    """Adapt an object of a known library; `details` are those of its own `adapt`."""
    library = library_of(thing)
    if library is None:
        raise InputError(
            f"{type(thing).__name__} is of no library that dplitmus knows",
            code="DP242",
            help=f"adapters: {', '.join(_FILES)} and programs; a function (x, n, rng) needs none",
        )
    adapter = importlib.import_module(f"dplitmus.adapters.{_FILES[library]}")
    return cast("Adapted", adapter.adapt(thing, **details))


def mechanism_of(thing: Any, details: dict[str, Any]) -> Any:
    """What a worker calls: the mechanism of an object that was adapted with these details."""
    return (thing if isinstance(thing, Adapted) else adapt(thing, **details)).mechanism


def resolve(
    mechanism: Any,
    *,
    epsilon: float | None,
    delta: float | None,
    neighbours: Iterable[Any] | None,
    relation: str | None,
    name: str | None = None,
) -> Asked:
    """What to audit: a plain callable with the user's claim, or a library's object with its own.

    What the user says counts; what the object says fills the gaps. `name` is for an object that has none.
    """
    # Read twice: by the adapter, for what is claimed at their distance, and by the audit.
    details: dict[str, Any] = {}
    given: Any = list(neighbours) if isinstance(neighbours, Iterable) else neighbours
    if not isinstance(mechanism, Adapted) and library_of(mechanism) is not None:
        details = {"epsilon": epsilon, "delta": delta, "neighbours": given, "relation": relation}
        details["name"] = name
        details = {name: value for name, value in details.items() if value is not None}
        mechanism = adapt(mechanism, **details)
    if not isinstance(mechanism, Adapted):
        claim = Claim(epsilon=cast("float", epsilon), delta=delta or 0.0)
        pairs = as_pairs(given, relation)
        return Asked(mechanism, None, claim, pairs, relation, None, None)
    asked = _overruled(mechanism, epsilon=epsilon, delta=delta, given=given, relation=relation)
    return asked._replace(details=details)


def _overruled(
    adapted: Adapted,
    *,
    epsilon: float | None,
    delta: float | None,
    given: Any,
    relation: str | None,
) -> Asked:
    if delta is not None and delta != adapted.claim.delta and epsilon is None:
        raise InputError(
            f"delta={delta!r} must come with the epsilon that is claimed at it",
            code="DP201",
            help="adapt the object with this delta: dplitmus.adapters.adapt(thing, delta=...)",
        )
    adapted = adapted.judged_by(epsilon, delta)
    if relation not in {None, adapted.relation}:
        raise InputError(
            f"relation={relation!r} must be the one of the adapted object, {adapted.relation!r}",
            code="DP244",
            help="adapt the object under the other relation: dplitmus.adapters.adapt(thing, relation=...)",
        )
    pairs = as_pairs(adapted.neighbours if given is None else given, adapted.relation)
    if adapted.covers:
        for pair in pairs:
            adapted.covers(pair)
    return Asked(
        adapted.mechanism,
        {},
        adapted.claim,
        pairs,
        adapted.relation,
        adapted.claimed_by,
        adapted.note,
    )
