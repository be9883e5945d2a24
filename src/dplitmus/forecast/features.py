"""Experts that are a logistic regression on features chosen from the past: ramps, coordinates, atoms.

Each is a small class that chooses features when everything so far is refitted, and computes them for any
batch; the regression around them is the same.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dplitmus.forecast.logistic import Posterior

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dplitmus.outputs import Batch

    Floats = NDArray[np.float64]

_ENOUGH = 4096  # values from which quantiles are taken


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
    used: Posterior | None = None  # the same under the prior that suits it
    centre: Floats = field(default_factory=lambda: np.zeros(0))
    scale: Floats = field(default_factory=lambda: np.ones(0))

    def learn(self, batch: Batch, *, whole: bool) -> None:
        """Refit on everything so far (`whole`), or let the posterior be the prior of new draws."""
        if whole:
            self.posterior = None
            if len(batch) < self.features.least or not self.features.choose(batch):
                return
            raw = self.features.compute(batch)
            self.centre, self.scale = raw.mean(axis=0), np.maximum(raw.std(axis=0), 1e-9)
            prior, steps = Posterior.prior(raw.shape[1] + 1, self.features.deviation), 8
        elif self.posterior is None:
            return
        else:
            prior, steps = self.posterior, 2
        self.posterior = prior.given(self._standard(batch), batch.labels, steps=steps)
        self.used = self.posterior.shrunk(self.features.deviation)

    def forecast(self, batch: Batch) -> Floats:
        """Predictive probability of label 1."""
        if self.posterior is None or self.used is None:
            return np.full(len(batch), 0.5)
        return self.used.forecast(self._standard(batch))

    def _standard(self, batch: Batch) -> Floats:
        standard = (self.features.compute(batch) - self.centre) / self.scale
        return np.concatenate([np.clip(standard, -30, 30), np.ones((len(batch), 1))], axis=1)


@dataclass
class Ramps:
    """Six shared ramps between pooled quantiles, summed over coordinates, and one linear term."""

    deviation: float = 1.0
    least: int = 4
    knots: Floats = field(default_factory=lambda: np.zeros(0))

    def choose(self, batch: Batch) -> bool:
        """Knots at quantiles of all coordinates together."""
        values = batch.oriented()
        numbers = values[np.isfinite(values)][:_ENOUGH]
        if numbers.size:
            self.knots = np.unique(np.quantile(numbers, np.linspace(0.02, 0.98, 7)))
        return self.knots.size > 1

    def compute(self, batch: Batch) -> Floats:
        """Sums of clipped ramps; a NaN adds nothing."""
        low, high = self.knots[0], self.knots[-1]
        # In units of the knots' span, and not beyond twenty of it: single outliers would lead it astray.
        with np.errstate(over="ignore"):
            values = np.clip(np.nan_to_num((batch.oriented() - low) / (high - low), nan=0.0), -20, 21)
            knots = (self.knots - low) / (high - low)
        columns = [values.sum(axis=1)]
        for a, b in itertools.pairwise(knots):
            columns.append(np.clip((values - a) / (b - a), 0, 1).sum(axis=1))
        return np.stack(columns, axis=1)


@dataclass
class Coordinates:
    """Which coordinate moved: two clamps per coordinate, extremes, their places, common values, NaN."""

    deviation: float = 0.7
    least: int = 8
    centres: Floats = field(default_factory=lambda: np.zeros(0))
    widths: Floats = field(default_factory=lambda: np.zeros((2, 0)))
    common: Floats = field(default_factory=lambda: np.zeros(0))
    most: int = 16

    def choose(self, batch: Batch) -> bool:
        """Centre of each coordinate between its class medians, widths from its spread."""
        values = batch.values[:_ENOUGH, : self.most]
        if not values.shape[1]:
            return False
        labels = batch.labels[:_ENOUGH]
        masked = np.where(np.isfinite(values), values, np.nan)
        seen = ~np.isnan(masked).all(axis=0)
        self.centres = np.zeros(values.shape[1])
        self.widths = np.ones((2, values.shape[1]))
        for j in np.flatnonzero(seen):
            column = masked[:, j]
            sides = [column[side & ~np.isnan(column)] for side in (labels, ~labels)]
            medians = [np.median(side) for side in sides if side.size]
            self.centres[j] = np.mean(medians)
            away = np.abs(column - self.centres[j])
            self.widths[:, j] = np.maximum(np.nanquantile(away, [0.3, 0.8]), 1e-9)
        values_seen, counts = np.unique(values, return_counts=True)
        order = np.argsort(-counts)[:6]
        self.common = values_seen[order][counts[order] > 0.02 * values.size]
        return True

    def compute(self, batch: Batch) -> Floats:
        """Everything about the first coordinates, one column each."""
        values = batch.values[:, : self.most]
        nan = np.isnan(values)
        centred = np.nan_to_num(values - self.centres, nan=0.0, posinf=1e100, neginf=-1e100)
        columns = [np.clip(centred / width, -1, 1) for width in self.widths]
        if values.shape[1] > 1:
            top, bottom = centred.argmax(axis=1), centred.argmin(axis=1)
            spread = self.widths[1].mean()
            columns += [
                np.clip(centred.max(axis=1, keepdims=True) / spread, -20, 20),
                np.clip(centred.min(axis=1, keepdims=True) / spread, -20, 20),
                (top[:, np.newaxis] == np.arange(values.shape[1])).astype(float),
                (bottom[:, np.newaxis] == np.arange(values.shape[1])).astype(float),
            ]
        columns += [(values == value).sum(axis=1, keepdims=True).astype(float) for value in self.common]
        if nan.any():
            columns.append(nan.sum(axis=1, keepdims=True).astype(float))
        else:
            columns.append(np.zeros((len(values), 1)))
        return np.concatenate(columns, axis=1)


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
