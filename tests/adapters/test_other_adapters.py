"""python-dp, Opacus, torch modules; versions; objects of no library."""

from __future__ import annotations

import importlib
from importlib import metadata
from typing import Any

import numpy as np
import pytest

import dplitmus
from dplitmus.adapters import adapt, installed, library_of
from dplitmus.errors import InputError, MissingExtraError


@pytest.fixture(name="torch")
def fixture_torch() -> Any:
    return pytest.importorskip("torch", reason="torch is not installed: pip install 'dplitmus[adapters]'")


def test_a_function_is_of_no_library() -> None:
    assert library_of(len) is None
    assert library_of(lambda x, n, rng: x) is None
    with pytest.raises(InputError, match=r"DP242(.|\n)*adapters: opendp, diffprivlib"):
        adapt(3)


def test_datasets_of_different_length_are_told_apart_in_the_report() -> None:
    """The input itself is released: the audit misses that with probability below 1e-6."""

    def size(x: Any, n: int, rng: np.random.Generator) -> Any:
        return np.full(n, len(x)) + rng.laplace(scale=0.1, size=n)

    pair = (np.zeros(11), np.zeros(12))
    result = dplitmus.audit(
        size, epsilon=1.0, neighbours=[pair], relation="add-remove", samples=5_000, seed=1
    )
    assert "they have 11 and 12 records" in str(result)
    assert "<html" in result.to_html()
    with pytest.raises(InputError, match="have members of one shape"):
        dplitmus.audit(size, epsilon=1.0, neighbours=[pair], samples=10)


# Versions


