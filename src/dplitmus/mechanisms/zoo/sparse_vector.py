"""The sparse vector technique, right and wrong (Lyu, Su and Li 2017, Algorithms 1 to 6).

Each query is compared with one noisy threshold and answered TRUE (at or above) or FALSE; after `positives`
TRUE answers the rest is ABORTED. Thresholds and `positives` are those of DP-Sniper's benchmark.

Outputs are arrays of shape (n, queries). Where only answers are published they are small integers,
0 FALSE, 1 TRUE, 2 ABORTED. Where values are published they are floats: a TRUE answer is its value, ABORTED
is +inf, and FALSE is NaN (`svt-3`) or 0.0 (`numerical-svt`, as published). `svt-34-parallel` is svt-3's
floats followed by svt-4's answers, as floats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dplitmus.mechanisms.base import FloatArray, as_vector
from dplitmus.mechanisms.laplace import laplace_noise
from dplitmus.mechanisms.zoo.entry import Entry

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

FALSE, TRUE, ABORTED = 0, 1, 2


@dataclass(frozen=True, kw_only=True)
class SparseVector:
    """One algorithm of the family.

    `rho` and `nu` are the noise scales of threshold and queries; `renew` draws a new threshold after
    every TRUE. `publish` is "answers", "compared" (the noisy value that was compared) or "fresh" (a value
    with noise of its own, of scale `fresh`).
    """

    name: str
    threshold: float
    rho: float
    nu: float
    positives: int | None = None
    renew: bool = False
    publish: str = "answers"
    fresh: float = 0.0

    def __call__(self, x: Any, n: int, rng: np.random.Generator) -> NDArray[Any]:
        """Return n rows of answers, coded as the module says."""
        answer = as_vector(x)[:, np.newaxis]
        shape = (answer.size, n)
        noisy = answer + laplace_noise(rng, shape, self.nu) if self.nu else np.repeat(answer, n, axis=1)
        above = self._renewed(noisy, rng) if self.renew else noisy >= self._thresholds(rng, n)
        aborted = self._aborted(above)
        if self.publish == "answers":
            return np.where(aborted, ABORTED, above).astype(np.int8).T
        fresh = self.publish == "fresh"
        value = answer + laplace_noise(rng, shape, self.fresh) if fresh else noisy
        published = np.where(above, value, 0.0 if fresh else np.nan)
        return np.where(aborted, np.inf, published).T

    def _thresholds(self, rng: np.random.Generator, n: int) -> FloatArray:
        return self.threshold + laplace_noise(rng, (n,), self.rho)

    def _renewed(self, noisy: FloatArray, rng: np.random.Generator) -> NDArray[np.bool_]:
        threshold = self._thresholds(rng, noisy.shape[1])
        above = np.empty(noisy.shape, dtype=bool)
        for query, values in enumerate(noisy):
            above[query] = values >= threshold
            threshold = np.where(above[query], self._thresholds(rng, threshold.size), threshold)
        return above

    def _aborted(self, above: NDArray[np.bool_]) -> NDArray[np.bool_]:
        if self.positives is None:
            return np.zeros_like(above)
        before = np.cumsum(above, axis=0, dtype=np.int32) - above
        return before >= self.positives


@dataclass(frozen=True, kw_only=True)
class Parallel34:
    """Algorithms 3 and 4 run on the same queries, both published."""

    epsilon: float
    name: ClassVar[str] = "svt-34-parallel"

    def __call__(self, x: Any, n: int, rng: np.random.Generator) -> FloatArray:
        """Return n rows: algorithm 3's outputs, then algorithm 4's."""
        runs = (svt_3(self.epsilon, positives=2), svt_4(self.epsilon, positives=2))
        return np.concatenate([run(x, n, rng) for run in runs], axis=1)


def svt_1(epsilon: float) -> SparseVector:
    """Algorithm 1, with a single TRUE."""
    return SparseVector(name="svt-1", threshold=0.5, rho=2 / epsilon, nu=4 / epsilon, positives=1)


def svt_2(epsilon: float, *, positives: int = 1) -> SparseVector:
    """Algorithm 2: a new threshold, with more noise, after every TRUE."""
    rho, nu = 2 * positives / epsilon, 4 * positives / epsilon
    return SparseVector(name="svt-2", threshold=1.0, rho=rho, nu=nu, positives=positives, renew=True)


def svt_3(epsilon: float, *, positives: int = 1) -> SparseVector:
    """Algorithm 3: publishes the very value that passed the threshold."""
    rho, nu = 2 / epsilon, 2 * positives / epsilon
    return SparseVector(name="svt-3", threshold=1.0, rho=rho, nu=nu, positives=positives, publish="compared")


def svt_4(epsilon: float, *, positives: int = 1) -> SparseVector:
    """Algorithm 4: the noise of the queries does not grow with the number of TRUE answers."""
    rho, nu = 4 / epsilon, 4 / (3 * epsilon)
    return SparseVector(name="svt-4", threshold=1.0, rho=rho, nu=nu, positives=positives)


def svt_5(epsilon: float) -> SparseVector:
    """Algorithm 5: no noise on the queries, no end."""
    return SparseVector(name="svt-5", threshold=1.0, rho=2 / epsilon, nu=0.0)


def svt_6(epsilon: float) -> SparseVector:
    """Algorithm 6: noise on the queries, no end."""
    return SparseVector(name="svt-6", threshold=1.0, rho=2 / epsilon, nu=2 / epsilon)


def numerical_svt(epsilon: float) -> SparseVector:
    """Numerical SVT (Wang et al. 2019) with two TRUE answers: publishes values with noise of their own."""
    return SparseVector(
        name="numerical-svt",
        threshold=1.0,
        rho=3 / epsilon,
        nu=12 / epsilon,
        positives=2,
        publish="fresh",
        fresh=6 / epsilon,
    )


def compared_loss(falses: int, trues: int, *, rho: float, nu: float) -> float:
    """Supremum of the loss of a run of answers that are only compared with one noisy threshold.

    The worst pair raises by 1 every query answered FALSE and lowers every one answered TRUE. *Bound*: in
    the integral over the threshold, move it by s in [-1, 1]. That costs |s|/rho and leaves (1 - s)/nu for
    each FALSE and (1 + s)/nu for each TRUE; the sum is linear between -1, 0 and 1, so its least value
    is one of these three. *Reached* in the limit of FALSE queries far above and TRUE queries far below the
    threshold: the integrand is then exp(-|z|/rho + (falses - trues) z/nu) in between, and its mass
    lies near 0 or at the end that belongs to the least s, where every bound used is an equality.
    """
    return min((falses + trues) / nu, 1 / rho + 2 * trues / nu, 1 / rho + 2 * falses / nu)


def _answers_truth(build: Callable[[float], SparseVector]) -> Callable[[float, int], float]:
    """The truth where TRUE publishes nothing, or a value with noise of its own (which adds its loss).

    For one noisy threshold, which is all that svt-2 has up to its single TRUE.
    """

    def truth(epsilon: float, n: int) -> float:
        svt = build(epsilon)
        most = n if svt.positives is None else min(svt.positives, n)
        each = 1 / svt.fresh if svt.fresh else 0.0
        return max(compared_loss(n - t, t, rho=svt.rho, nu=svt.nu) + t * each for t in range(most + 1))

    return truth


def _svt_3_truth(epsilon: float, n: int) -> float:
    # All queries fall by 1; the last one is TRUE with a value v below all of them. The threshold must lie
    # below v, so each of the n factors is an exponential tail and gives 1/nu, the most it can.
    return n / svt_3(epsilon).nu


def _svt_5_truth(epsilon: float, n: int) -> float:
    # 1, 1 gives equal answers, 2, 0 does not. One query alone moves against the threshold's noise.
    return 1 / svt_5(epsilon).rho if n == 1 else math.inf


def _parallel_truth(epsilon: float, n: int) -> float:
    # Losses add, and one pair serves both: algorithm 4's. Let the queries that rise be algorithm 3's TRUEs,
    # the last query among them, with values above these two and below the queries that fall: the
    # threshold lies below the values, so that again each of the n factors gives 1/nu, the most it can.
    three = svt_3(epsilon, positives=2)
    return n / three.nu + _answers_truth(lambda e: svt_4(e, positives=2))(epsilon, n)


def _entry(
    build: Callable[[float], SparseVector | Parallel34],
    summary: str,
    true_epsilon: Callable[[float, int], float],
    truth: str,
) -> Entry:
    return Entry(
        name=build(1.0).name,
        summary=summary,
        make=lambda epsilon, _n: build(epsilon),
        relation="all",
        epsilon=0.1,
        dimension=10,
        true_epsilon=true_epsilon,
        truth=truth,
    )


ENTRIES = (
    _entry(svt_1, "sparse vector, 1 TRUE (Lyu Alg. 1)", _answers_truth(svt_1), "epsilon"),
    _entry(svt_2, "new threshold after TRUE (Alg. 2)", _answers_truth(svt_2), "epsilon"),
    _entry(svt_3, "publishes what it compared (Alg. 3)", _svt_3_truth, "n*epsilon/2"),
    _entry(svt_4, "too little noise (Alg. 4)", _answers_truth(svt_4), "7*epsilon/4"),
    _entry(svt_5, "no noise on the queries (Alg. 5)", _svt_5_truth, "infinite"),
    _entry(svt_6, "never aborts (Alg. 6)", _answers_truth(svt_6), "n*epsilon/2"),
    _entry(numerical_svt, "sparse vector, 2 values, fresh noise", _answers_truth(numerical_svt), "epsilon"),
    _entry(
        lambda epsilon: Parallel34(epsilon=epsilon),
        "svt-3 and svt-4, 2 TRUE each",
        _parallel_truth,
        "(n+13)*eps/4",
    ),
)
