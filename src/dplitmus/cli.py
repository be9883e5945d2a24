"""The command line: reads arguments, calls the library, prints, and sets the exit status.

0 nothing found, 1 violated, 2 bad input or usage, 3 the mechanism failed; 130 interrupted.
"""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import shutil
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dplitmus import __version__
from dplitmus.errors import DplitmusError, InputError, bad_value, did_you_mean, in_words, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FOUND, INTERRUPTED = 1, 130
# Commands that live in modules of their own, loaded when they are asked for.
_ELSEWHERE = {
    "replay": "dplitmus.cli_report",
    "report": "dplitmus.cli_report",
    "text": "dplitmus.cli_text",
}


if TYPE_CHECKING:
    _IntegerType = click.ParamType[int]
else:
    _IntegerType = click.ParamType  # which has no type parameter before click 8.4


class Count(_IntegerType):
    """A number of things: 1000000, 1_000_000 or 1e6."""

    name = "count"

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> int:
        """Return the whole number, or fail with a sentence."""
        if isinstance(value, int):
            return value
        try:
            return int(value)
        except ValueError:
            pass
        try:
            number = float(value)
            if number == int(number):
                return int(number)
        except (ValueError, OverflowError):
            pass
        return self.fail(f"{value!r} is not a whole number", param, ctx)


class Group(click.Group):
    """A group of commands that suggests the closest one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, those of other modules included."""
        return sorted([*super().list_commands(ctx), *(_ELSEWHERE if self is cli else [])])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Find a command, here or in its own module."""
        if self is cli and cmd_name in _ELSEWHERE:
            import importlib

            found: click.Command = getattr(importlib.import_module(_ELSEWHERE[cmd_name]), cmd_name)
            return found
        return super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the command, or say which one was probably meant."""
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            hint = did_you_mean(args[0], self.list_commands(ctx)) or "dplitmus --help lists the commands"
            raise InputError(f"no command {args[0]!r}", code="DP202", help=hint)
        return super().resolve_command(ctx, args)


def _examples(*commands: str) -> str:
    return "\b\nExamples:\n" + "\n".join(f"  {command}" for command in commands)


@click.group(
    cls=Group,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    epilog=_examples(
        "dplitmus audit zoo:dptext --epsilon 1 --pair 0 1",
        "dplitmus sanity-check my_noise.py:layer --epsilon 1 --dimension 8",
        "dplitmus reproduce acl2022",
    ),
)
@click.version_option(__version__, message="dplitmus %(version)s")
def cli() -> None:
    """Try to falsify a differential-privacy claim."""


