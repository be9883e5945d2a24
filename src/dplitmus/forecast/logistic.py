"""Bayesian logistic regression on a few features: the arithmetic that most experts share.

Takes features and labels; gives a Gaussian approximation of the posterior (Laplace), its evidence, and
forecasts that are shrunk by the posterior uncertainty (MacKay 1992, "The evidence framework applied to
classification networks").
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit, log_expit

from dplitmus.forecast.order import clipped

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_LARGEST_STEP = 4.0  # a Newton step from far away may overshoot
_CLOSE = 1e-3  # a Newton step so small leaves an error of about its square
_CERTAIN, _FEW = 0.01, 256  # a variance of the logit that changes nothing, and rows that show it
_FACTORS = np.array([1.0, 1 / 4, 1 / 16, 1 / 64])  # of the deviation: narrower priors
_PREFERENCE = np.array([0.0, -1.5, -1.5, -1.5])  # log prior of these priors


@dataclass(frozen=True)
class Posterior:
    """A Gaussian over the weights of a logistic regression."""

    mean: Floats
    precision: Floats

    @classmethod
    def prior(cls, features: int, deviation: float) -> Posterior:
        """Independent weights of the given standard deviation around zero."""
        return cls(np.zeros(features), np.eye(features) / deviation**2)

    def given(self, features: Floats, ones: Floats, total: Floats, *, steps: int) -> Posterior:
        """The posterior after more data, with this one as the prior.

        Row i of the features occurred `total[i]` times, `ones[i]` of them with label 1.
        """
        mean, precision = self.mean, self.precision
        for _ in range(steps):
            p = expit(features @ mean)
            gradient = features.T @ (ones - total * p) - self.precision @ (mean - self.mean)
            precision = self.precision + (features * (total * p * (1 - p))[:, np.newaxis]).T @ features
            step = np.linalg.solve(precision, gradient)
            size = np.abs(step).max(initial=0.0)
            mean = mean + step * min(1.0, _LARGEST_STEP / max(size, 1e-300))
            if size < _CLOSE:
                break
        return Posterior(mean, precision)

    def shrunk(self, deviation: float) -> Predictor:
        """The posterior under the best of several narrower priors than that of `deviation` it came from.

        Weak signals have small weights; a prior that expects them forgets the noise sooner. The likelihood
        is taken as the Gaussian that this posterior implies.
        """
        likelihood = self.precision - np.eye(self.mean.size) / deviation**2
        curvature, axes = np.linalg.eigh(likelihood)
        pull = axes.T @ (self.precision @ self.mean)
        narrow = deviation * _FACTORS[:, np.newaxis]
        precision = np.maximum(curvature, 0.0) + 1 / narrow**2
        evidence = (pull**2 / precision - np.log(precision * narrow**2)).sum(axis=1) / 2 + _PREFERENCE
        best = precision[np.argmax(evidence)]
        return Predictor(axes @ (pull / best), axes / np.sqrt(best))


def moderated(logit: Floats, variance: Floats) -> Floats:
    """The probability of a logit that is known up to a normal error, about (MacKay 1992)."""
    return np.asarray(expit(logit / np.sqrt(1 + math.pi / 8 * variance)))


@dataclass(frozen=True)
class Predictor:
    """A posterior ready to forecast: the mean of the weights, and a root of their covariance."""

    mean: Floats
    root: Floats

    def forecast(self, features: Floats, centre: Floats, scale: Floats, *, certain: bool) -> Floats:
        """Predictive probability of label 1, shrunk towards 1/2 where the weights are not `certain`.

        `features` are raw: to standardise the few weights is cheaper. The last weight is the intercept's.
        """
        weights = self.mean[:-1] / scale
        logit = features @ weights + (self.mean[-1] - centre @ weights)
        if certain:
            return np.asarray(expit(logit))
        return moderated(logit, self._variance(features, centre, scale))

    def is_certain(self, features: Floats, centre: Floats, scale: Floats) -> bool:
        """Whether the uncertainty of the weights would change no forecast of rows like these."""
        return bool(self._variance(features[:_FEW], centre, scale).max(initial=0.0) < _CERTAIN)

    def _variance(self, features: Floats, centre: Floats, scale: Floats) -> Floats:
        """Posterior variance of the logit of each row."""
        weights = self.root[:-1] / scale[:, np.newaxis]
        return np.asarray(np.square(features @ weights + (self.root[-1] - centre @ weights)).sum(axis=1))


def one_weight(
    counts: Floats, centres: Floats, deviation: float, start: Floats, steps: int
) -> tuple[Floats, Floats, Floats]:
    """Fit `label ~ sigmoid(a F)` for several features at once, each given as a histogram.

    `counts[j, label, bin]` of feature j, whose mean there is `centres[j, bin]`. Returns the weights,
    their variances and the log evidence of each feature (up to a constant).
    """
    a = start
    zeros, ones = counts[:, 0], counts[:, 1]
    total = zeros + ones
    for _ in range(steps):
        p = expit(a[:, np.newaxis] * centres)
        gradient = ((ones - total * p) * centres).sum(axis=1) - a / deviation**2
        curvature = (total * p * (1 - p) * centres**2).sum(axis=1) + 1 / deviation**2
        step = clipped(gradient / curvature, -_LARGEST_STEP, _LARGEST_STEP)
        a = a + step
        if np.abs(step).max(initial=0.0) < _CLOSE:
            break
    logits = a[:, np.newaxis] * centres
    likelihood = (ones * log_expit(logits) + zeros * log_expit(-logits)).sum(axis=1)
    variance = 1 / curvature
    return _narrowed(a, variance, likelihood - a**2 / (2 * deviation**2) + np.log(variance) / 2, deviation)


def _narrowed(
    a: Floats, variance: Floats, evidence: Floats, deviation: float
) -> tuple[Floats, Floats, Floats]:
    """The same for each weight alone as `Posterior.shrunk`."""
    factors = _FACTORS[:, np.newaxis]
    narrow = factors * deviation
    pull = a / variance
    variances = 1 / (1 / variance - 1 / deviation**2 + 1 / narrow**2)
    weights = pull * variances
    gain = pull * (weights - a) / 2 + np.log(variances / variance) / 2 - np.log(factors)
    gain += _PREFERENCE[:, np.newaxis]
    best = np.argmax(gain, axis=0)
    column = np.arange(a.size)
    return weights[best, column], variances[best, column], evidence + gain[best, column]


class Line(NamedTuple):
    """Posterior of `label ~ sigmoid(a F + c)` for several features: means, covariances, log evidence."""

    a: Floats
    c: Floats
    variance_a: Floats
    covariance: Floats
    variance_c: Floats
    evidence: Floats


def with_intercept(
    counts: Floats, centres: Floats, deviation: float, start: tuple[Floats, Floats], steps: int
) -> Line:
    """The same as `one_weight` with an intercept: Newton's method in two variables, for each feature."""
    a, c = start
    zeros, ones = counts[:, 0], counts[:, 1]
    total = zeros + ones
    prior = 1 / deviation**2
    for _ in range(steps):
        p = expit(a[:, np.newaxis] * centres + c[:, np.newaxis])
        error, weight = ones - total * p, total * p * (1 - p)
        to_a, to_c = (error * centres).sum(axis=1) - prior * a, error.sum(axis=1) - prior * c
        aa = (weight * centres**2).sum(axis=1) + prior
        ac, cc = (weight * centres).sum(axis=1), weight.sum(axis=1) + prior
        determinant = aa * cc - ac**2
        step = np.stack([cc * to_a - ac * to_c, aa * to_c - ac * to_a]) / determinant
        step = clipped(step, -_LARGEST_STEP, _LARGEST_STEP)
        a, c = a + step[0], c + step[1]
        if np.abs(step).max(initial=0.0) < _CLOSE:
            break
    logits = a[:, np.newaxis] * centres + c[:, np.newaxis]
    likelihood = (ones * log_expit(logits) + zeros * log_expit(-logits)).sum(axis=1)
    evidence = likelihood - (a**2 + c**2) * prior / 2 - np.log(determinant) / 2
    return Line(a, c, cc / determinant, -ac / determinant, aa / determinant, evidence)
