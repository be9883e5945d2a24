"""dplitmus: a litmus test for differential privacy. It tries to falsify a privacy claim."""

from typing import TYPE_CHECKING

from dplitmus import mechanisms
from dplitmus.errors import DplitmusError, InputError, MechanismError, MissingExtraError
from dplitmus.mechanisms.base import each

if TYPE_CHECKING:
    from dplitmus.sanity import SanityCheck, sanity_check

__version__ = "0.1.0"
__all__ = [
    "DplitmusError",
    "InputError",
    "MechanismError",
    "MissingExtraError",
    "SanityCheck",
    "__version__",
    "each",
    "mechanisms",
    "sanity_check",
]


def __getattr__(name: str) -> object:
    """Load the statistics on first use: scipy is three quarters of the start-up time."""
    if name in {"SanityCheck", "sanity_check"}:
        from dplitmus import sanity  # noqa: PLC0415

        return getattr(sanity, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