@cli.command(
    short_help="Search for a counterexample to a privacy claim.",
    epilog=_examples(
        "dplitmus audit zoo:dptext --epsilon 1 --pair 0 1",
        "dplitmus audit my_noise.py:layer --epsilon 1 --pair '[0,0]' '[1,1]'",
        "dplitmus audit my_noise.py:layer --epsilon 1 --relation all --dimension 5",
    ),
)
@click.argument("target")
@click.option("--epsilon", type=float, help="The claimed epsilon; zoo mechanisms have a default.")
@click.option("--delta", type=float, help="The claimed delta. [default: 0]")
@click.option(
    "--pair", "pairs", nargs=2, multiple=True, metavar="X X'", help="Two neighbours as JSON; may be repeated."
)
@click.option("--relation", help="Without --pair: patterns where 'one' or 'all' coordinates differ.")
@click.option("--dimension", type=Count(), help="Numbers per pattern. [default: 1]")
@click.option("--samples", type=Count(), default=1_000_000, show_default=True, help="Draws in all, at most.")
@click.option("--seconds", type=float, help="Stop after so many seconds.")
@click.option("--call-timeout", type=float, help="Seconds that one call of the mechanism may take.")
@click.option("--alpha", type=float, default=1e-6, show_default=True, help="Probability of a false alarm.")
@click.option("--seed", type=Count(), help="Same seed, same result. [default: a fresh one]")
@click.option("--level", default="ideal", show_default=True, help="What is judged: 'ideal' arithmetic.")
@click.option(
    "--stop", default="violated", show_default=True, help="'violated', or 'never' for the best bound."
)
@click.option("--json", "json_file", help="Also write the result to this file.")
@click.option("--html", "html_file", help="Also write a report to this file, one offline page.")
def audit(
    target: str,
    epsilon: float | None,
    delta: float | None,
    pairs: tuple[tuple[str, str], ...],
    relation: str | None,
    dimension: int | None,
    samples: int,
    seconds: float | None,
    call_timeout: float | None,
    alpha: float,
    seed: int | None,
    level: str,
    stop: str,
    json_file: str | None,
    html_file: str | None,
) -> int:
    """Search for a counterexample to (epsilon, delta)-differential privacy.

    TARGET is zoo:NAME (see 'dplitmus zoo'), package.module:function or path/file.py:function; the function
    takes (x, n, rng) and returns n outputs on x. Without --pair and --relation the pair is 0 and 1; a zoo
    mechanism has its own.

    Exit status: 0 nothing found, 1 violated, 2 bad input, 3 the mechanism failed.
    """
    import dplitmus
    from dplitmus import store
    from dplitmus import target as targets
    from dplitmus.claim import Claim
    from dplitmus.neighbours import patterns
    from dplitmus.report import text
    from dplitmus.samples import checked_samples
    from dplitmus.verdict import Verdict

    checked_samples(samples)
    given = _pairs_from_json(pairs)
    if target.startswith("zoo:"):
        size = _length(given[0][0]) if given else dimension
        setting = targets.zoo_setting(target, epsilon=epsilon, dimension=size)
    else:
        if epsilon is None:
            raise click.UsageError("Missing option '--epsilon'.")
        mechanism = targets.load(target, epsilon=epsilon, dimension=1)
        setting = targets.Setting(mechanism, epsilon, 0.0, [(0.0, 1.0)], target)
    claim = Claim(epsilon=setting.epsilon, delta=setting.delta if delta is None else delta)
    neighbours = given or (patterns(relation, dimension or 1) if relation else setting.neighbours)
    file = store.prepare_file(json_file) if json_file else None
    page = store.prepare_file(html_file) if html_file else None
    with _progress(samples, "draws") as progress:
        result = dplitmus.audit(
            setting.mechanism,
            epsilon=claim.epsilon,
            delta=claim.delta,
            neighbours=neighbours,
            samples=samples,
            seconds=seconds,
            call_timeout=call_timeout,
            alpha=alpha,
            seed=seed,
            level=level,
            stop=stop,
            progress=progress,
            target=setting.target,
        )
    finding = result.to_json()
    found = result.verdict is Verdict.VIOLATED
    if file is None and page is None and found:
        file = _finding_file(result.mechanism, finding)
    if file:
        store.write(file, finding)
    if page:
        store.write(page, result.to_html())
    again = shlex.join(["dplitmus", "replay", str(file or page)]) if file or page else None
    _say(text.audit(result, reproduce=again, width=_columns()))
    return FOUND if found else 0


def _pairs_from_json(pairs: tuple[tuple[str, str], ...]) -> list[Any]:
    import json

    found = []
    for pair in pairs:
        members = []
        for text in pair:
            try:
                members.append(json.loads(text))
            except (ValueError, RecursionError):
                raise bad_value(
                    "pair", text, "be JSON", help="""numbers, lists or "text": --pair '[0,0]' '[1,1]'"""
                ) from None
        found.append(tuple(members))
    return found


def _length(member: Any) -> int:
    return len(member) if isinstance(member, list) and member else 1


def _finding_file(mechanism: str, finding: str) -> Path:
    """A place in .dplitmus for a finding: the same finding, the same name."""
    import hashlib
    import re

    from dplitmus import store

    name = re.sub(r"[^A-Za-z0-9_-]+", "-", mechanism)[:40].strip("-") or "mechanism"
    digest = hashlib.blake2b(finding.encode(), digest_size=4).hexdigest()
    return store.prepare_file(Path(".dplitmus") / f"{name}-{digest}.json")


