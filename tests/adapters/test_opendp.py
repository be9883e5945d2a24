"""OpenDP: the claim is what the measurement's own maps say."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dplitmus
from dplitmus import cli, libraries
from dplitmus.adapters import adapt, opendp
from dplitmus.errors import InputError

dp = pytest.importorskip("opendp.prelude", reason="opendp is not installed: pip install 'dplitmus[adapters]'")


@pytest.fixture(autouse=True)
def contrib() -> None:
    dp.enable_features("contrib")


def laplace(scale: float = 1.0) -> Any:
    return dp.m.make_laplace(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=scale)


def gaussian() -> Any:
    return dp.m.make_gaussian(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=1.0)


def sized_sum() -> Any:
    return dp.t.make_sum(
        dp.vector_domain(dp.atom_domain(bounds=(0.0, 10.0)), size=5), dp.symmetric_distance()
    )


def test_the_privacy_map_is_the_claim() -> None:
    adapted = adapt(laplace(0.5))
    assert adapted.claim.epsilon == 2.0
    assert "privacy map at d_in = 1" in adapted.claimed_by
    assert adapted.relation == "AbsoluteDistance at most 1"


def test_the_claim_is_made_for_the_distance_of_the_pairs() -> None:
    assert adapt(laplace(), neighbours=[(0, 1), (0, 3)]).claim.epsilon == 3.0


def test_a_pair_beyond_d_in_is_refused() -> None:
    with pytest.raises(InputError, match=r"DP244(.|\n)*raise d_in"):
        dplitmus.audit(adapt(laplace(), d_in=1.0), neighbours=[(0.0, 2.0)], samples=10)


def test_concentrated_privacy_asks_for_delta_and_is_turned_into_epsilon() -> None:
    with pytest.raises(InputError, match=r"DP243(.|\n)*does not tell a delta"):
        adapt(gaussian())
    adapted = adapt(gaussian(), delta=1e-6)
    assert adapted.claim.delta == 1e-6
    assert dp.c.make_zCDP_to_approxDP(gaussian()).map(1.0).epsilon(1e-6) == adapted.claim.epsilon


def test_unordered_datasets_differ_by_a_record_more_and_sized_ones_by_a_replaced_one() -> None:
    domain = dp.vector_domain(dp.atom_domain(bounds=(0, 1)))
    count = dp.t.make_count(domain, dp.symmetric_distance()) >> dp.m.then_laplace(scale=1.0)
    assert (adapt(count).relation, adapt(count).claim.epsilon) == ("add-remove", 1.0)
    replaced = adapt(count, relation="replace-one")
    assert (replaced.relation, replaced.claim.epsilon) == ("replace-one", 2.0)
    summed = adapt(sized_sum() >> dp.m.then_laplace(scale=10.0))
    assert summed.relation == "replace-one"
    assert summed.claim.epsilon == pytest.approx(1.0)
    assert all(len(pair.x) == 5 == len(pair.x_prime) for pair in summed.neighbours)


def test_a_relation_that_the_metric_does_not_have_is_refused() -> None:
    with pytest.raises(InputError, match="DP244"):
        dplitmus.audit(sized_sum() >> dp.m.then_laplace(scale=10.0), relation="add-remove", samples=10)


def test_inputs_become_the_types_that_opendp_takes() -> None:
    vector = dp.vector_domain(dp.atom_domain(T=int))
    measurement = dp.m.make_laplace(vector, dp.l1_distance(T=int), scale=1.0)
    assert len(adapt(measurement)(np.zeros(2), 1)[0]) == 2
    response = adapt(dp.m.make_randomized_response_bool(prob=0.75))
    assert response.relation == "any two values"
    assert response.claim.epsilon == pytest.approx(math.log(3))


def test_an_unusual_metric_asks_for_the_distance_and_the_pairs() -> None:
    domain = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T=int))
    metric = dp.l01inf_distance(dp.absolute_distance(T=int))
    threshold = dp.m.make_laplace_threshold(domain, metric, scale=1.0, threshold=5)
    with pytest.raises(InputError, match=r"DP243(.|\n)*does not tell its neighbours"):
        adapt(threshold)
    pairs = [({"a": 1}, {"a": 1, "b": 1})]
    assert adapt(threshold, d_in=(1, 1, 1), neighbours=pairs).claim.epsilon == 1.0


def test_a_transformation_is_a_query_with_the_sensitivity_of_its_map() -> None:
    with pytest.raises(InputError, match=r"DP242(.|\n)*adds no noise"):
        adapt(sized_sum())
    query = opendp.query(sized_sum())
    assert (query.norm, query.relation) == ("l1", "replace-one")
    found = dplitmus.sensitivity(sized_sum(), seed=1, evaluations=200)
    assert (found.claimed, found.relation) == (query.claimed, "replace-one")
    assert not found.violated
    assert found.found == pytest.approx(query.claimed)
    assert "Claim: by opendp" in str(found)


def unsized(T: type) -> Any:  # noqa: N803  (OpenDP's name)
    atoms = dp.atom_domain(T=T, nan=False) if T is float else dp.atom_domain(T=T)
    return dp.vector_domain(atoms), dp.symmetric_distance()


@pytest.mark.parametrize(
    ("transformation", "claimed"),
    [
        (lambda: unsized(int) >> dp.t.then_clamp((0, 10)) >> dp.t.then_sum(), 10.0),
        (
            lambda: (
                unsized(float)
                >> dp.t.then_clamp((0.0, 10.0))
                >> dp.t.then_resize(size=4, constant=5.0)
                >> dp.t.then_sum()
            ),
            10.0,
        ),
        (lambda: unsized(str) >> dp.t.then_count_by_categories(categories=["a", "b"]), 1.0),
    ],
    ids=["whole numbers", "fractions", "words"],
)
def test_a_stability_map_is_met_and_not_exceeded(transformation: Any, claimed: float) -> None:
    found = dplitmus.sensitivity(transformation(), seed=1, evaluations=300)
    assert found.relation == "add-remove"
    assert found.claimed == pytest.approx(claimed)
    assert found.found == pytest.approx(claimed)
    assert not found.violated


def test_a_stability_map_that_forgets_the_clamp_is_refuted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "query.py").write_text(
        "import opendp.prelude as dp\ndp.enable_features('contrib', 'honest-but-curious')\n"
        "number = dp.atom_domain(T=float, nan=False)\n"
        "total = dp.t.make_user_transformation(dp.vector_domain(number), dp.symmetric_distance(), number,\n"
        "    dp.absolute_distance(T=float), lambda x: float(sum(x)), lambda d_in: 10.0 * d_in)\n"
        "clamped = (dp.vector_domain(number), dp.symmetric_distance()) >> dp.t.then_clamp((0.0, 1.0))\n"
        "noisy = dp.m.make_laplace(number, dp.absolute_distance(T=float), scale=1.0)\n"
    )
    command = ["sensitivity", "query.py:total", "--seed", "1", "--evaluations", "50"]
    assert cli.run([*command, "--json", "found.json"]) == 1
    assert "total: LARGER  claimed 10, found 100 (L1)" in capsys.readouterr().out
    assert '"relation": "add-remove"' in (tmp_path / "found.json").read_text()
    assert cli.run([*command, "--rows", "2", "--relation", "add-remove", "--high", "9"]) == 0
    assert cli.run([*command, "--pair", "[1]", "[1, 50]"]) == 1
    assert cli.run([*command, "--claimed", "200"]) == 0
    assert "Claim: by you." in capsys.readouterr().out
    for wrong, code in (
        (["--pair", "[1]", "[2]"], "DP244"),
        (["--rows", "2"], "DP244"),
        (["--low", "2"], "need --rows"),
    ):
        assert cli.run([*command, *wrong]) == 2
        assert code in capsys.readouterr().err
    for name in ("clamped", "noisy"):
        assert cli.run(["sensitivity", f"query.py:{name}"]) == 2
        assert "DP242" in capsys.readouterr().err


def test_what_is_no_measurement_is_refused_with_what_is() -> None:
    with pytest.raises(InputError, match=r"VectorDomain cannot be audited(.|\n)*audits Measurement"):
        adapt(dp.vector_domain(dp.atom_domain(T=int)))
    with pytest.raises(InputError, match="DP242"):
        opendp.query(laplace())


def test_a_measurement_is_audited_as_it_is() -> None:
    """A false alarm has probability at most 1e-6."""
    result = dplitmus.audit(laplace(), samples=3_000, seed=1)
    assert (result.verdict, result.claim.epsilon) == ("not-found", 1.0)
    assert "AbsoluteDistance at most 1" in str(result)
    assert "by opendp" in str(result)


def test_a_claim_of_the_user_overrules_and_is_said_to_be_his() -> None:
    """Scale 0.25 loses 4; the audit misses that at a claim of 1 with probability below 1e-6."""
    result = dplitmus.audit(laplace(0.25), epsilon=1.0, neighbours=[(0.0, 1.0)], samples=20_000, seed=1)
    assert result.verdict == "violated"
    assert str(result.claimed_by).startswith("you; the object is of opendp")


def test_on_the_command_line_an_object_tells_its_claim(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A false alarm has probability at most 1e-6."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "release.py").write_text(
        "import opendp.prelude as dp\ndp.enable_features('contrib')\n"
        "domain, metric = dp.atom_domain(T=int), dp.absolute_distance(T=int)\n"
        "noisy = dp.m.make_laplace(domain, metric, scale=1.0)\n"
        "gaussian = dp.m.make_gaussian(domain, metric, scale=1.0)\n"
    )
    assert cli.run(["audit", "release.py:noisy", "--samples", "2000", "--json", "found.json"]) == 0
    out = capsys.readouterr().out
    assert "noisy: NOT FOUND  claimed epsilon 1," in out
    assert "Neighbours: AbsoluteDistance at most 1." in out
    assert cli.run(["audit", "release.py:gaussian"]) == 2
    assert "--delta 1e-6" in capsys.readouterr().err
    assert dplitmus.replay("found.json").status in {"stands", "not replayable"}


def test_every_measurement_of_the_library_is_made_and_the_rest_has_a_reason() -> None:
    stock = libraries.stock("opendp")
    assert {"laplace-float", "gaussian-int-vector", "noisy-max", "mean-sized"} <= set(stock.mechanisms)
    assert {"alp-queryable", "user-measurement"} <= set(stock.left_out)
    for name, adapted in stock.mechanisms.items():
        assert f"opendp:{name}" == adapted.dplitmus_target
        assert len(adapted(adapted.neighbours[0].x, 2)) == 2
