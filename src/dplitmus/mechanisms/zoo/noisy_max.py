"""Report noisy max, four ways (Ding et al. 2018, Algorithms 5 to 8): who wins, or, wrongly, by what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dplitmus.mechanisms.base import as_vector
from dplitmus.mechanisms.laplace import laplace_noise
from dplitmus.mechanisms.zoo.entry import Entry, infinite

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class NoisyMax:
    """The index of the largest noised answer, or its value; noise of scale 2/epsilon."""

    name: str
    epsilon: float
    exponential: bool = False
    value: bool = False

    def __call__(self, x: Any, n: int, rng: np.random.Generator) -> NDArray[Any]:
        """Return n winners: whole numbers from 0, or real values."""
        answer = as_vector(x)
        shape, scale = (answer.size, n), 2.0 / self.epsilon
        noisy = rng.exponential(scale, shape) if self.exponential else laplace_noise(rng, shape, scale)
        noisy += answer[:, np.newaxis]
        return np.asarray(noisy.max(axis=0) if self.value else noisy.argmax(axis=0))


def _index_loss(epsilon: float, n: int) -> float:
    # Gaps between answers change by up to 2, in noise whose tail decays at rate epsilon/2. With one
    # answer there is nothing to win. Laplace: a limit of large gaps; exponential: reached.
    return epsilon if n > 1 else 0.0


def _value_loss(epsilon: float, n: int) -> float:
    # Pr(max < t) is a product of n left tails, each of which changes by exp(epsilon/2) when all
    # answers move by 1; no density ratio is larger.
    return n * epsilon / 2.0


def _entry(name: str, summary: str, truth: str, *, exponential: bool = False, value: bool = False) -> Entry:
    losses = {(True, True): infinite, (False, True): _value_loss}
    return Entry(
        name=name,
        summary=summary,
        make=lambda epsilon, _n: NoisyMax(name=name, epsilon=epsilon, exponential=exponential, value=value),
        relation="all",
        epsilon=0.1,
        dimension=5,
        true_epsilon=losses.get((exponential, value), _index_loss),
        truth=truth,
    )


ENTRIES = (
    _entry("rnm-1", "argmax of x_i + Lap(2/epsilon)", "epsilon"),
    _entry("rnm-2", "argmax of x_i + Exp(2/epsilon)", "epsilon", exponential=True),
    _entry("rnm-3", "max of x_i + Lap(2/epsilon), its value", "n*epsilon/2", value=True),
    # The value is never below the largest answer: an event of probability 0 on one side.
    _entry("rnm-4", "max of x_i + Exp(2/epsilon), its value", "infinite", exponential=True, value=True),
)
