"""The command `audit`: a target, a claim and pairs of inputs in, a finding out."""

from __future__ import annotations

import contextlib
import re
import secrets
import shlex
import signal
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dplitmus.console import (
    FOUND,
    Count,
    command_again,
    complain,
    examples,
    finding_file,
    progress_bar,
    say,
)
from dplitmus.errors import bad_value

if TYPE_CHECKING:
    from dplitmus.journal import Journal

_JOURNAL_AFTER = 5.0  # seconds: a shorter run is not worth a file


@click.command(
    short_help="Search for a counterexample to a privacy claim.",
    epilog=examples(
        "dplitmus audit zoo:dptext --epsilon 1 --pair 0 1",
        "dplitmus audit my_noise.py:layer --epsilon 1 --pair '[0,0]' '[1,1]'",
        "dplitmus audit my_noise.py:layer --epsilon 1 --relation all --dimension 5",
        "dplitmus audit my_noise.py:layer --epsilon 1 --executor processes:4",
        "dplitmus audit my_release.py:measurement",
        "dplitmus audit 'program:node noise.js' --epsilon 1 --pair 0 1",
    ),
)
@click.argument("target")
@click.option(
    "--epsilon", type=float, help="The claimed epsilon; a zoo mechanism or a library's has its own."
)
@click.option("--delta", type=float, help="The claimed delta. [default: 0]")
@click.option(
    "--pair", "pairs", nargs=2, multiple=True, metavar="X X'", help="Two neighbours as JSON; may be repeated."
)
@click.option(
    "--relation",
    help="'one' or 'all': patterns where so many coordinates differ; 'add-remove' or 'replace-one' between "
    "datasets.",
)
@click.option("--dimension", type=Count(), help="Numbers per pattern. [default: 1]")
@click.option("--samples", type=Count(), default=1_000_000, show_default=True, help="Draws in all, at most.")
@click.option("--seconds", type=float, help="Stop after so many seconds.")
@click.option(
    "--executor", help="Where draws are made: threads:4, processes:4, loky:4, dask:local:4, dask:tcp://..."
)
@click.option(
    "--piece", type=Count(), help="Draws of a slow mechanism made at a time. [default: 8 with each()]"
)
@click.option(
    "--on-error", default="fail", show_default=True, help="An exception: 'fail', 'symbol' or 'retry'."
)
@click.option("--isolate", is_flag=True, help="Make each call in a fresh process.")
@click.option("--call-timeout", type=float, help="Seconds that one call of the mechanism may take.")
@click.option("--memory-limit", help="Memory of an isolated call, as 4G.")
@click.option("--journal", "journal_file", help="Write every judged chunk to this file, from the start.")
@click.option("--resume", help="Go on from this journal; the other arguments are those of the first run.")
@click.option("--alpha", type=float, default=1e-6, show_default=True, help="Probability of a false alarm.")
@click.option("--seed", type=Count(), help="Same seed, same result. [default: a fresh one]")
@click.option("--level", default="ideal", show_default=True, help="'ideal' arithmetic, or released 'bits'.")
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
    executor: str | None,
    piece: int | None,
    on_error: str,
    isolate: bool,
    call_timeout: float | None,
    memory_limit: str | None,
    journal_file: str | None,
    resume: str | None,
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
    mechanism has its own. After some seconds a journal is kept in .dplitmus until the run ends, so that a
    killed run can go on: --resume.

    An object of OpenDP, diffprivlib, python-dp, Opacus or torch in the place of the function tells its claim
    and its neighbours; so do diffprivlib:NAME and opendp:NAME (see 'dplitmus audit-library'). program:COMMAND
    is a program that reads {"input": x, "count": n} and writes n lines of JSON.

    Exit status: 0 nothing found, 1 violated, 2 bad input, 3 the mechanism failed.
    """
    import dplitmus
    from dplitmus import executors, isolation, store
    from dplitmus import target as targets
    from dplitmus.errors import one_of
    from dplitmus.neighbours import DATASETS, LEVELS, RELATIONS, patterns
    from dplitmus.report import text
    from dplitmus.samples import checked_samples, checked_seed
    from dplitmus.verdict import Verdict

    checked_samples(samples)
    one_of("level", level, LEVELS)
    given = pairs_from_json(pairs)
    if relation is not None:
        one_of("relation", relation, (*RELATIONS, *DATASETS))
    if target.startswith("zoo:"):
        size = _length(given[0][0]) if given else dimension
        setting = targets.zoo_setting(target, epsilon=epsilon, dimension=size, level=level)
    else:
        setting = targets.own_setting(target, epsilon=epsilon, delta=delta, timeout=call_timeout)
        if epsilon is None and not setting.adaptable:
            raise click.UsageError("Missing option '--epsilon'.")
    made = patterns(relation, dimension or 1, level=level) if relation in RELATIONS and not given else None
    file = store.prepare_file(json_file) if json_file else None
    page = store.prepare_file(html_file) if html_file else None
    limit = isolation.memory_limit(memory_limit) if memory_limit else None
    journal = _journal(journal_file, resume, setting.target)
    seed = checked_seed(journal.seed() if resume and seed is None else seed)
    keeper = _Keeper(journal, automatic=not (journal_file or resume), seed=seed)
    with (
        keeper,
        executors.opened(executor) if executor else contextlib.nullcontext() as workers,
        progress_bar(samples, "draws") as progress,
    ):
        result = dplitmus.audit(
            setting.mechanism,
            epsilon=setting.epsilon,
            delta=setting.delta if delta is None else delta,
            neighbours=given or made or setting.neighbours,
            relation=relation if relation in DATASETS else None,
            samples=samples,
            seconds=seconds,
            executor=workers,
            piece=piece,
            on_error=on_error,
            isolate=isolate,
            call_timeout=None if target.startswith("program:") else call_timeout,  # it has its own
            memory_limit=limit,
            journal=journal,
            alpha=alpha,
            seed=seed,
            level=level,
            stop=stop,
            progress=progress,
            target=setting.target,
        )
        keeper.finished = result.finished
    finding = result.to_json()
    found = result.verdict is Verdict.VIOLATED
    if file is None and page is None and found:
        file = finding_file(result.mechanism, finding)
    if file:
        store.write(file, finding)
    if page:
        store.write(page, result.to_html())
    again = shlex.join(["dplitmus", "replay", str(file or page)]) if file or page else None
    say(text.audit(result, reproduce=again))
    return FOUND if found else 0


def _journal(file: str | None, resume: str | None, target: str) -> Journal:
    from dplitmus import store
    from dplitmus.errors import InputError
    from dplitmus.journal import Journal

    if file and resume:
        raise click.UsageError("--journal and --resume exclude each other: a resumed run goes on in its file")
    if resume:
        return Journal(resume, must_exist=True)
    if file:
        if store.prepare_file(file).exists():
            raise InputError(
                f"{file!r} exists", code="DP206", help="go on from it with --resume, or name another file"
            )
        return Journal(file)
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", target)[:40].strip("-") or "mechanism"
    return Journal(Path(".dplitmus") / f"{name}-{secrets.token_hex(4)}.journal", delay=_JOURNAL_AFTER)


@dataclass
class _Keeper:
    """Tells how to go on when a run ends early; throws an automatic journal away when it has ended well."""

    journal: Journal
    automatic: bool
    seed: int
    finished: bool = False

    def __enter__(self) -> None:
        # A polite end is an interrupt: what was judged is told and kept.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, signal.default_int_handler)

    def __exit__(self, *_: object) -> None:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self.journal.close()
        if self.journal.failure:
            complain(f"journal: {self.journal.failure}; this run cannot be resumed from here on")
        if not self.journal.path.exists():
            return
        if self.finished and self.automatic:
            with contextlib.suppress(OSError):
                self.journal.path.unlink()
        elif not self.finished and self.journal.failure is None:
            changes = {"resume": str(self.journal.path), "seed": str(self.seed), "journal_file": None}
            complain(f"Go on:  {command_again(changes)}")


def pairs_from_json(pairs: tuple[tuple[str, str], ...]) -> list[Any]:
    """Pairs as they stand on the command line."""
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
