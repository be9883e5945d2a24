"""The audit as a whole: verdicts, reproducibility, strange mechanisms, bad input."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.special import bdtrc

import dplitmus
from dplitmus import Result, auditing, habits, judging, prospects, search
from dplitmus.bounds import graded_lower, guess_lower
from dplitmus.errors import InputError, MechanismError
from dplitmus.executors import Inline

PAIR = [(0.0, 1.0)]


def laplace(scale: float) -> Any:
    return lambda x, n, rng: x + rng.laplace(scale=scale, size=(n, *np.shape(x)))


def copy(x: Any, n: int, rng: Any) -> Any:
    return np.full(n, x)


def audit(mechanism: Any, **settings: Any) -> Result:
    return dplitmus.audit(
        mechanism, **{"epsilon": 1.0, "neighbours": PAIR, "samples": 20_000, "seed": 1, **settings}
    )


@pytest.mark.parametrize(
    ("mechanism", "settings"),
    [
        (copy, {}),
        (laplace(0.5), {}),
        (laplace(1.0), {"neighbours": [([0.0, 0.0], [1.0, 1.0])]}),
        (laplace(0.5), {"neighbours": [([0.0, 1.0, 5.0], [1.0, 0.0, 5.0])]}),
        (lambda x, n, rng: x + rng.exponential(size=n), {}),
        (lambda x, n, rng: np.where(rng.random(n) < 0.1 + 0.5 * x, np.nan, rng.random(n)), {}),
        (lambda x, n, rng: np.where(rng.random(n) < 0.1 + 0.5 * x, np.inf, rng.random(n)), {}),
        (lambda x, n, rng: ["yes" if c else "no" for c in rng.random(n) < 0.1 + 0.8 * x], {}),
        (lambda x, n, rng: [None if c else {1, 2} for c in rng.random(n) < 0.1 + 0.8 * x], {}),
        (lambda x, n, rng: [[1] * (2 if c else 3) for c in rng.random(n) < 0.1 + 0.8 * x], {}),
        (lambda x, n, rng: [(1, "a") if c else 2.5 for c in rng.random(n) < 0.1 + 0.8 * x], {}),
        (lambda x, n, rng: rng.random(n) < (0.9 if x == "b" else 0.1), {"neighbours": [("a", "b")]}),
        (laplace(1.0), {"epsilon": 0.5, "delta": 1e-5}),
        (dplitmus.each(lambda x, rng: x + rng.laplace(scale=0.2)), {"samples": 5000}),
        (dplitmus.each(lambda x: x), {"samples": 5000}),
    ],
)
def test_broken_mechanisms_are_found(mechanism: Any, settings: dict[str, Any]) -> None:
    result = audit(mechanism, **settings)
    assert result.verdict == "violated"
    assert result.epsilon_lower >= settings.get("epsilon", 1.0)
    assert result.samples <= result.budget
    assert result.counterexample is not None
    assert result.counterexample.p_value < 0.01
    assert "VIOLATED" in str(result)


@pytest.mark.parametrize(
    ("mechanism", "settings"),
    [
        (laplace(1.0), {}),
        (laplace(3.0), {"neighbours": [(np.zeros(3), np.ones(3))]}),
        (lambda x, n, rng: rng.random(n), {}),
        (lambda x, n, rng: np.where(rng.random(n) < 1 / (1 + math.exp(-1)), x, 1 - x), {}),
        (lambda x, n, rng: ["a"] * n, {}),
        (lambda x, n, rng: np.full(n, np.nan), {}),
        (laplace(1.0), {"epsilon": 1.0, "delta": 0.01}),
    ],
)
def test_correct_mechanisms_are_not_accused(mechanism: Any, settings: dict[str, Any]) -> None:
    """A false alarm has probability at most 1e-6 each."""
    result = audit(mechanism, **settings)
    assert result.verdict == "not-found"
    assert result.epsilon_lower <= 1.0
    assert result.counterexample is None
    words = str(result)
    assert "Not found is not private" in words
    assert not any(word in words for word in ("safe", "passed"))


def test_the_bound_closes_in_on_the_truth() -> None:
    told: list[int] = []
    result = audit(laplace(1.0), samples=200_000, stop="never", alpha=1e-3, progress=told.append)
    assert 0.94 < result.epsilon_lower < 1.0
    assert result.samples == result.budget == sum(told) == 200_000
    assert result.exam is not None
    exam = result.exam
    assert exam.epsilon_lower == graded_lower(exam.grades, exam.alpha)
    assert exam.guesses == sum(grade.guesses for grade in exam.grades)
    assert exam.threshold is None
    told_so = " ".join(str(result).split())
    for grade in exam.grades:
        assert f"{grade.correct:,} of {grade.guesses:,} for {grade.weight}" in told_so


def test_with_delta_the_exam_is_by_a_frozen_panel() -> None:
    result = audit(laplace(0.5), delta=1e-3, samples=20_000, stop="never", alpha=1e-3)
    assert result.exam is not None
    exam = result.exam
    assert exam.epsilon_lower == guess_lower(exam.correct, exam.guesses, exam.draws, exam.alpha, 1e-3)
    assert not exam.grades
    assert f"{exam.guesses:,} times, {exam.correct:,} of these rightly" in " ".join(str(result).split())


def test_the_best_pair_sits_the_exam() -> None:
    """Among eight pairs, the one that shows all of it; on the others half, at most."""

    def two_queries(x: Any, n: int, rng: np.random.Generator) -> Any:
        return x + rng.laplace(scale=1.0, size=(n, 2))

    far, near = np.array([1.0, 1.0]), [np.array([0.1 * k, 0.0]) for k in range(1, 8)]
    pairs = [(np.zeros(2), other) for other in [*near, far]]
    result = audit(two_queries, epsilon=2.0, neighbours=pairs, samples=300_000, stop="never", alpha=0.05)
    assert result.exam is not None
    assert result.exam.pair == result.pairs[7].name
    assert 1.7 < result.epsilon_lower < 2.0


def test_a_time_limit_leaves_time_for_an_exam(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that ticks at every look: 35 % of the time for the search, then the exam is planned once."""
    ticks = itertools.count()
    monkeypatch.setattr("time.monotonic", lambda: float(next(ticks)))
    result = audit(laplace(1.0), samples=10**9, stop="never", seconds=300)
    assert result.exam is not None
    assert 0 < result.exam.draws < 10**7
    assert result.epsilon_lower > 0.5


