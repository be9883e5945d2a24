"""What a diagnosis looks at: a mechanism, its claim, one pair of inputs, and outputs on both of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import bdtrc

from dplitmus.errors import DplitmusError
from dplitmus.outputs import row_keys
from dplitmus.samples import draw_encoded, stream

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dplitmus.chunks import Desk
    from dplitmus.claim import Claim
    from dplitmus.habits import Habits
    from dplitmus.neighbours import Pair
    from dplitmus.outputs import Batch, Encoded
    from dplitmus.samples import Stock
    from dplitmus.shipping import Parcel

    Floats = NDArray[np.float64]

SURE = 1e-9  # how improbable a coincidence must be before a cause is named
DEVIATIONS = 6.1  # the same, in standard deviations of a normal error
FEW = 30  # numbers on an input, below which nothing is said of their law
_PICKED = 1 / 10  # share of the outputs
_PHASE_FRESH, _PHASE_SAME, _PHASE_OTHER = 40, 41, 42
_CALLS = 4  # in which the fresh draws on an input are made
_MOST_ROWS, _MOST_COLUMNS = 2**14, 64
_SAME, _OTHER = 64, 256  # draws with one seed on both inputs; draws on inputs of our own


@dataclass(frozen=True)
class Outputs:
    """Outputs on one input, and which of them are plain numbers."""

    values: Floats  # (n, k)
    keys: NDArray[np.uint64]
    names: dict[int, str]

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def symbols(self) -> NDArray[np.bool_]:
        """Outputs that are no numbers: a number among symbols has the key that it has in an array."""
        if not self.names:
            return np.zeros(len(self), dtype=bool)
        named = np.isin(self.keys, np.array(list(self.names), dtype=np.uint64))
        return np.asarray(named & (self.keys != row_keys(self.values)))

    @cached_property
    def is_plain(self) -> NDArray[np.bool_]:
        """Which rows are finite numbers."""
        return np.asarray(~self.symbols & np.isfinite(self.values).all(axis=1))

    @cached_property
    def plain(self) -> Floats:
        """Rows of finite numbers."""
        return np.asarray(self.values[self.is_plain][:, :_MOST_COLUMNS])


@dataclass(frozen=True)
class Source:
    """Where outputs come from: a mechanism, who calls it, and the seed of all streams."""

    parcel: Parcel
    desk: Desk
    seed: int

    def draw(self, x: Any, n: int, *key: int) -> list[Encoded]:
        """Outputs on one input, in one call; on all workers, where each draw is a call of its own."""
        callee = self.parcel.callee
        if callee.one_at_a_time:
            return self.desk.draw(self.parcel, x, n, self.seed, key)
        return [draw_encoded(callee, x, n, stream(self.seed, *key))]


@dataclass
class Subject:
    """One pair of inputs of one mechanism, with what was drawn on it."""

    source: Source
    claim: Claim
    pair: Pair
    habits: Habits
    violated: bool
    sides: tuple[Outputs, Outputs]
    spare: int  # draws that are left

    @cached_property
    def rows(self) -> tuple[Floats, Floats]:
        """The plain numbers on x and on x'."""
        return self.sides[0].plain, self.sides[1].plain

    @property
    def enough(self) -> bool:
        """Whether both inputs gave enough plain numbers to speak of their law."""
        return all(len(rows) >= FEW and rows.shape[1] > 0 for rows in self.rows)

    @property
    def picked(self) -> bool:
        """Whether so few outputs are plain numbers that the noise may have picked them.

        A mechanism that answers only when its noise is large shows a law that is not that of its noise. Three
        coordinates that are NaN half of the time, as DPText's are, still show theirs.
        """
        return any(len(rows) < _PICKED * len(side) for rows, side in zip(self.rows, self.sides, strict=True))

    @cached_property
    def inputs(self) -> tuple[Floats, Floats] | None:
        """Both inputs as vectors of numbers, if they are."""
        try:
            x, x_prime = (
                np.asarray(end, dtype=float).reshape(-1) for end in (self.pair.x, self.pair.x_prime)
            )
        except (TypeError, ValueError):
            return None
        fine = x.size == x_prime.size and bool(np.isfinite(x).all() and np.isfinite(x_prime).all())
        return (x, x_prime) if fine else None

    @cached_property
    def comparable(self) -> bool:
        """Whether outputs have as many numbers as inputs."""
        columns = self.sides[0].values.shape[1]
        return self.inputs is not None and self.inputs[0].size == columns

    @cached_property
    def discrete(self) -> bool:
        """Whether the numbers lie on a grid, with the same value again and again."""
        return self.enough and any(step_of(rows[:, 0]) is not None for rows in self.rows)

    def tells_apart(self, count: int, other: int) -> bool:
        """Whether an event seen `count` and `other` times on the inputs breaks the claim, surely.

        Under the claim, for equal numbers of draws, an occurrence is on either input with probability at most
        e^epsilon / (1 + e^epsilon), but for delta.
        """
        most, least = max(count, other), min(count, other)
        spare = self.claim.delta * max(len(side) for side in self.sides)
        most = int(most - spare - DEVIATIONS * math.sqrt(spare))
        if most <= least:
            return False
        sizes = sorted(len(side) for side in self.sides)
        odds = math.exp(min(self.claim.epsilon, 700.0)) * sizes[1] / max(1, sizes[0])
        return float(bdtrc(most - 1, most + least, odds / (1 + odds))) < SURE

    @cached_property
    def same_seed(self) -> Floats | None:
        """Differences of outputs on x' and on x that were drawn with one and the same seed.

        Equal rows mean noise that is added, and give the change of the query exactly. A peek into the box:
        for the diagnosis, never for the certificate. None where the mechanism has randomness of its own.
        """
        if not self.habits.replays or self.habits.repeats:
            return None
        low, high = (self._call(end, _SAME, _PHASE_SAME) for end in (self.pair.x, self.pair.x_prime))
        if low is None or high is None or low.values.shape != high.values.shape:
            return None
        with np.errstate(invalid="ignore"):
            return np.asarray(high.values - low.values)

    @cached_property
    def shift(self) -> Floats | None:
        """The change of the query from x to x', if noise is added to it and the same seed shows it."""
        differences = self.same_seed
        if differences is None or not np.isfinite(differences).all():
            return None
        spread = np.ptp(differences, axis=0)
        size = np.abs(differences).max(axis=0)
        wide = max(float(np.abs(rows).max(initial=0.0)) for rows in self.rows)
        return differences.mean(axis=0) if (spread <= 1e-3 * size + 1e-6 * wide).all() else None

    def on(self, x: Any, number: int, draws: int = _OTHER) -> Floats | None:
        """Plain outputs on an input of our own; None if the mechanism will not have it."""
        drawn = self._call(x, draws, _PHASE_OTHER + number)
        return drawn.plain if drawn is not None and len(drawn.plain) >= FEW else None

    def shaped(self, vector: Floats) -> Any:
        """A vector in the form of the pair's inputs."""
        if np.ndim(self.pair.x) == 0:
            return float(vector[0])
        array = vector.reshape(np.shape(self.pair.x))
        return array if isinstance(self.pair.x, np.ndarray) else type(self.pair.x)(array.tolist())

    def _call(self, x: Any, n: int, phase: int) -> Outputs | None:
        if n > self.spare:
            return None
        self.spare -= n
        try:
            return _gathered(self.source.draw(x, n, phase))
        except DplitmusError:
            return None  # it may refuse inputs that nobody promised to accept


