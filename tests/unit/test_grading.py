"""The graded exam: weights fixed beforehand, a panel that learns on, rounds that do not look ahead."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

import dplitmus
from dplitmus import evidence, grading, prospects
from dplitmus.bounds import Grade, graded_lower

HORIZON = prospects.Horizon(100_000, 0.05, 0.0)


def laplace(x: Any, n: int, rng: np.random.Generator) -> Any:
    return x + rng.laplace(size=n)


def counts_of(shares: dict[float, float], draws: int = 100_000) -> np.ndarray[Any, Any]:
    """Right and wrong guesses of a panel that knows its odds: shares of the draws per logit."""
    counts = np.zeros((2, evidence.LEVELS.size), dtype=np.int64)
    for logit, share in shares.items():
        level = int(evidence.level_of(np.array([logit]))[0])
        right = round(share * draws * float(expit(logit)))
        counts[:, level] += right, round(share * draws) - right
    return counts


def profile(shares: dict[float, float]) -> prospects.Profile:
    counts = counts_of(shares)
    return prospects.profile(counts, counts.sum(axis=0), HORIZON)


def test_all_guesses_count_alike_where_all_are_equally_sure() -> None:
    found = profile({1.0: 0.3, 0.001: 0.7})
    assert found.weights == (1,)
    assert 0.29 < found.shares[0] < 0.3  # a little less than there are
    assert 0.95 < found.epsilon < 1.0


def test_surer_guesses_weigh_more_and_weak_ones_nothing() -> None:
    found = profile({1.0: 0.01, 0.95: 0.02, 0.9: 0.05, 0.3: 0.5, 0.001: 0.42})
    assert sorted(found.weights, reverse=True) == list(found.weights)
    assert len(found.weights) > 1
    assert sum(found.shares) < 0.09


def test_the_promise_is_about_what_the_weights_certify() -> None:
    shares = {1.0: 0.01, 0.8: 0.05, 0.6: 0.1, 0.2: 0.4, 0.001: 0.44}
    counts, found = counts_of(shares), profile(shares)
    ranked = np.repeat(list(shares), [round(share * HORIZON.draws) for share in shares.values()])
    ends = found.ends(HORIZON.draws)
    grades = [
        Grade(weight, int(last - first), round(float(expit(ranked[first:last]).sum())))
        for weight, first, last in zip(found.weights, [0, *ends], ends, strict=False)
    ]
    certified = graded_lower(grades, HORIZON.alpha)
    assert found.epsilon == pytest.approx(certified, rel=0.03)
    expected = found.expected(counts, counts.sum(axis=0), HORIZON, caution=0.0)
    assert expected == pytest.approx(certified, rel=0.03)


def test_guesses_that_were_never_wrong_are_certain_whatever_the_panel_says() -> None:
    counts = counts_of({0.001: 0.9})
    counts[0, int(evidence.level_of(np.array([4.0]))[0])] = 10_000
    found = prospects.profile(counts, counts.sum(axis=0), HORIZON)
    assert found.weights == (1,)
    assert found.epsilon > 7


def test_caution_promises_less_the_less_is_known() -> None:
    few, many = (counts_of({0.5: 0.2, 0.001: 0.8}, draws) for draws in (1000, 100_000))
    bold, careful = (
        [prospects.profile(counts, counts.sum(axis=0), HORIZON, caution).epsilon for counts in (few, many)]
        for caution in (0.0, 1.0)
    )
    assert bold[0] - careful[0] > 2 * (bold[1] - careful[1]) > 0


@pytest.mark.parametrize("counts", [np.zeros((2, evidence.LEVELS.size), dtype=np.int64), counts_of({0.0: 1})])
def test_who_knows_nothing_promises_nothing(counts: Any) -> None:
    found = prospects.profile(counts, counts.sum(axis=0), HORIZON)
    assert found.epsilon < 0.01
    assert 0 < sum(found.shares) <= 1


@pytest.mark.parametrize("draws", [1, 7, 1000, 65_536])
def test_the_weights_of_a_chunk_end_within_it(draws: int) -> None:
    ends = prospects.Profile(1.0, (16, 4, 1), (0.001, 0.3, 0.699)).ends(draws)
    assert sorted(ends) == list(ends)
    assert ends[-1] == draws


def exam(**settings: Any) -> tuple[dplitmus.Result, list[tuple[grading.Grader, Any, grading.Marks]]]:
    """An audit with a graded exam, and all that was asked and answered in it."""
    seen: list[tuple[grading.Grader, Any, grading.Marks]] = []
    examine = grading.Grader.examine

    def spy(grader: grading.Grader, batch: Any) -> grading.Marks:
        marks = examine(grader, batch)
        seen.append((grader, batch, marks))
        return marks

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grading.Grader, "examine", spy)
        result = dplitmus.audit(
            laplace, epsilon=1.0, seed=1, stop="never", **{"neighbours": [(0.0, 1.0)], **settings}
        )
    return result, seen


def test_a_panel_learns_from_round_to_round_and_no_round_is_judged_by_what_was_learned_in_it() -> None:
    result, seen = exam(samples=40_000)
    known = [grader.judge.panel.draws for grader, _, _ in seen if grader.judge.panel]
    assert known == sorted(known)
    assert len(set(known)) > 2
    assert result.exam is not None
    assert sum(len(batch) for _, batch, _ in seen) == result.exam.draws
    half = [len(batch) for grader, batch, _ in seen if not grader.teaches]
    assert sum(half) == result.exam.draws - result.exam.draws // 2
    assert all(grader.rule is None for grader, _, _ in seen if grader.teaches)


def test_the_number_of_guesses_of_each_weight_is_a_function_of_the_chunk_sizes() -> None:
    result, seen = exam(samples=40_000)
    assert result.exam is not None
    profiles = {grader.profile for grader, _, _ in seen}
    assert len(profiles) == 1
    for number, grade in enumerate(result.exam.grades):
        assert grade.guesses == sum(grader.guesses(len(batch))[number] for grader, batch, _ in seen)
        assert grade.correct == sum(marks.correct[number] for _, _, marks in seen)


def test_the_readable_event_is_counted_on_the_second_half_alone() -> None:
    result, seen = exam(samples=40_000, neighbours=[(0.0, 2.0)])
    found = result.counterexample
    assert found is not None
    assert found.draws == sum(len(batch) for grader, batch, _ in seen if not grader.teaches)
    assert found.guesses == sum(marks.rule_guesses for _, _, marks in seen)
    assert math.isfinite(found.p_value)


def test_marks_that_cannot_be_are_not_taken() -> None:
    _, seen = exam(samples=20_000)
    grader, batch, marks = seen[0]
    size, most = len(batch), grader.guesses(len(batch))
    assert grader.plausible(marks, size)
    wrong: list[Any] = [
        None,
        marks._replace(correct=(*marks.correct, 1)),
        marks._replace(correct=(most[0] + 1, *marks.correct[1:])),
        marks._replace(correct=(-1, *marks.correct[1:])),
        marks._replace(rule_correct=1),
        marks._replace(lesson=None),
    ]
    for answer in wrong:
        assert not grader.plausible(answer, size)
    frozen = replace(grader, teaches=False)
    assert not frozen.plausible(marks, size)
    assert frozen.plausible(marks._replace(lesson=None), size)
