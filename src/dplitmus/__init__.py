"""dplitmus: a litmus test for differential privacy. It tries to falsify a privacy claim."""

from typing import TYPE_CHECKING

from dplitmus import mechanisms, neighbours
from dplitmus.errors import DplitmusError, InputError, MechanismError, MissingExtraError
from dplitmus.mechanisms.base import each

if TYPE_CHECKING:
    from dplitmus import adapters, libraries
    from dplitmus.asserting import ViolatedError, assert_private
    from dplitmus.auditing import audit
    from dplitmus.measuring import Sensitivity, sensitivity
    from dplitmus.replaying import replay
    from dplitmus.sanity import SanityCheck, sanity_check
    from dplitmus.verdict import Result

__version__ = "0.1.0"
__all__ = [
    "DplitmusError",
    "InputError",
    "MechanismError",
    "MissingExtraError",
    "Result",
    "SanityCheck",
    "Sensitivity",
    "ViolatedError",
    "__version__",
    "adapters",
    "assert_private",
    "audit",
    "each",
    "libraries",
    "mechanisms",
    "neighbours",
    "replay",
    "sanity_check",
    "sensitivity",
]
_LATER = {
    "ViolatedError": "asserting",
    "assert_private": "asserting",
    "audit": "auditing",
    "replay": "replaying",
    "Result": "verdict",
    "SanityCheck": "sanity",
    "Sensitivity": "measuring",
    "sensitivity": "measuring",
    "sanity_check": "sanity",
}


def __getattr__(name: str) -> object:
    """Load the statistics on first use: scipy is three quarters of the start-up time."""
    import importlib  # noqa: PLC0415

    if name in {"adapters", "libraries"}:
        return importlib.import_module(f"dplitmus.{name}")
    if name in _LATER:
        return getattr(importlib.import_module(f"dplitmus.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
