"""Experts that are a logistic regression on features chosen from the past: ramps, coordinates, atoms.

Each is a small class that chooses features when everything so far is refitted, and computes them for any
batch; the regression around them is the same.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from dplitmus.forecast.logistic import Posterior, Predictor
from dplitmus.forecast.order import clipped, column_medians, column_quantiles, finite, quantiles, row_sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dplitmus.outputs import Batch

    Floats = NDArray[np.float64]

_ENOUGH = 4096  # values from which quantiles are taken
_SMALL = 1024  # numbers of a batch
_KNOTS = np.linspace(0.02, 0.98, 7)
_TWO_WIDTHS, _THREE_WIDTHS = np.array([0.3, 0.8]), np.array([0.05, 0.3, 0.8])
_CORRELATED = 0.3  # the least correlation worth undoing
_FURTHEST = 30.0  # standard deviations from the mean
_MOVES = 1e-9  # the least deviation of a feature that tells something
_MOST_PLACES = 16  # coordinates among which the place of the extremes is told


class Features(Protocol):
    """How an expert sees an output."""

    deviation: float  # of the prior on each weight
    least: int  # draws before it starts

    def choose(self, batch: Batch) -> bool:
        """Choose the features from the past; whether there are any."""

    def compute(self, batch: Batch) -> Floats:
        """One row of features per output."""


@dataclass
class Regression:
    """The expert around some features: standardise, add an intercept, fit, forecast."""

    features: Features
    posterior: Posterior | None = None
    used: Predictor | None = None  # the same under the prior that suits it
    certain: bool = False  # its uncertainty no longer matters
    centre: Floats = field(default_factory=lambda: np.zeros(0))
    scale: Floats = field(default_factory=lambda: np.ones(0))
    streams: ClassVar[bool] = False

    def learn(self, batch: Batch, *, whole: bool) -> None:
        """Refit on everything so far (`whole`), or let the posterior be the prior of new draws."""
        if whole:
            self.posterior = None
            if len(batch) < self.features.least or not self.features.choose(batch):
                return
            raw, ones, total = self._counted(batch)
            share = total / total.sum()
            self.centre = share @ raw
            # A rare feature must not become a huge one.
            furthest = np.abs(raw - self.centre).max(axis=0) / _FURTHEST
            deviation = np.sqrt(share @ np.square(raw - self.centre))
            spread = np.maximum(deviation, furthest)
            # One that never moved has no scale; should it move later, it is of order one as it is.
            self.scale = np.where(spread > _MOVES, spread, 1.0)
            prior, steps = Posterior.prior(raw.shape[1] + 1, self.features.deviation), 8
        elif self.posterior is None:
            return
        else:
            raw, ones, total = self._counted(batch)
            prior, steps = self.posterior, 2
        standard = np.concatenate([(raw - self.centre) / self.scale, np.ones((len(raw), 1))], axis=1)
        if not np.isfinite(standard).all():  # differences of outputs were too large for a float
            return
        self.posterior = prior.given(standard, ones, total, steps=steps)
        self.used = self.posterior.shrunk(self.features.deviation)
        self.certain = self.used.is_certain(raw, self.centre, self.scale)

    def _counted(self, batch: Batch) -> tuple[Floats, Floats, Floats]:
        kinds, ones, total = batch.counted()
        return self.features.compute(kinds), ones, total

    def forecast(self, batch: Batch) -> Floats:
        """Predictive probability of label 1."""
        if self.posterior is None or self.used is None:
            return np.full(len(batch), 0.5)
        return self.used.forecast(self.features.compute(batch), self.centre, self.scale, certain=self.certain)


@dataclass
class Ramps:
    """Six shared ramps between pooled quantiles, summed over coordinates, and one linear term."""

    deviation: float = 1.0
    least: int = 4
    knots: Floats = field(default_factory=lambda: np.zeros(0))

    def choose(self, batch: Batch) -> bool:
        """Knots at quantiles of all coordinates together."""
        values = batch.oriented
        numbers = values[np.isfinite(values)][:_ENOUGH]
        if numbers.size:
            self.knots = np.unique(quantiles(numbers, _KNOTS))
        return self.knots.size > 1

    def compute(self, batch: Batch) -> Floats:
        """Sums of clipped ramps; a NaN adds nothing."""
        low, high = self.knots[0], self.knots[-1]
        # In units of the knots' span, and not beyond twenty of it: single outliers would lead it astray.
        with np.errstate(over="ignore"):
            values = clipped(finite((batch.oriented - low) / (high - low), nan=0.0), -20, 21)
            knots = np.unique((self.knots - low) / (high - low))  # beside 1e17, 2 and 3 are one knot
        if values.size <= _SMALL:  # one step for all knots: what small chunks cost is the number of steps
            total = values.sum(axis=1, keepdims=True)
            ramps = clipped((values[:, :, np.newaxis] - knots[:-1]) / np.diff(knots), 0, 1).sum(axis=1)
            return np.concatenate([total, ramps], axis=1)
        ramped = [row_sums(clipped(values, a, b) - a) / (b - a) for a, b in itertools.pairwise(knots)]
        return np.stack([row_sums(values), *ramped], axis=1)


@dataclass
class Coordinates:
    """Which coordinate moved, and how: clamps and common values of each, the extremes and their places."""

    deviation: float = 0.7
    least: int = 8
    most: int = 32  # coordinates
    moving: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, dtype=np.intp))  # those with clamps
    centres: Floats = field(default_factory=lambda: np.zeros(0))
    widths: Floats = field(default_factory=lambda: np.zeros((2, 0)))
    atoms: list[tuple[int, Floats]] = field(default_factory=list)  # (coordinate, its common values)
    common: Floats = field(default_factory=lambda: np.zeros(0))  # of all coordinates together

    def choose(self, batch: Batch) -> bool:
        """Common values of each coordinate; of the rest, a centre between the medians and two widths."""
        values = batch.values[:_ENOUGH, : self.most]
        labels = batch.labels[:_ENOUGH]
        numbers = np.where(np.isfinite(values), values, np.nan)
        self.atoms = []
        for j in np.flatnonzero(_repeats(values)):
            common = common_values(values[:, j], at_most=3, least=0.01)
            if common.size:
                self.atoms.append((int(j), common))
                numbers[np.isin(values[:, j], common), j] = np.nan
        sides = np.stack([column_medians(numbers[side]) for side in (labels, ~labels)])
        seen = ~np.isnan(sides)
        self.moving = np.flatnonzero(seen.any(axis=0))
        self.centres = np.nansum(sides, axis=0)[self.moving] / seen.sum(axis=0)[self.moving]
        away = np.abs(numbers[:, self.moving] - self.centres)
        self.widths = np.maximum(column_quantiles(away, _TWO_WIDTHS), 1e-9)
        self.common = common_values(values.reshape(-1), at_most=6, least=0.02)
        return bool(self.moving.size or self.atoms)

    def compute(self, batch: Batch) -> Floats:
        """Everything about the first coordinates, one column each."""
        values = batch.values[:, : self.most]
        centred = finite(values[:, self.moving] - self.centres, nan=0.0, posinf=1e100, neginf=-1e100)
        columns = [clipped(centred / width, -1, 1) for width in self.widths]
        columns += [_equals(values[:, j], common) for j, common in self.atoms]
        if 1 < self.moving.size <= _MOST_PLACES:
            spread = self.widths[1].mean()
            places = np.arange(self.moving.size)
            columns += [
                clipped(centred.max(axis=1, keepdims=True) / spread, -20, 20),
                clipped(centred.min(axis=1, keepdims=True) / spread, -20, 20),
                (centred.argmax(axis=1)[:, np.newaxis] == places).astype(float),
                (centred.argmin(axis=1)[:, np.newaxis] == places).astype(float),
            ]
        if values.shape[1] > 1:
            columns += [
                _equals(values.reshape(-1), self.common[k : k + 1])
                .reshape(values.shape)
                .sum(axis=1, keepdims=True)
                for k in range(self.common.size)
            ]
        return np.concatenate(columns, axis=1)


def _repeats(values: Floats) -> NDArray[np.bool_]:
    """Which columns have some value twice, or one that is no finite number."""
    ordered = np.sort(values, axis=0)
    return np.asarray((ordered[1:] == ordered[:-1]).any(axis=0) | ~np.isfinite(values).all(axis=0))


def common_values(values: Floats, *, at_most: int, least: float) -> Floats:
    """The values (NaN and infinities among them) that make up at least this share, commonest first."""
    found, counts = np.unique(values, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:at_most]
    return np.asarray(found[order][counts[order] > np.maximum(least * values.size, 1)])


def _equals(column: Floats, values: Floats) -> Floats:
    """A flag per value; NaN equals NaN."""
    wide = column[:, np.newaxis]
    return np.asarray((wide == values) | (np.isnan(wide) & np.isnan(values)), dtype=np.float64)


@dataclass
class Decorrelated:
    """Clamps of what is new in each coordinate, given those before it: running sums become their steps.

    The Cholesky factor of the covariance, as seen within the labels, undoes any such mixing of
    independent noises. It is not used where coordinates are hardly correlated.
    """

    deviation: float = 0.7
    least: int = 256
    mean: Floats = field(default_factory=lambda: np.zeros(0))
    unmix: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    widths: Floats = field(default_factory=lambda: np.zeros(0))
    most: int = 32

    def choose(self, batch: Batch) -> bool:
        """Means, the inverse factor, and three widths for all coordinates together."""
        values, labels = batch.values[:_ENOUGH], batch.labels[:_ENOUGH]
        if (
            not 1 < values.shape[1] <= self.most
            or not np.isfinite(values).all()
            or labels.all()
            or not labels.any()
        ):
            return False
        self.mean = values.mean(axis=0)
        means = np.stack([values[~labels].mean(axis=0), values[labels].mean(axis=0)])
        within = values - means[labels.astype(np.intp)]
        covariance = within.T @ within / len(values)
        deviations = np.sqrt(np.diag(covariance))
        if not (deviations > 0).all() or not np.isfinite(covariance).all():
            return False
        correlation = covariance / np.outer(deviations, deviations)
        if np.abs(correlation - np.eye(self.mean.size)).max() < _CORRELATED:
            return False
        factor = np.linalg.cholesky(correlation + 1e-9 * np.eye(self.mean.size))
        self.unmix = (np.linalg.inv(factor) / deviations).T
        self.widths = quantiles(np.abs((values - self.mean) @ self.unmix), _THREE_WIDTHS)
        return bool((self.widths > 0).all())

    def compute(self, batch: Batch) -> Floats:
        """Clamps at the widths."""
        steps = finite((batch.values - self.mean) @ self.unmix, nan=0.0, posinf=1e100, neginf=-1e100)
        return np.concatenate([clipped(steps / width, -1, 1) for width in self.widths], axis=1)


@dataclass
class Atoms:
    """How many coordinates equal each of the commonest repeated values, and how many are NaN."""

    deviation: float = 3.0
    least: int = 4
    repeated: Floats = field(default_factory=lambda: np.zeros(0))
    most: int = 8

    def choose(self, batch: Batch) -> bool:
        """Values that occur more than once."""
        values = batch.values[:_ENOUGH]
        found, counts = np.unique(values[~np.isnan(values)], return_counts=True)
        order = np.argsort(-counts)[: self.most]
        self.repeated = found[order][counts[order] > 1]
        return bool(self.repeated.size or np.isnan(values).any())

    def compute(self, batch: Batch) -> Floats:
        """Counts per repeated value, and of NaN."""
        values = batch.values
        columns = [(values == value).sum(axis=1) for value in self.repeated]
        columns.append(np.isnan(values).sum(axis=1))
        return np.stack(columns, axis=1).astype(float)
