"""Results as JSON: plain types only, infinities and NaN as strings."""

from __future__ import annotations

import json
import math
import platform
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from dplitmus.sanity import SanityCheck
    from dplitmus.verdict import Result

SCHEMA = 1


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
        "samples": result.samples,
        "budget": result.budget,
        "level": result.level,
        "stop": result.stop,
        "counterexample": found and {name: _input(value) for name, value in vars(found).items()},
        "exam": result.exam and result.exam._asdict(),
        "pairs": [{name: _input(value) for name, value in pair._asdict().items()} for pair in result.pairs],
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
        "seconds": result.seconds,
        "version": version,
        "platform": _platform(),
    }


def _input(value: Any) -> Any:
    """An input as JSON: arrays as lists, and what JSON cannot hold as its repr."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if value is None or isinstance(value, str | bool | int | float | list | tuple | dict):
        return value
    return repr(value)


def _platform() -> str:
    return f"{platform.platform()}, Python {platform.python_version()}, numpy {np.__version__}"


def dumps(value: object) -> str:
    """JSON text that every parser accepts: no bare Infinity or NaN."""
    return json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
