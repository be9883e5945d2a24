"""Pairs of inputs that the claim must hide from each other.

Takes a dimension, and the relation that makes two inputs neighbours; gives pairs, each with a name to
print. In local privacy any two inputs are neighbours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dplitmus.errors import one_of, whole_number

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dplitmus.mechanisms.base import FloatArray

RELATIONS = ("one", "all", "any")


class Pair(NamedTuple):
    """Two neighbouring inputs, with a name to print."""

    x: FloatArray
    x_prime: FloatArray
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
