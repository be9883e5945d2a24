"""diffprivlib: what its objects tell, and the neighbour relation that they do not."""

from __future__ import annotations

import pickle
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dplitmus
from dplitmus import cli, libraries
from dplitmus.adapters import adapt, resolve
from dplitmus.errors import InputError
from dplitmus.shipping import Handling, Parcel, unpacked
from dplitmus.target import load as load_target

pytest.importorskip("diffprivlib", reason="diffprivlib is not installed: pip install 'dplitmus[adapters]'")
from diffprivlib import mechanisms, models, tools

EXAMPLES = Path(__file__).parents[2] / "examples" / "libraries"
HISTOGRAM = {"range": (0.0, 2.0), "bins": 2}
LIMITS = {"bounds_X": (0.0, 10.0), "bounds_y": (0.0, 1.0), "fit_intercept": False}
PAIR = ({"X": [[0.1]], "y": [0.0]}, {"X": [[10.0]], "y": [0.0]})


def test_a_mechanism_tells_its_claim_and_its_sensitivity() -> None:
    adapted = adapt(mechanisms.Gaussian(epsilon=0.5, delta=1e-3, sensitivity=2))
    assert (adapted.claim.epsilon, adapted.claim.delta) == (0.5, 1e-3)
    assert adapted.relation == "numbers at distance at most 2"
    assert [(pair.x, pair.x_prime) for pair in adapted.neighbours] == [(0.0, 2.0)]
    assert "Gaussian(epsilon=0.5" in adapted.claimed_by


def test_a_mechanism_that_spends_delta_only_is_judged_at_a_tiny_epsilon() -> None:
    assert adapt(mechanisms.Uniform(delta=0.1, sensitivity=1)).claim.epsilon == 1e-9


@pytest.mark.parametrize(
    "mechanism",
    [
        mechanisms.GeometricFolded(epsilon=1, lower=0.5, upper=3.5),
        mechanisms.GeometricTruncated(epsilon=1, lower=-1, upper=3),
        mechanisms.LaplaceBoundedDomain(epsilon=1, sensitivity=1, lower=0, upper=4),
        mechanisms.LaplaceTruncated(epsilon=1, sensitivity=1, lower=0, upper=float("inf")),
    ],
    ids=lambda mechanism: type(mechanism).__name__,
)
def test_pairs_lie_in_the_domain_of_a_bounded_mechanism(mechanism: Any) -> None:
    adapted = adapt(mechanism)
    for pair in adapted.neighbours:
        assert pair.x_prime - pair.x == 1
        assert mechanism.lower <= pair.x
        assert pair.x_prime <= mechanism.upper
        adapted(pair.x, 2)


def test_a_pair_beyond_the_sensitivity_is_refused() -> None:
    with pytest.raises(InputError, match="DP244"):
        dplitmus.audit(mechanisms.Laplace(epsilon=1, sensitivity=1), neighbours=[(0, 2)], samples=10)


@pytest.mark.parametrize("monotonic", [False, True])
def test_the_data_of_an_exponential_mechanism_is_its_utility(*, monotonic: bool) -> None:
    kind = mechanisms.PermuteAndFlip
    adapted = adapt(
        kind(epsilon=1e6, sensitivity=1, utility=[0, 0, 0], monotonic=monotonic, candidates=list("abc"))
    )
    assert adapted([0.0, 0.0, 5.0], 2) == ["c", "c"]
    assert adapted([5.0, 0.0, 0.0], 2) == ["a", "a"]
    for pair in adapted.neighbours:
        moves = np.asarray(pair.x_prime) - np.asarray(pair.x)
        assert np.abs(moves).max() == 1
        assert not monotonic or np.all(moves >= 0)


