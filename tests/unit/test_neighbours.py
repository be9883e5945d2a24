from __future__ import annotations

import numpy as np
import pytest

from dplitmus.errors import InputError
from dplitmus.neighbours import RELATIONS, patterns, zeros_and_ones

DIMENSIONS = [1, 2, 3, 5, 10]


def shown(relation: str, dimension: int) -> list[tuple[list[float], list[float]]]:
    return [(list(pair.x), list(pair.x_prime)) for pair in patterns(relation, dimension)]


def test_one_coordinate_goes_down_or_up() -> None:
    assert shown("one", 3) == [([1, 1, 1], [0, 1, 1]), ([1, 1, 1], [2, 1, 1])]


def test_all_coordinates_follow_the_patterns_of_statdp() -> None:
    ones = [1, 1, 1, 1]
    assert shown("all", 4) == [
        (ones, [0, 1, 1, 1]),
        (ones, [2, 1, 1, 1]),
        (ones, [2, 0, 0, 0]),
        (ones, [0, 2, 2, 2]),
        (ones, [2, 2, 0, 0]),
        (ones, [2, 2, 2, 2]),
        (ones, [0, 0, 0, 0]),
        ([1, 1, 0, 0], [0, 0, 1, 1]),
    ]


def test_any_two_inputs_stay_in_the_unit_cube_and_start_with_the_papers_pair() -> None:
    assert shown("any", 3) == [
        ([0, 0, 0], [1, 1, 1]),
        ([0, 0, 0], [1, 0, 0]),
        ([1, 0, 0], [0, 1, 1]),
    ]
    assert patterns("any", 3)[0].name == zeros_and_ones(3).name


@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("relation", RELATIONS)
def test_every_pattern_is_a_pair_of_neighbours(relation: str, dimension: int) -> None:
    for pair in patterns(relation, dimension):
        changes = np.abs(pair.x - pair.x_prime)
        assert pair.x.shape == pair.x_prime.shape == (dimension,)
        assert changes.max() == 1
        assert relation != "one" or np.count_nonzero(changes) == 1


@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("relation", RELATIONS)
def test_no_pattern_comes_twice_in_either_order(relation: str, dimension: int) -> None:
    pairs = patterns(relation, dimension)
    assert len(pairs) == len({frozenset((tuple(pair.x), tuple(pair.x_prime))) for pair in pairs})
    assert len(pairs) == len({pair.name for pair in pairs})


def test_what_is_no_relation_or_dimension_is_refused() -> None:
    with pytest.raises(InputError, match="relation='some' must be one of 'one', 'all', 'any'"):
        patterns("some", 2)
    with pytest.raises(InputError, match="dimension=0 must be at least 1"):
        patterns("one", 0)