class Backwards(Executor):
    """Runs tasks late and in reverse: as unkind as an executor can be."""

    def __init__(self) -> None:
        self.tasks: list[tuple[Future[Any], Any, Any]] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Only take note."""
        future: Lazy = Lazy(self)
        self.tasks.append((future, fn, args))
        return future

    def run_all(self) -> None:
        """The last one first."""
        while self.tasks:
            future, fn, args = self.tasks.pop()
            if not future.cancelled():
                future.set_result(fn(*args))


class Lazy(Future[Any]):
    """Its result makes all waiting tasks run, the last one first."""

    def __init__(self, executor: Backwards) -> None:
        super().__init__()
        self.executor = executor

    def result(self, timeout: float | None = None) -> Any:
        """Wait by working."""
        self.executor.run_all()
        return super().result(timeout)


@pytest.mark.parametrize("stop", ["never", "violated"])
def test_the_result_is_the_same_on_every_executor(stop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Serial, four threads, and tasks that run late and in reverse."""
    monkeypatch.setattr(search, "_SEQUENTIAL", 1000)
    settings = {"samples": 40_000, "stop": stop, "neighbours": [(0.0, 1.0), (3.0, 2.0)]}
    alone = audit(laplace(0.9), **settings)
    with ThreadPoolExecutor(4) as pool:
        assert alone == audit(laplace(0.9), executor=pool, **settings)
    assert alone == audit(laplace(0.9), executor=Backwards(), **settings)
    assert alone != audit(laplace(0.9), seed=2, **settings)


