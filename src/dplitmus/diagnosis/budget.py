"""A budget that grows with the number of queries: the same mechanism, on the first few queries only."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dplitmus.arms import Arm
from dplitmus.chunks import Desk
from dplitmus.dispatch import Dispatch
from dplitmus.errors import DplitmusError
from dplitmus.executors import Inline
from dplitmus.neighbours import Pair
from dplitmus.samples import draw_labelled, stream
from dplitmus.search import Search
from dplitmus.shipping import Parcel
from dplitmus.verdict import Note

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dplitmus.diagnosis.subject import Subject

_PHASE = 60
_LEAST, _MOST = 1500, 5000  # draws per number of queries
_LEARNED = 0.6  # of them; the rest is judged
_TOP = 0.05  # of the outputs: those that tell most
_SLOPE, _STEADY = 0.5, 0.85  # of the log loss over the log number: 1 is a whole budget for every query


def growing(subject: Subject) -> Iterator[Note]:
    """Say so if twice the queries tell ever more, up to more than is claimed."""
    sizes = _sizes(subject)
    draws = min(_MOST, subject.spare // max(1, 2 * len(sizes)))
    if len(sizes) < 3 or draws < _LEAST:
        return
    losses = []
    for size in sizes:
        loss = _loss(subject, size, draws)
        if loss is None:
            return
        losses.append(loss)
    logs = np.log(np.maximum(losses, 1e-3))
    slope = float(np.polyfit(np.log(sizes), logs, 1)[0])
    steady = float(np.corrcoef(np.log(sizes), logs)[0, 1])
    if slope > _SLOPE and steady > _STEADY and losses[-1] > subject.claim.epsilon:
        shown = ", ".join(f"{loss:.2g}" for loss in losses)
        counts = ", ".join(map(str, sizes))
        yield Note(
            "DP315",
            f"the loss grows with the number of queries: on the first {counts} of them the most telling "
            f"outputs have log odds of about {shown}. The budget is spent again for every query: usually "
            "the number of answers is not counted, or noise is not scaled by it.",
        )


def _sizes(subject: Subject) -> list[int]:
    if subject.inputs is None or np.ndim(subject.pair.x) != 1:
        return []
    whole = subject.inputs[0].size
    sizes = [2**k for k in range(int(math.log2(max(1, whole))) + 1)]
    sizes = [*sizes[-4:], *([whole] if sizes[-1] != whole else [])]
    x, x_prime = subject.inputs
    return [size for size in sizes if not np.array_equal(x[:size], x_prime[:size])]


def _loss(subject: Subject, size: int, draws: int) -> float | None:
    """About the log odds of the most telling outputs, by a panel that has learned on other draws."""
    if subject.inputs is None:
        return None
    x, x_prime = (end[:size] for end in subject.inputs)
    pair = Pair(x, x_prime, f"the first {size}")
    arm = Arm(0, pair)
    callee, seed = subject.source.parcel.callee, subject.source.seed
    search = Search(
        parcel=Parcel(callee.call), claim=subject.claim, arms=[arm], budget=int(_LEARNED * draws),
        alpha=1e-6, seed=seed + _PHASE + size, deadline=math.inf, progress=None, explore=1e-6,
    )  # fmt: skip
    try:
        search.run(Desk(Dispatch(Inline(), replays=True)), stop_when_refuted=False)
        batch = draw_labelled(callee, pair, int((1 - _LEARNED) * draws), stream(seed, _PHASE, size))
    except DplitmusError:
        return None  # it may want all of them
    if arm.panel is None:
        return None
    logits = np.sort(np.abs(arm.panel.forecast(batch.like(arm.sample[-1]))))
    return float(logits[-int(_TOP * logits.size) :].mean())
