"""The expert that all pairs have in common: what one pair teaches serves the others.

Coordinate i of an output often tells about coordinate i of the input alone, and all coordinates do so alike:
the TRUE of a sparse vector speaks for x' where the query grew, and against it where it shrank. Then a few
weights, the same for every pair, say how the likelihood moves with the input, and draws on any pair teach
them: a pair that has hardly been drawn from is known already.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from dplitmus.forecast.features import common_values
from dplitmus.forecast.logistic import Posterior, Predictor, moderated
from dplitmus.forecast.order import clipped, finite, median, quantiles
from dplitmus.outputs import join

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dplitmus.outputs import Batch, Geometry

    Floats = NDArray[np.float64]

_DEVIATION = 0.7  # of the prior on each weight
_LEAST, _FREEZE = 64, 20_000  # draws, on all pairs, before it starts and from which statistics stream
_REFIT = 1.13  # growth of the past that calls for a new fit
_ENOUGH = 4096  # outputs from which the features are chosen
_COMMONEST, _RAREST = 6, 0.005  # values: how many, and their least share
_CROSSED = 6  # kinds of answers up to which the weight of each may depend on the number of every other
_WIDTHS = np.array([0.3, 0.8])  # of clamps, as quantiles


class Counted(NamedTuple):
    """One row for each kind of output on each pair: features, how often label 1, and how often at all."""

    features: Floats
    ones: Floats
    total: Floats


@dataclass
class Common:
    """Logistic regression on what each coordinate answered, counted with the move of its input.

    There is no intercept and nothing is centred: for the opposite move the opposite is likely.
    """

    values: Floats = field(default_factory=lambda: np.zeros(0))  # answers that occur again and again
    centre: float = 0.0  # of all other numbers
    widths: Floats = field(default_factory=lambda: np.zeros(0))
    scale: Floats = field(default_factory=lambda: np.ones(0))
    posterior: Posterior | None = None
    used: Predictor | None = None  # the same under the prior that suits it
    past: dict[tuple[int, bytes, bytes], list[Batch]] = field(
        default_factory=dict
    )  # of each pair, until features are frozen
    draws: int = 0
    taught: int = 0  # draws at the last fit
    frozen: bool = False
    streams: ClassVar[bool] = True

    def __getstate__(self) -> dict[str, object]:
        """A copy forecasts and does not learn: it travels without the past."""
        return self.__dict__ | {"past": {}}

    def learn(self, batch: Batch, *, whole: bool) -> None:
        """Learn from new draws on any pair; it keeps the past itself, so that nothing is `whole`."""
        if whole or batch.inputs is None:
            return
        self.draws += len(batch)
        if self.frozen:
            if self.posterior is not None:
                self._fit(self._counted([batch]), self.posterior, steps=2)
            return
        self.past.setdefault(_seen_as(batch, batch.inputs), []).append(batch)
        self.frozen = self.draws >= _FREEZE
        if not self.frozen and self.draws < max(_LEAST, _REFIT * self.taught):
            return
        self.taught = self.draws
        past = [join(batches) for batches in self.past.values()]
        self.past = {} if self.frozen else {key: [one] for key, one in zip(self.past, past, strict=True)}
        self.posterior = None
        if self._choose(past):
            counted = self._counted(past)
            size = np.sqrt(counted.total @ np.square(counted.features) / counted.total.sum())
            self.scale = np.where(size > 0, size, 1.0)
            self._fit(counted, Posterior.prior(size.size, _DEVIATION), steps=8)

    def forecast(self, batch: Batch) -> Floats:
        """Predictive probability of label 1, shrunk where the weights are not certain."""
        if self.posterior is None or self.used is None or batch.inputs is None:
            return np.full(len(batch), 0.5)
        features = self._features(batch, batch.inputs) / self.scale
        variance = np.square(features @ self.used.root).sum(axis=1)
        return moderated(features @ self.used.mean, variance)

    def _choose(self, past: list[Batch]) -> bool:
        """Common answers of all coordinates and pairs together; a centre and two widths for the rest."""
        some = slice(0, -(-_ENOUGH // len(past)))
        values = np.concatenate([_moving(one.values[some], one.inputs).ravel() for one in past if one.inputs])
        self.values = common_values(values, at_most=_COMMONEST, least=_RAREST)
        numbers = values[np.isfinite(values) & ~np.isin(values, self.values)]
        self.widths = np.zeros(0)
        if numbers.size:
            self.centre = median(numbers)
            self.widths = np.maximum(quantiles(np.abs(numbers - self.centre), _WIDTHS), 1e-9)
        return self.values.size > 0

    def _counted(self, batches: list[Batch]) -> Counted:
        parts = [
            Counted(self._features(kinds, kinds.inputs), ones, total)
            for kinds, ones, total in (batch.counted() for batch in batches)
            if kinds.inputs is not None
        ]
        return Counted(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def _fit(self, counted: Counted, prior: Posterior, *, steps: int) -> None:
        self.posterior = prior.given(counted.features / self.scale, counted.ones, counted.total, steps=steps)
        self.used = self.posterior.shrunk(_DEVIATION)

    def _features(self, batch: Batch, inputs: Geometry) -> Floats:
        """Sums of the moves over coordinates that answered alike; the same by how many answered how.

        The other answers tell how much one counts: a sparse vector that has said FALSE nine times has
        likely drawn a high threshold, and its tenth FALSE says little.
        """
        values = _moving(batch.values, inputs)
        answers = [np.isnan(values) if np.isnan(value) else values == value for value in self.values]
        if self.widths.size:
            other = ~np.logical_or.reduce(answers)
            away = finite(values - self.centre, nan=0.0, posinf=1e100, neginf=-1e100)
            answers += [other, *(np.where(other, clipped(away / width, -1, 1), 0.0) for width in self.widths)]
        moved = np.stack([answer @ inputs.moves for answer in answers], axis=1)
        share = np.stack([answer.mean(axis=1) for answer in answers], axis=1)
        if len(answers) > _CROSSED:
            return np.concatenate([moved, moved * share], axis=1)
        crossed = moved[:, :, np.newaxis] * share[:, np.newaxis, :]
        return np.concatenate([moved, crossed.reshape(len(values), -1)], axis=1)


def _seen_as(batch: Batch, inputs: Geometry) -> tuple[int, bytes, bytes]:
    """Equal for pairs whose outputs have the same features: the same coordinates move in the same way."""
    return batch.values.shape[1], inputs.differ.tobytes(), inputs.moves.tobytes()


def _moving(values: Floats, inputs: Geometry) -> Floats:
    """The coordinates whose inputs differ."""
    return np.asarray(values[:, inputs.differ])
