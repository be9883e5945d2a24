"""Real workers: the same result on all of them, and what happens when they die, hang or lie."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dplitmus
from dplitmus import Result, executors
from dplitmus.dispatch import Dispatch, Timed
from dplitmus.errors import InputError, MechanismError, MissingExtraError

Audit = Callable[..., Result]


def test_the_result_is_the_same_on_threads_processes_loky_and_dask() -> None:
    """By value: the mechanisms are local functions; batched, in pieces, and one draw at a time."""

    def batched(x: Any, n: int, rng: np.random.Generator) -> Any:
        return x + rng.laplace(scale=0.8, size=(n, 2))

    def one(x: Any, rng: np.random.Generator) -> Any:
        return "high" if x + rng.laplace() > 0.5 else None

    runs: list[tuple[Any, dict[str, Any]]] = [
        (batched, {"neighbours": [(np.zeros(2), np.ones(2)), (np.zeros(2), np.array([1.0, 0]))]}),
        (batched, {"neighbours": [(np.zeros(2), np.ones(2))], "stop": "never", "piece": 16}),
        (dplitmus.each(one), {"neighbours": [(0.0, 1.0)], "samples": 200}),
    ]
    chosen = {"epsilon": 1.0, "samples": 500, "seed": 1}
    alone = [dplitmus.audit(mechanism, **chosen | settings) for mechanism, settings in runs]
    for words in ("threads:3", "processes:2", "loky:2", "dask:local:2"):
        with executors.opened(words) as executor:
            for (mechanism, settings), expected in zip(runs, alone, strict=True):
                assert expected == dplitmus.audit(mechanism, executor=executor, **chosen | settings), words


@pytest.mark.parametrize("words", ["processes:2", "dask:local:2"])
def test_a_worker_that_is_killed_changes_nothing(words: str, audit: Audit, tmp_path: Path) -> None:
    expected = audit("laplace")
    result = audit("killed", on=words)
    assert (tmp_path / "killed").exists()
    assert result.epsilon_lower == expected.epsilon_lower
    assert result.log_wealth == expected.log_wealth
    assert result.samples == expected.samples


def test_a_worker_that_hangs_is_overtaken_and_does_not_outlive_the_run(audit: Audit, tmp_path: Path) -> None:
    expected = audit("laplace")
    result = audit("hangs", on="processes:2")
    assert (tmp_path / "hung").exists()
    assert result.log_wealth == expected.log_wealth


def test_a_worker_that_always_dies_is_a_failure_of_the_mechanism(audit: Audit) -> None:
    with pytest.raises(MechanismError, match=r"DP432.*times in a row"):
        audit("always_killed", on="processes:2")


class Damaging(Executor):
    """A real executor whose first answers are damaged on the way."""

    def __init__(self, inner: Executor, damages: list[Any]) -> None:
        self.inner, self.damages = inner, damages

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Hand over, and spoil the answer."""
        future = self.inner.submit(fn, *args, **kwargs)
        answer = future.result()
        if not self.damages or not hasattr(answer.answer, "counts"):
            return future
        spoilt: Future[Any] = Future()
        spoilt.set_result(self.damages.pop()(answer))
        return spoilt


def test_damaged_answers_are_asked_for_again(audit: Audit) -> None:
    def fewer(answer: Timed) -> Timed:
        answer.answer.counts[0, 0] -= 1
        return answer

    damages = [lambda _: None, lambda answer: Timed("noise", 0.0), fewer]
    with executors.opened("processes:1") as executor:
        damaging = Damaging(executor, damages)
        expected = audit("laplace", samples=300)
        from dplitmus.target import load

        assert expected.target
        mechanism = load(expected.target, epsilon=1.0, dimension=1)
        settings: dict[str, Any] = {"epsilon": 1.0, "neighbours": [(0.0, 1.0)], "samples": 300, "seed": 1}
        result = dplitmus.audit(mechanism, target=expected.target, executor=damaging, **settings)
    assert damages == []
    assert result == expected