@cli.command(
    "sanity-check",
    short_help="The paper's check: zeros against ones, majority vote.",
    epilog=_examples(
        "dplitmus sanity-check zoo:adept --epsilon 0.1 --dimension 2",
        "dplitmus sanity-check my_noise.py:layer --epsilon 1 --dimension 8 --seed 1",
        "dplitmus sanity-check my_package.noise:layer --epsilon 1 --dimension 8",
    ),
)
@click.argument("target")
@click.option("--epsilon", type=float, required=True, help="The claimed epsilon.")
@click.option("--dimension", type=Count(), required=True, help="Numbers per input, n.")
@click.option("--samples", type=Count(), default=10_000_000, show_default=True, help="Draws on each input.")
@click.option("--seed", type=Count(), help="Same seed, same result. [default: a fresh one]")
@click.option("--alpha", type=float, default=1e-6, show_default=True, help="Probability of a false alarm.")
@click.option("--ties", default="zero", show_default=True, help="A tied vote: 'zero' or 'coin'.")
@click.option("--threads", type=Count(), help="Threads; never changes the result. [default: all cores]")
@click.option("--json", "json_file", help="Also write the result to this file.")
def sanity_check(
    target: str,
    epsilon: float,
    dimension: int,
    samples: int,
    seed: int | None,
    alpha: float,
    ties: str,
    threads: int | None,
    json_file: str | None,
) -> int:
    """Zeros against ones, rounding, majority vote: the paper's check, with a certificate.

    TARGET is zoo:NAME (see 'dplitmus zoo'), package.module:function or path/file.py:function; the function
    takes (x, n, rng) and returns n outputs on the vector x.

    Exit status: 0 nothing found, 1 violated, 2 bad input, 3 the mechanism failed.
    """
    import dplitmus
    from dplitmus import store
    from dplitmus import target as targets
    from dplitmus.claim import Claim
    from dplitmus.report import json, text
    from dplitmus.samples import checked_dimension, checked_samples
    from dplitmus.verdict import Verdict

    Claim(epsilon=epsilon)
    checked_dimension(dimension)
    checked_samples(samples)
    file = store.prepare_file(json_file) if json_file else None
    mechanism = targets.load(target, epsilon=epsilon, dimension=dimension)
    with _progress(2 * samples, "draws") as progress:
        check = dplitmus.sanity_check(
            mechanism,
            epsilon=epsilon,
            dimension=dimension,
            samples=samples,
            seed=seed,
            alpha=alpha,
            ties=ties,
            threads=threads,
            progress=progress,
        )
    again = ["dplitmus", "sanity-check", target, "--epsilon", str(epsilon)]
    again += ["--dimension", str(dimension), "--samples", str(samples), "--seed", str(check.seed)]
    again += ["--alpha", str(alpha)] * (alpha != 1e-6) + ["--ties", ties] * (ties != "zero")
    if file:
        store.write(file, json.dumps(json.sanity_check(check, version=__version__)))
    _say(text.sanity_check(check, reproduce=shlex.join(again)))
    return FOUND if check.verdict is Verdict.VIOLATED else 0


@cli.group(cls=Group, epilog=_examples("dplitmus reproduce acl2022 --out paper"))
def reproduce() -> None:
    """Make a paper's results again."""


