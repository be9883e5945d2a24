"""Noise: the forecast of somebody who believes that the mechanism adds noise to its input.

The inputs are known, so the noise of every labelled output is known too, and its scale is learned from all
coordinates of all outputs: one number, where other experts must learn a curve. If the belief is wrong, the
panel soon stops listening.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.special import expit

from dplitmus.forecast.logistic import moderated
from dplitmus.forecast.order import clipped, finite, median, row_sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dplitmus.outputs import Batch

    Floats = NDArray[np.float64]

_CAUCHY_SCALES = 1.25 ** np.arange(-5.0, 6.0)  # around the median size of the noise, which is the scale
_FURTHEST = 1e100  # no output counts as further away: its square is still a number
_NEGLIGIBLE, _REFUTED = 1e-3, 1e-12  # posterior share below which a family is not asked; is given up
_ENOUGH = 4096  # sizes from which the median is taken


@dataclass
class Noise:
    """Laplace, Gaussian or Cauchy, independent on every coordinate in which the inputs differ."""

    count: float = 0.0
    sizes: float = 0.0  # sum of |noise|
    squares: float = 0.0
    cauchy: Floats = field(default_factory=lambda: np.zeros(0))  # scales
    cauchy_likelihoods: Floats = field(default_factory=lambda: np.zeros(0))  # their logs
    streams: ClassVar[bool] = True

    def learn(self, batch: Batch, *, whole: bool) -> None:
        """Sum up what the scale of each family depends on."""
        if batch.geometry is None:
            return
        reach = batch.geometry.reach
        noise = np.where(batch.labels[:, np.newaxis], -reach, reach)
        noise += batch.oriented
        np.abs(noise, out=noise)
        known = np.isfinite(noise)
        noise = np.minimum(noise.reshape(-1) if known.all() else noise[known], _FURTHEST)
        if whole:
            self.count = self.sizes = self.squares = 0.0
            typical = median(noise[:_ENOUGH]) if noise.size else 0.0
            self.cauchy = max(typical, self._least(batch)) * _CAUCHY_SCALES
            self.cauchy_likelihoods = np.zeros(self.cauchy.size)
        self.count += noise.size
        self.sizes += float(noise.sum())
        self.squares += float(noise @ noise)
        if self.cauchy.size:
            squares = np.square(noise)
            self.cauchy_likelihoods = self.cauchy_likelihoods + [
                noise.size * math.log(scale / math.pi) - np.log(squares + scale**2).sum()
                for scale in self.cauchy
            ]
        if self.count and not whole:
            keep = self._shares(*self._scales(batch))[2:] > _REFUTED
            self.cauchy, self.cauchy_likelihoods = self.cauchy[keep], self.cauchy_likelihoods[keep]

    def forecast(self, batch: Batch) -> Floats:
        """Mixture over families of the forecast that follows from their likelihood ratio."""
        if batch.geometry is None or not self.count:
            return np.full(len(batch), 0.5)
        reach = batch.geometry.reach
        away = clipped(finite(batch.oriented, nan=0.0), -_FURTHEST, _FURTHEST)
        laplace, variance = self._scales(batch)
        shares = self._shares(laplace, variance)
        eta = np.zeros(len(batch))
        if shares[0] > _NEGLIGIBLE:
            logit = row_sums(clipped(away, -reach, reach)) * (2 / laplace)
            eta += shares[0] * self._shrunk(logit, 1.0)
        if shares[1] > _NEGLIGIBLE:
            eta += shares[1] * self._shrunk(away @ reach * (2 / variance), 2.0)
        for share, scale in zip(shares[2:], self.cauchy, strict=True):
            if share > _NEGLIGIBLE:
                near, far = np.square(away - reach) + scale**2, np.square(away + reach) + scale**2
                eta += share * expit(np.log(far / near).sum(axis=1))
        return np.asarray(eta / shares[shares > _NEGLIGIBLE].sum())

    def _least(self, batch: Batch) -> float:
        """A scale that is as good as none."""
        return 1e-9 * float(batch.geometry.reach.mean()) if batch.geometry else 0.0

    def _scales(self, batch: Batch) -> tuple[float, float]:
        """Of Laplace noise, the mean size; of Gaussian noise, the variance: both most likely."""
        least = self._least(batch)
        return max(self.sizes / self.count, least), max(self.squares / self.count, least**2)

    def _shares(self, laplace: float, variance: float) -> Floats:
        """Posterior of the families, and of the scale of the last: each has one number to learn."""
        likelihoods = np.concatenate(
            [
                [-self.count * (math.log(2 * laplace) + 1)],
                [-self.count * (math.log(2 * math.pi * variance) + 1) / 2],
                self.cauchy_likelihoods - math.log(_CAUCHY_SCALES.size),
            ]
        )
        return np.asarray(np.exp(likelihoods - np.logaddexp.reduce(likelihoods)))

    def _shrunk(self, logit: Floats, uncertainty: float) -> Floats:
        """The forecast when the logit has the relative variance uncertainty / count."""
        return moderated(logit, uncertainty / self.count * np.square(logit))
