"""Opacus: one step of a private optimiser, on per-sample gradients or on a batch of records.

The claim is what Opacus' own accountant says of one step without subsampling: what is audited is the clipping
and the noise. What it says of Poisson sampling and of many steps is a theorem, not code to sample.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dplitmus.adapters import installed
from dplitmus.adapters.base import Adapted, cannot, missing
from dplitmus.claim import Claim
from dplitmus.errors import one_of
from dplitmus.neighbours import as_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_AUDITS = ("a DPOptimizer, as PrivacyEngine.make_private returns it",)


def adapt(
    optimizer: Any,
    *,
    module: Any = None,
    loss: Callable[[Any, Any], Any] | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    neighbours: Iterable[Any] | None = None,
    relation: str | None = None,
    accountant: str = "prv",
    name: str | None = None,
) -> Adapted:
    """One step of a DPOptimizer: the gradients that it hands to the optimiser it wraps.

    An input is a batch of per-sample gradients, one row each; with `module` and `loss` it is a batch (X, y)
    of records, which goes through the module. Parameters, accountant and step count stay as they are.
    """
    torch = installed.load("torch")
    installed.load("opacus")
    kind = type(optimizer).__name__
    if not hasattr(optimizer, "noise_multiplier") or not hasattr(optimizer, "pre_step"):
        raise cannot(kind, why="it is no private optimiser", audits=_AUDITS, library="opacus")
    if not optimizer.noise_multiplier:
        raise cannot(
            kind, why="its noise_multiplier is 0: it claims nothing", audits=_AUDITS, library="opacus"
        )
    if delta is None:
        raise missing(
            "a delta",
            of=kind,
            why="the accountant gives an epsilon at every delta",
            help="say it: delta=1e-6",
        )
    chosen = one_of("relation", relation or "add-remove", ("add-remove",))
    if neighbours is None and module is not None:
        raise missing(
            "its neighbours",
            of=kind,
            why="a batch is of your records",
            help="neighbours=[((X, y), (X2, y2))]",
        )
    size = sum(parameter.numel() for parameter in optimizer.params)
    own = _claimed(optimizer.noise_multiplier, delta, accountant) if epsilon is None else epsilon

    def step(x: Any, n: int, rng: np.random.Generator) -> Any:
        hook, optimizer.step_hook = optimizer.step_hook, None  # an audit spends nothing of the user's budget
        try:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(int(rng.integers(2**63 - 1)))
                return np.stack([_released(torch, optimizer, x, module, loss) for _ in range(n)])
        finally:
            optimizer.step_hook = hook
            optimizer.zero_grad()

    step.__name__ = name or kind
    return Adapted(
        mechanism=step,
        name=name or kind,
        claim=Claim(epsilon=own, delta=delta),
        claimed_by=(
            f"opacus {installed.version('opacus')}, "
            + (f"its {accountant} accountant" if epsilon is None else "epsilon by you")
            + f": one step, noise_multiplier {optimizer.noise_multiplier:g}"
        ),
        relation=chosen,
        neighbours=tuple(as_pairs(_gradients(size, optimizer) if neighbours is None else neighbours, chosen)),
        sensitivity=_norm(optimizer),
    )


def _claimed(noise_multiplier: float, delta: float, accountant: str) -> float:
    from opacus.accountants import create_accountant

    book = create_accountant(one_of("accountant", accountant, ("prv", "rdp", "gdp")))
    book.step(noise_multiplier=noise_multiplier, sample_rate=1.0)
    with np.errstate(all="ignore"):  # a sample rate of 1 is the end of the accountant's formulas
        return float(book.get_epsilon(delta=delta))


def _norm(optimizer: Any) -> float:
    norm = optimizer.max_grad_norm
    return float(np.linalg.norm(norm)) if isinstance(norm, list | tuple) else float(norm)


def _gradients(size: int, optimizer: Any) -> list[tuple[Any, Any]]:
    """A record more whose gradient has the largest norm that clipping leaves, and one that is clipped."""
    still = np.zeros((1, size))
    found = []
    for length in (_norm(optimizer), 10 * _norm(optimizer)):
        moved = np.zeros((1, size))
        moved[0, 0] = length
        found.append((still, np.concatenate([still, moved])))
    return found


def _released(torch: Any, optimizer: Any, x: Any, module: Any, loss: Callable[[Any, Any], Any] | None) -> Any:
    optimizer.zero_grad()
    if module is not None and loss is not None:
        features, labels = (torch.as_tensor(np.asarray(part)) for part in _columns(x))
        floating = next(module.parameters()).dtype
        features = features.to(floating) if features.is_floating_point() else features
        labels = labels.to(floating) if labels.is_floating_point() else labels
        loss(module(features), labels).backward()
    else:
        rows = torch.as_tensor(np.asarray(x))
        place = 0
        for parameter in optimizer.params:
            part = rows[:, place : place + parameter.numel()]
            parameter.grad_sample = part.reshape(len(rows), *parameter.shape).to(parameter.dtype)
            place += parameter.numel()
    optimizer.pre_step()
    return np.concatenate([parameter.grad.detach().numpy().ravel() for parameter in optimizer.params])


def _columns(x: Any) -> tuple[Any, Any]:
    first, second = tuple(x.values()) if isinstance(x, dict) else x
    return first, second
