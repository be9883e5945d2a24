"""Many workers: what they gain, what the engine costs, and how memory grows with the draws.

    python benchmarks/executors.py [SECONDS for the memory part]

Each part prints a ratio of two measurements of the same run: wall time of a mechanism that takes a
millisecond a call, alone and on two processes; CPU time that the engine needs for a chunk while 1000 are in
flight, to that of the chunk itself; peak memory at more and more draws.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from concurrent.futures import Executor, Future
from typing import TYPE_CHECKING, Any

import dplitmus
from dplitmus import executors
from dplitmus.chunks import Chunk, Desk, examined
from dplitmus.dispatch import Dispatch, Timed
from dplitmus.exam import Frozen
from dplitmus.forecast.panel import Panel
from dplitmus.neighbours import as_pairs
from dplitmus.shipping import Parcel

if TYPE_CHECKING:
    import numpy as np

IN_FLIGHT, CHUNKS, ROWS = 1000, 3000, 2**16


def slow(x: float, rng: np.random.Generator) -> float:
    """A millisecond a draw."""
    time.sleep(0.001)
    return x + rng.laplace()


def cheap(x: float, n: int, rng: np.random.Generator) -> Any:
    """A tenth of a microsecond a draw."""
    return x + rng.laplace(size=n)


def wall(words: str | None, samples: int) -> tuple[float, int]:
    """Seconds of an audit without the start of its workers, and its draws."""
    settings: dict[str, Any] = {"epsilon": 1.0, "neighbours": [(0.0, 1.0)], "seed": 1, "stop": "never"}
    mechanism = dplitmus.each(slow)
    if words is None:
        started = time.perf_counter()
        result = dplitmus.audit(mechanism, samples=samples, **settings)
        return time.perf_counter() - started, result.samples
    with executors.opened(words) as executor:
        dplitmus.audit(mechanism, samples=20, executor=executor, **settings)  # the workers start
        started = time.perf_counter()
        result = dplitmus.audit(mechanism, samples=samples, executor=executor, **settings)
        return time.perf_counter() - started, result.samples


class Ready(Executor):
    """Answers at once what was computed before: all that is left is the engine."""

    workers = IN_FLIGHT

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:  # noqa: ARG002
        """No work."""
        future: Future[Any] = Future()
        future.set_result(Timed(self.answer, 1.0))  # a task of its own for each chunk
        return future


def engine_cost() -> tuple[float, float]:
    """CPU seconds for a chunk: of the engine with 1000 in flight, and of drawing and counting it."""
    pair = as_pairs([(0.0, 1.0)])[0]
    first = Chunk(Parcel(cheap), pair, 4096, 1, (22, 0, 0), None)
    panel = Panel.of(first.draw())
    panel.learn(first.draw(), None)
    examiner = Frozen(panel)
    chunks = [Chunk(Parcel(cheap), pair, ROWS, 1, (22, 0, number), None) for number in range(CHUNKS)]
    started = time.process_time()
    for chunk in chunks[:10]:
        answer = examined(chunk, examiner)
    work = (time.process_time() - started) / 10
    desk = Desk(Dispatch(Ready(answer), replays=True))
    started = time.process_time()
    count = sum(1 for _ in desk.answers(iter(chunks), examiner, IN_FLIGHT, CHUNKS))
    return (time.process_time() - started) / count, work


def peak(samples: int) -> tuple[float, float]:
    """Megabytes and seconds of an audit of the cheap mechanism in a process of its own."""
    code = (
        "import resource, dplitmus\n"
        "cheap = lambda x, n, rng: x + rng.laplace(size=n)\n"
        "settings = dict(epsilon=1.0, neighbours=[(0.0, 1.0)], seed=1, stop='never')\n"
        f"dplitmus.audit(cheap, samples={samples}, **settings)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    started = time.perf_counter()
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603
    return int(out.stdout) / 1024, time.perf_counter() - started


def main() -> None:
    """Print the three parts."""
    (alone, draws), (pair, same) = wall(None, 6000), wall("processes:2", 6000)
    assert draws == same  # noqa: S101
    print(f"1 ms a draw, {draws} draws: alone {alone:.1f} s, on 2 processes {pair:.1f} s")
    print(f"    {alone / pair:.2f} times faster")
    print(f"    wall time to draws x 1 ms / workers: {alone / draws * 1e3:.2f}, {2 * pair / draws * 1e3:.2f}")
    engine, work = engine_cost()
    print(f"{IN_FLIGHT} chunks in flight: {engine * 1e3:.3f} ms of CPU for a chunk of {work * 1e3:.1f} ms")
    print(f"    {engine / work:.2%}")
    limit = float(sys.argv[1]) if len(sys.argv) > 1 else 300.0
    samples, first, spent = 10**6, 0.0, 0.0
    while spent < limit / 4:
        megabytes, seconds = peak(samples)
        first, spent = first or megabytes, spent + seconds
        ratio = megabytes / first
        print(
            f"{samples:>13,} draws: {megabytes:.0f} MB, {ratio:.2f} times the first, {seconds:.0f} s",
            flush=True,
        )
        samples *= 10
    print(f"peak of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
