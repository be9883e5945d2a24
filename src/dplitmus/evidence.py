"""From guesses per forecast level to evidence that is valid at any time.

Takes integers (how many forecasts of each level were right and wrong, since each start); gives the
wealth of bets against any claim (epsilon, delta), and the largest epsilon and delta it refutes. Sees
no mechanism and no output.

Before each draw a coin b is tossed, the mechanism runs on x or x' accordingly, and a forecaster that
has only seen the past states eta = Pr(b = 1 | output). Its |logit eta| is rounded to a level; level 0
abstains. If the sign was right the draw counts as correct at that level, otherwise as wrong.

The bet on a draw of level l against the claim (epsilon, delta), with eta = sigmoid(l), is

    w = min(kappa, nu (eta e^-epsilon - (1 - eta))+),  zero unless l > epsilon + margin,
    pays nu + w if correct, nu - e^epsilon w if wrong, nu if it abstained;  nu = 1 - kappa delta.

Guarantee: the wealth (a fixed mixture over kappa, margin and starting time of the products of these
payoffs, plus unspent cash) exceeds 1/alpha at *any* time with probability at most alpha, if the
mechanism satisfies the claim. Proof sketch: given the past and the forecast rule, w and its mirror
image w' for forecasts of b = 0 are functions of the output with values in [0, kappa]. (epsilon,
delta)-DP gives E_P w - e^epsilon E_Q w <= kappa delta for both orders of P and Q, so the expected
payoff is at most nu + kappa delta = 1; w <= nu e^-epsilon keeps it non-negative. Products are
supermartingales, mixtures with total mass one too, and Ville's inequality gives the bound. For delta =
0 it is the growth-optimal bet eta / clip(eta, 1-u, u), u = 1 / (1 + e^-epsilon).
References: Ville (1939); Shafer (2021), "Testing by betting"; Gruenwald, de Heide, Koolen (2024),
"Safe testing" (the reverse information projection).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, log_expit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

# Levels of |logit eta|: within 0.25 % of every forecast from 0.001 to 14, and 0 for abstention.
_FINEST, _RATIO, _MOST = 1e-3, 1.005, 14.0
LEVELS = np.concatenate(
    [[0.0], _FINEST * _RATIO ** np.arange(int(math.log(_MOST / _FINEST) / math.log(_RATIO)) + 1)]
)
_SAID = np.stack([log_expit(LEVELS), log_expit(-LEVELS)])  # log probabilities of what a level says, and not
_MARGINS = ((0.0, 0.8), (0.5, 0.2))  # (margin, mass): bets that wait for a clear forecast
_DELTA_MARGINS = ((0.0, 0.5), (0.5, 0.5))  # for delta > 0: what breaks such claims is rare and clear
# (kappa e^epsilon, mass), for delta > 0; the smaller ones are for leaks that are little above delta
_CAPS = ((1.0, 0.75), (0.3, 0.15), (0.1, 0.10))
_FIRST_MASS = 0.8  # of the wealth is bet from the first draw on; half of the rest at each later start
_FIRST_RESTART, _RESTART_FACTOR = 64, 8
EPSILONS = np.concatenate([np.arange(0.001, 0.02, 0.0005), 0.02 * 1.005 ** np.arange(1315)])  # to 14
_AT_ONCE = 32  # points of such a grid, at first
DELTAS = 10.0 ** np.arange(-7, 0, 0.02)


def level_of(logit: NDArray[np.float64]) -> NDArray[np.intp]:
    """Index of the level nearest to each |logit|."""
    size = np.maximum(np.abs(logit), _FINEST / 2)
    index = np.rint(np.log(size / _FINEST) / math.log(_RATIO)).astype(np.intp) + 1
    index[size < _FINEST] = 0
    return np.minimum(index, LEVELS.size - 1)


def tallied(logits: NDArray[np.float64], labels: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Correct and wrong forecasts per level."""
    levels, right = level_of(logits), (logits > 0) == labels
    counts = [np.bincount(levels[side], minlength=LEVELS.size) for side in (right, ~right)]
    return np.stack(counts).astype(np.int64)


def is_tally(counts: object, draws: int) -> bool:
    """Whether these may be the counts of so many forecasts."""
    return (
        isinstance(counts, np.ndarray)
        and counts.shape == (2, LEVELS.size)
        and counts.dtype == np.int64
        and bool((counts >= 0).all())
        and int(counts.sum()) == draws
    )


@dataclass
class Tally:
    """Correct and wrong forecasts per level, and what they were when each later start was made."""

    counts: NDArray[np.int64] = field(
        default_factory=lambda: np.zeros((2, LEVELS.size), dtype=np.int64)  # rows: correct, wrong
    )
    starts: list[tuple[float, NDArray[np.int64]]] = field(default_factory=list)
    cash: float = 1.0 - _FIRST_MASS
    next_start: int = _FIRST_RESTART

    def __post_init__(self) -> None:
        if not self.starts:
            self.starts.append((_FIRST_MASS, np.zeros_like(self.counts)))

    @property
    def draws(self) -> int:
        """All draws, abstentions included."""
        return int(self.counts.sum())

    def add(self, counts: NDArray[np.int64]) -> None:
        """Count a chunk; open a fresh product with half of the cash when it is time.

        A start depends on the number of draws alone, so it is predictable. It limits the damage of
        a bad first phase to its share of the wealth.
        """
        if self.draws >= self.next_start:
            self.cash /= 2
            self.starts.append((self.cash, self.counts.copy()))
            self.next_start *= _RESTART_FACTOR
        self.counts = self.counts + counts