def test_a_panel_in_flight_is_not_changed_by_later_learning(monkeypatch: pytest.MonkeyPatch) -> None:
    """What judges a chunk was learned before the chunk was drawn, with chunks in flight too."""
    seen: list[tuple[Any, list[float], int]] = []
    examine = judging.Judge.examine

    def spy(judge: judging.Judge, batch: Any) -> judging.Outcome:
        if judge.panel is not None and judge.panel.frozen:
            seen.append((judge.panel, judge.panel.weights.tolist(), judge.panel.draws))
        return examine(judge, batch)

    monkeypatch.setattr(judging.Judge, "examine", spy)
    monkeypatch.setattr(search, "_SEQUENTIAL", 1000)
    audit(laplace(1.0), samples=200_000, stop="never", neighbours=[(0.0, 1.0), (3.0, 2.0)])
    assert len(seen) > 5
    for panel, weights, draws in seen:
        assert (panel.weights.tolist(), panel.draws) == (weights, draws)


def test_one_sided_noise_in_many_dimensions_is_seen_by_the_side_it_never_takes() -> None:
    """The inputs differ in both directions; the noise is never negative."""
    rng = np.random.default_rng(3)
    x, x_prime = 0.3 * rng.normal(size=(2, 64))

    def one_sided(x: Any, n: int, rng: np.random.Generator) -> Any:
        return x + rng.exponential(scale=128.0, size=(n, 64))

    result = audit(one_sided, neighbours=[(x, x_prime)], samples=100_000)
    assert result.verdict == "violated"
    assert result.counterexample is not None
    assert result.counterexample.event.startswith("some coordinate of y is below that of x")
    assert result.counterexample.p_value < 1e-6


def test_the_bandit_spends_its_draws_on_the_pair_that_shows_the_bug() -> None:
    def only_there(x: float, n: int, rng: np.random.Generator) -> Any:
        return x + rng.laplace(scale=0.4 if x >= 5 else 50.0, size=n)

    pairs = [*((float(k), float(k + 1)) for k in range(4)), (7.0, 8.0)]
    result = audit(only_there, neighbours=pairs, samples=100_000)
    assert result.verdict == "violated"
    spent = {pair.name: pair.draws for pair in result.pairs}
    assert max(spent, key=lambda name: spent[name]) == "7. against 8."


def test_a_fixed_seed_inside_is_told_and_does_not_make_a_false_alarm() -> None:
    def seeded(x: float, n: int, rng: Any) -> Any:
        return x + np.random.default_rng(7).laplace(size=n)

    result = audit(seeded)
    assert result.verdict == "not-found"
    assert "DP305" in [note.code for note in result.notes]


def test_missing_noise_is_told() -> None:
    assert "DP304" in [note.code for note in audit(copy).notes]


def test_a_black_box_is_audited_and_said_not_to_be_replayable() -> None:
    own = np.random.default_rng(3)
    for mechanism in (
        lambda x, n: x + own.laplace(scale=0.3, size=n),
        lambda x, n, rng: x + own.laplace(scale=0.3, size=n),
    ):
        result = audit(mechanism)
        assert result.verdict == "violated"
        assert not result.replayable
        assert "DP303" in [note.code for note in result.notes]


def test_an_interrupt_keeps_what_was_learned() -> None:
    calls = 0

    def interrupted(x: float, n: int, rng: np.random.Generator) -> Any:
        nonlocal calls
        calls += 1
        if calls > 60:
            raise KeyboardInterrupt
        return x + rng.laplace(size=n)

    result = audit(interrupted)
    assert not result.finished
    assert result.samples > 20
    assert "Unfinished" in str(result)


def test_a_time_limit_ends_the_run() -> None:
    assert audit(laplace(1.0), samples=10**9, seconds=0.05).samples < 10**6


