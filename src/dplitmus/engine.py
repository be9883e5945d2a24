"""The loop: many chunks, some at a time, merged in order.

Takes the work on one chunk and a plan; gives the merged result and tells `progress` how far it is.
Prints nothing. Memory is one result and a few chunks, however long the plan.
"""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from dplitmus.errors import whole_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future

    Progress = Callable[[int], None]

Result = TypeVar("Result")
_IN_FLIGHT_PER_THREAD = 4


def available_threads() -> int:
    """Return the number of processor cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def checked_threads(threads: int | None) -> int:
    """Return the number of threads to use: all cores if none is given."""
    if threads is None:
        return available_threads()
    return whole_number("threads", threads, least=1, most=1024, help="try threads=1")


def run(
    work: Callable[[int, int], Result],
    plan: Iterable[int],
    *,
    merge: Callable[[Result, Result], Result],
    threads: int,
    progress: Progress | None = None,
) -> Result:
    """Merge `work(chunk, size)` over the plan, in chunk order whatever the order of completion.

    `progress(size)` is called as chunks are merged. If a chunk fails, the first failing one in chunk
    order is the one raised, and what has not started is dropped.
    """
    results = _serial(work, plan) if threads == 1 else _threaded(work, plan, threads)
    merged: Result | None = None
    for size, result in zip(plan, results, strict=True):
        merged = result if merged is None else merge(merged, result)
        if progress:
            progress(size)
    if merged is None:
        raise ValueError("a plan has at least one chunk")
    return merged


def _serial(work: Callable[[int, int], Result], plan: Iterable[int]) -> Iterator[Result]:
    return (work(chunk, size) for chunk, size in enumerate(plan))


def _threaded(work: Callable[[int, int], Result], plan: Iterable[int], threads: int) -> Iterator[Result]:
    todo = enumerate(plan)
    waiting: deque[Future[Result]] = deque()
    pool = ThreadPoolExecutor(threads)
    patient = True
    try:
        for chunk, size in islice(todo, threads * _IN_FLIGHT_PER_THREAD):
            waiting.append(pool.submit(work, chunk, size))
        while waiting:
            yield waiting.popleft().result()
            for chunk, size in islice(todo, 1):
                waiting.append(pool.submit(work, chunk, size))
    except KeyboardInterrupt:
        patient = False  # a slow mechanism must not keep a person waiting
        raise
    finally:
        pool.shutdown(wait=patient, cancel_futures=True)
