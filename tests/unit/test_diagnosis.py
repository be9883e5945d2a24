"""Notes that name the cause: texts, edges, and that they change nothing."""

from __future__ import annotations

import importlib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dplitmus
from dplitmus import diagnosis
from dplitmus.chunks import Desk
from dplitmus.claim import Claim
from dplitmus.diagnosis.subject import Source, Subject, examined, step_of
from dplitmus.dispatch import Dispatch
from dplitmus.executors import Inline
from dplitmus.habits import habits
from dplitmus.mechanisms.zoo import ZOO
from dplitmus.neighbours import as_pairs
from dplitmus.shipping import Parcel
from dplitmus.target import zoo_setting
from dplitmus.verdict import Note

ROOT = Path(__file__).parents[2]
NO_CAUSE = {"DP302", "DP303", "DP314"}


def source_of(mechanism: Any, seed: int) -> Source:
    return Source(Parcel(mechanism), Desk(Dispatch(Inline(), replays=True)), seed)


def diagnosed(
    mechanism: Any, pair: Any = (0.0, 1.0), *, seed: int = 1, delta: float = 0.0, violated: bool = True
) -> list[Note]:
    """The notes on a mechanism without any search, for a claim of epsilon 1."""
    source, pair = source_of(mechanism, seed), as_pairs([pair])[0]
    return list(
        diagnosis.notes(
            Subject(
                source=source,
                claim=Claim(epsilon=1.0, delta=delta),
                pair=pair,
                habits=habits(source.parcel.callee, pair.x, seed),
                violated=violated,
                sides=examined(source, pair, sample=None, stock=None, fresh=2048),
                spare=20_000,
            )
        )
    )


def text_of(notes: list[Note], code: str) -> str:
    return next(note.text for note in notes if note.code == code)


def test_dptext_is_told_that_its_uniform_came_from_the_wrong_interval() -> None:
    for name in ("dptext-nan0", "dptext-redraw", "dptext-nan"):
        notes = diagnosed(ZOO[name].make(1.0, 1), (np.zeros(1), np.ones(1)))
        text = text_of(notes, "DP308")
        assert "never negative" in text
        assert "wrong interval, (0, 1) instead of (-1/2, 1/2), as in DPText" in text


def test_a_factor_has_an_interval_and_a_name() -> None:
    """Six standard errors: fails with probability below 1e-8."""
    text = text_of(diagnosed(lambda x, n, rng: x + rng.laplace(scale=0.5, size=n)), "DP310")
    low, high = (float(word) for word in text.split("(between ")[1].split(")")[0].split(" and "))
    assert low < 2 < high
    assert "That is 2 (half a sensitivity)" in text
    adept = diagnosed(lambda x, n, rng: x + rng.laplace(size=(n, 8)), (np.zeros(8), np.ones(8)))
    assert "the number of coordinates" in text_of(adept, "DP310")


def test_the_same_seed_tells_how_far_an_unknown_query_moves() -> None:
    notes = diagnosed(
        lambda x, n, rng: 3 * np.sum(x) + rng.laplace(size=n), (np.zeros(4), np.array([0, 1.0, 0, 0]))
    )
    assert "the query moves by 3 between the inputs" in text_of(notes, "DP310")


def test_a_missing_clip_is_followed_far_beyond_the_pair() -> None:
    notes = diagnosed(lambda x, n, rng: np.sum(x) + rng.laplace(size=n), (np.zeros(3), np.array([9.0, 0, 0])))
    assert "100 times as far" in text_of(notes, "DP313")
    clipped = diagnosed(
        lambda x, n, rng: np.clip(np.sum(x), 0, 5) + rng.laplace(size=n), (np.zeros(3), np.array([9.0, 0, 0]))
    )
    assert "DP313" not in [note.code for note in clipped]


def test_a_missing_clip_is_named_beside_another_cause() -> None:
    pair = (np.array([1.0, 0.0, 1.0]), np.array([25.0, 0.0, 1.0]))
    uniform = diagnosed(lambda x, n, rng: np.sum(x) + rng.uniform(-3.0, 3.0, size=n), pair)
    assert [note.code for note in uniform if note.code not in NO_CAUSE] == ["DP311", "DP313"]
    growing = diagnosed(lambda x, n, rng: np.sum(x) + rng.laplace(scale=1 + np.max(x) / 10, size=n), pair)
    assert {"DP312", "DP313"} == {note.code for note in growing if note.code not in NO_CAUSE}


def test_noise_from_a_pool_is_seen_in_one_of_many_numbers() -> None:
    pool = np.random.default_rng(22).laplace(scale=1.0, size=100)
    text = text_of(diagnosed(lambda x, n, rng: x + pool[rng.integers(100, size=(n, 6))]), "DP307")
    assert "only 100 different values in y[0]" in text


def test_a_choice_among_candidates_is_no_noise_that_is_used_again() -> None:
    """Numbers on no grid that come again and again, but the same ones on both inputs."""
    candidates = np.array([0.3, 1.1, 7.77, 9.2, 12.5, 13.37, 20.0])

    def chosen(x: float, n: int, rng: np.random.Generator) -> Any:
        odds = np.exp(np.array([0, 1, 2, 3, 2, 1, 0]) * x / 6)
        return rng.choice(candidates, p=odds / odds.sum(), size=n)

    assert [note for note in diagnosed(chosen, violated=False) if note.code not in NO_CAUSE] == []


