from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dplitmus
from dplitmus.errors import InputError
from dplitmus.mechanisms import Copy, DPText, HalvedOutput, Laplace, Random, adept, zoo
from dplitmus.mechanisms.base import as_callee
from dplitmus.mechanisms.dptext import inverse_cdf_eq9, standard_noise
from dplitmus.mechanisms.laplace import (
    SAMPLERS,
    inverse_cdf_eq4,
    inverse_cdf_eq5,
    inverse_cdf_eq7,
    log_survival,
    standard_laplace_cdf,
)

ENDS = np.array([0.0, 0.5, 1.0, 2.0**-53, 1 - 2.0**-53])


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_inverse_cdfs_are_finite_at_the_ends_and_zero_in_the_middle() -> None:
    most = 53 * math.log(2)
    for noise in (inverse_cdf_eq4(ENDS), inverse_cdf_eq5(ENDS), inverse_cdf_eq7(ENDS - 0.5)):
        np.testing.assert_allclose([-most, 0.0, most], noise[:3])
        assert np.isfinite(noise).all()


def test_the_three_equations_are_one_function() -> None:
    u = rng().random(10_000)
    np.testing.assert_array_equal(inverse_cdf_eq4(u), inverse_cdf_eq7(u - 0.5))
    np.testing.assert_allclose(inverse_cdf_eq4(u), inverse_cdf_eq5(u), rtol=1e-12)
    np.testing.assert_allclose(u, standard_laplace_cdf(inverse_cdf_eq5(u)), rtol=1e-12)


def test_inverse_cdfs_leave_their_argument_alone() -> None:
    u = rng().random(100)
    before = u.copy()
    for function in (inverse_cdf_eq4, inverse_cdf_eq5, inverse_cdf_eq7, inverse_cdf_eq9):
        function(u)
        np.testing.assert_array_equal(before, u)


def test_inverse_cdfs_take_plain_numbers() -> None:
    assert math.isclose(math.log(2), float(inverse_cdf_eq4(0.75)))
    assert math.isclose(-math.log(2), float(inverse_cdf_eq5(0.25)))
    assert math.isclose(math.log(2), float(inverse_cdf_eq9(0.25)))
    assert math.isnan(float(inverse_cdf_eq9(0.75)))


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_samplers_give_the_shape_that_was_asked(sampler: str) -> None:
    assert SAMPLERS[sampler](rng(), (3, 5)).shape == (3, 5)


def test_log_survival_is_exact_where_the_tail_underflows() -> None:
    assert log_survival(5000.0) == -5000.0 - math.log(2)
    assert math.isclose(math.log(1 - math.exp(-1) / 2), log_survival(-1.0))


@pytest.mark.parametrize(
    ("query", "data", "shape"),
    [
        (len, [1, 2, 3], (4,)),
        (np.mean, [0.5, 1.5], (4,)),
        (lambda x: np.bincount(x, minlength=3), [0, 2, 2], (4, 3)),
        (lambda x: x, np.zeros((2, 3)), (4, 2, 3)),
    ],
)
def test_laplace_answers_any_numeric_query(query: Any, data: Any, shape: tuple[int, ...]) -> None:
    mechanism = Laplace(epsilon=1e12, sensitivity=1.0, query=query)
    outputs = mechanism(data, 4, rng())
    assert outputs.shape == shape
    np.testing.assert_allclose(np.broadcast_to(query(data), shape), outputs, atol=1e-9)


def test_the_scale_is_sensitivity_over_epsilon() -> None:
    """Mean absolute noise is the scale; five standard errors: false failure below 1e-6."""
    n = 1_000_000
    for sampler in SAMPLERS:
        mechanism = Laplace(epsilon=0.5, sensitivity=3.0, sampler=sampler)
        mean = np.abs(mechanism(0.0, n, rng(7))).mean()
        assert abs(mean - 6.0) < 5 * 6.0 / math.sqrt(n)


def test_a_query_without_closed_form_says_so() -> None:
    mechanism = Laplace(epsilon=1.0, sensitivity=1.0, query=len)
    assert mechanism.rounded_bit(0.0) is None
    assert HalvedOutput(laplace=mechanism).rounded_bit(0.0) is None