@pytest.mark.parametrize("name", ["held", "closure"])
def test_a_generator_of_its_own_is_refused_on_workers_and_welcome_on_threads(name: str, audit: Audit) -> None:
    own = np.random.default_rng(3)

    def closure(x: Any, n: int, rng: Any) -> Any:
        return x + own.laplace(size=n)

    settings: dict[str, Any] = {"epsilon": 1.0, "neighbours": [(0.0, 1.0)], "samples": 300}
    with pytest.raises(MechanismError, match=r"DP431.*identical outputs"):  # noqa: PT012  (one of two)
        if name == "held":
            audit("held", on="processes:2")
        with executors.opened("loky:2") as executor:
            dplitmus.audit(closure, executor=executor, **settings)
    with executors.opened("threads:2") as executor:
        result = dplitmus.audit(closure, executor=executor, **settings)
    assert not result.replayable


def test_global_generators_are_seeded_anew_in_each_worker(audit: Audit) -> None:
    result = audit("global_state", on="processes:2")
    assert "DP303" in [note.code for note in result.notes]
    assert result.verdict == "not-found"


def test_what_cannot_travel_is_refused(audit: Audit) -> None:
    import threading

    lock = threading.Lock()

    def locked(x: Any, n: int, rng: np.random.Generator) -> Any:
        with lock:
            return x + rng.laplace(size=n)

    with executors.opened("processes:1") as executor, pytest.raises(InputError, match="DP231"):
        dplitmus.audit(locked, epsilon=1.0, neighbours=[(0.0, 1.0)], executor=executor)


@pytest.mark.parametrize(
    "words", ["", "threads", "threads:", "threads:x", "threads:-1", "fibres:2", "dask:local", "dask:ftp://x"]
)
def test_words_that_name_no_executor_are_refused(words: str) -> None:
    with pytest.raises(InputError, match=r"executor=.* must name an executor"), executors.opened(words):
        pass
    with pytest.raises(InputError, match="workers=0 must"), executors.opened("threads:0"):
        pass


def test_a_missing_library_is_told_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for name, words in (("loky", "loky:2"), ("distributed", "dask:local:2")):
        monkeypatch.setitem(sys.modules, name, None)
        with (
            pytest.raises(MissingExtraError, match=r"pip install 'dplitmus\[dask\]'"),
            executors.opened(words),
        ):
            pass


def test_an_executor_that_breaks_and_cannot_be_made_again_is_told() -> None:
    from concurrent.futures.process import BrokenProcessPool

    class Broken(Executor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_exception(BrokenProcessPool())
            return future

    dispatch = Dispatch(Broken(), replays=True)
    with pytest.raises(MechanismError, match=r"DP432.*the executor broke"):
        dispatch.result(dispatch.submit(len, "abc"))


@pytest.mark.slow
def test_a_scheduler_that_is_killed_and_started_again_changes_nothing(audit: Audit) -> None:
    """A real scheduler and worker on 127.0.0.1; both are killed during the run and start again."""
    import socket
    import subprocess
    import sys
    import threading
    import time

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    dask = [sys.executable, "-m", "dask"]
    here = ["--host", "127.0.0.1", "--no-dashboard"]
    address = f"tcp://127.0.0.1:{port}"
    running: list[subprocess.Popen[bytes]] = []

    def start() -> None:
        commands = (["scheduler", "--port", port], ["worker", address, "--nthreads", "1", "--no-nanny"])
        running.extend(subprocess.Popen([*dask, *one, *here], stderr=subprocess.DEVNULL) for one in commands)

    def restart() -> None:
        for process in running[:2]:
            process.kill()
        time.sleep(1)
        start()

    killers: list[threading.Thread] = []

    def progress(_: int) -> None:
        if not killers:
            killers.append(threading.Thread(target=restart))
            killers[0].start()

    expected = audit("slow", samples=800)
    start()
    try:
        assert expected == audit("slow", samples=800, on=f"dask:{address}", progress=progress)
        killers[0].join()
    finally:
        for process in running:
            process.kill()
            process.wait()
    assert len(running) == 4
