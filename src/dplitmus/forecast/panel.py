"""The panel: experts mixed by how well they forecast, and the guesses that follow.

Takes labelled outputs as they come; gives forecasts for outputs not yet seen. What judges a chunk was
learned before the chunk was drawn: `Panel.judge` changes nothing, `Panel.learn` is called afterwards.

The mixture is Bayesian: an expert's weight is its prior times the product of the probabilities it gave
to the labels that occurred, with a little fixed share of the prior (rate 0.1/n per draw) for experts that
become good late (Herbster and Warmuth 1998).
"""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass, field, is_dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np
from scipy.special import expit

from dplitmus.arithmetic import careful
from dplitmus.forecast import bits
from dplitmus.forecast.clamp import Clamp
from dplitmus.forecast.common import Common
from dplitmus.forecast.features import Atoms, Coordinates, Decorrelated, Ramps, Regression
from dplitmus.forecast.noise import Noise
from dplitmus.forecast.order import clipped
from dplitmus.forecast.tables import Edges, Regions, Symbols, Tree
from dplitmus.outputs import has_numbers, join

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from dplitmus.outputs import Batch

    Floats = NDArray[np.float64]

SURE = 1e-6  # no forecast is closer to 0 or 1
_FREEZE = 5000  # draws from which features stay and statistics stream
_FROZEN_VALUES = 2**17  # or this many numbers, whatever comes first
_SAMPLE, _IDLE_SHARE = 2048, 8  # rows, at least, and share of a chunk on which idle experts are scored
_REFIT_ACTIVE, _REFIT_IDLE = 1.3, 1.6  # growth of the past that calls for a new fit
_CONVERGED = 30_000.0  # signal from which few draws of a chunk are learned
_TOGETHER = 0.05  # and, as a share of all draws, so many at a time
_LEAST_HALF, _FURTHEST_LEAD, _WORST = 0.05, 20.0, -20.0  # of `Together`: so that all can come back
_IDLE = 1e-3  # weight below which an expert is scored on that sample only


class Expert(Protocol):
    """A forecaster: two methods, one page."""

    streams: ClassVar[bool]  # adding new draws gives what a fit of everything would, and costs little

    def learn(self, batch: Batch, *, whole: bool) -> None:
        """Learn from labelled outputs: everything so far if `whole`, otherwise new ones only."""

    def forecast(self, batch: Batch) -> Floats:
        """Probability of label 1 for every output."""


class Judgement(NamedTuple):
    """What a panel says about a chunk, with the labels put beside it."""

    logits: Floats  # of the mixture's forecast
    losses: Floats  # sum of log probabilities of the labels, per expert, on `scored` draws
    scored: int
    strength: float  # mean square of the logits


@dataclass
class Together:
    """Weights of experts for all pairs together, where one kind of expert is the best for every pair.

    That is one half of the prior; the other says that each pair has a best expert of its own. Both are
    scored by the probability that they gave to the labels so far, so that neither costs more than ln 2.
    """

    lead: float = 0.0  # log odds of the first half
    scores: dict[str, float] = field(default_factory=dict)  # of each kind of expert: log of how well it did

    def log_weights(self, panel: Panel) -> Floats:
        """Of a panel's experts, by what they did on all pairs."""
        found = np.log(panel.prior) + [self.scores.get(name, 0.0) for name in panel.kinds]
        return np.asarray(found - np.logaddexp.reduce(found))

    def weights(self, panel: Panel) -> Floats:
        """Of a panel's experts, by both halves."""
        share = float(np.clip(expit(self.lead), _LEAST_HALF, 1 - _LEAST_HALF))
        return share * np.exp(self.log_weights(panel)) + (1 - share) * np.exp(panel.log_weights)

    def learn(self, panel: Panel, losses: Floats) -> None:
        """Take a judged chunk of one pair into account, before the panel itself does."""
        # Who is not on this panel is taken to say what the others do.
        gain = float(np.logaddexp.reduce(self.log_weights(panel) + losses))
        for name, loss in zip(panel.kinds, losses, strict=True):
            self.scores[name] = max(self.scores.get(name, 0.0) + float(loss) - gain, _WORST)
        own = float(np.logaddexp.reduce(panel.log_weights + losses))
        self.lead = float(np.clip(self.lead + gain - own, -_FURTHEST_LEAD, _FURTHEST_LEAD))