def test_few_draws_do_not_accuse_correct_mechanisms() -> None:
    """So few that the query cannot be told from half of it, and twenty numbers seem to move."""
    for name, dimension in (("halved-output", 2), ("laplace-parallel", 1)):
        setting = zoo_setting(f"zoo:{name}", epsilon=None, dimension=dimension)
        result = dplitmus.audit(
            setting.mechanism,
            epsilon=setting.epsilon or 1.0,
            neighbours=list(setting.neighbours or ()),
            samples=1000,
            seed=1,
        )
        assert not {note.code for note in result.notes} - NO_CAUSE


def test_a_mechanism_that_answers_rarely_is_not_accused_of_its_few_answers() -> None:
    """The noise picks the outputs that are numbers; of a violation they are what is to be seen."""

    def large(x: float, n: int, rng: np.random.Generator) -> Any:
        noisy = x + rng.laplace(scale=0.5, size=n)
        return np.where(noisy > 1, noisy, np.nan)

    assert {note.code for note in diagnosed(large, violated=False)} == {"DP302"}
    assert "DP308" in {note.code for note in diagnosed(large, violated=True)}


def test_one_answer_almost_always_is_no_missing_noise() -> None:
    def rare(x: float, n: int, rng: np.random.Generator) -> Any:
        noisy = x + rng.laplace(size=n)
        return np.where(np.abs(noisy) > 8, noisy, np.nan)

    assert "DP304" not in {note.code for note in diagnosed(rare, violated=False)}


def test_totals_of_noisy_answers_share_no_noise() -> None:
    def with_total(x: Any, n: int, rng: np.random.Generator) -> Any:
        noisy = x + rng.laplace(scale=2.0, size=(n, 2))
        return np.column_stack([noisy, noisy.sum(axis=1)])

    for violated in (False, True):
        notes = diagnosed(with_total, (np.zeros(2), np.ones(2)), violated=violated)
        assert not {note.code for note in notes} - NO_CAUSE


def test_correct_mechanisms_get_no_cause() -> None:
    """88 runs; a coincidence has probability below 1e-9 in each test, and a run makes a few tests."""
    seen: Counter[str] = Counter()
    for name, entry in ZOO.items():
        if entry.broken:
            continue
        setting = zoo_setting(f"zoo:{name}", epsilon=None, dimension=None)
        for seed in range(4):
            source, pair = source_of(setting.mechanism, seed), as_pairs(setting.neighbours or ())[0]
            claim = Claim(epsilon=setting.epsilon or 1.0, delta=setting.delta or 0.0)
            sides = examined(source, pair, sample=None, stock=None, fresh=1024)
            seen_habits = habits(source.parcel.callee, pair.x, seed)
            subject = Subject(source, claim, pair, seen_habits, False, sides, 10_000)
            seen.update(note.code for note in diagnosis.notes(subject))
    assert not set(seen) - NO_CAUSE


@pytest.mark.parametrize("which", [0, 7, 13, 21, 24, 31, 36, 39])
def test_some_held_out_mechanisms_are_seen_through(which: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    case = importlib.import_module("benchmarks.held_out").HELD_OUT[which]
    result = dplitmus.audit(
        case.mechanism,
        epsilon=case.epsilon,
        delta=case.delta,
        neighbours=list(case.neighbours),
        samples=60_000,
        seed=1,
    )
    causes = [note.code for note in result.notes if note.code not in {"DP302", "DP303"}]
    assert causes[0] in case.causes
    assert case.causes <= set(causes)
    assert result.samples <= 60_000


def test_the_diagnosis_stays_within_the_budget() -> None:
    drawn = 0

    def counted(x: Any, n: int, rng: np.random.Generator) -> Any:
        nonlocal drawn
        drawn += n
        return x + rng.laplace(scale=0.5, size=n)

    dplitmus.audit(counted, epsilon=1.0, neighbours=[(0.0, 1.0)], samples=3000, seed=1)
    assert drawn <= 3000 + 3 * 64 + 32 * 32  # and small calls that look at its habits


def test_a_mechanism_that_takes_no_other_inputs_is_diagnosed_all_the_same() -> None:
    table = {0.0: 0.0, 1.0: 1.0}
    notes = diagnosed(lambda x, n, rng: table[float(x)] + rng.laplace(scale=0.25, size=n))
    assert "DP310" in [note.code for note in notes]


@pytest.mark.parametrize("output", [np.nan, 1e300, "a", None, (1, 2)])
def test_strange_outputs_do_no_harm(output: Any) -> None:
    with np.errstate(over="ignore"):
        assert diagnosed(lambda x, n, rng: [output] * n)


def test_grids_are_told_from_tables() -> None:
    rng = np.random.default_rng(1)
    assert step_of(np.round(rng.laplace(size=3000), 1)) == pytest.approx(0.1)
    assert step_of(rng.choice(rng.laplace(size=200), size=3000)) is None
    assert step_of(rng.laplace(size=3000)) is None
