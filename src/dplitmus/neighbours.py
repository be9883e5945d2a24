"""Pairs of inputs that the claim must hide from each other.

Takes a dimension, and the relation that makes two inputs neighbours; gives pairs, each with a name to
print. In local privacy any two inputs are neighbours.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dplitmus.errors import InputError, bad_value, in_words, number, one_line, one_of, whole_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dplitmus.mechanisms.base import FloatArray

RELATIONS = ("one", "all", "any")
LEVELS = ("ideal", "bits")
# Relations between datasets, which can be checked on a pair, in words.
DATASETS = {
    "add-remove": "one record is added or removed",
    "replace-one": "one record is replaced by another",
}
_PAIRS_HELP = "try neighbours=[(0.0, 1.0)]"


class Pair(NamedTuple):
    """Two neighbouring inputs, with a name to print."""

    x: Any
    x_prime: Any
    name: str


def zeros_and_ones(dimension: int) -> Pair:
    """Return the pair of section 4: as far from each other as {0, 1}^n allows."""
    return Pair(
        x=np.zeros(dimension),
        x_prime=np.ones(dimension),
        name=f"{dimension} zeros against {dimension} ones",
    )


def patterns(relation: str, dimension: int, *, level: str = "ideal") -> list[Pair]:
    """Return the usual pairs to try, none of them twice (a pair and its reverse are the same).

    `relation` "one": one coordinate changes by at most 1. "all": every coordinate may change by at most 1;
    these two start from ones and are the patterns of StatDP (Ding et al. 2018). "any": any two vectors in
    [0, 1]^n, the local model. At `level` "bits" there are also pairs of different magnitude.

    >>> [pair.name for pair in patterns("one", 5)]
    ['ones, the first down', 'ones, the first up']
    """
    one_of("relation", relation, RELATIONS)
    one_of("level", level, LEVELS)
    n = whole_number("dimension", dimension, least=1, help="try dimension=1")
    usual = _usual(relation, n)
    return _distinct([*usual, *magnitudes(relation, n)]) if level == "bits" else usual


def magnitudes(relation: str, n: int) -> list[Pair]:
    """Neighbours whose bits are of different magnitude: floats are the finer the nearer they are to zero.

    Zero against one, and a millionth against one; where the relation allows numbers of any size, a million
    against a million and one, too. One against a million are no neighbours under any of the relations.

    >>> [pair.name for pair in magnitudes("any", 1)]
    ['zeros, the first up', 'millionths, the first up to one']
    """
    pairs = [
        _pair(np.zeros(n), _parts(n, 1, 1, 0), "zeros, the first up"),
        _pair(np.full(n, 1e-6), _parts(n, 1, 1, 1e-6), "millionths, the first up to one"),
    ]
    if relation != "any":
        pairs.append(_pair(np.full(n, 1e6), _parts(n, 1, 1e6 + 1, 1e6), "millions, the first up"))
    return pairs


def _usual(relation: str, n: int) -> list[Pair]:
    swapped = _pair(_parts(n, n // 2, 1, 0), _parts(n, n // 2, 0, 1), "halves of ones and zeros, swapped")
    if relation == "any":
        one_hot = _pair(np.zeros(n), _parts(n, 1, 1, 0), "zeros, the first up")
        return _distinct([zeros_and_ones(n), one_hot, swapped])
    one = [("the first down", _parts(n, 1, 0, 1)), ("the first up", _parts(n, 1, 2, 1))]
    many = [
        ("the first up, the rest down", _parts(n, 1, 2, 0)),
        ("the first down, the rest up", _parts(n, 1, 0, 2)),
        ("half up, half down", _parts(n, n // 2, 2, 0)),
        ("all up", np.full(n, 2.0)),
        ("all down", np.zeros(n)),
    ]
    moves = one if relation == "one" else one + many
    pairs = [_pair(np.ones(n), x_prime, f"ones, {how}") for how, x_prime in moves]
    return pairs if relation == "one" else _distinct([*pairs, swapped])


def _parts(n: int, first: int, head: float, rest: float) -> FloatArray:
    return np.concatenate([np.full(first, float(head)), np.full(n - first, float(rest))])


def _pair(x: FloatArray, x_prime: FloatArray, name: str) -> Pair:
    return Pair(x=x, x_prime=x_prime, name=name)


def _distinct(pairs: Iterable[Pair]) -> list[Pair]:
    kept: dict[frozenset[tuple[float, ...]], Pair] = {}
    for pair in pairs:
        kept.setdefault(frozenset((tuple(pair.x), tuple(pair.x_prime))), pair)
    return list(kept.values())


def in_relation_words(relation: str) -> str:
    """A relation as it is printed."""
    return f"{DATASETS[relation]} ({relation})" if relation in DATASETS else relation


def as_pairs(neighbours: Iterable[Any], relation: str | None = None) -> list[Pair]:
    """Accept pairs in any of the usual forms, and refuse what cannot be a pair of neighbours.

    If the relation is one of `DATASETS`, each pair must be in it: a claim says nothing of other pairs.

    >>> [pair.name for pair in as_pairs([([1, 2], [1, 2, 3])], "add-remove")]
    ['[1, 2] against [1, 2, 3]']
    """
    try:
        found = [_as_pair(entry, relation) for entry in neighbours]
    except TypeError:
        raise bad_value("neighbours", neighbours, "be a list of pairs", help=_PAIRS_HELP) from None
    if not found:
        raise bad_value("neighbours", neighbours, "hold at least one pair", help=_PAIRS_HELP)
    return found


def _as_pair(entry: Any, relation: str | None) -> Pair:
    if isinstance(entry, Pair):
        pair = entry
    else:
        try:
            x, x_prime = entry
        except (TypeError, ValueError):
            raise bad_value("pair", entry, "have two members", help=_PAIRS_HELP) from None
        pair = Pair(_as_input(x), _as_input(x_prime), f"{_words(x)} against {_words(x_prime)}")
    if relation in DATASETS:
        _check_datasets(pair, relation)
    elif _numeric(pair.x) and _numeric(pair.x_prime) and np.shape(pair.x) != np.shape(pair.x_prime):
        shapes = f"{np.shape(pair.x)} and {np.shape(pair.x_prime)}"
        raise bad_value("pair", entry, f"have members of one shape, not {shapes}", help=_PAIRS_HELP)
    if same(pair.x, pair.x_prime):
        raise bad_value("pair", entry, "have two different members", help=_PAIRS_HELP)
    return pair


def _check_datasets(pair: Pair, relation: str) -> None:
    here, there = _records(pair.x), _records(pair.x_prime)
    if here is None or there is None:
        raise bad_value(
            "pair", (pair.x, pair.x_prime), "have datasets as members", help="a dataset is a list of records"
        )
    gone, new = (here - there).total(), (there - here).total()
    if (gone, new) not in {"add-remove": ((0, 1), (1, 0)), "replace-one": ((1, 1),)}[relation]:
        other = "replace-one" if relation == "add-remove" else "add-remove"
        raise InputError(
            f"the pair {pair.name} is not in the relation {relation!r}: {gone} records are gone, {new} new",
            code="DP244",
            help=f"give pairs where {DATASETS[relation]}, or say relation={other!r} if that is claimed",
        )


def _records(dataset: Any) -> Counter[Any] | None:
    """The records of a dataset and how often each occurs; (X, y) and {"X": ..., "y": ...} have rows."""
    try:
        columns = tuple(dataset.values()) if isinstance(dataset, dict) else dataset
        if not isinstance(columns, tuple) or not all(map(np.ndim, columns)):
            columns = (columns,)
        rows = [np.asarray(column).tolist() for column in columns]
        return Counter(repr(row) for row in zip(*rows, strict=True))
    except (TypeError, ValueError):
        return None


def _as_input(value: Any) -> Any:
    # A list of numbers is a vector, as on the command line; anything else stays what it is.
    if isinstance(value, list) and _numeric(value):
        return np.asarray(value, dtype=float)
    return value


def _numeric(value: Any) -> bool:
    try:
        return np.asarray(value).dtype.kind in "biuf"
    except (TypeError, ValueError):
        return False


def same(one: Any, other: Any) -> bool:
    """Whether two inputs are equal, arrays and nested lists included."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    try:
        return bool(np.array_equal(np.asarray(one), np.asarray(other)))
    except (TypeError, ValueError):
        pass
    try:
        return bool(one == other)
    except (TypeError, ValueError):  # an array and a list of no shape
        return False


