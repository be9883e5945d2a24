from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest

from dplitmus.neighbours import Pair
from dplitmus.outputs import Geometry, encode, join, labelled, missing


@pytest.mark.parametrize(
    "outputs",
    [
        ["a", "b", "a"],
        [(1, "x"), (2, "y"), (1, "x")],
        [None, 1.5, None],
        [frozenset({1}), frozenset({2}), frozenset({1})],
        [[1, 2], [1], [1, 2]],
        np.array([1.5, 2.5, 1.5]),
        np.array([[1, 2], [3, 4], [1, 2]]),
        np.array([True, False, True]),
        [math.nan, 1.0, math.nan],
        [-0.0, 1.0, 0.0],
    ],
)
def test_equal_outputs_have_equal_keys_and_others_do_not(outputs: Any) -> None:
    keys = encode(outputs).keys
    assert keys[0] == keys[2] != keys[1]


def test_symbols_keep_their_names_and_numbers_need_none() -> None:
    encoded = encode(["yes", "no"])
    assert sorted(encoded.names.values()) == ["'no'", "'yes'"]
    assert encode(np.zeros(3)).names == {}
    np.testing.assert_array_equal([[3.0], [2.0]], encoded.values)  # lengths


def test_keys_do_not_depend_on_the_process() -> None:
    """Python salts the hash of strings; a key must be the same in every worker."""
    assert int(encode(["yes"]).keys[0]) == 8887684835468001680


def test_rows_are_put_in_the_order_of_their_labels() -> None:
    labels = np.array([True, False, True])
    pair = Pair(0.0, 1.0, "")
    batch = labelled(encode(np.array([5.0])), encode(np.array([6.0, 7.0])), labels, pair)
    np.testing.assert_array_equal([6.0, 5.0, 7.0], batch.values[:, 0])
    wide = labelled(encode(np.zeros((1, 1))), encode(np.ones((2, 3))), labels, pair)
    assert wide.values.shape == (3, 3)
    assert np.isnan(wide.values[1, 1:]).all()


def test_what_the_inputs_tell_is_taken_from_earlier_outputs_of_the_same_width() -> None:
    labels = np.array([False, True])
    pair = Pair(np.zeros(2), np.ones(2), "")
    first = labelled(encode(np.zeros((1, 2))), encode(np.ones((1, 2))), labels, pair)
    again = labelled(encode(np.zeros((1, 2))), encode(np.ones((1, 2))), labels, pair, first)
    assert again.inputs is first.inputs
    wider = labelled(encode(np.zeros((1, 4))), encode(np.ones((1, 4))), labels, pair, first)
    assert wider.inputs is not None
    assert wider.inputs.times == 2


def test_orientation_centres_between_the_inputs_and_drops_what_does_not_differ() -> None:
    geometry = Geometry.of([0.0, 5.0, 2.0], [1.0, 5.0, 0.0], 3)
    assert geometry is not None
    assert not geometry.trivial
    np.testing.assert_array_equal([[0.5, 1.0]], geometry.oriented(np.array([[1.0, 9.0, 0.0]])))


def test_a_part_of_a_batch_shares_what_was_worked_out_and_nothing_of_it_travels() -> None:
    outputs = encode(np.arange(12.0).reshape(6, 2))
    pair = Pair(np.zeros(2), np.ones(2), "zeros and ones")
    batch = labelled(outputs.rows(slice(0, 3)), outputs.rows(slice(3, 6)), np.arange(6) >= 3, pair)
    assert np.shares_memory(batch.oriented, batch.rows(slice(1, 4)).oriented)
    np.testing.assert_array_equal(batch.oriented[[4, 2]], batch.rows(np.array([4, 2])).oriented)
    assert "oriented" not in vars(copy.copy(batch))  # a copy has what a pickle has


@pytest.mark.parametrize(
    ("output", "flags"),
    [
        ([-1.0, -1.0], "< <"),
        ([0.0, 2.0], "= <>"),
        ([1.0, 1.0], "<> <>"),
        ([2.0, 0.0], "<> ="),
        ([math.nan, 3.0], "> >"),
        ([math.nan, math.nan], " "),
    ],
)
def test_regions_tell_where_an_output_lies_from_the_inputs(output: list[float], flags: str) -> None:
    """From x = (0, 2) and x' = (2, 0): some coordinate below, equal to, above that of x, and of x'."""
    x, x_prime = np.array([0.0, 2.0]), np.array([2.0, 0.0])
    geometry = Geometry.of(x, x_prime, 2)
    assert geometry is not None
    code = int(geometry.regions(np.array([output]))[0])
    said = ["".join(sign for k, sign in enumerate("<=>") if code >> (3 * side + k) & 1) for side in (0, 1)]
    assert " ".join(said) == flags


