"""Results as JSON: plain types only, infinities and NaN as strings."""

from __future__ import annotations

import json
import math
import platform
from typing import TYPE_CHECKING, Any

import numpy as np

from dplitmus.errors import in_words

if TYPE_CHECKING:
    from dplitmus.measuring import Sensitivity
    from dplitmus.sanity import SanityCheck
    from dplitmus.verdict import Result

SCHEMA = 1
_LONGEST_REPR = 10_000


def sanity_check(check: SanityCheck, *, version: str) -> dict[str, Any]:
    """Everything about one sanity check, ready for `dumps`."""
    return {
        "schema": SCHEMA,
        "kind": "sanity-check",
        "verdict": check.verdict.value,
        "claim": {"epsilon": check.claim.epsilon, "delta": check.claim.delta},
        "epsilon_lower": check.epsilon_lower,
        "alpha": check.alpha,
        "mechanism": check.mechanism,
        "dimension": check.dimension,
        "samples": check.samples,
        "ties": check.ties,
        "counts": check.counts.matrix,
        "no_vote": [check.counts.x.none, check.counts.x_prime.none],
        "nan": [check.counts.x.nan, check.counts.x_prime.nan],
        "infinite": [check.counts.x.infinite, check.counts.x_prime.infinite],
        "certificate": {
            "event": ("guess 0", "guess 1", "no vote")[check.bound.event],
            "likelier_on": "x_prime" if check.bound.likelier_on_x_prime else "x",
            "p_lower": check.bound.ratio.p_lower,
            "q_upper": check.bound.ratio.q_upper,
            "level": check.bound.level,
        },
        "precision": [check.precision(0), check.precision(1)],
        "estimate": check.estimate,
        "exact": check.exact.loss if check.exact else None,
        "z": check.z,
        "notes": [{"code": note.code, "text": note.text} for note in check.notes],
        "seed": check.seed,
        "replayable": check.replayable,
        "seconds": check.seconds,
        "version": version,
        "platform": _platform(),
    }


def audit(result: Result, *, version: str) -> dict[str, Any]:
    """Everything about one audit, ready for `dumps`."""
    found = result.counterexample
    return {
        "schema": SCHEMA,
        "kind": "audit",
        "verdict": result.verdict.value,
        "claim": {"epsilon": result.claim.epsilon, "delta": result.claim.delta},
        "epsilon_lower": result.epsilon_lower,
        "delta_lower": result.delta_lower,
        "alpha": result.alpha,
        "mechanism": result.mechanism,
        "target": result.target,
        "relation": result.relation,
        "claimed_by": result.claimed_by,
        "samples": result.samples,
        "budget": result.budget,
        "level": result.level,
        "stop": result.stop,
        "on_error": result.on_error,
        "isolate": result.isolate,
        "piece": result.piece,
        "counterexample": found and vars(found) | _inputs(found.x, found.x_prime),
        "exam": result.exam
        and result.exam._asdict() | {"grades": [grade._asdict() for grade in result.exam.grades]},
        "pairs": [pair._asdict() | _inputs(pair.x, pair.x_prime) for pair in result.pairs],
        "detectable": result.detectable,
        "log_wealth": result.log_wealth,
        "alphas": result.alphas and result.alphas._asdict(),
        "history": [moment._asdict() for moment in result.history],
        "distributions": result.distributions
        and result.distributions._asdict() | {"bins": [bin_._asdict() for bin_ in result.distributions.bins]},
        "notes": [{"code": note.code, "text": note.text} for note in result.notes],
        "seed": result.seed,
        "replayable": result.replayable,
        "finished": result.finished,
        "time_limit": result.time_limit,
        "seconds": result.seconds,
        "version": version,
        "platform": _platform(),
    }


def sensitivity(found: Sensitivity, *, version: str) -> dict[str, Any]:
    """Everything about one search for a sensitivity, ready for `dumps`."""
    return {
        "schema": SCHEMA,
        "kind": "sensitivity",
        "verdict": "larger" if found.violated else "not-found",
        "query": found.query,
        "norm": found.norm,
        "claimed": found.claimed,
        "found": found.found,
        **_inputs(found.x, found.x_prime),
        "how": found.how,
        "additive": found.additive,
        "relation": found.relation,
        "claimed_by": found.claimed_by,
        "evaluations": found.evaluations,
        "failed": found.failed,
        "seed": found.seed,
        "version": version,
        "platform": _platform(),
    }


def _inputs(x: Any, x_prime: Any) -> dict[str, Any]:
    """Both inputs as JSON, and how each is to be read again (`as_input`)."""
    (low, low_form), (high, high_form) = _input(x), _input(x_prime)
    return {"x": low, "x_prime": high, "forms": [low_form, high_form]}


def _input(value: Any) -> tuple[Any, str]:
    """An input and its form: what JSON cannot hold is kept as its repr, to be looked at only."""
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biuf":
        return value.tolist(), "numbers"
    if isinstance(value, int | float):
        return value, "numbers"
    if isinstance(value, tuple) and _exact(list(value)):
        return list(value), "tuple"
    if _exact(value):
        return value, "json"
    return in_words(repr, value)[:_LONGEST_REPR], "repr"


def _exact(value: object) -> bool:
    """Whether JSON gives the same value back."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, list):
        return all(map(_exact, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and _exact(item) for key, item in value.items())
    return value is None or isinstance(value, str | bool | int)


def as_input(value: Any, form: str) -> Any:
    """The input that was written in this form.

    >>> as_input(["-Infinity", 1.5], "numbers")
    array([-inf,  1.5])
    """
    if form == "tuple":
        return tuple(value)
    if form == "numbers":
        numbers = _restored(value)
        return np.asarray(numbers) if isinstance(numbers, list) else numbers
    return value


def _restored(value: Any) -> Any:
    if isinstance(value, list):
        return [_restored(item) for item in value] if {str, list} & set(map(type, value)) else value
    return float(value) if isinstance(value, str) else value


def _platform() -> str:
    return f"{platform.platform()}, Python {platform.python_version()}, numpy {np.__version__}"


def dumps(value: object) -> str:
    """JSON text that every parser accepts: no bare Infinity or NaN; rows of numbers stay on one line."""
    return _laid_out(_plain(value), "\n") + "\n"


def compact(value: object) -> str:
    """The same on a single line."""
    return json.dumps(_plain(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _laid_out(value: object, newline: str) -> str:
    inner = newline + "  "
    items = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    # A record of scalars is a row of a table; the document itself is not.
    if (newline == "\n" and isinstance(value, dict)) or {dict, list} & set(map(type, items)):
        if isinstance(value, dict):
            rows = [
                f"{json.dumps(key, ensure_ascii=False)}: {_laid_out(item, inner)}"
                for key, item in value.items()
            ]
            return "{" + inner + ("," + inner).join(rows) + newline + "}"
        return "[" + inner + ("," + inner).join(_laid_out(item, inner) for item in items) + newline + "]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _plain(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        kinds = set(map(type, value))
        if kinds <= {int, bool} or (kinds == {float} and all(map(math.isfinite, value))):
            return list(value)  # a million numbers need no second look at each
        return [_plain(item) for item in value]
    return value