@dataclass
class Panel:
    """Experts for one pair of inputs."""

    experts: list[Expert]
    kinds: tuple[str, ...]  # of the experts: by these the panels of several pairs compare
    prior: Floats
    log_weights: Floats
    shape: Batch  # no outputs, in the columns that the experts know
    numeric: bool  # whether there are experts for numbers
    past: list[Batch] = field(default_factory=list)
    taught: Floats = field(default_factory=lambda: np.zeros(0))  # draws at each expert's last fit
    draws: int = 0
    frozen: bool = False
    signal: float = 0.0  # sum over draws of the squared logit
    together: Together | None = None  # what the panels of all pairs know of their experts
    gives_way: bool = False  # whether threads of this process draw meanwhile

    @property
    def converged(self) -> bool:
        """Whether more draws would hardly change a forecast: an error of a weight falls as 1 / signal."""
        return self.signal > _CONVERGED

    @classmethod
    def of(
        cls,
        batch: Batch,
        *,
        level: str = "ideal",
        common: Common | None = None,
        together: Together | None = None,
    ) -> Panel:
        """The experts that make sense for outputs like these; at the level "bits", those for bits too.

        `common` and `together` are what the panels of several pairs share.
        """
        numeric = has_numbers(batch)
        shaped = batch.geometry is not None
        raw_too = batch.geometry is None or not batch.geometry.trivial
        # Strings and the like have no geometry: their table is the only expert with much to say.
        members: list[tuple[str, float, Expert]] = [("symbols", 4.0 if batch.names else 0.2, Symbols())]
        if numeric:
            members += [
                ("clamp", 0.40 if not raw_too or not shaped else 0.25, Clamp(oriented=True)),
                ("clamp with intercept", 0.10, Clamp(oriented=True, intercept=True)),
                ("ramps", 0.10, Regression(Ramps())),
                ("coordinates", 0.10, Regression(Coordinates())),
                ("tree", 0.075, Tree()),
                ("atoms", 0.075, Regression(Atoms())),
                ("edges", 0.075, Edges()),
            ]
        if numeric and batch.values.shape[1] > 1:
            members.append(("decorrelated", 0.05, Regression(Decorrelated())))
        if numeric and shaped:
            members.append(("noise", 0.25, Noise()))
        if numeric and shaped and raw_too:
            members.append(("raw clamp", 0.15, Clamp(oriented=False)))
        if shaped:
            members.append(("regions", 0.10, Regions()))
        if numeric and batch.inputs is not None and batch.values.shape[1] > 1:
            members.append(("common", 0.10, common or Common()))
        if numeric and level == "bits":
            members += [(f"bits {k}", *member) for k, member in enumerate(bits.experts())]
        prior = np.array([mass for _, mass, _ in members])
        prior /= prior.sum()
        kinds, _, experts = zip(*members, strict=True)
        taught = np.zeros(prior.size)
        shape = batch.rows(slice(0, 0))
        return cls(
            list(experts), kinds, prior, np.log(prior), shape, numeric, taught=taught, together=together
        )

    def twin(self) -> Panel:
        """A copy that judges and that later learning does not reach."""
        return replace(
            self,
            experts=[_copied(expert) for expert in self.experts],
            past=[],
            together=copy.deepcopy(self.together),
        )

    @property
    def weights(self) -> Floats:
        """Of the experts, by what they did on this pair and on all."""
        return self.together.weights(self) if self.together else np.asarray(np.exp(self.log_weights))

    def _in_turn(self) -> Iterator[Expert]:
        """All experts; before each of them, threads that draw may have the interpreter.

        They need little of it, and often. A thread that asks for it would wait for five milliseconds, most of
        what a small chunk takes; to sleep for no time is to be away for a twentieth of one.
        """
        for expert in self.experts:
            if self.gives_way:
                time.sleep(0)
            yield expert

    @careful()
    def judge(self, batch: Batch) -> Judgement:
        """Forecast a chunk by what is known now; the labels are only used to score the experts."""
        batch = batch.like(self.shape)
        weights = self.weights
        active = weights >= _IDLE
        kinds, place = batch.distinct()
        labels = batch.labels
        some = max(_SAMPLE, len(batch) // _IDLE_SHARE)
        if place is None and len(batch) <= some:
            return self._judge_few(batch, weights, active)
        few = batch.rows(slice(0, some))
        etas = [
            _told(expert.forecast(kinds if awake else few))
            for expert, awake in zip(self.experts, active, strict=True)
        ]
        mixture = (
            weights[active] @ np.stack([etas[k] for k in np.flatnonzero(active)]) / weights[active].sum()
        )
        losses = np.zeros(len(self.experts))
        # Where an idle expert says nothing it is taken to say what the others do (Freund et al. 1997).
        rest = _log_loss(mixture, place, labels, some)
        for k, eta in enumerate(etas):
            losses[k] = (
                _log_loss(eta, place, labels) if active[k] else _log_loss(eta, None, labels[:some]) + rest
            )
        logits = _logits(mixture, place)
        return Judgement(logits, losses, len(batch), float(np.square(logits).mean()))

    def _judge_few(self, batch: Batch, weights: Floats, active: NDArray[np.bool_]) -> Judgement:
        """The same for a chunk that all experts see whole: one step for all of them."""
        etas = _told(np.stack([expert.forecast(batch) for expert in self._in_turn()]))
        mixture = weights[active] @ etas[active] / weights[active].sum()
        losses = np.log(np.where(batch.labels, etas, 1 - etas)).sum(axis=1)
        logits = _logits(mixture, None)
        return Judgement(logits, losses, len(batch), float(np.square(logits).mean()))

    @careful()
    def forecast(self, batch: Batch) -> Floats:
        """The logits of the mixture alone: nothing is scored, nothing will be learned."""
        batch = batch.like(self.shape)
        weights = self.weights
        active = np.flatnonzero(weights >= _IDLE)
        kinds, place = batch.distinct()
        etas = [_told(self.experts[k].forecast(kinds)) for k in active]
        return _logits(weights[active] @ np.stack(etas) / weights[active].sum(), place)

    @careful()
    def learn(self, batch: Batch, judgement: Judgement | None) -> None:
        """Take a judged chunk into account: weights first, then the experts themselves."""
        batch = batch.like(self.shape)
        self.draws += len(batch)
        if judgement is not None:
            self.signal += judgement.strength * len(batch)
            if self.together:
                self.together.learn(self, judgement.losses)
            log_weights = self.log_weights + judgement.losses
            log_weights -= np.logaddexp.reduce(log_weights)
            share = min(0.5, 0.1 * judgement.scored / self.draws)
            self.log_weights = np.logaddexp(np.log1p(-share) + log_weights, np.log(share * self.prior))
        self._teach(batch)

    def _teach(self, batch: Batch) -> None:
        """Refit those experts whose past has grown enough; once frozen, stream new draws to all."""
        if self.frozen and self.converged:  # several chunks at a time: little changes, and each costs
            self.past.append(batch)
            if sum(len(some) for some in self.past) < _TOGETHER * self.draws:
                return
            batch, self.past = join(self.past), []
        active = self.weights >= _IDLE
        if self.frozen:
            few = batch.rows(slice(0, max(_SAMPLE // 4, len(batch) // _IDLE_SHARE)))
            for expert, is_active in zip(self._in_turn(), active, strict=True):
                expert.learn(batch if is_active else few, whole=False)
            return
        self.past.append(batch)
        freeze = self.draws >= _FREEZE or self.draws * batch.values.shape[1] >= _FROZEN_VALUES
        for k, expert in enumerate(self._in_turn()):
            growth = _REFIT_ACTIVE if active[k] else _REFIT_IDLE
            due = freeze or self.draws >= growth * self.taught[k]
            if due and not isinstance(expert, Common):  # that one has a past of its own
                self.past = [join(self.past)]
                expert.learn(self.past[0], whole=True)
                self.taught[k] = self.draws
            elif expert.streams:
                expert.learn(batch, whole=False)
        if freeze:
            self.frozen, self.past = True, []


def _copied(expert: Any) -> Any:
    """A copy of an expert and of its parts; arrays are shared, for experts replace them and write in none."""
    twin = copy.copy(expert)
    for name, part in vars(twin).items():
        if is_dataclass(part) and type(part).__hash__ is None:  # only what is frozen has a hash
            setattr(twin, name, _copied(part))
    return twin


def _told(eta: Floats) -> Floats:
    """A forecast that is neither certain nor, where numbers were too large for its expert, undefined."""
    eta = clipped(eta, SURE, 1 - SURE)
    return np.where(np.isnan(eta), 0.5, eta) if np.isnan(eta.sum()) else eta


def _log_loss(
    eta: Floats, place: NDArray[np.intp] | None, labels: NDArray[np.bool_], first: int = 0
) -> float:
    """Sum of log probabilities of the labels, from row `first` on."""
    eta = eta[first:] if place is None else eta[place[first:]]
    return float(np.log(np.where(labels[first:], eta, 1 - eta)).sum())


def _logits(eta: Floats, place: NDArray[np.intp] | None) -> Floats:
    logits = np.log(eta / (1 - eta))
    return np.asarray(logits if place is None else logits[place])
