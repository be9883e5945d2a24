"""Results as JSON: plain types only, infinities and NaN as strings."""

from __future__ import annotations

import json
import math
import platform
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from dplitmus.sanity import SanityCheck

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
        "precision": [check.precision(0), check.precision(1)],
        "estimate": check.estimate,
        "exact": check.exact.loss if check.exact else None,
        "z": check.z,
        "notes": [{"code": note.code, "text": note.text} for note in check.notes],
        "seed": check.seed,
        "replayable": check.replayable,
        "seconds": check.seconds,
        "version": version,
        "platform": f"{platform.platform()}, Python {platform.python_version()}, numpy {np.__version__}",
    }


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
