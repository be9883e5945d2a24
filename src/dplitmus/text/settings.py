"""The settings that both text systems share, checked before any training."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Self

from dplitmus.errors import (
    InputError,
    bad_value,
    did_you_mean,
    number,
    one_of,
    positive_number,
    whole_number,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

DEVICES = ("cpu", "cuda")
_COUNTS = ("hidden", "embedding", "vocabulary", "least_count", "max_length", "epochs")
_MOST = 10**6  # of whatever is counted: more is a slip of the keyboard


@dataclass(frozen=True, kw_only=True)
class TextSettings:
    """Size, training and declared epsilon of a text system; each system has its own defaults."""

    epsilon: float = 10.0
    radius: float = 1.0
    hidden: int = 64
    embedding: int = 64
    vocabulary: int = 3000
    least_count: int = 2
    max_length: int = 40
    truncate: bool = False
    epochs: int = 8
    batch_size: int = 64
    learning_rate: float = 4e-3
    dropout: float = 0.3
    word_dropout: float = 0.3
    seed: int = 1
    threads: int = 1
    device: str = "cpu"

    def __post_init__(self) -> None:
        one_of("device", self.device, DEVICES)
        for name in ("epsilon", "radius", "learning_rate"):
            positive_number(name, getattr(self, name))
        for name in _COUNTS:
            whole_number(name, getattr(self, name), least=1, most=_MOST, help=f"try {name}=8")
        # Latents are centred by the statistics of a batch, and one row alone has none.
        whole_number("batch_size", self.batch_size, least=2, help="try batch_size=64")
        whole_number("seed", self.seed, least=0, most=2**63 - 1, help="try seed=1")
        whole_number("threads", self.threads, least=1, most=1024, help="try threads=1")
        for name in ("dropout", "word_dropout"):
            share(name, getattr(self, name))

    def changed(self, changes: Mapping[str, Any]) -> Self:
        """The settings with these changes; a name that is none is refused with the closest one."""
        known = [field.name for field in fields(self)]
        for name in changes:
            if name not in known:
                hint = did_you_mean(name, known) or f"its settings are {', '.join(known)}"
                raise InputError(f"no setting {name!r}", code="DP201", help=hint)
        return replace(self, **changes)


def share(name: str, value: object) -> float:
    """Return `value`, or refuse it: a share from 0 to below 1."""
    found = number(name, value)
    if not 0.0 <= found < 1.0:
        raise bad_value(name, value, "be at least 0 and below 1", help=f"try {name}=0.1")
    return found


def weight(name: str, value: object) -> float:
    """Return `value`, or refuse it: finite and not below 0."""
    found = number(name, value)
    if not 0.0 <= found < math.inf:
        raise bad_value(name, value, "be a finite number, 0 or above", help=f"try {name}=0.1")
    return found
