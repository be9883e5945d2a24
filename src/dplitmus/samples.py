"""The plan of a run, and drawing one chunk of it.

Takes a number of draws and a seed; gives chunk sizes, one random stream per chunk, and outputs that
have been checked. Chunk sizes depend on the request alone and every chunk has its own stream, so a
result is a function of (spec, seed): no thread count or order of completion can change it.
"""

from __future__ import annotations

import copy
import secrets
import threading
import traceback
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dplitmus.errors import InputError, MechanismError, in_words, one_line, whole_number
from dplitmus.neighbours import Pair, same
from dplitmus.outputs import Batch, Encoded, encode, encode_together, labelled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from dplitmus.mechanisms.base import Callee, FloatArray

CHUNK_VALUES = 2**20  # doubles per chunk: 8 MiB, where allocation becomes cheap (huge pages)
_TRIES = 20  # of a call whose exceptions are retried
ON_ERROR = ("fail", "symbol", "retry")
_REAL = "biuf"  # numpy's kinds of numbers that can be ordered
_SHAPE_HELP = "return an array of shape (n, {0}): one row per draw, one column per coordinate"


@dataclass(frozen=True)
class Plan:
    """Chunk sizes that sum to `samples`; a long plan takes no more memory than a short one.

    >>> list(plan(40_000, dimension=64))
    [16384, 16384, 7232]
    """

    samples: int
    rows: int

    def __iter__(self) -> Iterator[int]:
        left = self.samples
        while left:
            size = min(left, self.rows)
            yield size
            left -= size


def plan(samples: int, *, dimension: int) -> Plan:
    """Split `samples` draws of vectors into chunks of bounded memory."""
    return Plan(samples, max(1, CHUNK_VALUES // dimension))


def stream(seed: int, *key: int) -> np.random.Generator:
    """Return the random stream of one chunk; streams of different keys are independent.

    SFC64 fills a chunk with uniforms a quarter faster than numpy's default generator.
    """
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=key)))


def checked_dimension(dimension: object) -> int:
    """Return the number of coordinates: as many as a few vectors of them fit in memory."""
    return whole_number("dimension", dimension, least=1, most=2**24, help="try dimension=8")


def checked_samples(samples: object) -> int:
    """Return the number of draws: not more than anybody will live to see."""
    return whole_number("samples", samples, least=1, most=10**15, help="try samples=1_000_000")


def checked_seed(seed: int | None) -> int:
    """Return the seed, or a fresh one that the result can name."""
    if seed is None:
        return secrets.randbits(32)
    help_ = "try seed=1, or leave it out for a fresh one"
    return whole_number("seed", seed, least=0, most=2**128 - 1, help=help_)


def draw(callee: Callee, x: FloatArray, n: int, rng: np.random.Generator) -> NDArray[Any]:
    """Call the mechanism once and return its n outputs as real numbers of shape (n, len(x))."""
    given = x.copy()
    outputs = _called(callee, given, n, rng)
    if not np.array_equal(given, x):
        raise _changed_in_place(callee)
    return _as_matrix(callee, outputs, n, len(x))


def draw_labelled(
    callee: Callee, pair: Pair, n: int, rng: np.random.Generator, like: Batch | None = None
) -> Batch:
    """Toss n fair coins, run the mechanism on x or x' accordingly; any outputs will do.

    `like` are earlier outputs on the same pair, if there are any.
    """
    return draw_pieces(callee, pair, [(n, rng)], like)[0]


def draw_pieces(
    callee: Callee, pair: Pair, pieces: Iterable[tuple[int, np.random.Generator]], like: Batch | None = None
) -> list[Batch]:
    """So many draws from each stream, as one batch where outputs are alike, otherwise one for each.

    What is not drawn takes as long for a handful of outputs as for thousands, and other threads wait for it.
    """
    drawn = [_tossed(callee, pair, n, rng) for n, rng in pieces]
    lows, highs = (
        [side for side in sides if side] for sides in zip(*(one[1:] for one in drawn), strict=True)
    )
    together = encode_together([side.outputs for side in lows + highs])
    if together is None:
        return [
            labelled(low and low.encoded, high and high.encoded, labels, pair, like)
            for labels, low, high in drawn
        ]
    labels = np.concatenate([one.labels for one in drawn])
    zeros = labels.size - int(labels.sum())
    low, high = together.rows(slice(0, zeros)), together.rows(slice(zeros, None))
    raised = sum(side.raised for side in lows + highs)
    return [labelled(low._replace(raised=raised), high, labels, pair, like)]