@dataclass(frozen=True)
class Stream:
    """One way to bet against each of several claims: log payoffs per claim (rows) and level (columns)."""

    mass: float
    correct: NDArray[np.float64]
    wrong: NDArray[np.float64]


def streams(
    epsilon: NDArray[np.float64], delta: NDArray[np.float64], levels: NDArray[np.float64]
) -> list[Stream]:
    """The bets against the claims (epsilon[i], delta[i]), over caps and margins."""
    e, d = epsilon[:, np.newaxis], delta[:, np.newaxis]
    edge = expit(levels) * np.exp(-e) - expit(-levels)
    found = []
    leaks = bool(np.any(delta > 0))
    for cap, cap_mass in _CAPS if leaks else ((1.0, 1.0),):
        kappa = cap * np.exp(-e)
        nu = 1.0 - kappa * d
        full = np.minimum(kappa, nu * np.maximum(edge, 0.0))
        for margin, margin_mass in _DELTA_MARGINS if leaks else _MARGINS:
            stake = np.where(levels > e + margin, full, 0.0)
            pays = np.log(nu + stake), np.log(nu - np.exp(e) * stake)
            found.append(Stream(cap_mass * margin_mass, *pays))
    return found


def log_wealth(
    tally: Tally,
    epsilon: NDArray[np.float64],
    delta: NDArray[np.float64],
    *,
    bets: list[Stream] | None = None,
) -> NDArray[np.float64]:
    """Log of the wealth against each claim (epsilon[i], delta[i]).

    `bets`, if given, are their `streams` on all levels, to be used again and again; for delta = 0 there is no
    need of them.
    """
    occurs = tally.counts.any(axis=0)  # few levels ever do
    if not delta.any():
        occurs &= epsilon.min() < LEVELS  # nothing is bet on the others
    used = np.flatnonzero(occurs)
    counts = tally.counts[:, used]
    since = np.array([counts - before[:, used] for _, before in tally.starts], dtype=float)
    masses = np.array([mass for mass, _ in tally.starts])
    if not delta.any():
        products = _pure(since, used, epsilon)
    elif bets:
        products = _capped(
            since, [replace(bet, correct=bet.correct[:, used], wrong=bet.wrong[:, used]) for bet in bets]
        )
    else:
        products = _capped(since, streams(epsilon, delta, LEVELS[used]))
    terms = [np.full((epsilon.size, 1), math.log(tally.cash))]
    terms += [logs + np.log(masses * mass) for mass, logs in products]
    return np.asarray(np.logaddexp.reduce(np.concatenate(terms, axis=1), axis=1))


def _capped(since: NDArray[np.float64], bets: list[Stream]) -> Iterator[tuple[float, NDArray[np.float64]]]:
    """The mass of each bet, and per claim (rows) and start the log of its payoffs' product."""
    for bet in bets:
        yield bet.mass, bet.correct @ since[:, 0].T + bet.wrong @ since[:, 1].T


def _pure(
    since: NDArray[np.float64], used: NDArray[np.intp], epsilon: NDArray[np.float64]
) -> Iterator[tuple[float, NDArray[np.float64]]]:
    """The same for delta = 0, where a bet pays eta / u or (1 - eta) / (1 - u).

    Its log is what the forecast said less what the claim allows, and bets are made from some level on: sums
    from each level on serve every epsilon.
    """
    sums = np.zeros((len(since), 3, used.size + 1))
    sums[:, :2, :-1] = since
    sums[:, 2, :-1] = (since * _SAID[:, used]).sum(axis=1)
    sums = np.moveaxis(sums[..., ::-1].cumsum(axis=-1)[..., ::-1], 1, 0)
    allowed, forbidden = log_expit(epsilon), log_expit(-epsilon)
    for margin, mass in _MARGINS:
        right, wrong, said = sums[..., np.searchsorted(LEVELS[used], epsilon + margin, side="right")]
        yield mass, (said - right * allowed - wrong * forbidden).T


def combined(logs: Sequence[NDArray[np.float64]], masses: Sequence[float]) -> NDArray[np.float64]:
    """Log of a mixture of wealths: an average over pairs is again a valid wealth."""
    return np.asarray(np.logaddexp.reduce(np.stack(logs) + np.log(masses)[:, np.newaxis], axis=0))


def largest_refuted(
    grid: NDArray[np.float64],
    log_wealth_against: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    alpha: float,
) -> float:
    """The largest grid point up to which every point is refuted; 0 if the first is not.

    Guarantee: exceeds the true value with probability at most alpha, over the whole run. Proof sketch: the
    nulls are nested, so the first grid point at or above the true value is one fixed true null; the
    result reaches it only if it is refuted.
    """
    found, first = 0.0, 0
    while first < grid.size:  # in ever larger parts: nobody asks about points beyond the first that stands
        points = grid[first : first + max(_AT_ONCE, first)]
        standing = np.flatnonzero(log_wealth_against(points) < math.log(1.0 / alpha))
        if standing.size:
            return float(points[standing[0] - 1]) if standing[0] else found
        found, first = float(points[-1]), first + points.size
    return found
