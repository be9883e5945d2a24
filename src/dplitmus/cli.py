"""The command line: reads arguments, calls the library, prints, and sets the exit status.

0 nothing found, 1 violated, 2 bad input or usage, 3 the mechanism failed; 130 interrupted.
"""

from __future__ import annotations

import contextlib
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dplitmus import __version__
from dplitmus.errors import DplitmusError, InputError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FOUND, INTERRUPTED = 1, 130


class Count(click.ParamType[int]):
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

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the command, or say which one was probably meant."""
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            hint = did_you_mean(args[0], self.commands) or "dplitmus --help lists the commands"
            raise InputError(f"no command {args[0]!r}", code="DP202", help=hint)
        return super().resolve_command(ctx, args)


def _examples(*commands: str) -> str:
    return "\b\nExamples:\n" + "\n".join(f"  {command}" for command in commands)


@click.group(
    cls=Group,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    epilog=_examples(
        "dplitmus sanity-check zoo:dptext --epsilon 1 --dimension 2",
        "dplitmus sanity-check my_noise.py:layer --epsilon 1 --dimension 8",
        "dplitmus reproduce acl2022",
    ),
)
@click.version_option(__version__, message="dplitmus %(version)s")
def cli() -> None:
    """Try to falsify a differential-privacy claim."""


@cli.command(
    "sanity-check",
    epilog=_examples(
        "dplitmus sanity-check zoo:adept --epsilon 0.1 --dimension 2",
        "dplitmus sanity-check my_noise.py:layer --epsilon 1 --dimension 8 --seed 1",
        "dplitmus sanity-check my_package.noise:layer --epsilon 1 --dimension 8 --json out.json",
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
    from dplitmus.errors import whole_number
    from dplitmus.report import json, text
    from dplitmus.verdict import Verdict

    Claim(epsilon=epsilon)
    whole_number("dimension", dimension, least=1, help="try --dimension 1")
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
    click.echo(text.sanity_check(check, reproduce=shlex.join(again)))
    if file:
        store.write(file, json.dumps(json.sanity_check(check, version=__version__)))
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
    from dplitmus.paper import summary
    from dplitmus.samples import checked_seed

    checked_seed(seed)
    if theorems:
        from dplitmus.paper.theorems import demonstrate

        click.echo(summary.theorems(demonstrate(seed)))
        return 0
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
    click.echo(summary.reproduction(run))
    click.echo(f"\nWritten to {directory}: losses.json, figure1..3 as .svg and .png")
    click.echo(f"Open {directory / 'index.html'}")
    return 0


def _exact_losses(out: str | None) -> None:
    from dplitmus import store
    from dplitmus.paper import grid, page, summary

    directory = store.prepare_directory(out) if out else None
    values = grid.exact_losses()
    click.echo(summary.losses(values, what="exact loss"))
    if directory:
        path = store.write(directory / "losses.json", page.exact_json(values))
        click.echo(f"\nWritten to {path}")


@cli.command(epilog=_examples("dplitmus zoo", "dplitmus sanity-check zoo:adept --epsilon 1 --dimension 8"))
def zoo() -> None:
    """List the mechanisms with a known answer."""
    from dplitmus.mechanisms.zoo import ALIASES, ZOO

    click.echo(f"{'target':<27}{'true epsilon':<13}definition")
    for broken, heading in (
        (False, "Correct: at most what is claimed"),
        (True, "Broken: more than is claimed"),
    ):
        click.echo(f"\n{heading} (epsilon, where nothing else is said)")
        for name, entry in ZOO.items():
            if entry.broken is broken:
                click.echo(f"zoo:{name:<23}{entry.truth:<13}{entry.summary}")
    click.echo("\nOther names")
    for alias, name in ALIASES.items():
        click.echo(f"zoo:{alias:<23}the same as zoo:{name}")


@cli.command(epilog=_examples("dplitmus explain DP101"))
@click.argument("code")
def explain(code: str) -> None:
    """Explain a code: what it means, why it matters, what to do."""
    from dplitmus.explanations import explanation

    click.echo(explanation(code))


@contextlib.contextmanager
def _progress(total: int, unit: str) -> Iterator[Callable[[int], None] | None]:
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
        BarColumn(),
        TaskProgressColumn(),
        TextColumn(f"of {total:,} {unit}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda done: bar.advance(task, done)


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit status; errors are printed for people."""
    try:
        status = cli.main(arguments, prog_name="dplitmus", standalone_mode=False)
    except DplitmusError as error:
        click.echo(str(error), err=True)
        return error.exit_status
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return 2
    except click.ClickException as error:
        path = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "dplitmus"
        usage = InputError(error.format_message(), code="DP202", help=f"see  {path} --help")
        click.echo(str(usage), err=True)
        return usage.exit_status
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted: nothing was written", err=True)
        return INTERRUPTED
    return status if isinstance(status, int) else 0


def main() -> None:
    """Run the command line of this process."""
    sys.exit(run(sys.argv[1:]))