@pytest.mark.parametrize(
    ("x", "x_prime"),
    [("a", "b"), ([0.0] * 3, [1.0] * 3), (0.0, math.inf), (None, 1.0), ([1.0, 2.0], [1.0, 2.0])],
)
def test_inputs_that_outputs_cannot_be_compared_with_have_no_geometry(x: Any, x_prime: Any) -> None:
    assert Geometry.of(x, x_prime, 2) is None


def test_inputs_stand_behind_each_of_several_outputs_of_their_shape() -> None:
    """Two releases side by side: the moves are known; experts that compare with the inputs keep out."""
    pair = Pair(np.array([0.0, 5.0, 1.0]), np.array([1.0, 5.0, -3.0]), "")
    batch = labelled(encode(np.ones((4, 6))), None, np.zeros(4, dtype=bool), pair)
    assert batch.geometry is None
    assert batch.inputs is not None
    assert batch.inputs.times == 2
    assert batch.inputs.differ.tolist() == [0, 2, 3, 5]
    assert batch.inputs.moves.tolist() == [0.25, -1.0, 0.25, -1.0]


@pytest.mark.parametrize("size", [1e308, 5e-324])
def test_moves_of_any_size_are_numbers(size: float) -> None:
    geometry = Geometry.of([-size, 0.0], [size, 0.0], 2)
    assert geometry is not None
    assert geometry.moves.tolist() == [1.0]


def test_lists_of_numbers_are_rows_whatever_their_lengths() -> None:
    outputs = [[0.5, 1.5], [2.5], np.array([0.5, 1.5]), [], None, [1, 2], (0.5, math.nan)]
    encoded = encode(outputs)
    assert encoded.values.shape == (len(outputs), 2)
    np.testing.assert_array_equal([[0.5, 1.5], [2.5, math.nan]], encoded.values[:2])
    rows = [[False] * 2, [False, True], [False] * 2, [True] * 2, [False, True], [False] * 2, [False] * 2]
    assert missing(encoded.values).tolist() == rows
    assert set(encoded.names.values()) == {"[]", "None"}
    assert encoded.keys[0] == encoded.keys[2] == encode(np.array([[0.5, 1.5]])).keys[0]
    assert encoded.keys[1] == encode([[2.5], [3.5]]).keys[0]
    assert encoded.keys[5] == encode(np.array([[1, 2]])).keys[0]
    assert len(set(encoded.keys.tolist())) == len(outputs) - 1


def test_numbers_are_seen_among_other_things_each_in_its_place() -> None:
    outputs = [
        ("a", 1.5, None),
        ("b", 1.5, None),
        {"v": 2, "k": "a"},
        ("a", "b"),
        (True, 10**400),
        {"v": 3.0},
    ]
    encoded = encode(outputs)
    nan = math.nan
    rows = [[nan, 1.5, nan], [nan, 1.5, nan], [nan, 2, nan], [2, nan, nan], [1, math.inf, nan], [3, nan, nan]]
    np.testing.assert_array_equal(rows, encoded.values)
    assert len(set(encoded.keys.tolist())) == len(outputs)
    assert {repr(output)[:200] for output in outputs[:4]} <= set(encoded.names.values())
    for k, output in enumerate(outputs):
        assert encode([output, "other"]).keys[0] == encoded.keys[k], "in any company"
    strange = [np.array("a"), np.array(["a", None, 2], dtype=object), [[1, 2], [3]], [1j, 2], {}, ("a", [2])]
    np.testing.assert_array_equal([[nan, nan, 2]], encode(strange).values[1:2])


def test_batches_of_different_widths_are_joined_in_that_of_the_widest() -> None:
    pair = Pair(np.zeros(2), np.ones(2), "zeros and ones")
    narrow, wide = (
        labelled(encode(np.zeros((3, columns))), None, np.zeros(3, dtype=bool), pair) for columns in (1, 2)
    )
    for batches in ([narrow, wide], [wide, narrow]):
        both = join(batches)
        assert both.values.shape == (6, 2)
        assert both.geometry is not None
        assert missing(both.values).sum() == 3
