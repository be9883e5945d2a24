"""The cheap test of the bits: whether the fineness of the numbers depends on the input.

Under ideal arithmetic the last bits of a number say nothing about the input, given its exponent. So outputs
are compared within the same power of two: if on one input they are finer than they ever are on the other, the
set of floats that can occur depends on the input.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dplitmus import bits
from dplitmus.diagnosis.subject import SURE
from dplitmus.verdict import Note

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from dplitmus.diagnosis.subject import Subject

    Floats = NDArray[np.float64]

_LEAST = 20  # numbers that are finer than all of the other input
_RANGE = 1100  # exponents of doubles
_THRESHOLDS = 12
_DRAWS = 1024  # on inputs of our own


def lattice(subject: Subject) -> Iterator[Note]:
    """Say so, once, if the bits leak on this pair, or on zero and a number of the size of the noise."""
    if not subject.enough:
        return
    for x, rows in _views(subject):
        found = _finer(subject, rows)
        if found is not None:
            yield Note(
                "DP314",
                f"the last bits leak: on {x[found.finer]} {found.numbers:,} numbers are no multiple of "
                f"2^{found.power}, on {x[1 - found.finer]} none of {found.others:,} numbers of the same "
                "size. As real numbers the outputs may keep the claim; as floats "
                "they do not (level 'bits' judges them). Release discrete or snapped noise, for instance by "
                "OpenDP, or round to a coarse grid.",
            )
            return


def _views(subject: Subject) -> Iterator[tuple[tuple[str, str], tuple[Floats, Floats]]]:
    yield ("x", "x'"), subject.rows
    if subject.inputs is None or not subject.comparable:
        return
    # Noise of about the size of an input cancels it, and leaves fine numbers or coarse ones.
    spread = float(np.median(np.abs(subject.rows[0][:, 0] - np.median(subject.rows[0][:, 0]))))
    if not 0 < spread < math.inf:
        return
    size = 2.0 ** math.ceil(math.log2(spread))
    zero = subject.on(subject.shaped(np.zeros_like(subject.inputs[0])), 8, _DRAWS)
    there = subject.on(subject.shaped(np.full_like(subject.inputs[0], size)), 9, _DRAWS)
    if zero is not None and there is not None:
        yield ("the input 0", f"the input {size:g}"), (zero, there)


class _Leak(NamedTuple):
    power: int
    finer: int  # the input with finer numbers: 0 or 1
    numbers: int
    others: int  # numbers of the same size on the other input, of which none is so fine
    log_chance: float  # that none of them is, if both are alike


def _finer(subject: Subject, rows: tuple[Floats, Floats]) -> _Leak | None:
    """The power of two that tells most surely."""
    numbers = [part.reshape(-1) for part in rows]
    exponents = [np.clip(bits.exponent(part), -_RANGE, _RANGE) for part in numbers]
    grains = [bits.grain(part) for part in numbers]
    # Within a power of two the last bits are uniform, but on a grid they are a function of the value.
    grid = subject.discrete and bits.precision(numbers[0]) > min(bits.FORMATS)
    unlike = math.exp(-2 * subject.claim.epsilon) if grid else 0.25
    found = []
    for finer in (0, 1):
        other = 1 - finer
        sizes = np.bincount(exponents[other] + _RANGE, minlength=2 * _RANGE + 1)
        mine = np.bincount(exponents[finer] + _RANGE, minlength=2 * _RANGE + 1)
        for power in np.unique(grains[other])[:_THRESHOLDS]:
            fine = grains[finer] < power
            counts = np.bincount(exponents[finer][fine] + _RANGE, minlength=2 * _RANGE + 1)
            both = (counts > 0) & (sizes > 0)
            coarse = np.bincount(exponents[other][grains[other] < power] + _RANGE, minlength=2 * _RANGE + 1)
            both &= coarse == 0
            share = unlike * counts[both] / mine[both]
            chance = float((sizes[both] * np.log1p(-np.minimum(share, 0.999))).sum())
            if counts[both].sum() >= _LEAST and chance < math.log(SURE):
                found.append(
                    _Leak(int(power), finer, int(counts[both].sum()), int(sizes[both].sum()), chance)
                )
    return min(found, key=lambda leak: leak.log_chance, default=None)
