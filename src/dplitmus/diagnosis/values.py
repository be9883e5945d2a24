"""Causes that single values show: symbols, repeated outputs, atoms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dplitmus import bits
from dplitmus.diagnosis.subject import FEW, step_of
from dplitmus.outputs import missing
from dplitmus.verdict import Note

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from dplitmus.diagnosis.subject import Outputs, Subject

    Floats = NDArray[np.float64]

_COMMON = 0.01  # share of the outputs from which a value is common
_REPEATED = 0.01  # share of outputs that are copies of others
_MOST_KINDS, _MOST_COLUMNS = 8, 16
_FEW_ATOMS = 3
_UNLIKE = 0.8  # share of outputs that came once
_TABLE = 4  # copies of a value, on average, that make the values a table


def percent(count: int, total: int) -> str:
    """A share in words."""
    share = 100 * count / max(1, total)
    return f"{share:.3g} %" if count == 0 or share >= 0.01 else "under 0.01 %"


def symbols(subject: Subject) -> Iterator[Note]:
    """Special values, among numbers, that come oftener on one input than the claim allows."""
    for name in _kinds(subject):
        low, high = (int(_is(name, side).sum()) for side in subject.sides)
        if subject.tells_apart(low, high):
            sizes = [len(side) for side in subject.sides]
            yield Note(
                "DP306",
                f"{name} is the answer in {percent(low, sizes[0])} of the draws on x and in "
                f"{percent(high, sizes[1])} on x': that alone tells the inputs apart. Usually a failure that "
                "only some records cause (0/0, an overflow, an exception, a missing answer) is published "
                "instead of being hidden by noise.",
            )
            return


def special(subject: Subject) -> Iterator[Note]:
    """NaN and infinities, whether they tell anything or not."""
    if any(len(side.names) for side in subject.sides):
        return
    rows = sum(len(side) for side in subject.sides)
    strange = sum(
        int((~np.isfinite(side.values) & ~missing(side.values)).any(axis=1).sum()) for side in subject.sides
    )
    if strange:
        yield Note(
            "DP302",
            f"{percent(strange, rows)} of the outputs hold NaN or infinite values; they count as outputs "
            "like any other.",
        )


def unlike(subject: Subject) -> Iterator[Note]:
    """Outputs that are compared as a whole, and of which hardly one comes twice: nothing can be learned."""
    sides = [side for side in subject.sides if len(side)]
    if subject.violated or any(side.values.shape[1] > 1 for side in sides):
        return
    alone = sum(int((np.unique(side.keys[side.symbols], return_counts=True)[1] == 1).sum()) for side in sides)
    total = sum(len(side) for side in sides)
    if total >= FEW and alone > _UNLIKE * total:
        yield Note(
            "DP316",
            f"{percent(alone, total)} of the outputs came only once, and they are texts or other things that "
            "are compared as a whole: hardly anything can be learned from them. Return lists of numbers, "
            "such as the numbers of words in a vocabulary: each is looked at in its place.",
        )


def _kinds(subject: Subject) -> list[str]:
    kinds = [name for name in ("NaN", "inf", "-inf") if any(_is(name, side).any() for side in subject.sides)]
    plain = sum(int(side.is_plain.sum()) for side in subject.sides)
    if plain < sum(len(side) for side in subject.sides) / 4:
        return kinds if not any(side.names for side in subject.sides) else []  # symbols are the usual answer
    for side in subject.sides:
        keys, counts = np.unique(side.keys[side.symbols], return_counts=True)
        kinds += [side.names[int(key)] for key in keys[np.argsort(-counts)][:_MOST_KINDS]]
    return list(dict.fromkeys(kinds))


def _is(name: str, side: Outputs) -> NDArray[np.bool_]:
    special = {"NaN": np.isnan(side.values), "inf": side.values == np.inf, "-inf": side.values == -np.inf}
    if name in special:
        return np.asarray(special[name].any(axis=1) & ~side.symbols)
    keys = [key for key, text in side.names.items() if text == name]
    return np.isin(side.keys, np.array(keys, dtype=np.uint64)) & side.symbols


def repeated(subject: Subject) -> Iterator[Note]:
    """Outputs that come back exactly, although the numbers are not on a grid."""
    if not subject.enough:
        return
    rows = subject.rows[0]
    if bits.precision(rows) == min(bits.FORMATS):
        return  # there are few 16-bit floats
    columns = [
        place
        for place, column in enumerate(rows.T[:_MOST_COLUMNS])
        if np.ptp(column) > 0 and step_of(column) is None
    ]
    if not columns:
        return
    for place in columns:
        numbers = rows[:, place]
        found, counts = np.unique(numbers[~np.isin(numbers, _atoms(numbers))], return_counts=True)
        total = int(counts.sum())
        if total < FEW or total - found.size <= max(_REPEATED * total, 5):
            continue
        if _candidates(found, counts, subject.rows[1][:, place]):
            continue
        how = "a short table of them" if total > _TABLE * found.size else "the same numbers for several draws"
        where = f" in y[{place}]" if rows.shape[1] > 1 else ""
        yield Note(
            "DP307",
            f"{total:,} outputs on x have only {found.size:,} different values{where}, which lie on no grid: "
            f"noise is used again. Usually it comes from {how}, a cache, or a generator that is seeded anew.",
        )
        return


def _candidates(found: Floats, counts: NDArray[np.intp], other: Floats) -> bool:
    """Whether the other input gives the same values: a choice among candidates, no noise that is added."""
    return bool(counts[np.isin(found, other)].sum() > counts.sum() / 2)


def _atoms(numbers: Floats) -> Floats:
    """The few values that are much commoner than all others."""
    found, counts = np.unique(numbers, return_counts=True)
    common = np.flatnonzero(counts > 5 * np.median(counts))
    return np.asarray(found[common] if common.size <= _FEW_ATOMS else found[:0])


def atoms(subject: Subject) -> Iterator[Note]:
    """One exact value that comes oftener on one input than the claim allows, where noise should be."""
    if not subject.enough:
        return
    found = [atom for column in range(_MOST_COLUMNS) if (atom := _atom(subject, column))]
    if not found:
        return
    shares = tuple(max(atom[side] for atom in found) for side in (0, 1))
    if max(shares) > 0.99 and min(shares) < 0.99:
        return  # no noise on one input: its scale depends on the data
    value = found[0][2]
    where = "equal the input exactly" if found[0][3] else f"are exactly {value:g} (and another value on x')"
    yield Note(
        "DP301",
        f"{100 * shares[0]:.3g} % of the outputs on x and {100 * shares[1]:.3g} % on x' {where}, in some "
        "coordinate: an atom where the noise should be. It often means that the noise was "
        "masked, dropped or multiplied by zero, or that NaN was replaced by zero in the sampler.",
    )


def _atom(subject: Subject, column: int) -> tuple[float, float, float, bool] | None:
    """Shares of the commonest value of a column on its own input, if it breaks the claim there."""
    if column >= subject.rows[0].shape[1]:
        return None
    numbers = [rows[:, column] for rows in subject.rows]
    best = None
    shares = [0.0, 0.0]
    for side, mine in enumerate(numbers):
        found, counts = np.unique(mine, return_counts=True)
        value, count = found[np.argmax(counts)], int(counts.max())
        if count < max(FEW / 2, _COMMON * mine.size) or not _stands_out(mine, float(value)):
            continue
        there = int((numbers[1 - side] == value).sum())
        if subject.tells_apart(count, there):
            shares[side] = count / mine.size
            at_input = subject.comparable and bool(subject.inputs and subject.inputs[side][column] == value)
            best = best or (float(value), at_input)
    return (shares[0], shares[1], *best) if best else None


def _stands_out(numbers: Floats, value: float) -> bool:
    """Whether a value is commoner than its neighbours on a grid let expect; off grids, any common one is.

    Geometric noise, on one side or two, has p0 = p1^2 / p2.
    """
    rest = numbers[numbers != value]
    step = step_of(numbers) or (step_of(rest) if rest.size > FEW else None)
    if step is None:
        return True
    near = np.rint((numbers - value) / step)
    side = 1 if (near == 1).sum() >= (near == -1).sum() else -1
    first, second = (max(1.0, float((near == side * k).sum())) for k in (1, 2))
    here = float((near == 0).sum())
    return rest.size > FEW and second >= FEW / 2 and here > 2 * first**2 / second
