"""Any torch module as a mechanism: what it returns on an input, as numbers.

A module that draws one noise for a whole batch gives dependent rows, so by default every draw is a forward
pass of its own. The randomness is torch's, seeded from the audit's generator: findings can be replayed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dplitmus.adapters import installed
from dplitmus.adapters.base import Adapted, cannot, missing
from dplitmus.claim import Claim
from dplitmus.errors import MechanismError
from dplitmus.neighbours import as_pairs

if TYPE_CHECKING:
    from collections.abc import Iterable


def adapt(
    module: Any,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    neighbours: Iterable[Any] | None = None,
    relation: str | None = None,
    rows_are_independent: bool = False,
    name: str | None = None,
) -> Adapted:
    """A module in the mode it is in (`eval()` or not); its claim is its attribute `epsilon`, if it has one.

    With `rows_are_independent` n draws are one batch of n equal rows, which is many times faster; say so only
    if no noise is shared between the rows of a batch.
    """
    torch = installed.load("torch")
    kind = type(module).__name__
    if not isinstance(module, torch.nn.Module):
        shown = module.__name__ if isinstance(module, type) else kind
        raise cannot(
            shown,
            why="it is no instance of torch.nn.Module",
            audits=("instances of torch.nn.Module",),
            library="torch",
        )
    own: Any = getattr(module, "epsilon", None)
    promised = float(own) if isinstance(own, int | float) or getattr(own, "numel", lambda: 0)() == 1 else None
    if epsilon is None and promised is None:
        raise missing("an epsilon", of=kind, why="it has no such attribute", help="say it: epsilon=1.0")
    if neighbours is None:
        raise missing(
            "its neighbours", of=kind, why="a module takes any input", help="neighbours=[([0, 0], [1, 1])]"
        )
    own_delta = getattr(module, "delta", 0.0)
    first = next(iter(module.parameters()), None)
    kind_of_number = (
        first.dtype if first is not None and first.is_floating_point() else torch.get_default_dtype()
    )

    def batch(x: Any, n: int, rng: np.random.Generator) -> Any:
        rows = torch.as_tensor(np.asarray(x))
        rows = rows.to(kind_of_number) if rows.is_floating_point() else rows
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(int(rng.integers(2**63 - 1)))
            if rows_are_independent:
                given = rows.reshape(1, *rows.shape).expand(n, *rows.shape)
                return _numbers(module(given.clone()), kind)
            return np.stack(
                [_numbers(module(rows.clone().reshape(1, *rows.shape)), kind)[0] for _ in range(n)]
            )

    batch.__name__ = name or kind
    return Adapted(
        mechanism=batch,
        name=name or kind,
        claim=Claim(
            epsilon=promised if epsilon is None else epsilon,  # type: ignore[arg-type]
            delta=delta if delta is not None else own_delta if isinstance(own_delta, float) else 0.0,
        ),
        claimed_by=(
            f"torch {installed.version('torch')}, {kind} in {'training' if module.training else 'eval'} mode"
            + (", its attribute epsilon" if epsilon is None else "; epsilon by you")
        ),
        relation=relation or "the pairs that you gave",
        neighbours=tuple(as_pairs(neighbours, relation)),
    )


def _numbers(outputs: Any, kind: str) -> Any:
    if isinstance(outputs, tuple | list):
        outputs = outputs[0]
    if not hasattr(outputs, "detach"):
        raise MechanismError(
            f"{kind} returned a {type(outputs).__name__}, not a tensor",
            code="DP402",
            help="wrap it in a module or a function (x, n, rng) that returns what is released",
        )
    rows = outputs.detach().cpu()
    # numpy has no bfloat16; every other type keeps the bits that are released.
    rows = rows.float() if str(rows.dtype) == "torch.bfloat16" else rows
    return rows.reshape(len(rows), -1).numpy()
