"""Causes behind a loss that is too large by a factor: the scale, the clipping, the number of releases."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dplitmus.diagnosis.noise import at_least, excess
from dplitmus.diagnosis.subject import DEVIATIONS
from dplitmus.mechanisms.zoo.gaussian import sigma_of
from dplitmus.verdict import Note

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dplitmus.diagnosis.law import Law
    from dplitmus.diagnosis.noise import Excess
    from dplitmus.diagnosis.subject import Subject

_FEW_KINDS = 4
_BEYOND = (10.0, 100.0)  # times as far from x as x' is


def too_much(subject: Subject, law: Law, *, mixed: bool) -> Iterator[Note]:
    """Name why the loss on this pair is larger than claimed, if it is, surely."""
    found = excess(subject, law, mixed=mixed)
    if found is None or found.low <= 1:
        return
    inputs = subject.inputs
    released = inputs is not None and inputs[0].size < law.shift.size and found.numbers > inputs[0].size
    if released:
        yield _releases(subject, found)
        alone = _single(found)
        if alone.low > 1:
            yield _scale(subject, law, alone, 1)
        return
    reach, follows = _unbounded(subject, law)
    names = _names(subject, law, found, found.numbers)
    if follows and not any(name in names for name in _COMMON):
        yield _clipping(found.factor, reach, follows)
        if found.low / reach > 1:
            yield _scale(subject, law, found, found.numbers)
        return
    yield _scale(subject, law, found, found.numbers)
    if follows:
        yield _clipping(found.factor, reach, follows)


def unclipped(subject: Subject, law: Law) -> Iterator[Note]:
    """A missing clip beside another cause, for which the factor of the loss means little.

    Judged as if the noise were Laplace noise of the mean size that it has on the noisier input.
    """
    size = np.maximum(*law.scales) * {"Gaussian": math.sqrt(2 / math.pi), "uniform": 0.5}.get(law.family, 1.0)
    factor = float((np.abs(law.shift) / np.resize(size, law.shift.size)).sum()) / subject.claim.epsilon
    if at_least(factor, law) <= 1:
        return
    reach, follows = _unbounded(subject, law)
    if follows:
        yield _clipping(factor, reach, follows)


def _unbounded(subject: Subject, law: Law) -> tuple[float, float | None]:
    """How far apart the inputs are in one number, and, beyond 1, how far the outputs go along with them."""
    inputs = subject.inputs
    reach = float(np.abs(inputs[1] - inputs[0]).max()) if inputs is not None else 1.0
    return reach, _follows(subject, law) if reach > 1 else None


def _single(found: Excess) -> Excess:
    share = found.one / found.factor
    return found._replace(factor=found.one, low=found.low * share, high=found.high * share, numbers=1)


def _scale(subject: Subject, law: Law, found: Excess, numbers: int) -> Note:
    size = "standard deviation" if law.family in {"Gaussian", "half-normal"} else "scale"
    moved = float(np.abs(law.shift).sum() if size == "scale" else math.sqrt(np.square(law.shift).sum()))
    names = _names(subject, law, found, numbers)
    match = f" That is {' or '.join(names)}." if names else ""
    query = "the query moves by" if law.exact else "the outputs move by about"
    return Note(
        "DP310",
        f"the noise is too small by a factor of {found.factor:.4g} (between {found.low:.4g} and "
        f"{found.high:.4g}): it is {law.family}, of {size} {float(law.scale[0]):.4g}, and {query} "
        f"{moved:.4g} between the inputs, which at epsilon {subject.claim.epsilon:g} needs "
        f"{found.factor * float(law.scale[0]):.4g}.{match}",
    )


_COMMON = ("2 (half a sensitivity)", "the number of coordinates (the sensitivity of one was taken for all)")


def _names(subject: Subject, law: Law, found: Excess, numbers: int) -> list[str]:
    """What usually gives such a factor."""
    epsilon = subject.claim.epsilon
    catalogue = [
        (2.0, _COMMON[0]),
        (math.sqrt(2), "the square root of 2 (a variance for a squared scale)"),
        (10.0, "10"),
        (1 / epsilon**2 if epsilon < 1 else 0.0, "1/epsilon^2 (the scale is epsilon instead of 1/epsilon)"),
        (1 / math.log(2), "1/ln 2 (a logarithm of another base)"),
    ]
    if numbers > 2:
        catalogue += [
            (numbers, _COMMON[1]),
            (math.sqrt(numbers), "the square root of the number of coordinates (L2 was taken for L1)"),
            (numbers / 2, "half the number of coordinates"),
        ]
    if subject.claim.delta > 0 and law.family == "Gaussian":
        ratio = sigma_of(epsilon, subject.claim.delta) * epsilon
        catalogue.append(
            (ratio, "what the Laplace formula sensitivity/epsilon misses as a standard deviation")
        )
    near = [(abs(math.log(value / found.factor)), words) for value, words in catalogue if value > 1]
    inside = sorted((far, words) for far, words in near if far <= math.log(found.high / found.factor) / 2)
    return [words for _, words in inside[:2]]


def _follows(subject: Subject, law: Law) -> float | None:
    """How far the outputs go along with inputs far beyond x': None if they stop."""
    if subject.inputs is None:
        return None
    x, x_prime = subject.inputs
    along = np.sign(law.shift[: subject.rows[0].shape[1]])
    shift = float(np.abs(law.shift[: along.size]).sum())
    here = float(np.median(subject.rows[0] @ along))
    farthest = None
    for number, times in enumerate(_BEYOND):
        there = subject.on(subject.shaped(x + times * (x_prime - x)), 1 + number)
        if there is None or there.shape[1] != along.size:
            return farthest
        moved = there @ along
        error = DEVIATIONS * 1.25 * float(np.std(moved)) / math.sqrt(len(moved))
        if float(np.median(moved)) - here < 0.9 * times * shift - error:
            return None
        farthest = times
    return farthest


