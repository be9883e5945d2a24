"""The pytest plugin: the `dp_audit` fixture, its options, a summary at the end.

A module of its own beside the package: pytest imports it in every project where dplitmus is installed, so it
imports nothing of dplitmus, nor numpy, until a test asks for an audit.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from dplitmus import Result

_SLOW = "dplitmus_slow"
_FINDINGS = pytest.StashKey[list[str]]()  # of one test, as JSON
_SEED = "dplitmus_seed"  # what xdist hands to its workers
_SETTINGS: dict[str, type] = {"samples": int, "alpha": float, "seed": int, "report": str}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Settings of all audits; those of pyproject.toml's [tool.dplitmus] give way to them."""
    group = parser.getgroup("dplitmus", "differential-privacy audits")
    group.addoption("--dplitmus-samples", metavar="N", help="draws of each audit, at most [1000000]")
    group.addoption("--dplitmus-alpha", metavar="A", help="false-alarm probability of each audit [1e-06]")
    group.addoption("--dplitmus-seed", metavar="S", help="same seed, same draws [a fresh one, printed]")
    group.addoption("--dplitmus-report", metavar="FILE.html", help="write all findings to one offline page")
    group.addoption("--dplitmus-slow", action="store_true", help=f"run audits marked {_SLOW}, too")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker; refuse a report that could not be written, before any test runs."""
    config.addinivalue_line("markers", f"{_SLOW}: a slow audit; runs with --dplitmus-slow only")
    config.pluginmanager.register(Audits(config), "dplitmus-audits")
    if config.pluginmanager.hasplugin("xdist"):
        config.pluginmanager.register(_ToWorkers(), "dplitmus-workers")
    path = config.getoption("--dplitmus-report")
    if path and not hasattr(config, "workerinput"):
        from dplitmus import DplitmusError, store  # noqa: PLC0415  (only where it is asked for)

        try:
            store.prepare_file(path)
        except DplitmusError as error:
            raise pytest.UsageError(str(error)) from error


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip slow audits, unless they are asked for."""
    if config.getoption("--dplitmus-slow"):
        return
    for item in items:
        if item.get_closest_marker(_SLOW):
            item.add_marker(pytest.mark.skip(reason="a slow audit: run it with --dplitmus-slow"))


