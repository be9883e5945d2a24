"""What is audited: any callable `(x, n, rng)` that returns n independent outputs on input x.

Takes a user's callable in any of the accepted shapes; gives one calling convention.
"""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dplitmus.errors import InputError, bad_value

if TYPE_CHECKING:
    from collections.abc import Callable

FloatArray = NDArray[np.float64]


class Mechanism(Protocol):
    """A batched mechanism: n independent outputs on input `x`, one per row."""

    def __call__(self, x: Any, n: int, rng: np.random.Generator, /) -> Any:
        """Return n independent outputs on `x`, drawn with `rng`."""


class RoundedBit(NamedTuple):
    """The law of one output coordinate rounded to 0 or 1, as natural logs of probabilities.

    Logs, because the interesting tails underflow: exp(-5000) is a fine probability here.
    """

    zero: float
    one: float
    nan: float = -np.inf


@dataclass(frozen=True)
class Callee:
    """A user's callable behind the one calling convention, and what it takes."""

    call: Mechanism
    name: str
    takes_rng: bool
    rounded_bit: Callable[[float], RoundedBit | None] | None


def as_callee(mechanism: object) -> Callee:
    """Accept `(x, n, rng)`, `(x, n, *, rng)` or `(x, n)`; refuse anything else with DP205."""
    if not callable(mechanism):
        raise bad_value(
            "mechanism",
            mechanism,
            "be callable",
            code="DP205",
            help="a mechanism is a callable (x, n, rng) that returns n outputs on input x",
        )
    name = _name_of(mechanism)
    convention = _convention(mechanism)
    if convention is None:
        raise InputError(
            f"{name} cannot be called as (x, n, rng) or (x, n)",
            code="DP205",
            help="define it as  def mechanism(x, n, rng): ...  or lift f(x) with dplitmus.each(f)",
        )
    calls: dict[str, Mechanism] = {
        "positional": mechanism,
        "keyword": lambda x, n, rng: mechanism(x, n, rng=rng),
        "none": lambda x, n, _rng: mechanism(x, n),
    }
    return Callee(
        call=calls[convention],
        name=name,
        takes_rng=convention != "none",
        rounded_bit=getattr(mechanism, "rounded_bit", None),
    )


def as_vector(x: Any) -> FloatArray:
    """Return an input as a vector of numbers; a single number is a vector of one."""
    return np.atleast_1d(np.asarray(x, dtype=float))


def each(function: Callable[..., Any]) -> Mechanism:
    """Lift a function of one input, `f(x)` or `f(x, rng)`, to a mechanism that returns n outputs.

    >>> import numpy as np
    >>> noisy = each(lambda x, rng: x + rng.laplace())
    >>> len(noisy(0.0, 3, np.random.default_rng(0)))
    3
    """
    takes_rng = _binds(function, 2) or "rng" in _keyword_only(function)
    if not takes_rng and not _binds(function, 1):
        raise InputError(
            f"{_name_of(function)} cannot be called as f(x) or f(x, rng)",
            code="DP205",
            help="each() lifts a function of one input; a batched (x, n, rng) needs no lifting",
        )
    by_name = "rng" in _keyword_only(function)

    def batched(x: Any, n: int, rng: np.random.Generator) -> list[Any]:
        if by_name:
            return [function(x, rng=rng) for _ in range(n)]
        return [function(x, rng) for _ in range(n)]

    def black_box(x: Any, n: int) -> list[Any]:
        return [function(x) for _ in range(n)]

    return functools.update_wrapper(
        batched if takes_rng else black_box, function, assigned=("__name__", "__doc__"), updated=()
    )


def _convention(function: Callable[..., Any]) -> str | None:
    if "rng" in _keyword_only(function):
        return "keyword"
    if _binds(function, 3):
        return "positional"
    return "none" if _binds(function, 2) else None


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    # A wrapper's own signature is what can be called, not that of what it wraps.
    try:
        return inspect.signature(function, follow_wrapped=False)
    except (TypeError, ValueError):
        return None  # some built-ins have no signature: let the call decide


def _binds(function: Callable[..., Any], arguments: int) -> bool:
    signature = _signature(function)
    if signature is None:
        return True
    try:
        signature.bind(*range(arguments))
    except TypeError:
        return False
    return True


def _keyword_only(function: Callable[..., Any]) -> set[str]:
    signature = _signature(function)
    parameters = signature.parameters.values() if signature else ()
    return {p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}


def _name_of(mechanism: object) -> str:
    name = getattr(mechanism, "name", None) or getattr(mechanism, "__name__", None)
    return name if isinstance(name, str) else type(mechanism).__name__
