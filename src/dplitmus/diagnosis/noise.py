"""Causes that the law of the noise shows: one-sided, shared, too small, of the wrong family, dependent."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dplitmus.arithmetic import careful
from dplitmus.diagnosis.subject import DEVIATIONS, FEW
from dplitmus.diagnosis.values import percent
from dplitmus.mechanisms.zoo.gaussian import sigma_of
from dplitmus.verdict import Note

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from dplitmus.diagnosis.law import Law
    from dplitmus.diagnosis.subject import Subject

    Floats = NDArray[np.float64]

_HALF = 0.05  # how near to one half a share must be to be called so
_SINGULAR = 1e-5  # smallest eigenvalue of a correlation matrix, relative to 1, that means a missing noise
_TOGETHER = 2.0  # how much better than their marginals correlated noises must tell the inputs apart
_MOST = 32  # columns
_BEYOND = 5  # outputs on one input beyond all of the other
PRIME = "x'"


def one_sided(subject: Subject, law: Law) -> Iterator[Note]:
    """Noise on one side of the query only: the support itself tells the inputs apart."""
    if not law.direction or not (subject.violated or _beyond(subject, law) >= _BEYOND):
        return
    never = "negative" if law.direction > 0 else "positive"
    numbers = sum(len(rows) for rows in subject.rows)
    outputs = f"{numbers:,} of {numbers:,} outputs lie on one side of the query, or on it"
    words = f"the noise is never {never}: {outputs}"
    yield Note(
        "DP308", f"{words}, and the other input gives outputs that this one cannot. {_why(subject, law)}"
    )


def _beyond(subject: Subject, law: Law) -> int:
    """Outputs on one input where the other input gives none."""
    first = [law.direction * rows[:, 0] for rows in subject.rows]
    return max(int((mine < other.min()).sum()) for mine, other in (first, first[::-1]))


def _why(subject: Subject, law: Law) -> str:
    if law.family == "exponential" and law.direction > 0 and subject.comparable and subject.inputs:
        values = [side.values[~side.symbols] for side in subject.sides]
        total = sum(part.size for part in values)
        missing = sum(int(np.isnan(part).sum()) for part in values)
        still = sum(int((part == end).sum()) for part, end in zip(values, subject.inputs, strict=True))
        for count, what in ((still, "is exactly zero"), (missing, "is NaN")):
            if abs(count / total - 0.5) < _HALF:
                return (
                    f"It is exponential, and {percent(count, total)} of it {what}: an inverse CDF of the "
                    "Laplace law was fed with a uniform number from the wrong interval, (0, 1) instead of "
                    "(-1/2, 1/2), as in DPText."
                )
        return (
            "It is exponential: usually an inverse CDF of the Laplace law was fed with a uniform number from "
            "the wrong interval, (0, 1) instead of (-1/2, 1/2), as in DPText; or an exponential sampler, or "
            "the absolute value, was taken for Laplace noise."
        )
    kind = {"exponential": "exponential", "half-normal": "half of a normal law", "geometric": "geometric"}
    return (
        f"It is {kind.get(law.family, law.family)}: usually a one-sided sampler, an absolute value, or a "
        "uniform number from the wrong interval stands where noise on both sides is meant."
    )


class Correlation(NamedTuple):
    """How the noises of coordinates hang together."""

    moving: NDArray[np.intp]  # coordinates with noise
    deviation: Floats
    matrix: Floats
    smallest: float  # eigenvalue
    vector: Floats  # and its direction
    draws: int

    @property
    def largest(self) -> tuple[int, int, float]:
        """The two coordinates that are correlated most, and how much."""
        off = np.abs(self.matrix - np.diag(np.diag(self.matrix)))
        i, j = np.unravel_index(int(np.argmax(off)), off.shape)
        return int(self.moving[min(i, j)]), int(self.moving[max(i, j)]), float(self.matrix[i, j])

    @property
    def singular(self) -> bool:
        """Whether some combination has no noise."""
        return self.smallest < _SINGULAR

    @property
    def clear(self) -> bool:
        """Whether coordinates are correlated, surely: z = sqrt(n - 3) atanh r, over all pairs of them."""
        size = min(abs(self.largest[2]), 1 - 1e-12)
        return math.sqrt(self.draws - 3) * math.atanh(size) > DEVIATIONS + 1


@careful()
def correlation(subject: Subject) -> Correlation | None:
    """Between the coordinates that vary on both inputs; None if there are not two, or too few draws."""
    rows = [part[:, :_MOST] for part in subject.rows]
    if not subject.enough or rows[0].shape[1] < 2:
        return None
    moving = np.flatnonzero(np.all([np.ptp(part, axis=0) > 0 for part in rows], axis=0))
    if moving.size < 2 or min(map(len, rows)) < 4 * moving.size:
        return None
    centred = np.concatenate([part[:, moving] - part[:, moving].mean(axis=0) for part in rows])
    unit = np.abs(centred).max(axis=0)  # squares of it are numbers, whatever the noise is
    deviation = (centred / unit).std(axis=0)
    standard = centred / unit / deviation
    matrix = standard.T @ standard / len(centred)
    if not np.isfinite(matrix).all():
        return None
    values, vectors = np.linalg.eigh(matrix)
    return Correlation(moving, deviation * unit, matrix, float(values[0]), vectors[:, 0], len(centred))


def shared(subject: Subject, found: Correlation) -> Iterator[Note]:
    """Noise that some combination of coordinates does not have, or has less of."""
    i, j, size = found.largest
    largest = f"the noise of y[{i}] and y[{j}] has correlation {size:+.4g}"
    if found.singular:
        if _leaks(subject, found.moving, found.vector / found.deviation):
            yield Note(
                "DP309",
                f"coordinates share their noise: {largest}, and a combination of them comes out without any. "
                "Usually one number was drawn where one per coordinate was meant: a shape that was broadcast "
                "((n, 1) for (n, k)), or noise that is used again.",
            )
        return
    if subject.violated and found.clear:
        means = [rows[:, found.moving].mean(axis=0) for rows in subject.rows]
        shift = (means[1] - means[0]) / found.deviation
        jointly, apart = float(shift @ np.linalg.solve(found.matrix, shift)), float(shift @ shift)
        if jointly > _TOGETHER * apart and jointly > 2 * DEVIATIONS**2 * found.moving.size / found.draws:
            yield Note(
                "DP309",
                f"coordinates share part of their noise: {largest}, and together they tell the inputs apart "
                f"{math.sqrt(jointly / apart):.3g} times better than independent noises of their sizes "
                "would. Usually noise is used for several coordinates.",
            )


def _leaks(subject: Subject, moving: NDArray[np.intp], weights: Floats) -> bool:
    """Whether the combination without noise depends on the input; computed from noisy answers it does not.

    Tried on an input of our own; where none can be tried, the pair decides.
    """
    means = [part[:, moving] @ weights for part in subject.rows]
    spread = max(float(np.std(part)) for part in means)
    size = float(np.abs(weights).sum()) * max(float(np.abs(part).max()) for part in subject.rows)
    tolerance = DEVIATIONS * spread + 1e-6 * size
    if abs(float(means[1].mean() - means[0].mean())) > tolerance:
        return True
    if subject.inputs is None:
        return False
    # By another amount in every coordinate, so that no combination can miss it.
    moved = subject.inputs[0] + np.sqrt(np.arange(1.0, subject.inputs[0].size + 1))
    there = subject.on(subject.shaped(moved), 0)
    if there is None or there.shape[1] <= moving.max():
        return False
    return abs(float((there[:, moving] @ weights).mean() - means[0].mean())) > tolerance


class Excess(NamedTuple):
    """By what factor the loss exceeds the claim, with its error, for all numbers together and for one."""

    factor: float
    low: float
    high: float
    one: float  # of the number that moves most, alone
    numbers: int  # that move


def excess(subject: Subject, law: Law, *, mixed: bool) -> Excess | None:
    """The factor, if the family has one for this claim.

    Losses of coordinates add up if their noises are independent; where these are mixed (running sums, say),
    only a single coordinate's loss is known.
    """
    epsilon, delta = subject.claim.epsilon, subject.claim.delta
    columns = law.shift.size
    scale = np.resize(law.scale, columns) if law.scale.size == columns else np.full(columns, law.scale.mean())
    losses = np.abs(law.shift) / scale
    if law.family in {"Laplace", "exponential", "geometric"}:
        factor, one = float(losses.sum()) / epsilon, float(losses.max()) / epsilon
    elif law.family in {"Gaussian", "half-normal"} and delta > 0:
        needed = sigma_of(epsilon, delta)
        factor, one = float(np.sqrt(np.square(losses).sum())) * needed, float(losses.max()) * needed
    else:
        return None
    factor = one if mixed else factor
    error, astray = DEVIATIONS * law.error, DEVIATIONS * law.shift_error
    high = factor * (1 + astray) / (1 - error) if error < 1 else math.inf
    return Excess(factor, at_least(factor, law), high, one, int((losses > 1e-6 * losses.max()).sum()))


def at_least(loss: float, law: Law) -> float:
    """The least that a loss can be which was computed from the law's shift and scale."""
    return loss * max(0.0, 1 - DEVIATIONS * law.shift_error) / (1 + DEVIATIONS * law.error)


