"""What is audited: any callable `(x, n, rng)` that returns n independent outputs on input x.

Takes a user's callable in any of the accepted shapes; gives one calling convention.
"""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from dplitmus.errors import InputError, bad_value, one_line

if TYPE_CHECKING:
    from collections.abc import Callable

FloatArray = NDArray[np.float64]
_LIFTED = "dplitmus_one_at_a_time"  # an attribute of what `each` returns


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
    one_at_a_time: bool = False  # lifted by `each`: a call takes as long as its draws
    on_error: str = "fail"  # what an exception means: the end, an output ("symbol"), another try ("retry")


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
        one_at_a_time=getattr(mechanism, _LIFTED, False) is True,
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
    convention = _convention(function, others=1) if callable(function) else None
    if convention is None:
        raise InputError(
            f"{_name_of(function)} cannot be called as f(x) or f(x, rng)",
            code="DP205",
            help="each() lifts a function of one input; a batched (x, n, rng) needs no lifting",
        )

    def batched(x: Any, n: int, rng: np.random.Generator) -> list[Any]:
        if convention == "keyword":
            return [function(x, rng=rng) for _ in range(n)]
        return [function(x, rng) for _ in range(n)]

    def black_box(x: Any, n: int) -> list[Any]:
        return [function(x) for _ in range(n)]

    lifted: Any = black_box if convention == "none" else batched
    setattr(lifted, _LIFTED, True)
    functools.update_wrapper(lifted, function, assigned=("__doc__",), updated=())
    lifted.__name__ = _name_of(function)  # objects have none of their own
    return cast("Mechanism", lifted)


def _convention(function: Callable[..., Any], others: int = 2) -> str | None:
    """How to hand over the generator behind `others` arguments; None if the call cannot work.

    A third parameter that has a default and another name, as in f(x, n, scale=1.0), is not for it.
    """
    signature = _signature(function)
    if signature is None:
        return "positional"  # some built-ins have no signature: let the call decide
    parameters = list(signature.parameters.values())
    if any(p.name == "rng" and p.kind is p.KEYWORD_ONLY for p in parameters):
        return "keyword"
    if _binds(signature, others + 1):
        positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        third = positional[others] if len(positional) > others else None
        if third is None or third.name == "rng" or third.default is third.empty:
            return "positional"
    return "none" if _binds(signature, others) else None


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    # A wrapper's own signature is what can be called, not that of what it wraps.
    try:
        return inspect.signature(function, follow_wrapped=False)
    except (TypeError, ValueError):
        return None


def _binds(signature: inspect.Signature, arguments: int) -> bool:
    try:
        signature.bind(*range(arguments))
    except TypeError:
        return False
    return True


def _name_of(mechanism: object) -> str:
    try:
        name = getattr(mechanism, "name", None) or getattr(mechanism, "__name__", None)
        return one_line(name if isinstance(name, str) else type(mechanism).__name__, 40)
    except Exception:  # noqa: BLE001  (an object's own attributes may raise anything)
        return "mechanism"