@pytest.fixture
def dp_audit(request: pytest.FixtureRequest) -> Callable[..., Result]:
    """Audit a mechanism as `dplitmus.audit` does; a refuted claim fails the test with its counterexample.

    dp_audit(mechanism, epsilon=1.0, neighbours=[(0, 1)])
    """
    audits: Any = request.config.pluginmanager.get_plugin("dplitmus-audits")
    node = request.node

    def run(mechanism: Any, **settings: Any) -> Result:
        __tracebackhide__ = True
        from dplitmus import DplitmusError, audit  # noqa: PLC0415  (only where it is asked for)

        done = node.stash.setdefault(_FINDINGS, [])
        try:
            chosen = audits.settings()
            chosen = {name: chosen[name] for name in ("samples", "alpha") if name in chosen}
            chosen["seed"] = audits.seed_of(f"{node.nodeid} {len(done)}")
            result = audit(mechanism, **chosen | settings)
        except DplitmusError as error:
            pytest.fail(str(error), pytrace=False)
        done.append(result.to_json())
        for name in ("mechanism", "verdict", "epsilon_lower", "samples", "alpha", "seed"):
            node.user_properties.append((f"dplitmus_{name}", str(getattr(result, name))))
        node.user_properties.append(("dplitmus_epsilon", str(result.claim.epsilon)))
        if result.verdict == "violated":
            from dplitmus.report import text  # noqa: PLC0415

            pytest.fail(text.audit(result, width=_columns(request.config)), pytrace=False)
        return result

    return run


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let the findings of a test travel with its last report, from a worker to its controller, too."""
    report = yield
    if report.when == "teardown" and _FINDINGS in item.stash:
        report.dplitmus_findings = item.stash[_FINDINGS]  # type: ignore[attr-defined]
    return report


class Audits:
    """All audits of one session."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.findings: list[tuple[str, str]] = []  # test, JSON
        self._settings: dict[str, Any] | None = None
        self._seed: int | None = getattr(config, "workerinput", {}).get(_SEED)

    def settings(self) -> dict[str, Any]:
        """Of pyproject.toml and the command line; read when the first test asks."""
        if self._settings is None:
            self._settings = _from_project(self.config.rootpath)
            for name, kind in _SETTINGS.items():
                value = self.config.getoption(f"--dplitmus-{name}")
                if value is not None:
                    self._settings[name] = _converted(f"--dplitmus-{name}", value, kind)
        return self._settings

    def seed(self) -> int:
        """Of the session: as asked, or fresh; xdist's workers share it."""
        if self._seed is None:
            given = self.settings().get("seed")
            self._seed = int.from_bytes(os.urandom(4), "little") if given is None else given
        return self._seed

    def seed_of(self, name: str) -> int:
        """Of one audit: a function of the session's seed and the test, not of order or workers."""
        import hashlib  # noqa: PLC0415  (only where it is asked for)

        digest = hashlib.blake2b(f"{self.seed()} {name}".encode(), digest_size=6).digest()
        return int.from_bytes(digest, "little")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect findings, from this process or from a worker."""
        found: Iterable[str] = getattr(report, "dplitmus_findings", ())
        self.findings += [(report.nodeid, finding) for finding in found]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """A line for each audit, the false-alarm probability of the whole suite, and the page."""
        if not self.findings or hasattr(self.config, "workerinput"):
            return
        from dplitmus import DplitmusError, findings, store  # noqa: PLC0415  (only where it is asked for)
        from dplitmus.report import index, text, wrapping  # noqa: PLC0415

        found = [findings.checked(test, one) for test, one in sorted(self.findings)]
        write = terminalreporter.write_line
        terminalreporter.ensure_newline()
        terminalreporter.section("differential-privacy audits")
        for line in wrapping.narrowed(text.summary(found), _columns(self.config)).splitlines():
            write(line)
        write(f"Again with the same draws: --dplitmus-seed={self.seed()}")
        path = self.settings().get("report")
        if path:
            try:
                file = store.write(store.prepare_file(path), index.page(found))
            except DplitmusError as error:
                write(str(error), red=True)
            else:
                write(f"Report: {file}")


class _ToWorkers:
    """Hands the session's seed to xdist's workers: a hook that exists only with xdist."""

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """One worker starts."""
        audits = node.config.pluginmanager.get_plugin("dplitmus-audits")
        try:
            node.workerinput[_SEED] = audits.seed()
        except ValueError as error:  # bad settings, which every audit will report
            node.log(str(error))


def _columns(config: pytest.Config) -> int:
    """Of pytest's terminal, within reason; xdist's workers have none."""
    if not config.pluginmanager.hasplugin("terminalreporter"):
        return 80
    return max(30, min(80, config.get_terminal_writer().fullwidth))


def _from_project(root: Any) -> dict[str, Any]:
    """Of [tool.dplitmus] in pyproject.toml, where it stands."""
    from dplitmus.errors import InputError, did_you_mean  # noqa: PLC0415

    file = root / "pyproject.toml"
    if not file.is_file():
        return {}
    import tomllib  # noqa: PLC0415

    try:
        table = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {}).get("dplitmus", {})
    except (OSError, ValueError, RecursionError, AttributeError) as error:
        raise InputError(f"cannot read {file}: {error}", code="DP211", help="repair the file") from error
    for name in table:
        if name not in _SETTINGS:
            hint = did_you_mean(name, _SETTINGS) or f"settings are {', '.join(_SETTINGS)}"
            raise InputError(f"[tool.dplitmus] has no setting {name!r}", code="DP211", help=hint)
    return {
        name: _converted(f"tool.dplitmus.{name}", value, _SETTINGS[name]) for name, value in table.items()
    }


def _converted(name: str, value: Any, kind: type) -> Any:
    from dplitmus.errors import bad_value  # noqa: PLC0415

    words = {int: "be a whole number", float: "be a number", str: "be a text"}[kind]
    refusal = bad_value(name, value, words, code="DP211", help="see  dplitmus explain DP211")
    if isinstance(value, bool) or (kind is str and not isinstance(value, str)):
        raise refusal
    try:
        exact = kind(value)
    except (TypeError, ValueError, OverflowError):
        exact = None
    if exact is None or (kind is int and isinstance(value, float)):  # 1e6 is a whole number, too
        try:
            number = float(value)
            exact = int(number) if kind is int and number == int(number) else None
        except (TypeError, ValueError, OverflowError):
            exact = None
    if exact is None:
        raise refusal
    return exact