def test_values_and_matrices_are_inputs_too() -> None:
    assert adapt(mechanisms.Binary(epsilon=1, value0="a", value1="b")).relation == "any two values"
    listed = [["a", "b", 1], ["a", "c", 2], ["b", "c", 2]]
    assert len(adapt(mechanisms.ExponentialCategorical(epsilon=1, utility_list=listed)).neighbours) == 3
    assert np.shape(adapt(mechanisms.Bingham(epsilon=1)).neighbours[0].x) == (2, 2)


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        (mechanisms.Laplace, "Laplace cannot be audited: it is a class, not an instance"),
        (mechanisms.Vector(epsilon=1, function_sensitivity=1, dimension=2), "it releases a function"),
        (models.RandomForestClassifier(), "say which attributes"),
    ],
)
def test_what_cannot_be_audited_is_told_with_what_can(thing: Any, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        adapt(thing)
    assert caught.value.code == "DP242"
    assert "of diffprivlib dplitmus audits" in caught.value.help


@pytest.mark.parametrize(
    ("thing", "details", "words"),
    [
        (tools.mean, {}, "tools.mean does not tell bounds"),
        (tools.histogram, {"bins": 2}, "tools.histogram does not tell range"),
        (models.GaussianNB(), {}, "GaussianNB does not tell bounds"),
        (models.LinearRegression(**LIMITS), {}, "does not tell its neighbour relation"),
        (models.LinearRegression(**LIMITS), {"relation": "replace-one"}, "does not tell its neighbours"),
    ],
)
def test_what_an_object_does_not_tell_is_asked_for(thing: Any, details: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        adapt(thing, **details)
    assert caught.value.code == "DP243"


def test_the_relation_of_a_tool_is_the_one_that_its_sensitivity_is_right_for() -> None:
    assert adapt(tools.mean, bounds=(0, 1)).relation == "replace-one"
    assert adapt(tools.histogram, **HISTOGRAM).relation == "add-remove"


def test_a_histogram_keeps_its_promise_under_add_remove() -> None:
    """True epsilon 1: a false alarm has probability at most 1e-6."""
    result = dplitmus.audit(adapt(tools.histogram, **HISTOGRAM), samples=4_000, seed=1)
    assert (result.verdict, result.relation) == ("not-found", "add-remove")
    assert "Neighbours: one record is added or removed (add-remove)." in str(result)


def test_the_same_histogram_looks_like_a_violation_under_replace_one_and_the_answer_says_why() -> None:
    """True epsilon 2 there: the audit misses it in 40,000 draws with probability below 1e-6."""
    result = dplitmus.audit(
        adapt(tools.histogram, relation="replace-one", **HISTOGRAM), samples=40_000, seed=1
    )
    assert (result.verdict, result.relation) == ("violated", "replace-one")
    assert "DP341" in [note.code for note in result.notes]
    assert "it promises 2 epsilon" in " ".join(str(result).split())
    assert str(result.claimed_by).startswith("you;")


def test_pairs_of_another_relation_are_refused_rather_than_judged() -> None:
    adapted = adapt(tools.histogram, **HISTOGRAM)
    with pytest.raises(InputError, match=r"DP244(.|\n)*say relation='replace-one'"):
        dplitmus.audit(adapted, neighbours=[([0.0, 2.0], [0.0, 0.0])], samples=10)


def test_a_published_mistake_of_a_model_is_found() -> None:
    """See IBM/differential-privacy-library, issue 105: no noise on the square of a feature in [0, 10].

    The loss is ln(1e4) at the mode: the audit misses it with probability below 1e-6.
    """
    regression = models.LinearRegression(epsilon=1.0, **LIMITS)
    adapted = adapt(regression, relation="replace-one", neighbours=[PAIR])
    result = dplitmus.audit(adapted, samples=3_000, seed=1)
    assert result.verdict == "violated"


def test_a_fitted_model_is_released_as_numbers() -> None:
    scaler = models.StandardScaler(epsilon=1.0, bounds=(0, 1))
    pair = (np.array([[0.0], [1.0]]), np.array([[0.0], [0.0]]))
    adapted = adapt(scaler, relation="replace-one", neighbours=[pair])
    assert np.shape(adapted(pair[0], 3)) == (3, 2)


@pytest.mark.parametrize(
    ("model", "labelled", "numbers"),
    [
        (lambda: models.GaussianNB(epsilon=1.0, bounds=(0, 1)), True, 6),
        (lambda: models.KMeans(n_clusters=2, epsilon=1.0, bounds=(0, 1)), False, 2),
        (lambda: models.PCA(n_components=1, epsilon=1.0, data_norm=1.0, bounds=(0, 1)), False, 3),
    ],
    ids=["GaussianNB", "KMeans", "PCA"],
)
def test_models_are_released_as_numbers(model: Any, *, labelled: bool, numbers: int) -> None:
    rows, changed, labels = [[0.1], [0.2], [0.8], [0.9]], [[0.1], [0.2], [0.8], [0.0]], [0, 0, 1, 1]
    pair = ({"X": rows, "y": labels}, {"X": changed, "y": labels}) if labelled else (rows, changed)
    adapted = adapt(model(), relation="replace-one", neighbours=[pair])
    assert np.shape(adapted(adapted.neighbours[0].x, 2)) == (2, numbers)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_logistic_regression_is_audited_or_told_which_scikit_learn_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """scikit-learn 1.8 has dropped a parameter that diffprivlib 0.6.6 gives: the model cannot be made."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(
        "from diffprivlib import models\nfrom dplitmus.adapters import adapt\n"
        "pair = ({'X': [[0.1], [0.9]], 'y': [0, 1]}, {'X': [[0.1], [-0.9]], 'y': [0, 1]})\n"
        "model = models.LogisticRegression(data_norm=1.0)\n"
        "logistic = adapt(model, relation='replace-one', neighbours=[pair])\n"
    )
    old = tuple(map(int, metadata.version("scikit-learn").split(".")[:2])) < (1, 8)
    assert cli.run(["audit", "model.py:logistic", "--samples", "8"]) == (0 if old else 2)
    told = capsys.readouterr()
    assert ("NOT FOUND" in told.out) if old else ("needs scikit-learn below 1.8" in told.err)


def test_every_mechanism_of_the_library_is_made_and_the_rest_has_a_reason() -> None:
    stock = libraries.stock("diffprivlib")
    assert list(stock.left_out) == ["Vector"]
    for name, adapted in stock.mechanisms.items():
        assert f"diffprivlib:{name}" == adapted.dplitmus_target
        for pair in adapted.neighbours:
            assert 1 == len(adapted(pair.x, 1)) == len(adapted(pair.x_prime, 1))


def test_the_whole_library_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two audits of correct mechanisms: a false alarm has probability at most 2e-6."""
    monkeypatch.chdir(tmp_path)
    only = ["--only", "Binary", "--only", "tools.histogram"]
    asked = ["audit-library", "diffprivlib", *only, "--samples", "1000", "--html", "found.html"]
    assert cli.run(asked) == 0
    out = capsys.readouterr().out
    assert "one record is added or removed (add-remove)\ntools.histogram" in out
    assert "0 of 2 claims are refuted" in out
    page = (tmp_path / "found.html").read_text(encoding="utf-8")
    assert "Audits of diffprivlib" in page
    assert "any two values" in page
    assert "one record is added or removed (add-remove)" in page
    assert dplitmus.replay(tmp_path / "found.html", number=2).status in {"stands", "not replayable"}
    assert cli.run(["audit-library", "diffprivlib", "--list"]) == 0
    assert "Vector: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["audit-library", "numpy"], "DP201"),
        (["audit-library", "diffprivlib", "--only", "Laplce"], "DP204"),
        (["audit", "diffprivlib:Laplce"], "DP204"),
        (["audit", "diffprivlib:Vector"], "DP242"),
        (["audit", "diffprivlib:tools.histogram", "--pair", "[0]", "[1]"], "DP244"),
        (["audit", "diffprivlib:Laplace", "--relation", "replace-two"], "DP201"),
    ],
)
def test_bad_input_has_a_code(command: list[str], code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(command) == 2
    assert code in capsys.readouterr().err


def test_what_travels_to_a_worker_is_made_again_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "travels.py").write_text(
        "from diffprivlib import mechanisms, tools\nfrom dplitmus.adapters import adapt\n"
        "flip = mechanisms.Binary(epsilon=1, value0='a', value1='b')\n"
        "mean = adapt(tools.mean, bounds=(0, 1))\n"
    )
    for target, x in (("travels:flip", "a"), ("travels:mean", [0.0, 1.0]), ("diffprivlib:Geometric", 0.0)):
        found = load_target(target, epsilon=1.0, dimension=1)
        asked = resolve(found, epsilon=None, delta=None, neighbours=None, relation=None)
        parcel = Parcel(asked.mechanism, Handling(), target, asked.details)
        there = pickle.loads(pickle.dumps(parcel))  # noqa: S301  (made here)
        assert len(unpacked(there.packed).mechanism(x, 3)) == 3
        assert there.callee.one_at_a_time


def test_the_examples_are_what_they_say() -> None:
    histogram: Any = load_target(f"{EXAMPLES / 'histogram.py'}:under_replace_one", epsilon=1.0, dimension=1)
    assert histogram.relation == "replace-one"
    published: Any = load_target(f"{EXAMPLES / 'published_bug.py'}:regression", epsilon=1.0, dimension=1)
    assert published.claim.epsilon == 1.0
    command = [sys.executable, str(EXAMPLES / "whole_library.py"), "diffprivlib", "300", "x.html", "Binary"]
    assert "not-found" in subprocess.run(command, capture_output=True, text=True, check=True).stdout
