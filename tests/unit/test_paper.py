"""The paper's grid, figures, footnote, theorems and pages."""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from dplitmus import cli
from dplitmus.forecast import majority
from dplitmus.mechanisms import zoo
from dplitmus.paper import figures, footnote, grid, theorems
from dplitmus.samples import stream
from dplitmus.sanity import SanityCheck

SAMPLES = 20_000


@pytest.fixture(scope="module")
def checks() -> list[SanityCheck]:
    return grid.run(SAMPLES, seed=2022)


def test_the_grid_has_252_cells_in_the_order_of_the_results(checks: list[SanityCheck]) -> None:
    assert 252 == len(checks) == len(set(grid.cells()))
    assert list(grid.cells()) == [(c.mechanism, c.claim.epsilon, c.dimension) for c in checks]


def test_every_cell_is_within_six_standard_errors(checks: list[SanityCheck]) -> None:
    """252 cells at six standard errors: false-failure probability 5e-7."""
    assert max(abs(check.z or 0.0) for check in checks) < 6


def test_no_bound_exceeds_the_truth(checks: list[SanityCheck]) -> None:
    """Each of 252 bounds errs with probability at most 1e-6."""
    for check in checks:
        truth = zoo.find(check.mechanism).true_epsilon(check.claim.epsilon, check.dimension)
        assert check.epsilon_lower <= truth


def test_the_grid_does_not_depend_on_threads() -> None:
    assert grid.run(3000, seed=1, threads=1) == grid.run(3000, seed=1, threads=3)


@pytest.mark.parametrize("family", grid.FAMILIES, ids=lambda family: "+".join(family.thresholds))
def test_shared_noise_gives_what_the_mechanism_would_have_given(family: grid.Family) -> None:
    """Thresholds on standard noise against scaling it, adding the input, and the real vote."""
    dimension, size, epsilon = 8, 3000, 0.5
    noise = family.noise(stream(5), (dimension, size))
    for mechanism, threshold in family.thresholds.items():
        for x in (0, 1):
            outputs = {
                "laplace": x + noise * (dimension / epsilon),
                "adept": x + noise / epsilon,
                "halved-output": 0.5 * (x + noise * (dimension / epsilon)),
                "dptext": x + noise * (dimension / epsilon),
                "copy": x + noise,
                "random": noise,
            }[mechanism]
            votes = majority.vote(outputs.T.astype(float), ties="zero", coins=stream(0))
            ones = (noise >= threshold(x, epsilon, dimension)).sum(axis=0) > dimension // 2
            np.testing.assert_array_equal(votes.guesses, ones)


def test_published_numbers_agree_with_the_exact_ones(published_losses: Path) -> None:
    """Within five standard errors of 10 million samples (1 million for n > 16; their artefact).

    Where the authors' file says "Infinity" for a finite loss, so few wrong guesses were expected that
    none is no surprise (probability at least 1e-6).
    """
    names = {
        "LaplaceMechanism": "laplace",
        "LaplaceMechanismADePT": "adept",
        "BeigiEtAlLaplaceMechanism": "dptext",
        "LaplaceMechanismWrongSensitivity": "halved-output",
        "NoPrivacyMechanism": "copy",
        "CompletelyRandomMechanism": "random",
    }
    published = json.loads(published_losses.read_text())
    assert set(names) == set(published)
    for theirs, ours in names.items():
        for epsilon, by_dimension in published[theirs].items():
            for dimension, loss in by_dimension.items():
                n = int(dimension)
                samples = 1_000_000 if n > 16 else 10_000_000
                law = grid.exact_vote_of(ours, float(epsilon), n)
                above, below = law.x_prime.one, law.x.one
                if math.isinf(loss):
                    rarest = min(law.x.one, law.x_prime.zero)
                    assert samples * math.exp(rarest) < -math.log(1e-6), (ours, epsilon, n)
                    continue
                error = math.sqrt(sum(-math.expm1(p) / (samples * math.exp(p)) for p in (above, below)))
                assert abs(loss - law.loss) < 5 * error, (ours, epsilon, n)


