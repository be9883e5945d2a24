"""The training loop: batches, a schedule, a stop when the loss is no number.

Takes rows, a step that trains on some of them, and settings; leaves trained weights. A seed fixes the
training (never a release). Progress is a callback.
"""

from __future__ import annotations

import contextlib
import copy
import math
import random
from typing import TYPE_CHECKING, Protocol

import torch

from dplitmus.errors import InputError, one_of, whole_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch import nn

_CLIP = 1.0  # largest norm of a gradient


class Step(Protocol):
    """Trains on the rows with these numbers and returns the loss."""

    def __call__(self, batch: Sequence[int], share_done: float, /) -> float:
        """Do one step; `share_done` grows from 0 to 1 over the training."""


@contextlib.contextmanager
def reproducible(seed: int, threads: int) -> Iterator[random.Random]:
    """Seed everything inside, and leave torch's generators as they were."""
    whole_number("threads", threads, least=1, most=1024, help="try threads=1")
    # More threads than free cores wait for each other: on a shared machine one is fastest.
    torch.set_num_threads(threads)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield random.Random(seed)  # noqa: S311  (the order of batches is no secret)


def usable_device(name: str) -> torch.device:
    """The device of that name, if this machine has it."""
    one_of("device", name, ("cpu", "cuda"))
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError(
            "device='cuda' must be present, and torch finds none",
            code="DP201",
            help="use device='cpu', or install torch with CUDA",
        )
    return torch.device(name)


def batches(lengths: Sequence[int], size: int, rng: random.Random) -> list[list[int]]:
    """Row numbers in batches of about equal length, shuffled: less padding, the same epoch."""
    order = sorted(range(len(lengths)), key=lambda row: lengths[row] + 3 * rng.random())
    cut = [order[first : first + size] for first in range(0, len(order), size)]
    if len(cut) > 1 and len(cut[-1]) < 2:  # one row alone has no batch statistics
        cut[-2] += cut.pop()
    rng.shuffle(cut)
    return cut


def train(
    model: nn.Module,
    step: Step,
    *,
    lengths: Sequence[int],
    epochs: int,
    batch_size: int,
    rng: random.Random,
    progress: Callable[[int], None] | None,
) -> list[float]:
    """Run the epochs and return the mean loss of each.

    When a loss is NaN or infinite the weights of the last whole epoch are put back, and DP226 is raised.
    """
    losses: list[float] = []
    good = copy.deepcopy(model.state_dict())
    total = epochs * max(1, math.ceil(len(lengths) / batch_size))
    done = 0
    model.train()
    try:
        for epoch in range(1, epochs + 1):
            found = []
            for batch in batches(lengths, batch_size, rng):
                found.append(_loss(step, batch, min(1.0, done / total)))
                done += 1
                if not math.isfinite(found[-1]):
                    model.load_state_dict(good)
                    raise _diverged(found[-1], epoch)
                if progress:
                    progress(len(batch))
            if not all(bool(torch.isfinite(weight).all()) for weight in model.state_dict().values()):
                model.load_state_dict(good)
                raise _diverged(math.nan, epoch)
            good = copy.deepcopy(model.state_dict())
            losses.append(sum(found) / len(found))
    finally:
        model.eval()
    return losses


def _loss(step: Step, batch: Sequence[int], share_done: float) -> float:
    """The loss of a step; NaN if the noise layer refused what the weights made of the texts."""
    try:
        return step(batch, share_done)
    except InputError as error:
        if error.code != "DP225":
            raise
        return math.nan


def rate(peak: float, share_done: float) -> float:
    """A learning rate that rises over the first tenth and then falls as a cosine."""
    if share_done < 0.1:
        return peak * (0.05 + 0.95 * share_done / 0.1)
    return peak * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * (share_done - 0.1) / 0.9)))


def descend(optimiser: torch.optim.Optimizer, loss: torch.Tensor, learning_rate: float) -> None:
    """One step of an optimiser, with the gradient cut to a norm of 1."""
    for group in optimiser.param_groups:
        group["lr"] = learning_rate * group.get("factor", 1.0)
    optimiser.zero_grad()
    loss.backward()
    weights = [weight for group in optimiser.param_groups for weight in group["params"]]
    torch.nn.utils.clip_grad_norm_(weights, _CLIP)
    optimiser.step()


def _diverged(loss: float, epoch: int) -> InputError:
    kept = f"the model has the weights of epoch {epoch - 1}" if epoch > 1 else "no epoch was completed"
    return InputError(
        f"the loss is {loss:g} in epoch {epoch}", code="DP226", help=f"lower the learning rate; {kept}"
    )
