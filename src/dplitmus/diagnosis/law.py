"""The law of the noise: where it lies, its family, its scale on each input, and how far the query moves.

Takes a subject; gives a `Law`, or None where the outputs do not look like a query plus noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import erf

from dplitmus.diagnosis.subject import DEVIATIONS, FEW, step_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dplitmus.diagnosis.subject import Subject

    Floats = NDArray[np.float64]

_ATOM = 0.02  # share of a value from which it is no noise
_NEAR, _LEAST_NEAR = (
    0.1,
    0.02,
)  # of an exponential law a tenth lies within a tenth of the mean: at least so much
_FITS = (
    2.0  # Kolmogorov's distance times the root of the draws; 1.6 has probability 0.001 with a fitted scale
)
_PRECISE = 0.25  # of the distance of the inputs: so well must a centre be known to be taken for the input
_CLEARLY = 12.0  # nats by which one family explains the noise better than another


@dataclass(frozen=True)
class Law:
    """Noise of one family, added to a query."""

    family: (
        str  # "Laplace", "Gaussian", "uniform", "geometric", "exponential", "half-normal", or none of them
    )
    direction: int  # 1: never negative, -1: never positive, 0: both
    scales: tuple[Floats, Floats]  # on x and on x': one number per column; of "geometric", 1 / ln(p / q)
    draws: int  # plain rows on the input with fewer of them
    shift: Floats  # how far the query moves from x to x', per column
    shift_error: float  # relative; 0 where it is known
    exact: bool  # whether the query is known: the input itself, or shown by one seed
    advantage: float  # nats per draw by which the next best family is worse

    @property
    def error(self) -> float:
        """Relative standard error of a scale."""
        # Of the mean size of the noise, which every family is fitted by.
        per_draw = {"Gaussian": math.pi / 2 - 1, "half-normal": math.pi / 2 - 1, "uniform": 1 / 3}
        return math.sqrt(per_draw.get(self.family, 1.0) / self.draws)

    @property
    def scale(self) -> Floats:
        """Of both inputs together."""
        return (self.scales[0] + self.scales[1]) / 2


def law(subject: Subject, *, reused: bool = False) -> Law | None:
    """Find the law, or None. Of noise that is `reused` every value counts once."""
    if not subject.enough or (subject.picked and not subject.violated):
        return None
    return _on_a_grid(subject) if subject.discrete else _continuous(subject, reused=reused)


def _continuous(subject: Subject, *, reused: bool) -> Law | None:
    rows = tuple(_without_atoms(np.unique(part, axis=0) if reused else part) for part in subject.rows)
    if any(np.isfinite(part[:, 0]).sum() < FEW for part in rows):
        return None
    direction, centres, exact = _placed(subject, rows)
    residuals = [part - centre for part, centre in zip(rows, centres, strict=True)]
    scales = [np.nanmean(np.abs(part), axis=0) for part in residuals]
    if any(not (scale > 0).all() or not np.isfinite(scale).all() for scale in scales):
        return None
    first = [part[:, 0][np.isfinite(part[:, 0])] for part in residuals]
    if reused:
        first = [np.unique(part) for part in first]
    standard = np.concatenate([np.abs(part) / scale[0] for part, scale in zip(first, scales, strict=True)])
    family, advantage = _family(standard, one_sided=direction != 0)
    if family is None:
        if not direction or not exact:
            return None
        family = "of no usual family"  # but on one side, for sure
    factor = {"Gaussian": math.sqrt(math.pi / 2), "half-normal": math.sqrt(math.pi / 2), "uniform": 2.0}
    shift, error = _shift(subject, centres, scales, min(map(len, first)), exact=exact)
    return Law(
        family=family,
        direction=direction,
        scales=(scales[0] * factor.get(family, 1.0), scales[1] * factor.get(family, 1.0)),
        draws=min(map(len, first)),
        shift=shift,
        shift_error=error,
        exact=exact or subject.shift is not None,
        advantage=advantage,
    )


def _without_atoms(rows: Floats) -> Floats:
    """The same with NaN in place of values that are too common to be noise."""
    clean = rows.copy()
    for j, column in enumerate(rows.T):
        found, counts = np.unique(column, return_counts=True)
        value, count = found[np.argmax(counts)], counts.max()
        if count > max(_ATOM * column.size, 5) and count > 5 * np.median(counts):
            clean[column == value, j] = np.nan
    return clean


def _placed(subject: Subject, rows: tuple[Floats, ...]) -> tuple[int, list[Floats], bool]:
    """On which side of its centre the noise lies, the centres on both inputs, and whether they are known."""
    medians = [np.nanmedian(part, axis=0) for part in rows]
    if subject.comparable and subject.inputs is not None:
        ends = [end[: rows[0].shape[1]] for end in subject.inputs]
        away = [part - end for part, end in zip(rows, ends, strict=True)]
        directions = [_direction(part) for part in away]
        if directions[0] and directions[0] == directions[1]:
            return directions[0], ends, True
        errors = [1.5 * np.nanmean(np.abs(part), axis=0) / math.sqrt(len(part)) for part in away]
        moves = ends[0] != ends[1]
        precise = _PRECISE * np.abs(ends[1] - ends[0])
        if all(
            (np.abs(median - end) <= DEVIATIONS * error).all()
            and (DEVIATIONS * error <= precise)[moves].all()
            for median, end, error in zip(medians, ends, errors, strict=True)
        ):
            return 0, ends, True
    # An unknown query: noise that ends abruptly on one side is one-sided.
    for direction in (1, -1):
        edges = [direction * np.nanmin(direction * part, axis=0) for part in rows]
        away = [part - edge for part, edge in zip(rows, edges, strict=True)]
        near = [_share_near(part[:, 0], direction) for part in away]
        others = [
            _share_near((part - np.nanmax(direction * part, axis=0) * direction)[:, 0], -direction)
            for part in away
        ]
        if min(near) > _LEAST_NEAR * 2 and max(others) < _LEAST_NEAR / 2:
            return direction, edges, False
    return 0, medians, False


def _direction(away: Floats) -> int:
    """1 if no noise is negative and some is near zero, -1 if none is positive, 0 otherwise."""
    numbers = away[np.isfinite(away) & (away != 0)]
    if numbers.size < FEW:
        return 0
    for direction in (1, -1):
        if (direction * numbers > 0).all() and np.abs(numbers).min() < _NEAR * np.abs(numbers).mean():
            return direction
    return 0


def _share_near(away: Floats, direction: int) -> float:
    numbers = direction * away[np.isfinite(away)]
    return float((numbers < _NEAR * np.mean(numbers)).mean()) if numbers.size else 0.0


_CDFS: dict[str, Callable[[Floats], Floats]] = {
    # of |noise| in units of its mean
    "Laplace": lambda z: -np.expm1(-z),
    "Gaussian": lambda z: np.asarray(erf(z / math.sqrt(math.pi))),
    "uniform": lambda z: np.minimum(z / 2, 1.0),
}
_ONE_SIDED = {"Laplace": "exponential", "Gaussian": "half-normal", "uniform": "uniform"}


def _family(standard: Floats, *, one_sided: bool) -> tuple[str | None, float]:
    """The family of noise of mean size 1, and by how many nats per draw the next best is worse.

    Entropies at the fitted scale: 1 for the exponential law of sizes, 1/2 ln(pi/2 e) + ... for others.
    """
    spread = math.sqrt(float(np.mean(standard**2)))
    widest = float(standard.max()) * (1 + 1 / standard.size)
    losses = {
        "Laplace": 1.0,  # ln(mean) + 1
        "Gaussian": 0.5 * math.log(math.pi * math.e / 2) + math.log(spread),
        "uniform": math.log(widest),
    }
    best, second = sorted(losses, key=losses.__getitem__)[:2]
    advantage = losses[second] - losses[best]
    ordered = np.sort(standard)
    steps = np.arange(1, ordered.size + 1) / ordered.size
    expected = _CDFS[best](ordered)
    distance = float(np.maximum(np.abs(expected - steps), np.abs(expected - steps + 1 / ordered.size)).max())
    if distance * math.sqrt(ordered.size) > _FITS or advantage * ordered.size < _CLEARLY:
        return None, advantage
    return (_ONE_SIDED[best] if one_sided else best), advantage


def _shift(
    subject: Subject, centres: list[Floats], scales: list[Floats], draws: int, *, exact: bool
) -> tuple[Floats, float]:
    """How far the query moves, per column of the output, and the relative error of that."""
    if subject.shift is not None:
        return subject.shift, 0.0
    if exact and subject.inputs is not None:
        return subject.inputs[1] - subject.inputs[0], 0.0
    shift = centres[1] - centres[0]
    noise = 1.25 * (scales[0] + scales[1]) / 2 * math.sqrt(2 / draws)
    moved = float(np.abs(shift).sum())
    # Numbers that do not move at all seem to move by their noise, whichever way: that adds up.
    error = float(np.sqrt(np.square(noise).sum()) + noise.sum() * math.sqrt(2 / math.pi) / DEVIATIONS)
    return shift, error / moved if moved > 0 else math.inf


def _on_a_grid(subject: Subject) -> Law | None:
    """Two-sided or one-sided geometric noise on whole multiples of a step."""
    rows = subject.rows
    step = step_of(rows[0][:, 0]) or step_of(rows[1][:, 0])
    if step is None or any(np.unique(part[:, 0]).size < 4 for part in rows):
        return None
    exact = subject.comparable and subject.inputs is not None
    if exact and subject.inputs is not None:
        centres = [end[: rows[0].shape[1]] for end in subject.inputs]
    else:
        centres = [np.median(part, axis=0) for part in rows]
    away = [np.rint((part - centre) / step) for part, centre in zip(rows, centres, strict=True)]
    directions = [
        int(np.sign(part.max()) if part.min() >= 0 else -1 if part.max() <= 0 else 0) for part in away
    ]
    direction = directions[0] if directions[0] == directions[1] else 0
    scales = []
    for part in away:
        mean = np.abs(part).mean(axis=0)
        if not (mean > 0).all():
            return None
        # E|k| is a / (1 - a) on one side, 2a / (1 - a^2) on two.
        a = mean / (1 + mean) if direction else (np.sqrt(1 + mean**2) - 1) / mean
        still = 1 - a if direction else (1 - a) / (1 + a)
        seen = (part == 0).mean(axis=0)
        if (np.abs(seen - still) > DEVIATIONS * np.sqrt(still * (1 - still) / len(part)))[0]:
            return None
        scales.append(-step / np.log(a))
    shift, error = _shift(subject, list(centres), scales, min(map(len, rows)), exact=exact)
    return Law(
        family="geometric",
        direction=direction,
        scales=(scales[0], scales[1]),
        draws=min(map(len, rows)),
        shift=shift,
        shift_error=error,
        exact=exact or subject.shift is not None,
        advantage=math.inf,
    )