def test_bad_parameters_are_refused() -> None:
    for build in (Laplace, DPText):
        with pytest.raises(InputError, match="epsilon=0 must"):
            build(epsilon=0, sensitivity=1.0)
        with pytest.raises(InputError, match="sensitivity=nan must"):
            build(epsilon=1.0, sensitivity=math.nan)
    with pytest.raises(InputError, match="sampler='eq6' must be one of"):
        Laplace(epsilon=1.0, sensitivity=1.0, sampler="eq6")
    with pytest.raises(InputError, match="reading='drop' must be one of"):
        DPText(epsilon=1.0, sensitivity=1.0, reading="drop")


def test_dptext_noise_is_never_negative_and_half_nan() -> None:
    """The share of NaN within five standard errors of one half: false failure below 1e-6."""
    n = 100_000
    kept = standard_noise(rng(1), (n,), "keep")
    assert abs(np.isnan(kept).mean() - 0.5) < 2.5 / math.sqrt(n)
    assert np.nanmin(kept) >= 0
    zeroed = standard_noise(rng(1), (n,), "zero")
    np.testing.assert_array_equal(np.isnan(kept), zeroed == 0)
    np.testing.assert_array_equal(kept[~np.isnan(kept)], zeroed[zeroed > 0])
    redrawn = standard_noise(rng(1), (n,), "redraw")
    assert redrawn.min() > 0
    np.testing.assert_array_equal(kept[~np.isnan(kept)], redrawn[~np.isnan(kept)])


def test_redrawn_dptext_noise_is_exponential() -> None:
    """Kolmogorov distance below the Dvoretzky-Kiefer-Wolfowitz bound: false failure 1e-6."""
    n = 200_000
    noise = np.sort(standard_noise(rng(2), (n,), "redraw"))
    distance = np.abs(-np.expm1(-noise) - np.arange(n) / n).max()
    assert distance < math.sqrt(math.log(2e6) / (2 * n)) + 1 / n


def test_baselines_do_what_they_say() -> None:
    x = np.array([0.0, 1.0, 1.0])
    np.testing.assert_array_equal([x, x], Copy()(x, 2, rng()))
    assert set(np.unique(Random()(x, 100, rng()))) == {0.0, 1.0}
    laplace = Laplace(epsilon=1.0, sensitivity=3.0)
    np.testing.assert_array_equal(0.5 * laplace(x, 5, rng(3)), HalvedOutput(laplace=laplace)(x, 5, rng(3)))


def test_adept_ignores_the_dimension() -> None:
    assert adept(epsilon=0.5).scale == 2.0
    assert zoo.find("adept").build(0.5, 128) == adept(epsilon=0.5)


def test_each_lifts_functions_of_one_input() -> None:
    np.testing.assert_array_equal([3, 3], dplitmus.each(lambda x: x + 1)(2, 2))  # type: ignore[call-arg]
    assert len(dplitmus.each(lambda x, rng: x + rng.random())(2, 4, rng())) == 4
    assert len(dplitmus.each(_keyword)(2, 4, rng())) == 4
    with pytest.raises(InputError, match="DP205"):
        dplitmus.each(lambda: 1)


def _keyword(x: float, *, rng: np.random.Generator) -> float:
    return x + rng.random()


@pytest.mark.parametrize(
    ("function", "takes_rng"),
    [
        (lambda x, n, rng: [x + rng.random()] * n, True),
        (lambda x, n: [x] * n, False),
        (lambda *arguments: arguments, True),
        (dplitmus.each(lambda x: x), False),
        (dplitmus.each(lambda x, rng: x + rng.random()), True),
        (dplitmus.each(_keyword), True),
    ],
)
def test_calling_conventions(function: Any, takes_rng: bool) -> None:  # noqa: FBT001
    callee = as_callee(function)
    assert callee.takes_rng is takes_rng
    assert len(callee.call(0.0, 3, rng())) == 3


@pytest.mark.parametrize("nothing", [None, 3, "zoo:laplace", lambda x: x, lambda: None])
def test_what_is_no_mechanism_is_refused(nothing: Any) -> None:
    with pytest.raises(InputError, match="DP205"):
        as_callee(nothing)
