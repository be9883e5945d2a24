"""Outputs in the forms that experts look at.

Takes what a mechanism returned for one pair of inputs (numbers, vectors, or a list of anything hashable);
gives numbers, numbers oriented by the pair, a key per distinct output, and the region between the inputs.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dplitmus.errors import in_words, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # an odd constant with well-mixed bits
# The finaliser of SplitMix64 (Steele, Lea, Flood 2014): every bit of a number moves every bit of its hash.
_MIXING = (
    (np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)),
    (np.uint64(27), np.uint64(0x94D049BB133111EB)),
)
_BLOCK = 2**16  # numbers that fit into a core's cache
_FEW = 256  # outputs that show whether there are few kinds of them
_PLACES = np.uint64(1) << np.arange(6, dtype=np.uint64)
_NAN_BITS = np.uint64(0x7FF8000000000000)
_MISSING_BITS = np.uint64(0x7FF8000000000001)
MISSING = float(_MISSING_BITS.view(np.float64))  # a NaN that says: this output has no such number
_WIDEST = 64  # numbers of outputs whose lengths differ
_SCALARS = (bool, int, float, np.number, np.bool_)


@dataclass(frozen=True)
class Geometry:
    """What the two inputs tell about outputs of their own shape: where they are, and the direction.

    `None` in place of a geometry means that outputs and inputs are not comparable.
    """

    low: NDArray[np.float64]  # x, in the coordinates where x and x' differ
    high: NDArray[np.float64]  # x'
    differ: NDArray[np.intp]
    trivial: bool  # every coordinate differs, in the same direction: orienting changes nothing
    times: int = 1  # the inputs are repeated, for outputs that are several of their shape side by side

    @classmethod
    def of(cls, x: object, x_prime: object, columns: int) -> Geometry | None:
        """The geometry of a pair, if its members are numbers or vectors, of which `columns` is a multiple."""
        try:
            ends = [np.asarray(end, dtype=float).reshape(-1) for end in (x, x_prime)]
        except (TypeError, ValueError):
            return None
        size = ends[0].size
        if ends[1].size != size or not size or not columns or columns % size or not np.isfinite(ends).all():
            return None
        ends = [np.tile(end, columns // size) for end in ends]
        differ = np.flatnonzero(ends[0] != ends[1])
        if not differ.size:
            return None
        low, high = (end[differ] for end in ends)
        grows = high > low
        trivial = bool(differ.size == columns and (grows.all() or not grows.any()))
        return cls(low, high, differ, trivial, columns // size)

    @cached_property
    def signs(self) -> NDArray[np.float64]:
        """Whether each input coordinate grows from x to x', 1, or shrinks, -1."""
        return np.where(self.high > self.low, 1.0, -1.0)

    @cached_property
    def _along(self) -> bool:
        """Whether every input coordinate grows."""
        return bool((self.high > self.low).all())

    @cached_property
    def moves(self) -> NDArray[np.float64]:
        """By how much each input coordinate grows from x to x', as a share of the largest."""
        moves = self.high / 2 - self.low / 2  # the difference itself may be too large for a float
        largest = np.abs(moves).max()
        return np.asarray(moves / largest if largest > 0 else self.signs)

    @property
    def reach(self) -> NDArray[np.float64]:
        """Half the distance of the inputs: they lie at -reach and reach of the oriented coordinates."""
        return np.abs(self.high - self.low) / 2

    def oriented(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Coordinates that differ, centred between the inputs, growing from x towards x'."""
        numbers = values if self.differ.size == values.shape[1] else values[:, self.differ]
        oriented = numbers - (self.low + self.high) / 2
        if not self._along:
            oriented *= self.signs
        return oriented

    def regions(self, values: NDArray[np.float64]) -> NDArray[np.uint64]:
        """A set of six flags per output: some coordinate is below, equal to, above that of x, and of x'.

        Below and above, not before and after: noise that is never negative is so whatever the direction.
        """
        numbers = values if self.differ.size == values.shape[1] else values[:, self.differ]
        flags = [
            comparison(numbers, end).any(axis=1)
            for end in (self.low, self.high)
            for comparison in (np.less, np.equal, np.greater)
        ]
        return np.asarray(_PLACES @ np.stack(flags))


@dataclass(frozen=True)
class Batch:
    """Outputs as experts see them; `labels` are the coins where they are known."""

    values: NDArray[np.float64]  # (n, k); NaN where an output is no number
    keys: NDArray[np.uint64]  # equal for equal outputs
    labels: NDArray[np.bool_]
    inputs: Geometry | None  # what stands behind each column
    names: Mapping[int, str] = field(default_factory=dict)  # of keys that are no numbers
    raised: int = 0  # exceptions on the way

    def __len__(self) -> int:
        return len(self.keys)

    def __getstate__(self) -> dict[str, Any]:
        """What travels: not what can be worked out again."""
        return {name: value for name, value in vars(self).items() if name != "oriented"}

    def rows(self, index: Any) -> Batch:  # any index that numpy takes
        """Some of the outputs."""
        some = Batch(self.values[index], self.keys[index], self.labels[index], self.inputs, self.names)
        if isinstance(index, slice) and "oriented" in vars(self):  # a part of it costs nothing
            vars(some)["oriented"] = self.oriented[index]
        return some

    def like(self, other: Batch) -> Batch:
        """The same outputs in the columns and the geometry of another batch: cut, or padded."""
        columns = other.values.shape[1]
        if self.values.shape[1] == columns:
            return self
        values = np.full((len(self), columns), MISSING)
        kept = min(columns, self.values.shape[1])
        values[:, :kept] = self.values[:, :kept]
        return Batch(values, self.keys, self.labels, other.inputs, self.names, self.raised)

    def distinct(self) -> tuple[Batch, NDArray[np.intp] | None]:
        """One row of each kind and where each output is among them, if the kinds are few; else no places.

        Equal outputs get equal forecasts, so that only these need be computed.
        """
        if len(self) < _FEW or np.unique(self.keys[:_FEW]).size > _FEW // 4:
            return self, None
        _, first, place = np.unique(self.keys, return_index=True, return_inverse=True)
        return self.rows(first), place

    def counted(self) -> tuple[Batch, NDArray[np.float64], NDArray[np.float64]]:
        """One row of each kind, how often it had label 1, and how often it occurred."""
        kinds, place = self.distinct()
        if place is None:
            return self, self.labels.astype(float), np.ones(len(self))
        ones, total = (
            np.bincount(rows, minlength=len(kinds)).astype(float) for rows in (place[self.labels], place)
        )
        return kinds, ones, total

    @property
    def geometry(self) -> Geometry | None:
        """Where the inputs lie among the outputs, if these are of the same shape."""
        return self.inputs if self.inputs is not None and self.inputs.times == 1 else None

    @cached_property
    def oriented(self) -> NDArray[np.float64]:
        """Values in the direction from x to x', where there is one; otherwise as they are."""
        return self.geometry.oriented(self.values) if self.geometry else self.values


def missing(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Where an output has no number, because it is shorter than others."""
    return np.asarray(np.ascontiguousarray(values).view(np.uint64) == _MISSING_BITS)


def has_numbers(batch: Batch) -> bool:
    """Whether there is any number among the outputs."""
    return not np.isnan(batch.values).all()


def join(batches: Sequence[Batch]) -> Batch:
    """One batch of several, in their order, with the columns of the widest."""
    if len(batches) == 1:
        return batches[0]
    widest = max(batches, key=lambda batch: batch.values.shape[1])
    batches = [batch.like(widest) for batch in batches]
    return Batch(
        np.concatenate([batch.values for batch in batches]),
        np.concatenate([batch.keys for batch in batches]),
        np.concatenate([batch.labels for batch in batches]),
        widest.inputs,
        dict(item for batch in batches for item in batch.names.items()),
        sum(batch.raised for batch in batches),
    )


class Encoded(NamedTuple):
    """Outputs before they get their labels."""

    values: NDArray[np.float64]
    keys: NDArray[np.uint64]
    names: dict[int, str]
    raised: int = 0  # exceptions on the way

    def rows(self, index: NDArray[np.intp] | slice) -> Encoded:
        """Some of the outputs."""
        return Encoded(self.values[index], self.keys[index], self.names)

    def with_symbols(self, symbols: Sequence[str | None]) -> Encoded:
        """Between these outputs, in the places where it is not None, the symbol of an exception."""
        ours = np.array([symbol is None for symbol in symbols])
        values = np.full((len(symbols), self.values.shape[1]), np.nan)
        keys = np.zeros(len(symbols), dtype=np.uint64)
        values[ours], keys[ours] = self.values, self.keys
        names = {_symbol_key(symbol): symbol for symbol in symbols if symbol is not None}
        keys[~ours] = np.array([_symbol_key(symbol) for symbol in symbols if symbol], dtype=np.uint64)
        return Encoded(values, keys, self.names | names, self.raised + int((~ours).sum()))


def encode(outputs: Any) -> Encoded:
    """Split n outputs into numbers and keys; -0.0 equals 0.0 and all NaN are equal.

    What is no number is a symbol, told apart by its repr; its number is its length, if it has one. Lists of
    numbers are rows, also where their lengths differ: then they are padded. Lists with numbers in them, and
    dicts, are symbols whose numbers are seen, too, each in its place.
    """
    array = outputs if isinstance(outputs, np.ndarray) else _as_array(outputs)
    if array.dtype.kind in "biuf":
        columns = math.prod(array.shape[1:])  # -1 would not do for no outputs at all
        values = np.ascontiguousarray(array.reshape(len(array), columns), dtype=np.float64)
        return Encoded(values, row_keys(values), {})
    items = list(array)
    rows = [_row_of(item) for item in items]
    if any(row is not None for row in rows):
        return _encode_rows(items, rows)
    return _encode_symbols(items)


def _encode_symbols(items: Sequence[Any]) -> Encoded:
    """Symbols, and numbers among them, which have the keys that they have in an array, and no names."""
    texts = [one_line(in_words(repr, item), 200) for item in items]
    by_text: dict[str, int] = {}
    names: dict[int, str] = {}
    for text, item in dict(zip(texts, items, strict=True)).items():
        numbers = _as_array([item])
        number = numbers.dtype.kind in "biuf"
        by_text[text] = (
            int(row_keys(numbers.reshape(1, -1).astype(float))[0]) if number else _symbol_key(text)
        )
        if not number or not numbers.size:
            names[by_text[text]] = text
    keys = np.array([by_text[text] for text in texts], dtype=np.uint64)
    return Encoded(np.array([[_number_of(item)] for item in items]).reshape(-1, 1), keys, names)


class _Row(NamedTuple):
    """The numbers of a list, and whether there is nothing else in it."""

    numbers: NDArray[np.float64]
    plain: bool


def _row_of(item: object) -> _Row | None:
    """The numbers of a list, NaN in other places; None if there are none, or if it is no list."""
    if isinstance(item, dict):
        item = [item[key] for key in sorted(item, key=repr)]
        plain = False
    elif isinstance(item, (list, tuple, np.ndarray)):
        plain = True
    else:
        return None
    try:
        array = np.asarray(item)
    except (TypeError, ValueError, OverflowError):
        array = np.empty(0, dtype=object)
    if array.dtype.kind in "biuf":
        return _Row(array.reshape(-1).astype(np.float64), plain) if array.size else None
    parts = item.reshape(-1) if isinstance(item, np.ndarray) else item
    numbers = [_number_of(part) if isinstance(part, _SCALARS) else math.nan for part in parts]
    return _Row(np.array(numbers), plain=False) if not all(map(math.isnan, numbers)) else None


def _encode_rows(items: Sequence[Any], rows: Sequence[_Row | None]) -> Encoded:
    """Rows of different lengths, with symbols among them."""
    columns = min(max(row.numbers.size for row in rows if row), _WIDEST)
    values = np.full((len(rows), columns), MISSING)
    keys = np.zeros(len(rows), dtype=np.uint64)
    others = [k for k, row in enumerate(rows) if row is None or not row.plain]
    symbols = _encode_symbols([items[k] for k in others])
    values[others, :1], keys[others] = symbols.values, symbols.keys
    by_length: dict[int, list[int]] = {}
    for k, row in enumerate(rows):
        if row is not None:
            by_length.setdefault(row.numbers.size, []).append(k)
    for length, alike in by_length.items():
        numbers = np.array([row.numbers for row in (rows[k] for k in alike) if row])
        values[alike, :length] = numbers[:, :columns]
        plain = np.array([row.plain for row in (rows[k] for k in alike) if row])
        keys[np.array(alike)[plain]] = row_keys(numbers[plain])
    return Encoded(values, keys, symbols.names)


def encode_together(parts: Sequence[Any]) -> Encoded | None:
    """The outputs of several calls, one after the other, if all are numbers of one shape; otherwise None."""
    if any(isinstance(part, Encoded) for part in parts):
        return None
    arrays = [part if isinstance(part, np.ndarray) else _as_array(part) for part in parts]
    shape = arrays[0].shape[1:]
    if any(array.dtype.kind not in "biuf" or array.shape[1:] != shape for array in arrays):
        return None
    return encode(arrays[0] if len(arrays) == 1 else np.concatenate(arrays, dtype=np.float64))


def labelled(
    low: Encoded | None, high: Encoded | None, labels: NDArray[np.bool_], pair: Any, like: Batch | None = None
) -> Batch:
    """Outputs on x and on x' in the order of their labels; narrower rows are padded.

    `like` are earlier outputs on the same pair: what the inputs tell need not be worked out again.
    """
    parts = [(side, part) for side, part in ((~labels, low), (labels, high)) if part is not None]
    columns = max(part.values.shape[1] for _, part in parts)
    values = np.full((labels.size, columns), MISSING)
    keys = np.zeros(labels.size, dtype=np.uint64)
    names: dict[int, str] = {}
    for side, part in parts:
        values[side, : part.values.shape[1]] = part.values
        keys[side] = part.keys
        names |= part.names
    raised = sum(part.raised for _, part in parts)
    if like is not None and like.values.shape[1] == columns:
        inputs = like.inputs
    else:
        inputs = Geometry.of(pair.x, pair.x_prime, columns)
    return Batch(values, keys, labels, inputs, names, raised)


def _as_array(outputs: Any) -> NDArray[Any]:
    try:
        array = np.asarray(outputs)
        if array.dtype.kind in "biuf":
            return array
    except (TypeError, ValueError, OverflowError):
        pass
    array = np.empty(len(outputs), dtype=object)
    array[:] = outputs if not isinstance(outputs, np.ndarray) else list(outputs)
    return array


def row_keys(values: NDArray[np.float64]) -> NDArray[np.uint64]:
    """A key for each row of numbers, equal for equal rows."""
    rows = max(1, _BLOCK // max(1, values.shape[1]))
    if len(values) <= rows:
        return _mixed_rows(values)
    return np.concatenate([_mixed_rows(values[k : k + rows]) for k in range(0, len(values), rows)])


def _mixed_rows(values: NDArray[np.float64]) -> NDArray[np.uint64]:
    bits = (values + 0.0).view(np.uint64)  # + 0.0 turns -0.0 into 0.0
    bits[np.isnan(values)] = _NAN_BITS
    bits ^= np.arange(1, values.shape[1] + 1, dtype=np.uint64) * _MULTIPLIER  # a column is not another
    for shift, factor in _MIXING:
        bits ^= bits >> shift
        bits *= factor
    bits ^= bits >> np.uint64(31)
    return np.asarray(bits.sum(axis=1))


def _symbol_key(text: str) -> int:
    # Python's own hash of a string differs from process to process.
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _number_of(item: object) -> float:
    if isinstance(item, _SCALARS) and not isinstance(item, np.complexfloating):
        try:
            return float(item)
        except OverflowError:  # a whole number beyond all floats
            return math.inf if item > 0 else -math.inf
    try:
        length = len(item)  # type: ignore[arg-type]
    except TypeError:  # an array of no dimension has a method, and no length
        return math.nan
    return float(length) if length or isinstance(item, str) else MISSING
