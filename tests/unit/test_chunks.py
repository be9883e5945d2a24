"""Chunks that travel together are answered one by one, as if each had travelled alone."""

from __future__ import annotations

import math
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dplitmus import audit, each
from dplitmus.chunks import Chunk, Desk
from dplitmus.dispatch import Dispatch, Timed
from dplitmus.errors import MechanismError
from dplitmus.exam import Frozen
from dplitmus.executors import Inline
from dplitmus.forecast.panel import Panel
from dplitmus.journal import Journal
from dplitmus.neighbours import as_pairs
from dplitmus.shipping import Parcel

CHUNKS, ROWS = 60, 32


def noise(x: Any, n: int, rng: np.random.Generator) -> Any:
    return x + rng.laplace(size=n)


def chunk(number: int) -> Chunk:
    return Chunk(Parcel(noise), as_pairs([(0.0, 1.0)])[0], ROWS, 1, (22, 0, number), None)


@pytest.fixture(scope="module")
def frozen() -> Frozen:
    batch = chunk(CHUNKS).draw()
    panel = Panel.of(batch)
    panel.learn(batch, None)
    return Frozen(panel)


def answers(desk: Desk, frozen: Frozen) -> list[tuple[int, list[list[int]]]]:
    found = desk.answers(map(chunk, range(CHUNKS)), frozen, 4, CHUNKS)
    return [(one.key[-1], answer.tolist()) for one, answer in found]


class Counting(ThreadPoolExecutor):
    """Counts its tasks."""

    tasks = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Count and hand over."""
        self.tasks += 1
        return super().submit(fn, *args, **kwargs)


def test_quick_chunks_travel_together_and_their_answers_are_the_same(frozen: Frozen) -> None:
    expected = answers(Desk(Dispatch(Inline(), replays=True)), frozen)
    with Counting(2) as executor:
        assert expected == answers(Desk(Dispatch(executor, replays=True)), frozen)
    assert list(range(CHUNKS)) == [number for number, _ in expected]
    assert executor.tasks < CHUNKS


def slow(x: float, rng: np.random.Generator) -> float:
    time.sleep(0.001)
    return x + rng.laplace()


def test_threads_that_share_slow_chunks_draw_and_leave_the_judging_and_the_result_is_the_same() -> None:
    settings: dict[str, Any] = {"epsilon": 1.0, "neighbours": [(0.0, 1.0)], "samples": 400, "seed": 1}
    expected = audit(each(slow), **settings)
    for threads in (1, 3):
        with Counting(threads) as executor:
            found = audit(each(slow), **settings, executor=executor)
        assert (expected.log_wealth, expected.epsilon_lower) == (found.log_wealth, found.epsilon_lower)


def quick(x: float, n: int, rng: np.random.Generator) -> Any:
    return x + rng.laplace(size=n)


@pytest.mark.parametrize(
    ("mechanism", "threads", "expected"),
    [(each(slow), 2, {True, False}), (each(slow), 0, {False}), (quick, 2, {False})],
)
def test_a_panel_gives_way_to_threads_that_draw_and_to_nobody_else(
    mechanism: Any, threads: int, expected: set[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    gave_way = set()
    in_turn = Panel._in_turn

    def watched(self: Panel) -> Any:
        gave_way.add(self.gives_way)
        return in_turn(self)

    monkeypatch.setattr(Panel, "_in_turn", watched)
    with ThreadPoolExecutor(threads) if threads else Inline() as executor:
        audit(mechanism, epsilon=1.0, neighbours=[(0.0, 1.0)], samples=400, seed=1, executor=executor)
    assert expected == gave_way | {False}


def test_a_single_thread_does_what_is_asked_for_once_and_nothing_else() -> None:
    done: list[int] = []
    asked, forgotten, dropped = (Inline().submit(done.append, number) for number in range(3))
    dropped.cancel()
    for _ in range(2):
        asked.result()
    assert done == [0]
    assert not forgotten.done()
    wrong = Inline().submit(math.sqrt, -1)
    for _ in range(2):
        with pytest.raises(ValueError, match="math domain"):
            wrong.result()


def test_chunks_that_were_dispatched_before_any_output_was_seen_may_have_other_widths() -> None:
    def several(x: int, rng: np.random.Generator) -> list[float]:
        return [float(x)] * int(rng.geometric(0.2))

    for seed in range(4):
        result = audit(each(several), epsilon=1.0, neighbours=[(0, 1)], samples=200, seed=seed)
        assert result.verdict == "violated"


@pytest.mark.parametrize("size", [1, 2, 5, 31, 32, 33, 1000, 5000])
def test_pieces_are_a_function_of_the_size_and_sum_to_it(size: int) -> None:
    pieces = replace(chunk(0), size=size, piece=8).pieces
    assert size == sum(pieces)
    assert min(size, 3) <= len(pieces) <= 128  # of five draws, two, two and one
    assert size < 32 or max(pieces) >= 8
    assert max(pieces) <= max(8, math.isqrt(size))
    alone = replace(chunk(0), size=size, piece=1).pieces
    assert len(alone) == size if size <= 128 else len(alone) > 64


def test_pieces_drawn_together_are_those_drawn_alone() -> None:
    whole = replace(chunk(0), piece=8)
    alone = [whole.draw(piece, piece + 1) for piece in range(len(whole.pieces))]
    assert (whole.draw().values == np.concatenate([one.values for one in alone])).all()
    assert (whole.draw().keys == np.concatenate([one.keys for one in alone])).all()
    assert (whole.draw().labels == np.concatenate([one.labels for one in alone])).all()


def test_a_journal_that_ends_amid_chunks_that_travel_together_is_continued(
    frozen: Frozen, tmp_path: Path
) -> None:
    def run(executor: Executor) -> list[Any]:
        journal = Journal(tmp_path / "j")
        journal.begin({"seed": 1})
        try:
            return answers(Desk(Dispatch(executor, replays=True), journal), frozen)
        finally:
            journal.close()

    expected = run(Inline())
    whole = (tmp_path / "j").read_bytes()
    lines = whole.splitlines(keepends=True)
    for kept in (0, 7, CHUNKS - 1):
        (tmp_path / "j").write_bytes(b"".join(lines[: kept + 1]))
        with Counting(2) as executor:
            assert expected == run(executor)
        assert whole == (tmp_path / "j").read_bytes()


def test_a_task_that_answers_on_fewer_chunks_than_it_had_is_asked_again(frozen: Frozen) -> None:
    class Forgetful(Executor):
        workers = 2

        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            future: Future[Any] = Future()
            answer = fn(*args, **kwargs)
            future.set_result(Timed(answer.answer[:-1], 0.0) if isinstance(answer.answer, list) else answer)
            return future

    with pytest.raises(MechanismError, match=r"DP432.*damaged data"):
        answers(Desk(Dispatch(Forgetful(), replays=True)), frozen)