def family(subject: Subject, law: Law) -> Iterator[Note]:
    """Noise of a family that cannot keep the claim at any scale."""
    draws = sum(len(rows) for rows in subject.rows)
    nats = f"(the next family is {law.advantage * draws:,.0f} nats behind on {draws:,} draws)"
    scale = float(law.scale[0])
    if law.family == "Gaussian" and subject.claim.delta == 0:
        yield Note(
            "DP311",
            f"the noise is Gaussian, of standard deviation {scale:.4g} {nats}, and the claim has delta = 0: "
            "Gaussian noise keeps no such claim, whatever its size. Usually Laplace noise was meant, or a "
            "delta forgotten.",
        )
    if law.family == "uniform" and not law.direction:
        outside = float(np.abs(law.shift).max()) / (2 * scale)
        if at_least(outside, law) > subject.claim.delta:
            yield Note(
                "DP311",
                f"the noise is uniform on an interval of half width {scale:.4g} {nats}: where the interval "
                f"of one input ends, {100 * min(1.0, outside):.3g} % of the outputs of the other lie beyond. "
                "Bounded noise keeps no claim with a small delta. Usually a sampler's uniform number was "
                "published before it went through the inverse CDF.",
            )


def dependent(subject: Subject, law: Law | None) -> Iterator[Note]:
    """A scale that depends on the data."""
    silent = silent_input(subject)
    if silent is not None:
        yield Note(
            "DP312",
            f"there is no noise at all on {('x', PRIME)[silent]}, and there is on the other "
            "input: the scale depends on the data. Usually it was computed from the input at hand (its "
            "range, its norm, a local sensitivity) instead of from the claim.",
        )
        return
    if law is None or law.family == "of no usual family":
        return
    ratio = float(np.exp(np.mean(np.log(law.scales[1] / law.scales[0]))))
    error = math.sqrt(2) * law.error * 1.2
    if abs(math.log(ratio)) > 6.5 * error:
        spread = math.exp(DEVIATIONS * error)
        yield Note(
            "DP312",
            f"the noise on x' is {ratio:.3g} times as large as on x (between {ratio / spread:.3g} and "
            f"{ratio * spread:.3g}), and both are {law.family}: the scale depends on the data, and tells it. "
            "Usually it was computed from the input at hand (its range, its norm, a local sensitivity) "
            "instead of from the claim.",
        )


def silent_input(subject: Subject) -> int | None:
    """The input, 0 or 1, on which there is no noise although there is on the other."""
    if not subject.enough:
        return None
    constant = [bool((np.ptp(rows, axis=0) == 0).all()) for rows in subject.rows]
    if constant[0] == constant[1] or any(len(rows) < 2 * FEW for rows in subject.rows):
        return None
    return constant.index(True)