def _clipping(factor: float, reach: float, times: float) -> Note:
    return Note(
        "DP313",
        f"inputs are not clipped: those of this pair differ by up to {reach:.4g} in one number, and an input "
        f"{times:g} times as far away moves the outputs {times:g} times as far. Noise of this size would do "
        f"for a change of {reach / factor:.4g}. Usually a bound on the inputs is assumed in the proof and "
        "enforced nowhere.",
    )


def _releases(subject: Subject, found: Excess) -> Note:
    epsilon = subject.claim.epsilon
    return Note(
        "DP315",
        f"the budget is spent again for every number released: {found.numbers} numbers depend on the input, "
        f"each with a loss of {found.one * epsilon:.4g}, and together {found.factor * epsilon:.4g} (between "
        f"{found.low * epsilon:.4g} and {found.high * epsilon:.4g}) where {epsilon:g} is claimed. Losses add "
        "up: divide epsilon among the releases.",
    )


def odds(subject: Subject) -> Iterator[Note]:
    """Answers of a few kinds in every coordinate: by how much their odds change, and what that adds up to."""
    if not subject.enough or not subject.comparable:
        return
    epsilon = subject.claim.epsilon
    total, variance, columns = 0.0, 0.0, subject.rows[0].shape[1]
    for low, high in zip(subject.rows[0].T, subject.rows[1].T, strict=True):
        kinds = np.unique(np.concatenate([low, high]))
        if kinds.size > _FEW_KINDS:
            return
        counts = np.array([[(side == kind).sum() for kind in kinds] for side in (low, high)]) + 0.5
        logs = np.log(counts / counts.sum(axis=1, keepdims=True))
        loss = np.abs(logs[0] - logs[1])
        best = int(np.argmax(loss))
        total += float(loss[best])
        variance += float((1 / counts[:, best]).sum())
    low_end = total - DEVIATIONS * math.sqrt(variance)
    if low_end > epsilon:
        yield Note(
            "DP310",
            f"the answers are too certain by a factor of {total / epsilon:.3g} (at least "
            f"{low_end / epsilon:.3g}): between the inputs the odds of an answer change by "
            f"e^{total / columns:.3g} in each of {columns} coordinates, which adds up to {total:.3g} where "
            f"{epsilon:g} is claimed.",
        )