@pytest.mark.parametrize("threads", [0, 4])
def test_when_the_time_is_up_nobody_waits_for_chunks_in_flight(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = itertools.count()
    made = 0

    def noised(x: float, rng: np.random.Generator) -> float:
        nonlocal made
        made = next(calls)
        return x + float(rng.laplace())

    # The clock jumps to the end with the 500th draw; by then more than twice as many are in flight.
    clock = SimpleNamespace(monotonic=lambda: 0.0 if made < 500 else math.inf)
    monkeypatch.setattr(search, "time", clock)
    with ThreadPoolExecutor(threads) if threads else Inline() as executor:
        result = audit(dplitmus.each(noised), executor=executor, seconds=3600)
    assert 0 < result.samples <= made
    if not threads:  # a chunk that was begun is finished
        assert 450 < result.samples < 600
        assert made < 600


def test_the_cause_of_a_slow_leak_is_named_with_at_most_half_the_draws_again() -> None:
    calls = itertools.count()

    def half(x: float, rng: np.random.Generator) -> float:
        next(calls)
        return x + float(rng.laplace(scale=0.5))

    result = audit(dplitmus.each(half))
    assert [note.code for note in result.notes] == ["DP310"]
    looks = next(calls) - 1.5 * result.samples
    assert looks < 64  # before the run
    with ThreadPoolExecutor(3) as pool:
        assert audit(dplitmus.each(half), executor=pool).notes == result.notes


def test_few_slow_draws_are_not_all_spent_before_the_exam() -> None:
    result = audit(dplitmus.each(lambda x, rng: x + rng.exponential()), samples=1000)
    assert result.counterexample is not None
    # In flight when the claim fell: a fifth of the draws that the search may have, and a chunk, at most.
    assert result.samples > 0.77 * 1000


@pytest.fixture
def tick(monkeypatch: pytest.MonkeyPatch) -> Callable[[], float]:
    """A clock of calls: each takes 20 ms, and all else takes no time."""
    calls = 0

    def tick() -> float:
        nonlocal calls
        calls += 1
        return 0.02 * calls

    clock = SimpleNamespace(monotonic=lambda: 0.02 * calls, perf_counter=lambda: 0.02 * calls)
    for module in (auditing, habits, search):
        monkeypatch.setattr(module, "time", clock)
    return tick


@pytest.mark.parametrize(("seconds", "used"), [(2, 0.4), (20, 0.85)])
def test_the_tightest_bound_uses_the_time_it_is_given(
    seconds: float, used: float, tick: Callable[[], float]
) -> None:
    def slow(x: float, rng: np.random.Generator) -> float:
        tick()
        return x + float(rng.laplace())

    result = audit(dplitmus.each(slow), seconds=seconds, stop="never")
    assert used <= result.samples * 0.02 / seconds <= 1
    assert tick() < 1.1 * seconds


def test_time_is_kept_for_the_cause(tick: Callable[[], float]) -> None:
    def half(x: float, rng: np.random.Generator) -> float:
        tick()
        return x + float(rng.laplace(scale=0.5))

    result = audit(dplitmus.each(half), seconds=20)
    assert [note.code for note in result.notes] == ["DP310"]
    assert tick() < 1.1 * 20


def test_a_clock_may_stand_still(tick: Callable[[], float]) -> None:
    result = audit(copy, seconds=20)
    assert result.counterexample is not None
    assert tick() == 0.02


def test_a_run_without_any_time_still_has_a_chunk() -> None:
    assert audit(laplace(1.0), seconds=1e-9).samples > 0
    with ThreadPoolExecutor(2) as pool:
        assert audit(dplitmus.each(lambda x, rng: x + rng.laplace()), executor=pool, seconds=1e-9).samples > 0


def test_a_call_that_hangs_is_a_failure_of_the_mechanism() -> None:
    import threading

    gate = threading.Event()
    with pytest.raises(MechanismError, match=r"error\[DP406\]"):
        audit(lambda x, n, rng: gate.wait(30), call_timeout=0.05)
    gate.set()


@pytest.mark.parametrize(
    ("mechanism", "code"),
    [
        (lambda x, n, rng: 1 / 0, "DP401"),
        (lambda x, n, rng: (_ for _ in ()).throw(SystemExit(0)), "DP401"),
        (lambda x, n, rng: np.zeros(n + 1), "DP402"),
        (lambda x, n, rng: 3.0, "DP402"),
        (lambda x, n, rng: {1: 2}, "DP402"),
        (lambda x, n, rng: "abc", "DP402"),
    ],
)
def test_a_failing_mechanism_is_told_with_its_code(mechanism: Any, code: str) -> None:
    with pytest.raises(MechanismError) as caught:
        audit(mechanism)
    assert caught.value.code == code


def test_a_mechanism_that_changes_its_input_is_refused() -> None:
    def in_place(x: Any, n: int, rng: np.random.Generator) -> Any:
        x += 1
        return np.tile(x, (n, 1))

    with pytest.raises(MechanismError, match="DP404"):
        audit(in_place, neighbours=[(np.zeros(2), np.ones(2))])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"epsilon": "1"}, "epsilon='1' must be a number"),
        ({"epsilon": 0}, "epsilon=0 must"),
        ({"delta": 1.0}, "delta=1.0 must"),
        ({"delta": math.nan}, "delta=nan must"),
        ({"neighbours": []}, "must hold at least one pair"),
        ({"neighbours": iter(())}, "must hold at least one pair"),
        ({"neighbours": 3}, "neighbours=3 must be a list of pairs"),
        ({"neighbours": [(1, 2, 3)]}, "must have two members"),
        ({"neighbours": [(1.0, 1.0)]}, "must have two different members"),
        ({"neighbours": [([1.0], [1.0, 2.0])]}, "must have members of one shape"),
        ({"samples": 0}, "samples=0 must"),
        ({"alpha": 0}, "alpha=0 must"),
        ({"stop": "now"}, "stop='now' must be one of"),
        ({"level": "bit"}, "level='bit' must be one of"),
        ({"seconds": 0}, "seconds=0 must"),
        ({"call_timeout": -1}, "call_timeout=-1 must"),
    ],
)
def test_bad_input_is_refused_by_name(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match="DP201") as caught:
        audit(copy, **settings)
    assert words in str(caught.value)


