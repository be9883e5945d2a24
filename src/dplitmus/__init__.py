"""dplitmus: a litmus test for differential privacy. It tries to falsify a privacy claim."""

from dplitmus import mechanisms
from dplitmus.errors import DplitmusError, InputError, MechanismError, MissingExtraError
from dplitmus.mechanisms.base import each
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
