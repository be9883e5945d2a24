from __future__ import annotations

import math

import numpy as np
import pytest

from dplitmus import errors
from dplitmus.claim import Claim


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, -math.inf])
def test_epsilon_out_of_range_is_refused_and_shown(value: float) -> None:
    with pytest.raises(
        errors.InputError, match=r"error\[DP201\]: epsilon=.* must be a finite number above 0"
    ):
        Claim(epsilon=value)


@pytest.mark.parametrize("value", ["1", None, True, [1.0], 1j, object()])
def test_epsilon_that_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(errors.InputError, match="must be a number"):
        Claim(epsilon=value)  # type: ignore[arg-type]


def test_numpy_numbers_are_numbers() -> None:
    assert Claim(epsilon=np.float32(0.5)) == Claim(epsilon=0.5)  # type: ignore[arg-type]
    assert errors.whole_number("samples", np.int64(3), least=1, help="") == 3


@pytest.mark.parametrize("value", [1.0, "3", True, None])
def test_a_count_must_be_a_whole_number(value: object) -> None:
    with pytest.raises(errors.InputError, match="must be a whole number"):
        errors.whole_number("samples", value, least=1, help="try 1")


def test_delta_lies_between_zero_and_one() -> None:
    assert Claim(epsilon=1, delta=0.5).delta == 0.5
    for delta in (-0.1, 1.0, math.nan):
        with pytest.raises(errors.InputError, match="delta="):
            Claim(epsilon=1, delta=delta)


def test_a_value_that_cannot_be_printed_still_gives_an_error() -> None:
    class Hostile:
        def __repr__(self) -> str:
            raise ValueError("no")

    with pytest.raises(errors.InputError, match="<Hostile that cannot be printed>"):
        errors.positive_number("epsilon", Hostile())


def test_a_long_value_is_cut() -> None:
    message = errors.bad_value("x", "a" * 1000, "be short", help="cut it").message
    assert len(message) < 120


def test_errors_are_caught_by_their_base_and_by_the_builtin_kind() -> None:
    assert issubclass(errors.InputError, errors.DplitmusError | ValueError)
    missing = errors.MissingExtraError("matplotlib", extra="plots", purpose="drawing")
    assert isinstance(missing, ImportError)
    assert missing.help == "pip install 'dplitmus[plots]'"
    assert (missing.exit_status, errors.MechanismError.exit_status) == (2, 3)


@pytest.mark.parametrize(
    "error",
    [
        errors.bad_value("epsilon", 0, "be above 0", help="try 1"),
        errors.MechanismError("it raised", code="DP401", help="repair it"),
        errors.MissingExtraError("matplotlib", extra="plots", purpose="drawing"),
    ],
)
def test_errors_cross_process_borders_whole(error: errors.DplitmusError) -> None:
    import pickle

    again = pickle.loads(pickle.dumps(error))  # noqa: S301  (our own bytes)
    assert type(again) is type(error)
    assert (str(again), again.code, again.help) == (str(error), error.code, error.help)


def test_text_from_outside_is_made_fit_to_print() -> None:
    assert errors.one_line("a\nb\x1b[31mc") == "a b [31mc"
    assert errors.one_line("x" * 100) == "x" * 77 + "..."