def _words(value: Any) -> str:
    text = np.array2string(np.asarray(value), threshold=8, separator=", ") if _numeric(value) else None
    return one_line(in_words(repr, value) if text is None else text, 40)


def vectors(dimension: int, *, low: float = 0.0, high: float = 1.0, relation: str = "any") -> Domain:
    """All vectors of `dimension` numbers in [low, high]; "any" two are neighbours, or "one" place differs."""
    n = whole_number("dimension", dimension, least=1, most=2**20, help="try dimension=8")
    return Domain((n,), *_range(low, high), one_of("relation", relation, ("any", "one")))


def datasets(
    rows: int, *, columns: int = 1, low: float = 0.0, high: float = 1.0, relation: str = "replace-one"
) -> Domain:
    """All datasets of `rows` records of `columns` numbers in [low, high].

    Neighbours differ in one record ("replace-one"), or one has a record more ("add-remove"; then `rows` is
    the number of the larger one, at most). A dataset is an array of shape (rows, columns), or (rows,) for one
    column.
    """
    n = whole_number("rows", rows, least=1, most=2**16, help="try rows=5")
    k = whole_number("columns", columns, least=1, most=2**16, help="try columns=1")
    shape = (n,) if k == 1 else (n, k)
    return Domain(shape, *_range(low, high), one_of("relation", relation, ("replace-one", "add-remove")))


