"""Pairs of inputs that the claim must hide from each other.

Takes a dimension, and the relation that makes two inputs neighbours; gives pairs, each with a name to
print. In local privacy any two inputs are neighbours.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dplitmus.errors import InputError, bad_value, in_words, one_line, one_of, whole_number

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dplitmus.mechanisms.base import FloatArray

RELATIONS = ("one", "all", "any")
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


def patterns(relation: str, dimension: int) -> list[Pair]:
    """Return the usual pairs to try, none of them twice (a pair and its reverse are the same).

    `relation` "one": one coordinate changes by at most 1. "all": every coordinate may change by at most 1;
    these two start from ones and are the patterns of StatDP (Ding et al. 2018). "any": any two vectors in
    [0, 1]^n, the local model.

    >>> [pair.name for pair in patterns("one", 5)]
    ['ones, the first down', 'ones, the first up']
    """
    one_of("relation", relation, RELATIONS)
    n = whole_number("dimension", dimension, least=1, help="try dimension=1")
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
