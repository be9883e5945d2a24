from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dplitmus
from dplitmus import samples
from dplitmus.claim import Claim
from dplitmus.counts import SideCounts, VoteCounts
from dplitmus.errors import InputError
from dplitmus.mechanisms import Copy, DPText, Laplace, Random, adept, zoo
from dplitmus.mechanisms.zoo import paper
from dplitmus.sanity import ExactVote, SanityCheck, exact_vote

SMALL = 50_000


def check(mechanism: Any, *, dimension: int = 2, **settings: Any) -> SanityCheck:
    return dplitmus.sanity_check(
        mechanism, **{"epsilon": 1.0, "dimension": dimension, "samples": SMALL, "seed": 1, **settings}
    )


def test_the_result_depends_on_spec_and_seed_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "CHUNK_VALUES", 2**12)  # many chunks, so that threads interleave
    mechanism = DPText(epsilon=1.0, sensitivity=4.0, reading="keep")
    one = check(mechanism, dimension=4, threads=1, ties="coin")
    for threads in (2, 5):
        assert one == check(mechanism, dimension=4, threads=threads, ties="coin")
    assert one != check(mechanism, dimension=4, threads=1, ties="coin", seed=2)


def test_a_fresh_seed_is_recorded_and_reproduces_the_run() -> None:
    first = check(Random(), seed=None)
    assert first.counts == check(Random(), seed=first.seed).counts


@pytest.mark.parametrize("name", [entry.name for entry in paper.ENTRIES])
@pytest.mark.parametrize("dimension", [1, 2, 5])
@pytest.mark.parametrize("ties", ["zero", "coin"])
def test_every_builtin_is_within_six_standard_errors_of_its_closed_form(
    name: str, dimension: int, ties: str
) -> None:
    """66 cells at six standard errors: false-failure probability 2e-7."""
    result = check(zoo.find(name).build(0.7, dimension), dimension=dimension, ties=ties)
    assert result.z is not None
    assert abs(result.z) < 6
    assert result.counts.x.total == result.counts.x_prime.total == SMALL


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("laplace", "not-found"),
        ("laplace-numpy", "not-found"),
        ("halved-output", "not-found"),
        ("random", "not-found"),
        ("adept", "violated"),
        ("dptext-nan0", "violated"),
        ("dptext-redraw", "violated"),
        ("dptext-nan", "violated"),
        ("copy", "violated"),
    ],
)
def test_verdicts_on_the_mechanisms_of_the_paper(name: str, verdict: str) -> None:
    """The correct ones raise a false alarm with probability at most alpha = 1e-6."""
    assert check(zoo.find(name).build(1.0, 2)).verdict == verdict


def test_estimate_and_precision_are_the_papers() -> None:
    counts = VoteCounts(SideCounts(zero=80, one=20), SideCounts(zero=40, one=60))
    result = SanityCheck(
        mechanism="m",
        claim=Claim(epsilon=1.0),
        dimension=1,
        samples=100,
        alpha=1e-6,
        seed=0,
        ties="zero",
        counts=counts,
        exact=None,
        replayable=True,
    )
    assert result.precision(0) == 80 / 120
    assert result.precision(1) == 60 / 80
    assert math.isclose(math.log(3), result.estimate)
    assert result.decisive_guess == 1
    assert result.z is None
    assert result.counts.matrix == [[80, 20], [40, 60]]


def test_a_guess_that_is_never_wrong_is_infinite_as_estimate_and_finite_as_certificate() -> None:
    result = check(Copy())
    assert result.estimate == math.inf
    assert 8 < result.epsilon_lower < 12
    assert result.z == 0


def test_a_guess_that_never_happens_says_nothing() -> None:
    result = check(lambda x, n, rng: np.zeros((n, x.size)), samples=100)
    assert result.estimate == 0
    assert result.precision(1) is None
    assert "-" in str(result)


def test_an_attack_that_is_always_wrong_is_still_a_violation() -> None:
    assert check(lambda x, n, rng: 1 - np.tile(x, (n, 1))).verdict == "violated"


def test_nan_on_one_input_only_is_a_violation_by_itself() -> None:
    def nan_on_ones(x: Any, n: int, rng: np.random.Generator) -> Any:
        outputs = rng.integers(0, 2, size=(n, x.size)).astype(float)
        outputs[rng.random(n) < 0.1 * x[0]] = np.nan
        return outputs

    result = check(nan_on_ones)
    assert result.verdict == "violated"
    assert result.bound.event == 2
    assert result.notes[0].code == "DP302"
    assert result.counts.x.nan == 0 < result.counts.x_prime.nan


def test_infinities_vote_by_their_sign_and_are_reported() -> None:
    result = check(lambda x, n, rng: np.where(np.tile(x, (n, 1)) > 0, np.inf, -np.inf))
    assert result.counts.matrix == [[SMALL, 0], [0, SMALL]]
    assert [note.code for note in result.notes] == ["DP302"]


def test_a_black_box_says_that_it_cannot_be_replayed() -> None:
    generator = np.random.default_rng(0)
    result = check(lambda x, n: x + generator.laplace(size=(n, x.size)))
    assert not result.replayable
    assert result.notes[-1].code == "DP303"


def test_one_at_a_time_functions_can_be_lifted() -> None:
    lifted = dplitmus.each(lambda x, rng: x + rng.laplace(size=x.shape))
    assert check(lifted, samples=2000).counts.x.total == 2000


def test_progress_adds_up_to_all_draws() -> None:
    seen: list[int] = []
    check(Random(), progress=seen.append)
    assert sum(seen) == 2 * SMALL


@pytest.mark.parametrize(
    "settings",
    [
        {"epsilon": 0},
        {"epsilon": math.nan},
        {"epsilon": math.inf},
        {"dimension": 0},
        {"dimension": 1.5},
        {"samples": 0},
        {"samples": "many"},
        {"alpha": 0},
        {"alpha": 1},
        {"ties": "one"},
        {"threads": 0},
        {"seed": -1},
    ],
)
def test_bad_input_is_refused_by_name(settings: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"DP201.*{next(iter(settings))}="):
        check(Random(), **settings)


def test_exact_losses_are_those_of_the_literature() -> None:
    """Footnote 7's exact value, and the tail that the paper's file calls "Infinity"."""

    def loss(mechanism: Any, dimension: int) -> float:
        exact = exact_vote(mechanism, dimension)
        assert isinstance(exact, ExactVote)
        return exact.loss

    assert math.isclose(0.19524, loss(adept(epsilon=0.1), 2), abs_tol=5e-6)
    assert math.isclose(13.743, loss(adept(epsilon=1.0), 128), abs_tol=5e-4)
    assert math.isclose(0.8318, loss(Laplace(epsilon=1.0, sensitivity=1.0), 1), abs_tol=5e-5)
    assert math.isclose(1.0, loss(zoo.find("halved-output").build(1.0, 1), 1), rel_tol=1e-12)
    assert loss(adept(epsilon=10_000.0), 128) > 300_000  # no underflow
    assert loss(Random(), 7) == 0
    assert exact_vote(lambda x, n, rng: x, 1) is None


def test_str_is_the_report() -> None:
    assert str(check(Copy())).startswith("copy: VIOLATED  claimed epsilon 1")