def pretend(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(metadata, "version", lambda package: version)


@pytest.mark.parametrize(
    ("library", "version", "age", "help_"),
    [
        ("opendp", "0.11.1", "old", "pip install 'opendp>=0.12,<0.17'"),
        ("opendp", "0.17.0", "new", "pip install 'opendp>=0.12,<0.17'"),
        ("diffprivlib", "0.7.0", "new", "pip install 'diffprivlib>=0.6.5,<0.7' 'scikit-learn<1.9'"),
        ("pydp", "1.0.3", "old", "pip install 'python-dp>=1.1.4,<1.2'"),
        ("opacus", "2.0", "new", "pip install 'opacus>=1.5,<1.7'"),
        ("torch", "1.13.1+cu117", "old", "pip install 'torch>=2.4,<3'"),
    ],
)
def test_a_version_that_was_not_tried_is_refused_with_those_that_were(
    library: str, version: str, age: str, help_: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, version)
    with pytest.raises(InputError, match=f"too {age} for this adapter") as caught:
        installed.load(library)
    assert caught.value.code == "DP241"
    assert help_ in caught.value.help


def test_a_library_that_does_not_import_is_told_with_what_repairs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> Any:
        raise ImportError(f"cannot import name '_fit' in {name}")

    pretend(monkeypatch, "0.6.6")
    monkeypatch.setattr(importlib, "import_module", broken)
    with pytest.raises(InputError, match=r"diffprivlib 0.6.6 cannot be imported(.|\n)*scikit-learn<1.9"):
        installed.load("diffprivlib")


def test_a_missing_library_is_told_with_the_pip_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(package: str) -> str:
        raise metadata.PackageNotFoundError(package)

    monkeypatch.setattr(metadata, "version", nothing)
    with pytest.raises(
        MissingExtraError, match=r"python-dp, which is not installed(.|\n)*dplitmus\[adapters\]"
    ):
        installed.load("pydp")


# python-dp


@pytest.fixture(name="pydp")
def fixture_pydp() -> Any:
    return pytest.importorskip("pydp", reason="python-dp is not installed: pip install 'dplitmus[adapters]'")


def test_a_mechanism_of_python_dp_tells_its_claim(pydp: Any) -> None:
    numerical = importlib.import_module("pydp.algorithms.numerical_mechanisms")
    adapted = adapt(numerical.LaplaceMechanism(epsilon=0.5, sensitivity=2.0))
    assert (adapted.claim.epsilon, adapted.claim.delta, adapted.sensitivity) == (0.5, 0.0, 2.0)
    gaussian = adapt(numerical.GaussianMechanism(1.0, 1e-5, 3.0))
    assert (gaussian.claim.delta, gaussian.sensitivity) == (1e-5, 3.0)
    with pytest.raises(InputError, match="DP244"):
        dplitmus.audit(adapted, neighbours=[(0.0, 3.0)], samples=10)
    with pytest.raises(InputError, match=r"DP242(.|\n)*LaplaceMechanism cannot be audited: it is a class"):
        adapt(numerical.LaplaceMechanism)


def test_a_mechanism_of_python_dp_is_audited_as_it_is(pydp: Any) -> None:
    """A false alarm has probability at most 1e-6."""
    numerical = importlib.import_module("pydp.algorithms.numerical_mechanisms")
    mechanism = numerical.LaplaceMechanism(epsilon=1.0, sensitivity=1.0)
    assert dplitmus.audit(mechanism, samples=3_000, seed=1).verdict == "not-found"
    wrong = dplitmus.audit(mechanism, epsilon=0.2, samples=40_000, seed=1)
    assert wrong.verdict == "violated"  # missed with probability below 1e-6


def test_an_algorithm_of_python_dp_asks_for_its_bounds(pydp: Any) -> None:
    laplacian = importlib.import_module("pydp.algorithms.laplacian")
    mean = laplacian.BoundedMean(epsilon=1.0, lower_bound=0, upper_bound=10, dtype="float")
    with pytest.raises(InputError, match=r"DP243(.|\n)*does not tell its bounds"):
        adapt(mean)
    adapted = adapt(mean, bounds=(0, 10))
    assert (adapted.relation, adapted.claim.epsilon) == ("add-remove", 1.0)
    assert len(adapted(adapted.neighbours[0].x, 2)) == 2
    assert adapt(laplacian.Count(epsilon=1.0, dtype="int")).relation == "add-remove"


# torch


def layer(torch: Any, *, scale: float, shared: bool = False) -> Any:
    class Layer(torch.nn.Module):  # type: ignore[misc]
        epsilon = 1.0

        def forward(self, x: Any) -> Any:
            shape = x.shape[1:] if shared else x.shape
            return x + torch.distributions.Laplace(0.0, scale).sample(shape)

    return Layer()


def test_a_module_tells_the_epsilon_it_has_and_asks_for_the_rest(torch: Any) -> None:
    with pytest.raises(InputError, match="does not tell its neighbours"):
        adapt(layer(torch, scale=1.0))
    with pytest.raises(InputError, match="Linear does not tell an epsilon"):
        adapt(torch.nn.Linear(1, 1), neighbours=[([0.0], [1.0])])
    with pytest.raises(InputError, match="Linear cannot be audited: it is no instance"):
        adapt(torch.nn.Linear)


def test_a_module_with_half_the_noise_is_refuted_and_replays(torch: Any) -> None:
    """It loses 2 at a claim of 1: missed with probability below 1e-6."""
    module = layer(torch, scale=0.5)
    details: dict[str, Any] = {"neighbours": [([0.0], [1.0])], "rows_are_independent": True}
    adapted = adapt(module, **details)
    results = [dplitmus.audit(adapted, samples=20_000, seed=3) for _ in range(2)]
    assert results[0].verdict == "violated"
    assert results[0] == results[1]
    assert results[0].replayable
    assert "in training mode" in str(results[0].claimed_by)
    assert "in eval mode" in adapt(module.eval(), **details).claimed_by


def test_every_draw_is_a_pass_of_its_own_unless_the_user_says_that_rows_are_independent(torch: Any) -> None:
    module = layer(torch, scale=1.0, shared=True)
    draws = adapt(module, neighbours=[([0.0], [1.0])])(np.array([0.0]), 50)
    assert len(np.unique(draws)) == 50


def test_the_bits_of_a_module_are_kept(torch: Any) -> None:
    module = layer(torch, scale=1.0).half()
    half = torch.nn.Linear(1, 1, bias=False, dtype=torch.float64)
    assert np.float64 == adapt(half, epsilon=1.0, neighbours=[([0.0], [1.0])])(np.array([0.0]), 2).dtype
    assert np.float32 == adapt(module, neighbours=[([0.0], [1.0])])(np.array([0.0]), 2).dtype


def test_a_module_that_is_written_as_a_mechanism_is_one(torch: Any) -> None:
    class Batched(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any, n: int, rng: np.random.Generator) -> Any:
            return x + rng.laplace(size=n)

    assert library_of(Batched()) is None


# Opacus


@pytest.fixture(name="optimizer")
def fixture_optimizer(torch: Any) -> Any:
    pytest.importorskip("opacus", reason="opacus is not installed: pip install 'dplitmus[adapters]'")
    from opacus.optimizers import DPOptimizer

    inner = torch.optim.SGD(torch.nn.Linear(2, 1, bias=False).parameters(), lr=0.1)
    return DPOptimizer(inner, noise_multiplier=1.0, max_grad_norm=1.0, expected_batch_size=1)


@pytest.mark.filterwarnings("ignore")  # Opacus' own
def test_a_step_of_opacus_claims_what_its_accountant_says(optimizer: Any) -> None:
    with pytest.raises(InputError, match="does not tell a delta"):
        adapt(optimizer)
    adapted = adapt(optimizer, delta=1e-5)
    # The exact curve of the Gaussian mechanism: delta(4.377) = 1e-5 at noise 1 (Balle and Wang 2018).
    assert adapted.claim.epsilon == pytest.approx(4.38, abs=0.02)
    assert (adapted.sensitivity, adapted.relation) == (1.0, "add-remove")


@pytest.mark.filterwarnings("ignore")
def test_a_step_clips_adds_noise_and_leaves_the_users_objects_alone(optimizer: Any) -> None:
    steps: list[object] = []
    optimizer.attach_step_hook(steps.append)
    adapted = adapt(optimizer, delta=1e-5, epsilon=4.4)
    far = adapted(np.array([[0.0, 0.0], [1e6, 0.0]]), 400)
    assert abs(far[:, 0].mean() - 1.0) < 5.0 / 20  # clipped to 1; five standard errors
    assert 0.8 < far[:, 1].std() < 1.2
    assert steps == []


@pytest.mark.filterwarnings("ignore")
def test_a_step_of_a_privacy_engine_runs_on_records(torch: Any, optimizer: Any) -> None:
    from opacus import PrivacyEngine
    from torch.utils.data import DataLoader, TensorDataset

    data = TensorDataset(torch.ones(4, 2), torch.ones(4, 1))
    module = torch.nn.Linear(2, 1)
    module, optimizer, _ = PrivacyEngine().make_private(
        module=module,
        optimizer=torch.optim.SGD(module.parameters(), lr=0.1),
        data_loader=DataLoader(data, batch_size=4),
        noise_multiplier=1.0,
        max_grad_norm=1.0,
    )
    start = (np.ones((1, 2)), np.ones((1, 1)))
    more = (np.ones((2, 2)), np.ones((2, 1)))
    adapted = adapt(
        optimizer, module=module, loss=torch.nn.MSELoss(), delta=1e-5, epsilon=4.4, neighbours=[(start, more)]
    )
    assert adapted(more, 3).shape == (3, 3)
    with pytest.raises(InputError, match="does not tell its neighbours"):
        adapt(optimizer, module=module, loss=torch.nn.MSELoss(), delta=1e-5)