def test_footnote_7_has_the_spread_that_theory_predicts() -> None:
    """Standard deviation within 40 % of sqrt((1-p)/Np + (1-q)/Nq), the mean within five errors.

    The squared ratio is chi-squared with 99 degrees of freedom over 99: beyond these limits with
    probability below 1e-6, as the mean is.
    """
    note = footnote.run(10_000, seed=7)
    exact = grid.exact_vote_of("adept", 0.1, 2)
    logs = (exact.x.one, exact.x_prime.one)
    predicted = math.sqrt(sum(-math.expm1(p) / (10_000 * math.exp(p)) for p in logs))
    assert note.exact == exact.loss
    assert abs(note.mean - note.exact) < 5 * predicted / math.sqrt(len(note.estimates))
    assert 0.6 < note.standard_deviation / predicted < 1.4


def test_the_theorems_hold_and_their_evidence_has_numbers() -> None:
    shown = list(theorems.demonstrate(1))
    assert [d.title for d in shown] == ["Theorem 3.1", "Theorem 3.2", "Theorem A.1"]
    assert all(d.holds for d in shown)
    assert all(re.search(r"\d", " ".join(d.evidence)) for d in shown)


def test_a_correct_sampler_would_not_pass_for_dptext(monkeypatch: pytest.MonkeyPatch) -> None:
    """The demonstration of theorem 3.1 can fail: feed it correct Laplace noise."""
    monkeypatch.setattr(theorems, "standard_noise", lambda rng, shape, _reading: rng.laplace(size=shape))
    assert not theorems.theorem_3_1(stream(1)).holds


def test_figures_are_svg_and_png_and_the_same_numbers_give_the_same_bytes(
    checks: list[SanityCheck],
) -> None:
    for draw in (figures.figure_1, lambda: figures.figure_2(checks), lambda: figures.figure_3(1)):
        figure = draw()
        assert figure.png.startswith(b"\x89PNG")
        ET.fromstring(figure.svg)  # noqa: S314  (our own bytes)
        assert figure.svg == draw().svg


def test_reproduce_writes_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "paper"
    assert cli.run(["reproduce", "acl2022", "--samples", "2000", "--seed", "3", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert {path.name for path in out.iterdir()} == {
        "index.html",
        "losses.json",
        *(f"figure{i}.{kind}" for i in (1, 2, 3) for kind in ("svg", "png")),
    }
    records = json.loads((out / "losses.json").read_text())
    assert len(records) == 252
    assert list(records[0]) == [
        "mechanism", "epsilon", "dimension", "samples", "counts", "estimate", "exact", "lower_bound", "z",
    ]  # fmt: skip
    assert {record["mechanism"] for record in records} == set(grid.MECHANISMS)
    assert all(sum(map(sum, record["counts"])) == 4000 for record in records)
    assert {record["exact"] for record in records if record["mechanism"] == "dptext"} == {"Infinity"}
    page = (out / "index.html").read_text()
    assert "<script" not in page
    assert not re.search(r'(src|href)="(?!data:)|url\(|@import', page), "the page must not ask for anything"
    assert page.count('<svg viewBox="0 0 420 250" role="img"') == 3 + 5 + 5
    assert "nan" not in "".join(re.findall(r' d="([^"]*)"', page))
    assert len(page) < 100_000
    assert "common random numbers" in page
    assert f"Open {out / 'index.html'}" in printed
    assert "Footnote 7" in printed


def test_exact_needs_no_sampling(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["reproduce", "acl2022", "--exact", "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert " 13.743" in out  # ADePT at epsilon 1, n = 128: "Infinity" in the authors' file
    records = json.loads((tmp_path / "losses.json").read_text())
    assert len(records) == 252
    assert all(record["samples"] == 0 and record["estimate"] is None for record in records)


def test_theorems_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["reproduce", "acl2022", "--theorems"]) == 0
    out = capsys.readouterr().out
    assert out.count("evidence agrees with the theorem: yes") == 3


def test_without_matplotlib_the_pip_command_comes_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    assert cli.run(["reproduce", "acl2022", "--samples", "1e15", "--out", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert "error[DP207]: drawing figures needs matplotlib" in error
    assert "pip install 'dplitmus[plots]'" in error
