"""Real workers: the same result on all of them, and what happens when they die, hang or lie."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest

import dplitmus
from dplitmus import Result, dispatch, executors
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


MPI = """
from mpi4py.futures import MPIPoolExecutor

import dplitmus
from noise_of_faults import laplace, slow


def run(mechanism, **settings):
    chosen = {"epsilon": 1.0, "neighbours": [(0.0, 1.0)], "samples": 500, "seed": 1, **settings}
    return dplitmus.audit(mechanism, **chosen)


if __name__ == "__main__":
    with MPIPoolExecutor() as pool:
        for mechanism, settings in ((laplace, {"stop": "never"}), (slow, {"samples": 200})):
            assert run(mechanism, **settings) == run(mechanism, executor=pool, **settings)
    print("the same")
"""


@pytest.mark.skipif(not shutil.which("mpiexec"), reason="no mpiexec: apt-get install openmpi-bin")
def test_the_result_is_the_same_on_mpi(audit: Audit, tmp_path: Path) -> None:
    """A master and two workers, as mpiexec starts them."""
    del audit  # its directory and its mechanisms
    pytest.importorskip("mpi4py", reason="no mpi4py: pip install mpi4py", exc_type=ImportError)
    (tmp_path / "script.py").write_text(MPI)
    allowed = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
    }
    command = ["mpiexec", "-n", "3", sys.executable, "-m", "mpi4py.futures", "script.py"]
    shown = subprocess.check_output(command, cwd=tmp_path, env=os.environ | allowed, text=True)
    assert shown == "the same\n"


@pytest.mark.parametrize("words", ["processes:2", "dask:local:2"])
def test_a_worker_that_is_killed_changes_nothing(words: str, audit: Audit, tmp_path: Path) -> None:
    expected = audit("laplace")
    result = audit("killed", on=words)
    assert (tmp_path / "killed").exists()
    assert result.epsilon_lower == expected.epsilon_lower
    assert result.log_wealth == expected.log_wealth
    assert result.samples == expected.samples


def test_a_local_cluster_starts_beside_another_and_stays_on_this_machine() -> None:
    """With its usual port Dask would warn that the other's page has it."""
    with executors.opened("dask:local:1") as first, executors.opened("dask:local:1") as second:
        assert first.submit(max, 3, 4).result() == 4
        assert second.submit(max, 3, 4).result() == 4
        for executor in (first, second):
            client: Any = vars(executor)["_now"]._client
            assert client.dashboard_link.startswith("http://127.0.0.1:")


def test_a_worker_that_hangs_is_overtaken_and_does_not_outlive_the_run(audit: Audit, tmp_path: Path) -> None:
    expected = audit("laplace")
    result = audit("hangs", on="processes:2")
    assert (tmp_path / "hung").exists()
    assert result.log_wealth == expected.log_wealth


def test_a_late_chunk_keeps_nobody_from_drawing_and_judging_the_next_ones() -> None:
    """One call waits until ten others have been made; who waited for it would wait for ever."""
    calls = 0
    others = threading.Event()

    def one(x: float, rng: np.random.Generator) -> float:
        nonlocal calls
        drawn = x + rng.laplace()
        calls += 1
        if calls == LATE:
            others.wait(60)
        if calls == LATE + 10:
            others.set()
        return drawn

    LATE = 3 * 16 + 5  # behind the look at its habits  # noqa: N806
    settings: dict[str, Any] = {"epsilon": 1.0, "neighbours": [(0.0, 1.0)], "samples": 60, "seed": 1}
    with executors.opened("threads:2") as executor:
        result = dplitmus.audit(dplitmus.each(one), executor=executor, **settings)
    assert others.is_set()
    assert result == dplitmus.audit(dplitmus.each(one), **settings)


def test_a_worker_that_always_dies_is_a_failure_of_the_mechanism(audit: Audit) -> None:
    with pytest.raises(MechanismError, match=r"DP432.*times in a row"):
        audit("always_killed", on="processes:2")


@pytest.mark.skipif(os.name != "posix", reason="limits of memory")
def test_a_worker_without_memory_fails_with_the_words_of_the_mechanism_or_is_asked_again(
    audit: Audit, tmp_path: Path
) -> None:
    """A real limit of the system; where the system kills instead, the worker dies as above."""
    with pytest.raises(MechanismError, match=r"DP401.*starved raised MemoryError.*\n.*fewer workers"):
        audit("starved", on="processes:2")
    (tmp_path / "starved").unlink()
    result = audit("starved", on="processes:2", on_error="retry")
    assert (tmp_path / "starved").exists()
    assert result.verdict == "not-found"
    assert "DP331" in [note.code for note in result.notes]


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


def test_few_outputs_of_a_generator_of_its_own_are_enough_to_refuse_it(audit: Audit) -> None:
    """Sixteen coins may fall alike on two workers by chance; more of them do not."""
    with pytest.raises(MechanismError, match=r"DP431.*identical outputs"):
        audit("held_few", on="processes:2")


def test_one_worker_repeats_no_noise_until_another_takes_its_place(audit: Audit, tmp_path: Path) -> None:
    """The parcel is opened once, whatever the number of tasks; a successor would begin it anew."""
    audit("held_and_noted", on="processes:1", samples=300)
    drawn = np.frombuffer((tmp_path / "drawn").read_bytes())
    assert 300 < drawn.size == np.unique(drawn).size
    with pytest.raises(MechanismError, match=r"DP431.*identical outputs"):
        audit("held_until_killed", on="processes:1")
    assert (tmp_path / "killed").exists()


