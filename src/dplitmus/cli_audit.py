"""The command `audit`: a target, a claim and pairs of inputs in, a finding out."""

from __future__ import annotations

import shlex
from typing import Any

import click

from dplitmus.console import FOUND, Count, columns, examples, finding_file, progress_bar, say
from dplitmus.errors import bad_value


@click.command(
    short_help="Search for a counterexample to a privacy claim.",
    epilog=examples(
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
    with progress_bar(samples, "draws") as progress:
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
        file = finding_file(result.mechanism, finding)
    if file:
        store.write(file, finding)
    if page:
        store.write(page, result.to_html())
    again = shlex.join(["dplitmus", "replay", str(file or page)]) if file or page else None
    say(text.audit(result, reproduce=again, width=columns()))
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