def _range(low: object, high: object) -> tuple[float, float]:
    ends = number("low", low), number("high", high)
    if not -np.inf < ends[0] < ends[1] < np.inf:
        raise bad_value("high", high, f"be a finite number above low={low}", help="try low=0.0, high=1.0")
    return ends


class Domain(NamedTuple):
    """Where inputs may lie and which two are neighbours: pairs to start with, and ways to move a pair."""

    shape: tuple[int, ...]
    low: float
    high: float
    relation: str

    def corners(self) -> Iterator[Pair]:
        """Pairs at the corners of the domain and in its middle, the extremes first."""
        for rest_name, rest in (
            ("low", self.low),
            ("high", self.high),
            ("middle", (self.low + self.high) / 2),
        ):
            base = np.full(self.shape, rest)
            for one_name, one in (("low", self.low), ("high", self.high), ("zero", 0.0)):
                if self.low <= one <= self.high:
                    yield from self._from(base, rest_name, one, one_name)
        if self.relation == "any":
            swapped = np.where(np.indices(self.shape).sum(axis=0) % 2 == 0, self.low, self.high)
            yield Pair(swapped, self.low + self.high - swapped, "low and high in turn, swapped")

    def _from(self, base: FloatArray, rest: str, one: float, name: str) -> Iterator[Pair]:
        changed = base.copy()
        changed[0] = one
        if self.relation == "add-remove":
            for rows in sorted({1, 2, self.shape[0]} & set(range(1, self.shape[0] + 1))):
                yield Pair(
                    changed[:rows], changed[1:rows], f"{rows} records, all {rest}, the first {name}: removed"
                )
            return
        if not np.array_equal(changed, base):
            yield Pair(base, changed, f"all {rest}, the first {name}")
        if self.relation == "any" and not np.all(base == one):
            yield Pair(base, np.full(self.shape, one), f"all {rest} against all {name}")

    def drawn(self, rng: np.random.Generator) -> Pair:
        """A random pair of neighbours, half of its numbers at the ends of the range."""
        x = self._numbers(rng, self.shape)
        if self.relation == "any":
            return Pair(x, self._numbers(rng, self.shape), "found at random")
        place = int(rng.integers(self.shape[0]))
        if self.relation == "add-remove":
            x = x[: int(rng.integers(1, self.shape[0] + 1))]
            return Pair(x, np.delete(x, place % len(x), axis=0), "found at random")
        x_prime = x.copy()
        x_prime[place] = self._numbers(rng, np.shape(x[place]))
        return Pair(x, x_prime, "found at random")

    def moved(self, pair: Pair, rng: np.random.Generator, step: float) -> Pair:
        """A pair of neighbours near another: some numbers move by about `step` of the range, or to an end."""
        x, x_prime = np.array(pair.x), np.array(pair.x_prime)
        if self.relation == "any":
            return Pair(self._shaken(x, rng, step), self._shaken(x_prime, rng, step), _SEARCHED)
        if self.relation == "add-remove":
            removed = _removed(x, x_prime)
            x = self._shaken(x, rng, step)
            return Pair(x, np.delete(x, removed, axis=0), _SEARCHED)
        places = np.flatnonzero((x != x_prime).reshape(len(x), -1).any(axis=1))
        place = int(places[0]) if places.size else 0
        shaken = self._shaken(x, rng, step)
        other = shaken.copy()
        other[place] = self._shaken(np.atleast_1d(x_prime[place]), rng, step).reshape(
            np.shape(x_prime[place])
        )
        return Pair(shaken, other, _SEARCHED)

    def _numbers(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        ends = np.where(rng.random(shape) < 0.5, self.low, self.high)
        return np.where(rng.random(shape) < 0.5, ends, rng.uniform(self.low, self.high, size=shape))

    def _shaken(self, x: FloatArray, rng: np.random.Generator, step: float) -> FloatArray:
        chosen = rng.random(x.shape) < max(1 / max(1, x.size), rng.random() ** 3)
        moved = x + step * (self.high - self.low) * rng.standard_normal(x.shape)
        ends = np.where(rng.random(x.shape) < 0.5, self.low, self.high)
        fresh = np.where(rng.random(x.shape) < 0.2, ends, moved)
        return np.clip(np.where(chosen, fresh, x), self.low, self.high)


_SEARCHED = "found by local search"


def _removed(x: FloatArray, x_prime: FloatArray) -> int:
    """The record that x has and x' has not."""
    for place in range(len(x_prime)):
        if not np.array_equal(x[place], x_prime[place]):
            return place
    return len(x_prime)
