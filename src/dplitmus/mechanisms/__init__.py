"""The mechanisms of the paper, as callables `(x, n, rng)`."""

from dplitmus.mechanisms.adept import adept
from dplitmus.mechanisms.base import Mechanism, RoundedBit, each
from dplitmus.mechanisms.baselines import Copy, HalvedOutput, Random
from dplitmus.mechanisms.dptext import DPText
from dplitmus.mechanisms.laplace import Laplace

__all__ = [
    "Copy",
    "DPText",
    "HalvedOutput",
    "Laplace",
    "Mechanism",
    "Random",
    "RoundedBit",
    "adept",
    "each",
]