def test_threads_of_one_worker_share_one_copy_of_the_mechanism() -> None:
    """The parcel arrives in four threads at once, and is opened once."""
    import pickle
    from concurrent.futures import ThreadPoolExecutor

    from dplitmus.shipping import Parcel, unpacked

    class Slow:
        def __call__(self, x: Any, n: int, rng: Any) -> Any:
            return rng.laplace(size=n)

        def __reduce__(self) -> Any:
            return slowly, ()

    def slowly() -> Slow:
        time.sleep(0.2)
        return Slow()

    arrived = [pickle.loads(pickle.dumps(Parcel(Slow()))) for _ in range(4)]  # noqa: S301
    with ThreadPoolExecutor(4) as pool:
        opened = list(pool.map(lambda parcel: unpacked(parcel.packed), arrived))
    assert len({id(parcel.mechanism) for parcel in opened}) == 1


def test_global_generators_are_seeded_anew_in_each_worker(audit: Audit) -> None:
    result = audit("global_state", on="processes:2")
    assert "DP303" in [note.code for note in result.notes]
    assert result.verdict == "not-found"


def test_what_cannot_travel_is_refused(audit: Audit) -> None:
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

    tasks = Dispatch(Broken(), replays=True)
    with pytest.raises(MechanismError, match=r"DP432.*the executor broke"):
        tasks.result(tasks.submit(len, "abc"))


@pytest.mark.parametrize(
    ("workers", "expected", "copies"), [(2, 0.0, 2), (2, 60.0, 1), (1, 0.0, 1)],
    ids=["late", "long", "nobody is idle"],
)  # fmt: skip
def test_a_late_task_is_copied_if_it_was_to_be_short_and_somebody_is_idle(
    workers: int, expected: float, copies: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "_SHORTEST_WAIT", 0.01)
    begun: list[int] = []
    copied = threading.Event()

    def work() -> str:
        begun.append(1)
        if len(begun) == 2:
            copied.set()
        copied.wait(30.0 if copies == 2 else 0.2)
        return "done"

    with ThreadPoolExecutor(workers) as pool:
        tasks = Dispatch(pool, replays=True)
        assert tasks.result(tasks.submit(work, expected=expected)).answer == "done"
    assert len(begun) == copies


class Cluster:
    """A real scheduler and a worker on 127.0.0.1, as commands."""

    def __init__(self, *worker: str, **settings: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = str(probe.getsockname()[1])
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.worker, self.settings = worker, settings
        self.running: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Start both; without arguments for the worker there is none."""
        here = ["--host", "127.0.0.1", "--no-dashboard"]
        worker = ["worker", self.address, "--nthreads", "1", *self.worker]
        for command in (["scheduler", "--port", self.port], *([worker] if self.worker else [])):
            self.running.append(
                subprocess.Popen(
                    [sys.executable, "-m", "dask", *command, *here],
                    stderr=subprocess.DEVNULL,
                    env=os.environ | self.settings,
                )
            )

    def kill(self) -> None:
        """End all that was started."""
        for process in self.running:
            process.kill()
            process.wait()

    def __enter__(self) -> Self:
        self.start()
        while True:  # it listens when it has started
            try:
                socket.create_connection(("127.0.0.1", int(self.port))).close()
            except ConnectionRefusedError:
                time.sleep(0.1)
            else:
                return self

    def __exit__(self, *_: object) -> None:
        self.kill()


@pytest.mark.slow
def test_a_scheduler_that_is_killed_and_started_again_changes_nothing(audit: Audit) -> None:
    """Scheduler and worker are killed during the run and start again."""
    killers: list[threading.Thread] = []
    expected = audit("slow", samples=800)
    with Cluster("--no-nanny") as cluster:

        def restart() -> None:
            cluster.kill()
            time.sleep(1)
            cluster.start()

        def progress(_: int) -> None:
            if not killers:
                killers.append(threading.Thread(target=restart))
                killers[0].start()

        assert expected == audit("slow", samples=800, on=f"dask:{cluster.address}", progress=progress)
        killers[0].join()
    assert len(cluster.running) == 4


@pytest.mark.slow
def test_a_scheduler_that_never_comes_back_is_told(audit: Audit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "_PATIENCE", 20)
    with (
        Cluster("--no-nanny") as cluster,
        pytest.raises(MechanismError, match=r"DP432.*cannot be made again.*\n.*--resume"),
    ):
        audit("slow", samples=800, on=f"dask:{cluster.address}", progress=lambda _: cluster.kill())


@pytest.mark.slow
def test_a_dask_worker_that_its_nanny_ends_for_memory_is_told(audit: Audit) -> None:
    """A nanny ends a worker above 95 % of its limit, and Dask gives the task up."""
    give_up = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
    with (
        Cluster("--nanny", "--memory-limit", "1GB", **give_up) as cluster,
        pytest.raises(MechanismError, match=r"DP432.*worker died: KilledWorker.*\n.*more memory"),
    ):
        audit("swells", on=f"dask:{cluster.address}")


@pytest.mark.slow
def test_a_scheduler_without_workers_is_told(audit: Audit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "_PATIENCE", 20)
    with (
        Cluster() as cluster,
        pytest.raises(InputError, match=r"executor=.*must have workers.*\n.*dask worker"),
    ):
        audit("laplace", on=f"dask:{cluster.address}")