def examined(
    source: Source, pair: Pair, *, sample: Batch | None, stock: Stock | None, fresh: int
) -> tuple[Outputs, Outputs]:
    """Outputs on both inputs: those of the search, and `fresh` more on each.

    A mechanism that repeats itself has a stock of outputs, and would only repeat them.
    """
    if stock is not None:
        rows = np.arange(min(_MOST_ROWS, len(stock.low.keys)))
        found = (stock.low.rows(rows), stock.high.rows(rows))
        low, high = (Outputs(part.values, part.keys, part.names) for part in found)
        return low, high
    return tuple(  # type: ignore[return-value]
        _gathered(_fresh(source, x, side, fresh), sample, label=bool(side))
        for side, x in enumerate((pair.x, pair.x_prime))
    )


def _fresh(source: Source, x: Any, side: int, draws: int) -> list[Encoded]:
    """Outputs of several calls; what fails now has nothing to say about what was drawn before."""
    size = draws // _CALLS
    if not size:
        return []
    try:
        return [part for call in range(_CALLS) for part in source.draw(x, size, _PHASE_FRESH, side, call)]
    except DplitmusError:
        return []


def _gathered(parts: list[Encoded], sample: Batch | None = None, *, label: bool = False) -> Outputs:
    """All outputs on one input; narrower rows are padded with NaN."""
    values, keys = [part.values for part in parts], [part.keys for part in parts]
    names = {key: name for part in parts for key, name in part.names.items()}
    if sample is not None:
        mine = np.flatnonzero(sample.labels == label)[-_MOST_ROWS:]
        values, keys = [*values, sample.values[mine]], [*keys, sample.keys[mine]]
        names |= sample.names
    if not values:
        return Outputs(np.zeros((0, 0)), np.zeros(0, dtype=np.uint64), {})
    columns = max(part.shape[1] for part in values)
    padded = [np.pad(part, ((0, 0), (0, columns - part.shape[1])), constant_values=np.nan) for part in values]
    return Outputs(np.concatenate(padded), np.concatenate(keys), names)


def step_of(numbers: Floats) -> float | None:
    """The step of the grid on which numbers lie, if many of them are equal because of it; else None.

    Values from a short table repeat too, but their gaps are not multiples of the smallest one.
    """
    found = np.unique(numbers)
    if found.size < 2 or found.size > numbers.size / 2:
        return None
    gaps = np.diff(found)
    gaps = gaps[1:-1] if gaps.size > 4 else gaps  # answers are often clamped to a range, off the grid
    step = float(gaps.min())
    steps = gaps / step
    # The rounding of decimals shows in the gaps.
    slack = 1e-3 + 4 * np.spacing(np.abs(found).max()) / step
    return step if np.all(np.abs(steps - np.rint(steps)) <= slack * np.maximum(1, steps)) else None
