"""Clamp: how far the coordinates lean to one side of a centre, each clipped at a width.

The log-likelihood ratio of additive noise is a sum over coordinates of such ramps (exactly so for
Laplace noise). One weight per width, and a posterior over fourteen widths.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dplitmus.forecast.logistic import moderated, one_weight, with_intercept
from dplitmus.forecast.order import clipped, finite, median, quantiles, row_sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dplitmus.outputs import Batch

    Floats = NDArray[np.float64]

_QUANTILES = np.linspace(0.04, 0.96, 14)
_DEVIATION = 4.0
_BINS, _SPAN = 128, 8.0  # features are divided by their root mean square: almost all lie within eight
_NEGLIGIBLE = 1e-3  # posterior weight below which a width is dropped once features are frozen
_ENOUGH_FOR_SCALE = 4096  # values from which centre and widths are taken
_SMALL = 4096  # numbers of a batch
_LEAST_SHARE = 1e-200  # of the largest width


@dataclass
class Widths:
    """One entry per width: the feature, what was counted of it, and the posterior of its weight."""

    width: Floats
    scale: Floats
    counts: Floats  # [width, label, bin]
    sums: Floats  # [width, bin], of the feature: a bin is represented by its mean
    weight: Floats
    variance: Floats
    share: Floats
    bias: Floats  # the intercept; zero, and certain, where there is none
    covariance: Floats  # of weight and bias
    bias_variance: Floats

    def refit(self, *, cold: bool, intercept: bool) -> None:
        """Posterior of the weights given the counts, and of the widths given their evidence."""
        zero, steps = np.zeros(self.width.size), 7 if cold else 3
        start = zero if cold else self.weight
        used = self.counts.any(axis=(0, 1))  # mostly a third of the bins: sums are clipped
        counts = self.counts[..., used]
        centres = self.sums[:, used] / np.maximum(counts.sum(axis=1), 1.0)
        if intercept:
            bias = zero if cold else self.bias
            fit = with_intercept(counts, centres, _DEVIATION, (start, bias), steps)
            self.weight, self.bias, self.variance, self.covariance, self.bias_variance, evidence = fit
        else:
            self.weight, self.variance, evidence = one_weight(counts, centres, _DEVIATION, start, steps)
        share = np.exp(evidence - evidence.max())
        self.share = share / share.sum()

    def without_negligible(self) -> Widths:
        """Only the widths that matter."""
        keep = self.share >= _NEGLIGIBLE
        kept = Widths(*(getattr(self, entry.name)[keep] for entry in fields(self)))
        kept.share = kept.share / kept.share.sum()
        return kept


@dataclass
class Clamp:
    """Forecasts from clipped sums; `oriented` looks along the direction from x to x'.

    Without an intercept it believes that both inputs are treated alike, which is mostly so.
    """

    oriented: bool
    intercept: bool = False
    centre: float = 0.0
    widths: Widths | None = None
    streams: ClassVar[bool] = False

    def learn(self, batch: Batch, *, whole: bool) -> None:
        """Refit on everything so far (`whole`), or add new draws to frozen features."""
        if whole:
            self.widths = self._choose_widths(batch)
        if self.widths is None:
            return
        features = self._features(batch, self.widths)
        if whole:
            self.widths.scale = np.maximum(np.sqrt(np.mean(np.square(features), axis=0)), 1e-9)
            features /= self.widths.scale
        counts, sums = _histograms(features, batch.labels)
        self.widths.counts = counts if whole else self.widths.counts + counts
        self.widths.sums = sums if whole else self.widths.sums + sums
        self.widths.refit(cold=whole, intercept=self.intercept)
        if not whole:
            self.widths = self.widths.without_negligible()

    def forecast(self, batch: Batch) -> Floats:
        """Mixture over widths of the shrunk forecasts."""
        if self.widths is None:
            return np.full(len(batch), 0.5)
        features = self._features(batch, self.widths)
        widths = self.widths
        logit, variance = widths.weight * features, widths.variance * np.square(features)
        if self.intercept:
            logit += widths.bias
            variance += 2 * widths.covariance * features + widths.bias_variance
        return np.asarray(moderated(logit, variance) @ widths.share)

    def _values(self, batch: Batch) -> Floats:
        return batch.oriented if self.oriented else batch.values

    def _choose_widths(self, batch: Batch) -> Widths | None:
        values = self._values(batch)
        medians = [_median(values[side]) for side in (~batch.labels, batch.labels) if side.any()]
        if not medians or np.isnan(medians).any():
            return None
        self.centre = float(np.mean(medians))
        away = np.abs(values - self.centre).reshape(-1)
        away = away[np.isfinite(away)][:_ENOUGH_FOR_SCALE]
        width = np.unique(quantiles(away, _QUANTILES)) if away.size else away
        width = width[width > 0]
        if not width.size:
            return None
        ones = np.ones(width.size)
        return Widths(width, *[ones] * 6, *[np.zeros(width.size)] * 3)

    def _features(self, batch: Batch, widths: Widths) -> Floats:
        centred = finite(self._values(batch) - self.centre, nan=0.0, posinf=1e300, neginf=-1e300)
        if centred.size <= _SMALL:  # one step for all widths: what small chunks cost is the number of steps
            ramps = clipped(centred[:, :, np.newaxis] / widths.width, -1, 1)
            return np.asarray(ramps.sum(axis=1) / widths.scale)
        largest = widths.width.max()  # in units of it no sum is too large for a float
        shares = np.maximum(widths.width / largest, _LEAST_SHARE)
        centred = centred / largest
        columns = [row_sums(clipped(centred, -share, share)) for share in shares]
        return np.asarray(np.stack(columns, axis=1) / (shares * widths.scale))


def _histograms(features: Floats, labels: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    widths = features.shape[1]
    bins = clipped((features + _SPAN) * (_BINS / (2 * _SPAN)), 0, _BINS - 1).astype(np.intp)
    bins += np.arange(widths) * _BINS
    sums = np.bincount(bins.reshape(-1), weights=features.reshape(-1), minlength=widths * _BINS)
    counts = [
        np.bincount(bins[side].reshape(-1), minlength=widths * _BINS).reshape(widths, _BINS)
        for side in (~labels, labels)
    ]
    return np.stack(counts, axis=1).astype(float), np.asarray(sums, dtype=float).reshape(widths, _BINS)


def _median(values: Floats) -> float:
    numbers = values[np.isfinite(values)][:_ENOUGH_FOR_SCALE]
    return median(numbers) if numbers.size else math.nan