class _Drawn(NamedTuple):
    """What a call returned, and how many before it raised; or what became of calls that may raise."""

    outputs: Any
    raised: int = 0

    @property
    def encoded(self) -> Encoded:
        outputs = self.outputs
        return outputs if isinstance(outputs, Encoded) else encode(outputs)._replace(raised=self.raised)


class _Tossed(NamedTuple):
    """Coins, and what was drawn on either input, if anything was."""

    labels: NDArray[np.bool_]
    low: _Drawn | None
    high: _Drawn | None


def _tossed(callee: Callee, pair: Pair, n: int, rng: np.random.Generator) -> _Tossed:
    labels = rng.random(n) < 0.5
    ones = int(labels.sum())
    low = _draw(callee, pair.x, n - ones, rng) if ones < n else None
    high = _draw(callee, pair.x_prime, ones, rng) if ones else None
    return _Tossed(labels, low, high)


def draw_encoded(callee: Callee, x: object, n: int, rng: np.random.Generator) -> Encoded:
    """Draw n outputs of any kind; exceptions are treated as the callee says.

    "symbol": an exception is an output, named by its type. Each draw is a call of its own: to drop the other
    draws of a call that raised would condition them on not raising, and a true claim could then be refuted.
    "retry": the whole call is made again. Rows are then drawn given that nothing raised: what is audited is
    the mechanism with the retry around it.
    """
    return _draw(callee, x, n, rng).encoded


def draw_calls(callee: Callee, x: object, n: int, calls: int, rng: np.random.Generator) -> Encoded:
    """So many calls of n draws each, one after the other."""
    parts = [_draw(callee, x, n, rng).outputs for _ in range(calls)]
    together = encode_together(parts)
    return encode([output for part in parts for output in part]) if together is None else together


def _draw(callee: Callee, x: object, n: int, rng: np.random.Generator) -> _Drawn:
    if callee.on_error == "symbol":
        return _Drawn(_one_by_one(callee, x, n, rng))
    tries = _TRIES if callee.on_error == "retry" else 1
    for earlier in range(tries):
        try:
            return _Drawn(_draw_any(callee, x, n, rng), earlier)
        except MechanismError as error:
            if error.code != "DP401" or earlier == tries - 1:
                raise
    raise AssertionError("unreachable")


def _one_by_one(callee: Callee, x: object, n: int, rng: np.random.Generator) -> Encoded:
    outputs: list[Any] = []
    symbols: list[str | None] = []
    for _ in range(n):
        try:
            outputs.append(_draw_any(callee, x, 1, rng)[0])
            symbols.append(None)
        except MechanismError as error:
            if error.code != "DP401":
                raise
            symbols.append(f"raised {type(error.__cause__).__name__}")
    encoded = encode(outputs) if outputs else encode(np.zeros((0, 1)))
    return encoded.with_symbols(symbols)


@dataclass(frozen=True)
class Stock:
    """Outputs of one long call on each input, for a mechanism that repeats its draws at every call.

    Row i of both calls has the same noise. Row i is used once, on the side that a coin chooses, so the
    draws are as independent as the rows of one call are.
    """

    pair: Pair
    low: Encoded
    high: Encoded

    @classmethod
    def draw(cls, callee: Callee, pair: Pair, n: int, rng: np.random.Generator) -> Stock:
        """Call the mechanism once on each input."""
        low, high = (draw_encoded(callee, x, n, rng) for x in (pair.x, pair.x_prime))
        return cls(pair, low, high)

    def part(self, first: int, n: int) -> Stock:
        """Rows from `first` on: what one chunk needs, and no more, may travel."""
        rows = np.arange(first, first + n)
        return Stock(self.pair, self.low.rows(rows), self.high.rows(rows))

    def labelled(self, n: int, rng: np.random.Generator) -> Batch:
        """The first n rows, each from the side that its coin says."""
        labels = rng.random(n) < 0.5
        low, high = self.low.rows(np.flatnonzero(~labels)), self.high.rows(np.flatnonzero(labels))
        return labelled(low, high, labels, self.pair)


