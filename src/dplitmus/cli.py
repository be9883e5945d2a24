"""The command line: reads arguments, calls the library, prints, and sets the exit status.

0 nothing found, 1 violated, 2 bad input or usage, 3 the mechanism failed; 130 interrupted.
"""

from __future__ import annotations

import io
import os
import shlex
import sys
import traceback
from pathlib import Path

import click

from dplitmus import __version__
from dplitmus.console import (
    FOUND,
    INTERRUPTED,
    Count,
    Group,
    columns,
    complain,
    examples,
    progress_bar,
    say,
)
from dplitmus.errors import DplitmusError, InputError, in_words, one_line

# Commands that live in modules of their own, loaded when they are asked for.
_ELSEWHERE = {
    "audit": "dplitmus.cli_audit",
    "audit-library": "dplitmus.cli_library",
    "replay": "dplitmus.cli_report",
    "report": "dplitmus.cli_report",
    "sensitivity": "dplitmus.cli_sensitivity",
    "text": "dplitmus.cli_text",
}


@click.group(
    cls=Group,
    elsewhere=_ELSEWHERE,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        "dplitmus audit zoo:dptext --epsilon 1 --pair 0 1",
        "dplitmus sanity-check my_noise.py:layer --epsilon 1 --dimension 8",
        "dplitmus reproduce acl2022",
    ),
)
@click.version_option(__version__, message="dplitmus %(version)s")
def cli() -> None:
    """Try to falsify a differential-privacy claim."""


@cli.command(
    "sanity-check",
    short_help="The paper's check: zeros against ones, majority vote.",
    epilog=examples(
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
    with progress_bar(2 * samples, "draws") as progress:
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
    say(text.sanity_check(check, reproduce=shlex.join(again)))
    return FOUND if check.verdict is Verdict.VIOLATED else 0


@cli.group(cls=Group, epilog=examples("dplitmus reproduce acl2022 --out paper"))
def reproduce() -> None:
    """Make a paper's results again."""


@reproduce.command(
    epilog=examples(
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
        say(summary.theorems(shown))
        return 0 if all(one.holds for one in shown) else 3
    if exact:
        _exact_losses(out)
        return 0
    from dplitmus.paper import reproduce as paper

    directory = Path(out or "acl2022")
    again = ["dplitmus", "reproduce", "acl2022", "--samples", str(samples), "--seed", str(seed)]
    with progress_bar(paper.total_draws(samples), "draws") as progress:
        run = paper.reproduce(
            samples=samples,
            seed=seed,
            out=directory,
            command=shlex.join(again),
            threads=threads,
            progress=progress,
        )
    say(summary.reproduction(run))
    say(f"\nWritten to {directory}: losses.json, figure1..3 as .svg and .png")
    say(f"Open {directory / 'index.html'}")
    return 0


def _exact_losses(out: str | None) -> None:
    from dplitmus import store
    from dplitmus.paper import grid, page, summary

    directory = store.prepare_directory(out) if out else None
    values = grid.exact_losses()
    say(summary.losses(values, what="exact loss"))
    if directory:
        path = store.write(directory / "losses.json", page.exact_json(values))
        say(f"\nWritten to {path}")


@cli.command(epilog=examples("dplitmus zoo", "dplitmus zoo --run --samples 100000 --seed 1"))
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
    say(f"{'target':<27}{'true epsilon':<13}definition")
    for broken, heading in (
        (False, "Correct: at most what is claimed"),
        (True, "Broken: more than is claimed"),
    ):
        say(f"\n{heading} (epsilon, where nothing else is said)")
        for name, entry in ZOO.items():
            if entry.broken is broken:
                say(f"zoo:{name:<23}{entry.truth:<13}{entry.summary}")
    say("\nOther names")
    for alias, name in ALIASES.items():
        say(f"zoo:{alias:<23}the same as zoo:{name}")
    return 0


def _run_zoo(samples: int, alpha: float, seed: int) -> int:
    """Audit every mechanism of the zoo: a line each as it ends, a bar for the one that runs, a summary."""
    from dplitmus.mechanisms.zoo import ZOO
    from dplitmus.report.text import at_least, number
    from dplitmus.survey import Summary, audit_one

    say(f"{'mechanism':<24}{'claimed':>9}{'certified':>10}{'true':>10}{'draws':>11}  verdict")
    rows = []
    for name in ZOO:
        with progress_bar(samples, "draws", name) as progress:
            row = audit_one(name, samples=samples, alpha=alpha, seed=seed, progress=progress)
        rows.append(row)
        say(
            f"{name:<24}{row.result.claim.epsilon:>9.4g}{at_least(row.result.epsilon_lower):>10}"
            f"{number(row.true_epsilon):>10}{row.result.samples:>11,}  {row.result.verdict.value}"
            + (" (wrongly)" if row.violated and not row.entry.broken else "")
        )
    summary = Summary.of(rows)
    broken = len(summary.found) + len(summary.missed)
    say(f"\nBroken: {broken}, found: {len(summary.found)}. Not found: {', '.join(summary.missed) or 'none'}.")
    say(
        f"Correct: {len(ZOO) - broken}, accused: {', '.join(summary.accused) or 'none'} (expected: "
        f"{(len(ZOO) - broken) * alpha:.2g})."
    )
    return FOUND if summary.accused else 0


@cli.command(epilog=examples("dplitmus explain DP101"))
@click.argument("code")
def explain(code: str) -> None:
    """Explain a code: what it means, why it matters, what to do."""
    from dplitmus.explanations import explanation

    say(explanation(code))


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit status; errors are printed for people."""
    try:
        wide = columns(sys.stdout) - 2
        status = cli.main(arguments, prog_name="dplitmus", standalone_mode=False, terminal_width=wide)
    except DplitmusError as error:
        complain(str(error))
        return error.exit_status
    except click.ClickException as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # since click 8.2: the message is the help
            complain(error.format_message())
            return 2
        path = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "dplitmus"
        usage = InputError(error.format_message(), code="DP202", help=f"see  {path} --help")
        complain(str(usage))
        return usage.exit_status
    except (click.Abort, KeyboardInterrupt):
        complain("interrupted")
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001  (status 1 would mean "violated")
        if os.environ.get("DPLITMUS_DEBUG"):
            traceback.print_exc()
        unexpected = InputError(
            f"unexpected {type(error).__name__}: {one_line(in_words(str, error), 200)}",
            code="DP210",
            help="DPLITMUS_DEBUG=1 shows where; please report it with the command",
        )
        complain(str(unexpected))
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
