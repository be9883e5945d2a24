"""Does the wealth reach 1/alpha more often than alpha, at the exact boundary, at any time?"""

from __future__ import annotations

import math
import random
from concurrent.futures import Executor, Future
from typing import Any

import numpy as np
import pytest
from scipy.special import bdtrc

import dplitmus
from dplitmus import evidence, search
from dplitmus.evidence import LEVELS, Tally

ALPHA = 0.05


def most_rejections(runs: int) -> int:
    """The smallest k with P[Bin(runs, alpha) > k] <= 1e-6: more would contradict the guarantee."""
    return next(k for k in range(runs) if bdtrc(k, runs, ALPHA) <= 1e-6)


@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.05])
@pytest.mark.parametrize("logit", [1.1, 1.8])
def test_stopping_at_the_best_moment_does_not_help_against_a_true_claim(delta: float, logit: float) -> None:
    """Overconfident forecasts on the mechanism that is tight for (1, delta); false failure 1e-6.

    With probability delta the input is revealed (forecast at the top level, always right); otherwise
    randomised response at epsilon 1 is forecast at `logit`. 1500 runs of 16 chunks, judged at each.
    """
    rng = np.random.default_rng(5)
    runs, chunks, size = 1500, 16, 50
    claim = np.array([1.0]), np.array([delta])
    bets = evidence.streams(*claim, LEVELS)
    level = int(evidence.level_of(np.array([logit]))[0])
    u = 1 / (1 + math.exp(-1))
    refuted = 0
    for _ in range(runs):
        tally = Tally()
        revealed = rng.binomial(size, delta, size=chunks)
        correct = rng.binomial(size - revealed, u)
        for shown, right in zip(revealed.tolist(), correct.tolist(), strict=True):
            counts = np.zeros((2, LEVELS.size), dtype=np.int64)
            counts[0, -1] = shown
            counts[:, level] = right, size - shown - right
            tally.add(counts)
            if evidence.log_wealth(tally, *claim, bets=bets)[0] >= -math.log(ALPHA):
                refuted += 1
                break
    assert refuted <= most_rejections(runs)


def randomised_response(x: float, n: int, rng: np.random.Generator) -> Any:
    return np.where(rng.random(n) < 1 / (1 + math.exp(-1)), x, 1 - x)


def laplace(x: float, n: int, rng: np.random.Generator) -> Any:
    return x + rng.laplace(size=n)


def refutations(mechanism: Any, runs: int, samples: int) -> int:
    return sum(
        dplitmus.audit(
            mechanism, epsilon=1.0, neighbours=[(0.0, 1.0)], samples=samples, alpha=ALPHA, seed=seed
        ).verdict
        == "violated"
        for seed in range(runs)
    )


@pytest.mark.parametrize("mechanism", [randomised_response, laplace])
def test_whole_audits_at_the_boundary_accuse_no_more_often_than_alpha(mechanism: Any) -> None:
    """40 audits of 200 draws at alpha = 0.05; false-failure probability 1e-6."""
    assert refutations(mechanism, 40, 222) <= most_rejections(40)


def test_the_bound_of_an_exam_exceeds_the_truth_no_more_often_than_alpha() -> None:
    """60 audits of 600 draws with an exam, at the boundary; false-failure probability 1e-6."""
    above = 0
    for seed in range(60):
        result = dplitmus.audit(
            randomised_response,
            epsilon=1.0,
            neighbours=[(0.0, 1.0)],
            samples=600,
            alpha=ALPHA,
            seed=seed,
            stop="never",
        )
        above += result.epsilon_lower > 1.0
    assert above <= most_rejections(60)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [randomised_response, laplace])
def test_many_whole_audits_at_the_boundary(mechanism: Any) -> None:
    """1000 audits of 600 draws at alpha = 0.05; false-failure probability 1e-6."""
    assert refutations(mechanism, 1000, 667) <= most_rejections(1000)


class Shuffled(Executor):
    """Keeps tasks back and runs them in random order, when somebody waits: late and reordered."""

    def __init__(self, seed: int) -> None:
        self.tasks: list[tuple[Future[Any], Any, Any]] = []
        self.chance = random.Random(seed)  # noqa: S311
        self.most = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Only take note."""
        future = Late(self)
        self.tasks.append((future, fn, args))
        self.most = max(self.most, len(self.tasks))
        return future

    def run_until(self, wanted: Future[Any]) -> None:
        """Any of them, until the one that is waited for was among them."""
        while not wanted.done():
            future, fn, args = self.tasks.pop(self.chance.randrange(len(self.tasks)))
            if future.set_running_or_notify_cancel():
                future.set_result(fn(*args))


class Late(Future[Any]):
    """Its result makes waiting tasks run."""

    def __init__(self, executor: Shuffled) -> None:
        super().__init__()
        self.executor = executor

    def result(self, timeout: float | None = None) -> Any:
        """Wait by working."""
        self.executor.run_until(self)
        return super().result(timeout)


def one_response(x: float, rng: np.random.Generator) -> float:
    return x if rng.random() < 1 / (1 + math.exp(-1)) else 1 - x


IN_FLIGHT = [  # judged by what was learned meanwhile, or by a copy of what was known eight chunks before
    pytest.param(dplitmus.each(one_response), id="judged in order"),
    pytest.param(randomised_response, id="judged by copies"),
]


def late_refutations(mechanism: Any, runs: int, samples: int) -> int:
    refuted = 0
    for seed in range(runs):
        executor = Shuffled(seed)
        result = dplitmus.audit(
            mechanism,
            epsilon=1.0,
            neighbours=[(0.0, 1.0)],
            samples=samples,
            alpha=ALPHA,
            seed=seed,
            executor=executor,
        )
        refuted += result.verdict == "violated"
        assert executor.most >= 8
    return refuted


@pytest.mark.parametrize("mechanism", IN_FLIGHT)
def test_chunks_in_flight_that_come_late_and_reordered_accuse_no_more_often_than_alpha(
    mechanism: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """16 audits of 270 draws at the boundary at alpha = 0.05; false-failure probability 1e-6."""
    monkeypatch.setattr(search, "_SEQUENTIAL", 0)
    assert late_refutations(mechanism, 16, 300) <= most_rejections(16)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", IN_FLIGHT)
def test_many_audits_with_chunks_in_flight(mechanism: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """600 audits of 540 draws at alpha = 0.05; false-failure probability 1e-6."""
    monkeypatch.setattr(search, "_SEQUENTIAL", 0)
    assert late_refutations(mechanism, 600, 600) <= most_rejections(600)
