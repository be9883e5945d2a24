"""Noise layers with the usual bugs, as found in published text systems and their code.

Inputs are vectors; any two are neighbours. Most claim epsilon on [0, 1]^n, where the L1 sensitivity is n.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dplitmus.mechanisms.base import FloatArray, as_vector
from dplitmus.mechanisms.laplace import Laplace, add_scaled, laplace_noise
from dplitmus.mechanisms.zoo.entry import Entry, infinite

if TYPE_CHECKING:
    from numpy.typing import NDArray

RADIUS = 1.0  # of adept-l2 and adept-half
ALPHA = 5.0  # of ome: the default of its authors' code


@dataclass(frozen=True, kw_only=True)
class ClippedLaplace:
    """Clips to the L2 ball of `RADIUS` and adds Laplace noise, which needs the L1 norm."""

    name: str
    scale: float

    def __call__(self, x: Any, n: int, rng: np.random.Generator) -> FloatArray:
        """Return n noised vectors."""
        vector = as_vector(x)
        norm = float(np.linalg.norm(vector))
        clipped = vector * (RADIUS / norm) if norm > RADIUS else vector
        return add_scaled(laplace_noise(rng, (vector.size, n), self.scale), 1.0, clipped)


@dataclass(frozen=True, kw_only=True)
class OneScalar:
    """Adds ONE Laplace number to all coordinates: a batch's noise of shape (n, 1), broadcast.

    `normalise` maps the vector to [0, 1] by its own minimum and maximum first, as DPNR does.
    """

    name: str
    scale: float
    normalise: bool = False

    def __call__(self, x: Any, n: int, rng: np.random.Generator) -> FloatArray:
        """Return n vectors, each moved as a whole."""
        vector = as_vector(x)
        if self.normalise:
            vector = vector - vector.min()
            vector = vector / (vector.max() or 1.0)
        return vector + laplace_noise(rng, (n, 1), self.scale)


@dataclass(frozen=True, kw_only=True)
class Ome:
    """Optimised multiple encoding of bits (Lyu et al. 2020): a 1 survives with p1 or p2, a 0 turns with q."""

    epsilon: float
    name: ClassVar[str] = "ome"

    def chances(self, dimension: int) -> tuple[float, float, float]:
        """Return p1 (even places), p2 (odd places) and q: the chances of a reported 1."""
        odds = ALPHA * math.exp(self.epsilon / dimension)
        return ALPHA / (1 + ALPHA), 1 / (1 + ALPHA**3), 1 / (1 + odds)

    def __call__(self, x: Any, n: int, rng: np.random.Generator) -> NDArray[np.int8]:
        """Return n rows of 0 and 1; an input of 0.5 or more counts as 1."""
        bits = as_vector(x) >= 0.5
        even, odd, zero = self.chances(bits.size)
        ones = np.where(np.arange(bits.size) % 2 == 0, even, odd)
        chance = np.where(bits, ones, zero)
        return (rng.random((bits.size, n)) < chance[:, np.newaxis]).astype(np.int8).T


@dataclass(frozen=True, kw_only=True)
class Seeded:
    """Seeds its generator whenever it is run: the noise is the same every time, and known."""

    epsilon: float
    name: ClassVar[str] = "seeded"

    def __call__(self, x: Any, n: int, _rng: np.random.Generator) -> FloatArray:
        """Return n runs: one and the same vector."""
        vector = as_vector(x)
        noise = laplace_noise(np.random.default_rng(0), vector.shape, vector.size / self.epsilon)
        return np.broadcast_to(vector + noise, (n, vector.size))


@dataclass(frozen=True, kw_only=True)
class TrainingNoise:
    """Adds noise in training only, like dropout; what is released comes from evaluation."""

    epsilon: float
    training: bool = False
    name: ClassVar[str] = "noise-in-eval-off"

    def __call__(self, x: Any, n: int, rng: np.random.Generator) -> FloatArray:
        """Return n outputs: the input itself unless training."""
        vector = as_vector(x)
        if not self.training:
            return np.broadcast_to(vector, (n, vector.size))
        return Laplace(epsilon=self.epsilon, sensitivity=vector.size)(vector, n, rng)


@dataclass(frozen=True, kw_only=True)
class DataDependentScale:
    """Takes the sensitivity from the input at hand: n times its largest absolute value."""

    epsilon: float
    name: ClassVar[str] = "data-dependent-scale"

    def __call__(self, x: Any, n: int, rng: np.random.Generator) -> FloatArray:
        """Return n noised vectors; zeros get no noise at all."""
        vector = as_vector(x)
        scale = vector.size * float(np.abs(vector).max()) / self.epsilon
        return add_scaled(laplace_noise(rng, (vector.size, n), scale), 1.0, vector)


@dataclass(frozen=True, kw_only=True)
class HalfPrecisionLaplace:
    """Adds Laplace noise of scale 1/epsilon in 16-bit floating point: 11 significant bits."""

    epsilon: float
    name: ClassVar[str] = "half-precision-laplace"

    def __call__(self, x: Any, n: int, rng: np.random.Generator) -> NDArray[np.float16]:
        """Return n noised vectors of 16-bit floats."""
        with np.errstate(over="ignore"):  # from 65,520 on it is infinite
            answer = as_vector(x).astype(np.float16)
        noise = laplace_noise(rng, (answer.size, n), 1.0 / self.epsilon).astype(np.float16)
        return np.transpose(noise + answer[:, np.newaxis])


def _ome_truth(epsilon: float, n: int) -> float:
    # Bits are independent and add up, each with its worse report. 550 bits at epsilon 10: 1280.
    even, odd, zero = Ome(epsilon=epsilon).chances(n)
    return (n + 1) // 2 * _bit_loss(even, zero) + n // 2 * _bit_loss(odd, zero)


def _bit_loss(one: float, zero: float) -> float:
    return max(abs(math.log(one / zero)), abs(math.log((1 - one) / (1 - zero))))


def _adept(name: str, multiple: float, summary: str, truth: str) -> Entry:
    corner = (RADIUS / 2,) * 4  # of L2 norm RADIUS in the default dimension
    opposite = tuple(-value for value in corner)
    return Entry(
        name=name,
        summary=summary,
        make=lambda epsilon, _n: ClippedLaplace(name=name, scale=multiple * RADIUS / epsilon),
        relation="any",
        dimension=4,
        pairs=((corner, opposite),),
        # Opposite diagonals of the ball are 2 RADIUS sqrt(n) apart in L1 norm, the most there is.
        true_epsilon=lambda epsilon, n: 2 * math.sqrt(n) * epsilon / multiple,
        truth=truth,
    )


ENTRIES = (
    _adept("adept-l2", 2.0, "ADePT: L2 clip to C, + Lap(2C/epsilon)", "sqrt(n)*eps"),
    _adept("adept-half", 1.0, "the same with Lap(C/epsilon)", "2sqrt(n)*eps"),
    Entry(
        name="dpnr",
        summary="min-max to [0,1], + ONE Lap(1/epsilon)",
        make=lambda epsilon, _n: OneScalar(name="dpnr", scale=1.0 / epsilon, normalise=True),
        relation="any",
        dimension=4,
        # Differences of coordinates are those of the input; one coordinate is always normalised to 0.
        true_epsilon=lambda _epsilon, n: math.inf if n > 1 else 0.0,
        truth="infinite",
    ),
    Entry(
        name="one-scalar-for-all",
        summary="x + ONE Lap(n/epsilon) for all of x",
        make=lambda epsilon, n: OneScalar(name="one-scalar-for-all", scale=n / epsilon),
        relation="any",
        dimension=4,
        true_epsilon=lambda epsilon, n: math.inf if n > 1 else epsilon,  # differences again
        truth="infinite",
    ),
    Entry(
        name="ome",
        summary="OME bit flips, alpha 5",
        make=lambda epsilon, _n: Ome(epsilon=epsilon),
        relation="any",
        dimension=8,
        pairs=(((1, 0) * 4, (0, 1) * 4),),
        true_epsilon=_ome_truth,
        truth="18.6 at 1, 8",
    ),
    Entry(
        name="seeded",
        summary="x + Lap(n/epsilon), the same each time",
        make=lambda epsilon, _n: Seeded(epsilon=epsilon),
        relation="any",
        true_epsilon=infinite,
        truth="infinite",
    ),
    Entry(
        name="noise-in-eval-off",
        summary="noise in training, none when released",
        make=lambda epsilon, _n: TrainingNoise(epsilon=epsilon),
        relation="any",
        true_epsilon=infinite,
        truth="infinite",
    ),
    Entry(
        name="clip-missing",
        summary="x + Lap(n/epsilon), x not clipped",
        make=lambda epsilon, n: Laplace(epsilon=epsilon, sensitivity=n, name="clip-missing"),
        relation="any",
        pairs=(((0.0, 0.0), (10.0, 10.0)),),
        true_epsilon=infinite,  # L1 distance over n/epsilon, and no distance is too large
        truth="infinite",
    ),
    Entry(
        name="data-dependent-scale",
        summary="x + Lap(n max|x| / epsilon)",
        make=lambda epsilon, _n: DataDependentScale(epsilon=epsilon),
        relation="any",
        true_epsilon=infinite,  # zeros come back as zeros; and two scales have unlike tails
        truth="infinite",
    ),
    Entry(
        name="half-precision-laplace",
        summary="x + Lap(1/epsilon) in 16-bit floats",
        make=lambda epsilon, _n: HalfPrecisionLaplace(epsilon=epsilon),
        relation="one",
        dimension=1,
        # Near 0, 1 + noise is a multiple of 2^-11, for noise near -1 is; 0 + noise is not. (Of the
        # released bits: as real numbers it is Laplace noise.)
        true_epsilon=infinite,
        truth="infinite",
    ),
)
