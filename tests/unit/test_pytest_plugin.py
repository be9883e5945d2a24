"""The plugin in projects of its own, each a directory with a few tests."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from scipy.special import bdtrc

from dplitmus import findings
from dplitmus.report.text import summary

TESTS = """
import pytest

def broken(x, n, rng):
    return x + rng.laplace(scale=0.2, size=n)

def fine(x, n, rng):
    return x + rng.laplace(scale=1.0, size=n)

def test_broken(dp_audit):
    dp_audit(broken, epsilon=1.0, neighbours=[(0, 1)])

def test_fine(dp_audit):
    result = dp_audit(fine, epsilon=1.0, neighbours=[(0, 1)], samples=500)
    assert result.verdict == "not-found"

@pytest.mark.dplitmus_slow
def test_slow(dp_audit):
    dp_audit(fine, epsilon=2.0, neighbours=[(0, 1)], samples=500)
"""
COUNTS = {"passed": 1, "failed": 1, "skipped": 1}


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(test_noise=TESTS)
    return pytester


def test_a_refuted_claim_fails_the_test_with_its_counterexample(project: pytest.Pytester) -> None:
    outcome = project.runpytest_inprocess("--dplitmus-seed=1", "--dplitmus-samples=20000")
    outcome.assert_outcomes(**COUNTS)
    text = outcome.stdout.str()
    assert "broken: VIOLATED  claimed epsilon 1" in text
    assert "Counterexample" in text
    assert "Traceback" not in text
    assert "dplitmus_pytest.py" not in text


def test_a_summary_ends_the_run(project: pytest.Pytester) -> None:
    outcome = project.runpytest_inprocess("--dplitmus-seed=1", "--dplitmus-slow", "--dplitmus-alpha=1e-5")
    outcome.assert_outcomes(passed=2, failed=1)
    outcome.stdout.fnmatch_lines(
        [
            "*differential-privacy audits*",
            "mechanism *claimed*certified*draws*verdict",
            "broken * violated",
            "fine * not-found",
            "fine * not-found",
            "False-alarm probability of all 3 audits together: at most 3e-05.",
            "Again with the same draws: --dplitmus-seed=1",
        ]
    )


def test_a_narrow_terminal_breaks_lines(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    outcome = project.runpytest_inprocess("--dplitmus-seed=1", "--dplitmus-samples=2000")
    text = outcome.stdout.str()
    ours = text[text.index("broken: VIOLATED") : text.index("Again with the same draws")]
    assert max(map(len, ours.splitlines())) <= 40


def test_the_same_seed_gives_the_same_draws_with_and_without_workers(project: pytest.Pytester) -> None:
    def table(*arguments: str) -> list[str]:
        outcome = project.runpytest_subprocess("--dplitmus-samples=2000", *arguments)
        outcome.assert_outcomes(**COUNTS)
        return re.findall("^(?:broken|fine) .*-?(?:violated|not-found)$", outcome.stdout.str(), re.MULTILINE)

    alone = table("--dplitmus-seed=5")
    assert len(alone) == 2
    assert table("--dplitmus-seed=5", "-n", "2") == alone


def test_workers_share_a_fresh_seed(project: pytest.Pytester) -> None:
    outcome = project.runpytest_subprocess("-n", "2", "--dplitmus-samples=2000")
    outcome.stdout.fnmatch_lines(["broken: VIOLATED  claimed epsilon 1*", "  Counterexample"])
    seed = re.search(r"--dplitmus-seed=(\d+)", outcome.stdout.str())
    assert seed
    again = project.runpytest_inprocess("--dplitmus-samples=2000", f"--dplitmus-seed={seed[1]}")
    rows = [
        re.findall("^(?:broken|fine) .*$", one.stdout.str(), re.MULTILINE)[-2:] for one in (outcome, again)
    ]
    assert rows[0] == rows[1]


def test_settings_of_the_project_give_way_to_the_command_line(project: pytest.Pytester) -> None:
    project.makepyprojecttoml(
        "[tool.dplitmus]\nsamples = 300\nalpha = 1e-4\nseed = 7\nreport = 'suite.html'\n"
        "[tool.pytest.ini_options]\n"
    )
    outcome = project.runpytest_inprocess("--dplitmus-alpha=1e-3")
    text = outcome.stdout.str()
    assert "at most 0.002." in text
    assert "--dplitmus-seed=7" in text
    assert "Report: suite.html" in text
    found = findings.read(project.path / "suite.html")
    assert sorted(one["budget"] for one in found) == [300, 500]
    assert {one["alpha"] for one in found} == {1e-3}


def test_the_report_is_one_page_for_all(project: pytest.Pytester) -> None:
    project.runpytest_inprocess("--dplitmus-seed=1", "--dplitmus-report=all.html", "--dplitmus-samples=2000")
    assert len(findings.read(project.path / "all.html")) == 2


def test_junit_has_the_numbers(project: pytest.Pytester) -> None:
    project.runpytest_inprocess("--dplitmus-seed=1", "--junitxml=out.xml", "--dplitmus-samples=2000")
    tree = ET.parse(project.path / "out.xml")  # noqa: S314  (our own file)
    cases = {case.get("name"): case for case in tree.iter("testcase")}
    properties = {one.get("name"): one.get("value") for one in cases["test_broken"].iter("property")}
    assert properties["dplitmus_verdict"] == "violated"
    assert properties["dplitmus_epsilon"] == "1.0"
    assert {"dplitmus_epsilon_lower", "dplitmus_samples", "dplitmus_seed"} <= properties.keys()


@pytest.mark.parametrize(
    ("arguments", "toml", "words"),
    [
        (
            ["--dplitmus-samples=many"],
            "",
            "error[[]DP211[]]: --dplitmus-samples='many' must be a whole number",
        ),
        (["--dplitmus-alpha=2"], "", "error[[]DP201[]]: alpha=2.0 must be*"),
        ([], "sampels = 3", "error[[]DP211[]]: [[]tool.dplitmus[]] has no setting 'sampels'"),
        ([], "samples = 'x'", "error[[]DP211[]]: tool.dplitmus.samples='x' must be a whole number"),
    ],
)
def test_bad_settings_are_sentences(
    arguments: list[str], toml: str, words: str, project: pytest.Pytester
) -> None:
    project.makepyprojecttoml(f"[tool.dplitmus]\n{toml}\n[tool.pytest.ini_options]\n")
    outcome = project.runpytest_inprocess("-k", "fine", *arguments)
    outcome.assert_outcomes(failed=1, deselected=2)
    outcome.stdout.fnmatch_lines([words])
    assert "Traceback" not in outcome.stdout.str()


def test_a_report_that_cannot_be_written_is_refused_before_the_tests(project: pytest.Pytester) -> None:
    outcome = project.runpytest_inprocess(f"--dplitmus-report={project.path}")
    assert outcome.ret == pytest.ExitCode.USAGE_ERROR
    outcome.stderr.fnmatch_lines(["*DP206*is a directory*"])


def test_a_broken_mechanism_is_a_failure_with_its_code(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "def test_it(dp_audit):\n    dp_audit(lambda x, n, rng: 1 / 0, epsilon=1.0, neighbours=[(0, 1)])\n"
    )
    outcome = pytester.runpytest_inprocess()
    outcome.assert_outcomes(failed=1)
    outcome.stdout.fnmatch_lines(["error[[]DP401[]]: *ZeroDivisionError*"])


def test_suites_without_audits_say_nothing_and_import_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import sys\n\n"
        "def test_nothing():\n"
        "    assert '_dplitmus_pytest' in sys.modules\n"
        "    assert not {'dplitmus', 'numpy', 'scipy', 'tomllib'} & set(sys.modules)\n"
    )
    plugins = [f"-pno:{name}" for name in ("hypothesispytest", "cov", "xdist")]
    outcome = pytester.runpytest_subprocess(*plugins)
    outcome.assert_outcomes(passed=1)
    assert "privacy" not in outcome.stdout.str()


def test_importing_the_plugin_imports_neither_the_library_nor_numpy() -> None:
    code = "import _dplitmus_pytest, sys; print(*sorted({'dplitmus', 'numpy', 'click'} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == ""


def test_a_suite_of_a_thousand_audits_raises_a_false_alarm_once_in_a_thousand_runs(tmp_path: Path) -> None:
    """The arithmetic: the errors of all audits add up, at the default alpha."""
    import dplitmus

    quiet = dplitmus.audit(
        lambda x, n, rng: rng.random(n), epsilon=1.0, neighbours=[(0, 1)], samples=9, seed=1
    )
    finding = findings.read(quiet.save(tmp_path / "quiet.json"))[0]
    assert "of all 1000 audits together: at most 0.001." in summary([finding] * 1000)


@pytest.mark.parametrize(
    ("audits", "alpha", "workers"),
    [(120, 0.05, 0), pytest.param(1000, 0.05, 2, marks=pytest.mark.slow)],
)
def test_false_alarms_of_a_suite_are_as_rare_as_promised(
    audits: int, alpha: float, workers: int, pytester: pytest.Pytester
) -> None:
    """A mechanism exactly at its claim: more failures than this have probability below 1e-6.

    Every run of the suite is a fixed seed: this test fails always or never.
    """
    most = next(k for k in range(audits) if bdtrc(k, audits, alpha) < 1e-6)
    pytester.makepyfile(
        "import math, pytest\n\n"
        "def answer(x, n, rng):\n"
        "    return abs(x - (rng.random(n) < 1 / (1 + math.e)))\n\n"
        f"@pytest.mark.parametrize('number', range({audits}))\n"
        "def test_it(dp_audit, number):\n"
        "    dp_audit(answer, epsilon=1.0, neighbours=[(0, 1)])\n"
    )
    settings = ["-q", "--dplitmus-seed=1", f"--dplitmus-alpha={alpha}", "--dplitmus-samples=60"]
    outcome = (
        pytester.runpytest_subprocess(*settings, "-n", str(workers))
        if workers
        else pytester.runpytest_inprocess(*settings)
    )
    assert outcome.ret in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}, outcome.stderr.str()[-2000:]
    failed = outcome.parseoutcomes().get("failed", 0)
    assert failed <= most
    assert failed + outcome.parseoutcomes().get("passed", 0) == audits
    outcome.stdout.fnmatch_lines([f"False-alarm probability of all {audits} audits together: at most*"])
