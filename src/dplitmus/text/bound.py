"""The set that a latent vector is forced into, and how far apart two members can be.

Takes any vector; gives one inside the set. The L1 diameter of the set is the sensitivity that Laplace
noise needs when any two texts are neighbours: they may sit at opposite ends.

    kind      the set           L1 diameter
    l1        |z|_1 <= C        2 C
    l2        |z|_2 <= C        2 C sqrt(n)   (Cauchy-Schwarz; reached at +-C/sqrt(n) everywhere)
    box       |z_i| <= C        2 C n
    min-max   0 <= z_i <= C     C n           (each row by its own minimum and maximum, as DPNR)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from dplitmus.errors import one_of, positive_number, whole_number

if TYPE_CHECKING:
    from torch import Tensor

KINDS = ("l1", "l2", "box", "min-max")
_TINY = 1e-30  # the span of a constant vector, which becomes zero


@dataclass(frozen=True, kw_only=True)
class Bound:
    """A bounded set of vectors: its kind, its radius C and its dimension n."""

    kind: str
    radius: float
    dimension: int

    def __post_init__(self) -> None:
        one_of("bound", self.kind, KINDS)
        positive_number("radius", self.radius)
        # One number, scaled by its own extremes, says nothing at all.
        least = 2 if self.kind == "min-max" else 1
        whole_number("dimension", self.dimension, least=least, most=2**16, help="try dimension=4")

    @property
    def diameter(self) -> float:
        """The largest L1 distance of two members: the sensitivity under "any two texts"."""
        n, radius = self.dimension, self.radius
        return {
            "l1": 2 * radius,
            "l2": 2 * radius * math.sqrt(n),
            "box": 2 * radius * n,
            "min-max": radius * n,
        }[self.kind]

    def clip(self, z: Tensor) -> Tensor:
        """Move every row into the set; differentiable, and finite at zero."""
        if self.kind == "box":
            return self.radius * z.tanh()
        if self.kind == "min-max":
            low = z.amin(dim=-1, keepdim=True)
            span = z.amax(dim=-1, keepdim=True) - low
            return self.radius * (z - low) / span.clamp(min=_TINY)
        norm: Tensor = torch.linalg.vector_norm(z, 1 if self.kind == "l1" else 2, dim=-1, keepdim=True)
        return z / (norm / self.radius).clamp(min=1.0)