@reproduce.command(
    epilog=_examples(
        "dplitmus reproduce acl2022",
        "dplitmus reproduce acl2022 --samples 100000 --out quick",
        "dplitmus reproduce acl2022 --exact",
        "dplitmus reproduce acl2022 --theorems",
    )
)
@click.option(
    "--samples",
    type=Count(),
    default=10_000_000,
    show_default=True,
    help="Draws on each input, per cell.",
)
@click.option("--seed", type=Count(), default=2022, show_default=True, help="Same seed, same numbers.")
@click.option("--out", help="Directory of the results. [default: acl2022]")
@click.option("--exact", is_flag=True, help="No sampling: print the exact losses (--out DIR: losses.json).")
@click.option("--theorems", is_flag=True, help="Only demonstrate theorems 3.1, 3.2 and A.1.")
@click.option("--threads", type=Count(), help="Threads; never changes the result. [default: all cores]")
def acl2022(
    samples: int, seed: int, out: str | None, exact: bool, theorems: bool, threads: int | None
) -> int:
    """Habernal (ACL 2022): figures 1 to 3, every cell, footnote 7, the theorems.

    Writes figure1..3 as SVG and PNG, losses.json and index.html (open it: it holds everything). Figures
    need matplotlib: pip install 'dplitmus[plots]'.
    """
    from dplitmus.engine import checked_threads
    from dplitmus.paper import summary
    from dplitmus.samples import checked_samples, checked_seed

    if exact and theorems:
        raise click.UsageError("--exact and --theorems exclude each other")
    checked_seed(seed)
    checked_samples(samples)
    checked_threads(threads)
    if theorems:
        from dplitmus.paper.theorems import demonstrate

        shown = list(demonstrate(seed))
        _say(summary.theorems(shown))
        return 0 if all(one.holds for one in shown) else 3
    if exact:
        _exact_losses(out)
        return 0
    from dplitmus.paper import reproduce as paper

    directory = Path(out or "acl2022")
    again = ["dplitmus", "reproduce", "acl2022", "--samples", str(samples), "--seed", str(seed)]
    with _progress(paper.total_draws(samples), "draws") as progress:
        run = paper.reproduce(
            samples=samples,
            seed=seed,
            out=directory,
            command=shlex.join(again),
            threads=threads,
            progress=progress,
        )
    _say(summary.reproduction(run))
    _say(f"\nWritten to {directory}: losses.json, figure1..3 as .svg and .png")
    _say(f"Open {directory / 'index.html'}")
    return 0


def _exact_losses(out: str | None) -> None:
    from dplitmus import store
    from dplitmus.paper import grid, page, summary

    directory = store.prepare_directory(out) if out else None
    values = grid.exact_losses()
    _say(summary.losses(values, what="exact loss"))
    if directory:
        path = store.write(directory / "losses.json", page.exact_json(values))
        _say(f"\nWritten to {path}")


@cli.command(epilog=_examples("dplitmus zoo", "dplitmus zoo --run --samples 100000 --seed 1"))
@click.option("--run", "run_all", is_flag=True, help="Audit them all.")
@click.option("--samples", type=Count(), default=1_000_000, show_default=True, help="Draws on each, at most.")
@click.option("--alpha", type=float, default=1e-6, show_default=True, help="False-alarm probability of each.")
@click.option("--seed", type=Count(), default=1, show_default=True, help="Same seed, same results.")
def zoo(run_all: bool, samples: int, alpha: float, seed: int) -> int:
    """List the mechanisms with a known answer, or audit them all.

    With --run the exit status is 1 if a correct one was accused, and 0 otherwise.
    """
    from dplitmus.mechanisms.zoo import ALIASES, ZOO

    if run_all:
        return _run_zoo(samples, alpha, seed)
    _say(f"{'target':<27}{'true epsilon':<13}definition")
    for broken, heading in (
        (False, "Correct: at most what is claimed"),
        (True, "Broken: more than is claimed"),
    ):
        _say(f"\n{heading} (epsilon, where nothing else is said)")
        for name, entry in ZOO.items():
            if entry.broken is broken:
                _say(f"zoo:{name:<23}{entry.truth:<13}{entry.summary}")
    _say("\nOther names")
    for alias, name in ALIASES.items():
        _say(f"zoo:{alias:<23}the same as zoo:{name}")
    return 0