def test_the_exam_bounds_delta_too() -> None:
    """Reveals its input with probability 0.05 where 0.001 is claimed: both bounds are above the claim."""

    def revealing(x: float, n: int, rng: np.random.Generator) -> Any:
        answer = np.where(rng.random(n) < 1 / (1 + math.exp(-1)), x, 1 - x)
        return np.where(rng.random(n) < 0.05, 2 + x, answer)

    result = audit(revealing, delta=1e-3, samples=200_000, stop="never", alpha=0.01)
    assert result.verdict == "violated"
    assert 0.03 < result.delta_lower <= 0.05
    assert result.alphas is not None
    assert f"refuted from e^{-math.log(result.alphas.search):.1f}" in " ".join(str(result).split())


@pytest.mark.parametrize("guesses", [0, 1, 40, 10**9])
def test_the_fewest_correct_guesses_that_refute(guesses: int) -> None:
    """By bisection: nothing as long as the number of guesses is made."""
    fewest = prospects._fewest_correct(guesses, 0.7, 1e-6)
    assert fewest == guesses + 1 or bdtrc(fewest - 1, guesses, 0.7) <= 1e-6
    assert bdtrc(fewest - 2, guesses, 0.7) > 1e-6


def test_a_bandit_with_everything_in_flight_knows_which_pair_is_which() -> None:
    """Draws one at a time are in flight from the start, so that some pairs have no result yet."""

    def only_there(x: float, rng: np.random.Generator) -> float:
        return x + rng.laplace(scale=0.2 if x >= 5 else 50.0)

    pairs = [(0.0, 1.0), (7.0, 8.0), (1.0, 2.0)]
    result = audit(dplitmus.each(only_there), neighbours=pairs, samples=20_000)
    assert result.verdict == "violated"
    assert max(result.pairs, key=lambda pair: pair.draws).name == "7. against 8."
