"""The noise layer: right by default, wrong only on purpose."""

from __future__ import annotations

import math

import pytest
import torch

from dplitmus.errors import InputError
from dplitmus.text.bound import KINDS, Bound
from dplitmus.text.layer import BoundedLaplace, published
from dplitmus.text.sampling import dptext_literal, dptext_zero, noise


def generator(seed: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dimension", [2, 33])
def test_no_two_bounded_vectors_are_farther_apart_than_the_sensitivity(kind: str, dimension: int) -> None:
    bound = Bound(kind=kind, radius=1.5, dimension=dimension)
    z = bound.clip(torch.randn(300, dimension, dtype=torch.float64, generator=generator()) * 20)
    assert torch.cdist(z, z, p=1).max() <= bound.diameter * (1 + 1e-12)


@pytest.mark.parametrize("dimension", [1, 5])
@pytest.mark.parametrize("kind", ["l1", "l2", "box"])
def test_the_sensitivity_is_reached(kind: str, dimension: int) -> None:
    bound = Bound(kind=kind, radius=2.0, dimension=dimension)
    ends = bound.clip(torch.stack([torch.full((dimension,), side) for side in (99.0, -99.0)]).double())
    assert float((ends[0] - ends[1]).abs().sum()) == pytest.approx(bound.diameter)


def test_one_number_cannot_be_scaled_by_its_own_extremes() -> None:
    with pytest.raises(InputError, match="dimension=1 must be at least 2"):
        Bound(kind="min-max", radius=1.0, dimension=1)


@pytest.mark.parametrize("kind", KINDS)
def test_clipping_has_finite_gradients_at_zero_and_far_away(kind: str) -> None:
    for value in (0.0, 1e-30, 1e8):
        z = torch.full((2, 3), value, requires_grad=True)
        Bound(kind=kind, radius=1.0, dimension=3).clip(z).sum().backward()
        assert z.grad is not None
        assert torch.isfinite(z.grad).all()


def test_the_literal_formula_gives_a_nan_gradient() -> None:
    """Replacing NaN by zero after the formula repairs the noise, but not the gradient of epsilon."""
    v = torch.tensor([0.2, 0.4, 0.7], dtype=torch.float64)
    for repair in (torch.nan_to_num, lambda drawn: torch.where(drawn.isnan(), 0.0, drawn)):
        epsilon = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
        repaired = repair(dptext_literal(v, 1 / epsilon))
        assert torch.isfinite(repaired).all()
        repaired.sum().backward()
        assert epsilon.grad is not None
        assert torch.isnan(epsilon.grad)


def test_the_double_where_gives_the_same_noise_with_a_finite_gradient() -> None:
    v = torch.rand(1000, dtype=torch.float64, generator=generator())
    epsilon = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    drawn = dptext_zero(v, 1 / epsilon)
    assert torch.equal(torch.nan_to_num(dptext_literal(v, torch.tensor(1.0).double())), drawn.detach())
    drawn.sum().backward()
    assert epsilon.grad is not None
    assert float(epsilon.grad) == pytest.approx(-float(drawn.detach().sum()))


def test_laplace_noise_has_its_scale_and_both_signs() -> None:
    """With 200,000 draws the mean of |noise| is within 0.02 of the scale but for probability 1e-15."""
    drawn = noise("laplace", (200_000,), torch.tensor(2.0).double(), generator())
    assert float(drawn.abs().mean()) == pytest.approx(2.0, abs=0.04)
    assert float((drawn < 0).double().mean()) == pytest.approx(0.5, abs=0.01)


def test_published_samplers_show_their_marks() -> None:
    scale = torch.tensor(1.0).double()
    zero = noise("dptext-zero", (10_000, 4), scale, generator())
    assert float((zero == 0).double().mean()) == pytest.approx(0.5, abs=0.03)
    redraw = noise("dptext-redraw", (10_000, 4), scale, generator())
    assert bool((redraw >= 0).all())
    assert float(redraw.mean()) == pytest.approx(1.0, abs=0.05)
    scalar = noise("one-scalar", (100, 4), scale, generator())
    assert bool((scalar == scalar[:, :1]).all())


def test_noise_is_added_in_training_and_in_evaluation() -> None:
    layer = BoundedLaplace(3, epsilon=1.0)
    z = torch.zeros(5, 3)
    for _ in range(2):
        with torch.no_grad():
            assert not torch.equal(layer(z), layer(z))
        layer.eval()


@pytest.mark.parametrize("raw", [-50.0, 0.0, 50.0])
def test_a_learned_epsilon_stays_within_the_budget(raw: float) -> None:
    layer = BoundedLaplace(3, epsilon=2.0, learn=True)
    layer.raw_epsilon.data.fill_(raw)
    assert 0 < layer.epsilon.item() <= 2.0
    layer(torch.randn(4, 3)).square().sum().backward()
    assert layer.raw_epsilon.grad is not None
    assert torch.isfinite(layer.raw_epsilon.grad)


def test_a_learned_epsilon_starts_where_it_is_told() -> None:
    assert float(BoundedLaplace(3, epsilon=2.0, learn=True, start=0.5).epsilon.detach()) == pytest.approx(
        0.5, rel=1e-4
    )
    free = BoundedLaplace(3, epsilon=2.0, learn=True, start=7.0, cap=False, unsafe=True)
    assert free.epsilon.item() == pytest.approx(7.0)
    with pytest.raises(InputError, match="start"):
        BoundedLaplace(3, epsilon=2.0, learn=True, start=3.0)


@pytest.mark.parametrize(
    "settings",
    [
        {"bound": "l2", "sensitivity": 2.0},
        {"bound": "l1", "sensitivity": 1.0},
        {"bound": "box", "sensitivity": 2.0},
        {"sampler": "dptext-zero"},
        {"sampler": "dptext-redraw"},
        {"sampler": "one-scalar"},
        {"learn": True, "cap": False},
    ],
)
def test_mistakes_are_refused_unless_wanted(settings: dict[str, object]) -> None:
    with pytest.raises(InputError, match="DP225"):
        BoundedLaplace(4, epsilon=1.0, **settings)  # type: ignore[arg-type]
    assert not BoundedLaplace(4, epsilon=1.0, unsafe=True, **settings).honest  # type: ignore[arg-type]


@pytest.mark.parametrize("system", ["dptext-zero", "dptext-redraw", "adept", "dpnr"])
def test_published_systems_can_be_built_and_are_not_honest(system: str) -> None:
    layer = published(system, 16, epsilon=1.0)
    assert not layer.honest
    assert torch.isfinite(layer(torch.randn(3, 16))).all()


def test_the_scale_of_adept_is_too_small_by_the_root_of_the_dimension() -> None:
    right = BoundedLaplace(64, epsilon=1.0, bound="l2", radius=5.0)
    assert right.sensitivity == pytest.approx(published("adept", 64, epsilon=1.0, radius=5.0).sensitivity * 8)


def test_dpnr_gives_the_input_back() -> None:
    layer = published("dpnr", 50, epsilon=0.05)
    z = torch.randn(4, 50, dtype=torch.float64, generator=generator())
    out = layer(z, generator())
    recovered = out - out.amin(dim=1, keepdim=True)
    assert torch.allclose(recovered, layer.bounded(z), atol=1e-11)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_refused(dtype: torch.dtype) -> None:
    with pytest.raises(InputError, match="half-precision"):
        BoundedLaplace(3, epsilon=1.0)(torch.zeros(1, 3, dtype=dtype))


def test_autocast_is_refused() -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16), pytest.raises(InputError, match="autocast"):
        BoundedLaplace(3, epsilon=1.0)(torch.zeros(1, 3))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_non_finite_input_is_refused(value: float) -> None:
    with pytest.raises(InputError, match="finite"):
        BoundedLaplace(3, epsilon=1.0)(torch.tensor([[0.0, value, 0.0]]))


@pytest.mark.parametrize(
    ("dimension", "settings"), [(4, {}), (3, {"radius": 2.0}), (3, {"bound": "box"}), (3, {"epsilon": 2.0})]
)
def test_weights_of_another_claim_are_refused(dimension: int, settings: dict[str, object]) -> None:
    saved = BoundedLaplace(3, epsilon=1.0, learn=True).state_dict()
    BoundedLaplace(3, epsilon=1.0, learn=True).load_state_dict(saved)
    other = BoundedLaplace(dimension, **{"epsilon": 1.0, "learn": True, **settings})  # type: ignore[arg-type]
    with pytest.raises(InputError, match="the saved layer"):
        other.load_state_dict(saved)


@pytest.mark.parametrize(
    "settings", [{"epsilon": 0}, {"epsilon": 1, "radius": -1}, {"epsilon": 1, "bound": "l3"}]
)
def test_bad_values_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(InputError, match="DP201"):
        BoundedLaplace(3, **settings)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="relation"):
        BoundedLaplace(3, epsilon=1.0, relation="one word")