def one_by_one(callee: Callee) -> Callee:
    """The same mechanism, each draw a call of its own."""

    def call(x: Any, n: int, rng: np.random.Generator) -> Any:
        return [_draw_any(callee, x, 1, rng)[0] for _ in range(n)]

    return replace(callee, call=call, one_at_a_time=True)


def within(callee: Callee, seconds: float) -> Callee:
    """The same mechanism, whose calls fail with DP406 when they take longer.

    The call runs in a daemon thread, which cannot be killed: it is left behind, and ends with the
    process.
    """

    def call(x: Any, n: int, rng: np.random.Generator) -> Any:
        answer: list[Any] = []
        failure: list[BaseException] = []

        def work() -> None:
            try:
                answer.append(callee.call(x, n, rng))
            except BaseException as error:  # noqa: BLE001  (raised again below)
                failure.append(error)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join(seconds)
        if thread.is_alive():
            raise too_slow(callee.name, n, seconds)
        if failure:
            raise failure[0]
        return answer[0]

    return replace(callee, call=call)


def too_slow(name: str, n: int, seconds: float) -> MechanismError:
    """DP406: a call that did not return."""
    return MechanismError(
        f"{name} did not return {n} draws within {seconds:g} s",
        code="DP406",
        help="raise the time limit of a call, or look where the mechanism hangs",
    )


def _draw_any(callee: Callee, x: object, n: int, rng: np.random.Generator) -> Any:
    given = copy.deepcopy(x)
    outputs = _called(callee, given, n, rng)
    if given is not x and not same(given, x):  # what cannot be changed is its own copy
        raise _changed_in_place(callee)
    try:
        length = len(outputs)
    except TypeError:
        length = -1
    if length != n or isinstance(outputs, (str, bytes, dict, set)):
        raise MechanismError(
            f"{callee.name} returned a {type(outputs).__name__}, not {n} outputs",
            code="DP402",
            help="return an array or a list with one entry per draw, or lift f(x) with dplitmus.each",
        )
    return outputs


def _as_matrix(callee: Callee, outputs: object, n: int, dimension: int) -> NDArray[Any]:
    try:
        # What is masked is not there: NaN.
        array = np.asarray(np.ma.filled(outputs, np.nan) if np.ma.isMA(outputs) else outputs)
    except Exception as error:
        raise MechanismError(
            f"{callee.name} returned a {type(outputs).__name__} that is no array: {one_line(str(error))}",
            code="DP402",
            help=_SHAPE_HELP.format(dimension),
        ) from error
    if array.dtype.kind not in _REAL:
        kind = "complex numbers" if array.dtype.kind == "c" else f"values of type {array.dtype}"
        raise MechanismError(
            f"{callee.name} returned {kind}, not real numbers",
            code="DP403",
            help="the sanity check rounds to 0 or 1: return real numbers (NaN and inf may occur)",
        )
    if dimension == 1 and array.shape == (n,):
        array = array[:, np.newaxis]
    if array.shape != (n, dimension):
        raise MechanismError(
            f"{callee.name} returned shape {array.shape} for n={n} draws of dimension {dimension}",
            code="DP402",
            help=_SHAPE_HELP.format(dimension),
        )
    return array


def _changed_in_place(callee: Callee) -> MechanismError:
    return MechanismError(
        f"{callee.name} changes its input in place",
        code="DP404",
        help="work on a copy inside the mechanism: x = numpy.array(x)",
    )


def _called(callee: Callee, x: Any, n: int, rng: np.random.Generator) -> Any:
    try:
        return callee.call(x, n, rng)
    except (MechanismError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a mechanism that calls sys.exit has failed, not finished
        if isinstance(error, InputError) and error.code == "DP231":
            raise  # it never got to where it was to be called, and has not failed
        raise _raised(callee, error) from error


def _raised(callee: Callee, error: BaseException) -> MechanismError:
    last = traceback.extract_tb(error.__traceback__)[-1]
    inside = last.filename != __file__  # built-in functions leave no trace of their own
    place = f"  ({Path(last.filename).name}:{last.lineno})" if inside else ""
    help_ = "call it yourself as mechanism(numpy.zeros(dimension), 10, numpy.random.default_rng())"
    if isinstance(error, MemoryError):
        help_ = "give it more memory: fewer workers at once, or fewer draws at a time (--piece)"
    return MechanismError(
        f"{callee.name} raised {type(error).__name__}: {one_line(in_words(str, error), 200)}{place}",
        code="DP401",
        help=help_,
    )