def _run_zoo(samples: int, alpha: float, seed: int) -> int:
    """Audit every mechanism of the zoo: a line each as it ends, a bar for the one that runs, a summary."""
    from dplitmus.mechanisms.zoo import ZOO
    from dplitmus.report.text import at_least, number
    from dplitmus.survey import Summary, audit_one

    _say(f"{'mechanism':<24}{'claimed':>9}{'certified':>10}{'true':>10}{'draws':>11}  verdict")
    rows = []
    for name in ZOO:
        with _progress(samples, "draws", name) as progress:
            row = audit_one(name, samples=samples, alpha=alpha, seed=seed, progress=progress)
        rows.append(row)
        _say(
            f"{name:<24}{row.result.claim.epsilon:>9.4g}{at_least(row.result.epsilon_lower):>10}"
            f"{number(row.true_epsilon):>10}{row.result.samples:>11,}  {row.result.verdict.value}"
            + (" (wrongly)" if row.violated and not row.entry.broken else "")
        )
    summary = Summary.of(rows)
    broken = len(summary.found) + len(summary.missed)
    _say(
        f"\nBroken: {broken}, found: {len(summary.found)}. Not found: {', '.join(summary.missed) or 'none'}."
    )
    _say(
        f"Correct: {len(ZOO) - broken}, accused: {', '.join(summary.accused) or 'none'} (expected: "
        f"{(len(ZOO) - broken) * alpha:.2g})."
    )
    return FOUND if summary.accused else 0


@cli.command(epilog=_examples("dplitmus explain DP101"))
@click.argument("code")
def explain(code: str) -> None:
    """Explain a code: what it means, why it matters, what to do."""
    from dplitmus.explanations import explanation

    _say(explanation(code))


@contextlib.contextmanager
def _progress(total: int, unit: str, name: str = "") -> Iterator[Callable[[int], None] | None]:
    """A progress bar on stderr if that is a terminal; otherwise nothing at all."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn(f"{name:<24}" if name else ""),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn(f"of {total:,} {unit}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda done: bar.advance(task, done)


def _columns() -> int:
    """Columns of the terminal, at most those that texts are made for."""
    return max(30, min(80, shutil.get_terminal_size((80, 24)).columns)) if sys.stdout.isatty() else 80


def _say(text: str, *, data: bool = False) -> None:
    """Print to standard output; a reader who has gone away changes neither the work nor the status.

    In a narrow terminal the lines are broken, unless they are data that somebody may copy.
    """
    columns = _columns()
    if columns < 80 and not data:
        from dplitmus.report.text import narrowed

        text = narrowed(text, columns)
    try:
        click.echo(text, file=sys.stdout)  # by itself click writes UTF-8 where the terminal is ASCII
        sys.stdout.flush()
    except BrokenPipeError:
        # Nobody listens: what Python still tries to write at the end goes nowhere, too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        raise InputError(
            f"cannot write to standard output: {error.strerror}",
            code="DP206",
            help="make room, or send the output elsewhere",
        ) from error


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit status; errors are printed for people."""
    try:
        status = cli.main(arguments, prog_name="dplitmus", standalone_mode=False)
    except DplitmusError as error:
        click.echo(str(error), err=True)
        return error.exit_status
    except click.ClickException as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # since click 8.2: the message is the help
            click.echo(error.format_message(), err=True)
            return 2
        path = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "dplitmus"
        usage = InputError(error.format_message(), code="DP202", help=f"see  {path} --help")
        click.echo(str(usage), err=True)
        return usage.exit_status
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001  (status 1 would mean "violated")
        if os.environ.get("DPLITMUS_DEBUG"):
            traceback.print_exc()
        unexpected = InputError(
            f"unexpected {type(error).__name__}: {one_line(in_words(str, error), 200)}",
            code="DP210",
            help="DPLITMUS_DEBUG=1 shows where; please report it with the command",
        )
        click.echo(str(unexpected), err=True)
        return unexpected.exit_status
    return status if isinstance(status, int) else 0


def main() -> None:
    """Run the command line of this process."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without UTF-8 is no reason to stop
    status = run(sys.argv[1:])
    if status == INTERRUPTED:
        # Threads that still run a slow mechanism would keep the process alive.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)
