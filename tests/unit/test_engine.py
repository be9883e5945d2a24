from __future__ import annotations

import random
import threading
import time

import pytest

from dplitmus import engine


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_chunks_are_merged_in_order_whatever_the_order_of_completion(threads: int) -> None:
    delays = random.Random(0).choices([0.0, 0.001, 0.003], k=60)  # noqa: S311

    def work(chunk: int, size: int) -> list[tuple[int, int]]:
        time.sleep(delays[chunk])
        return [(chunk, size)]

    plan = [3] * 59 + [1]
    done: list[int] = []
    merged = engine.run(work, plan, merge=lambda a, b: a + b, threads=threads, progress=done.append)
    assert merged == list(enumerate(plan))
    assert done == plan


def test_few_chunks_are_in_flight() -> None:
    """Started minus merged never exceeds the bound, so memory does not grow with the plan."""
    started, merged, most = 0, 0, 0
    lock = threading.Lock()

    def work(_chunk: int, _size: int) -> int:
        nonlocal started, most
        with lock:
            started += 1
            most = max(most, started - merged)
        return 0

    def progress(_size: int) -> None:
        nonlocal merged
        with lock:
            merged += 1

    engine.run(work, [1] * 1000, merge=lambda a, b: a + b, threads=3, progress=progress)
    assert started == 1000
    assert most <= 3 * 4 + 2


@pytest.mark.parametrize("threads", [1, 4])
def test_the_first_failure_in_chunk_order_is_raised_and_the_rest_is_dropped(threads: int) -> None:
    seen = []

    def work(chunk: int, _size: int) -> int:
        seen.append(chunk)
        if chunk in (5, 6, 7):
            time.sleep(0.01 * (8 - chunk))  # the last of them fails first
            raise ValueError(chunk)
        return 0

    with pytest.raises(ValueError, match="5"):
        engine.run(work, [1] * 1000, merge=lambda a, b: a + b, threads=threads)
    assert len(seen) < 50


def test_an_empty_plan_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="at least one chunk"):
        engine.run(lambda chunk, _size: chunk, [], merge=lambda a, b: a + b, threads=1)


def test_there_is_at_least_one_thread() -> None:
    assert engine.available_threads() >= 1
