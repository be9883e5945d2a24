"""The command that measures a query without noise: `sensitivity`."""

from __future__ import annotations

import shlex
from typing import Any

import click

from dplitmus.cli_audit import pairs_from_json
from dplitmus.console import FOUND, Count, examples, say


@click.command(
    short_help="Search for neighbours that move a query too far.",
    epilog=examples(
        "dplitmus sensitivity my_noise.py:clip --claimed 2 --dimension 16 --low -1",
        "dplitmus sensitivity my_stats.py:mean --claimed 0.2 --rows 5 --relation add-remove",
        "dplitmus sensitivity zoo:adept-l2 --claimed 2 --dimension 4 --low -1",
        "dplitmus sensitivity my_stats.py:total --claimed 1 --pair '[0,1]' '[9,1]'",
    ),
)
@click.argument("target")
@click.option("--claimed", type=float, required=True, help="The claimed global sensitivity.")
@click.option("--norm", default="l1", show_default=True, help="'l1' (for Laplace noise), 'l2' or 'linf'.")
@click.option(
    "--pair",
    "pairs",
    nargs=2,
    multiple=True,
    metavar="X X'",
    help="Only these neighbours, as JSON; may be repeated.",
)
@click.option("--dimension", type=Count(), help="Inputs are vectors of so many numbers. [default: 1]")
@click.option("--rows", type=Count(), help="Inputs are datasets of so many records.")
@click.option("--columns", type=Count(), help="Numbers per record. [default: 1]")
@click.option("--relation", help="Vectors: 'any', 'one'; datasets: 'replace-one', 'add-remove'.")
@click.option("--low", type=float, default=0.0, show_default=True, help="The smallest number in an input.")
@click.option("--high", type=float, default=1.0, show_default=True, help="The largest number in an input.")
@click.option("--evaluations", type=Count(), default=4000, show_default=True, help="Pairs to try.")
@click.option("--seed", type=Count(), help="Same seed, same result. [default: a fresh one]")
@click.option("--json", "json_file", help="Also write the result to this file.")
def sensitivity(
    target: str,
    claimed: float,
    norm: str,
    pairs: tuple[tuple[str, str], ...],
    dimension: int | None,
    rows: int | None,
    columns: int | None,
    relation: str | None,
    low: float,
    high: float,
    evaluations: int,
    seed: int | None,
    json_file: str | None,
) -> int:
    """Search for neighbours between which a query moves by more than is claimed.

    TARGET is package.module:function or path/file.py:function, a function of one input that returns numbers,
    or a torch module. A mechanism (x, n, rng), or zoo:NAME, is run with one seed on both inputs.

    Exit status: 0 nothing found, 1 a larger sensitivity, 2 bad input, 3 the query failed.
    """
    import dplitmus
    from dplitmus import neighbours, store
    from dplitmus import target as targets
    from dplitmus.report import json, text
    from dplitmus.samples import checked_seed

    if rows is not None and dimension is not None:
        raise click.UsageError("--rows and --dimension exclude each other")
    query: Any
    if target.startswith("zoo:"):
        query = targets.zoo_setting(target, epsilon=None, dimension=dimension).mechanism
    else:
        query = targets.named(target)
    where: Any
    if pairs:
        where = pairs_from_json(pairs)
    elif rows is not None:
        where = neighbours.datasets(
            rows, columns=columns or 1, low=low, high=high, relation=relation or "replace-one"
        )
    else:
        where = neighbours.vectors(dimension or 1, low=low, high=high, relation=relation or "any")
    file = store.prepare_file(json_file) if json_file else None
    seed = checked_seed(seed)
    found = dplitmus.sensitivity(query, where, claimed, norm, evaluations=evaluations, seed=seed)
    if file:
        store.write(file, json.dumps(json.sensitivity(found, version=dplitmus.__version__)))
    again = ["dplitmus", "sensitivity", target, "--claimed", f"{claimed:g}", "--norm", norm]
    for pair in pairs:
        again += ["--pair", *pair]
    given = {"dimension": dimension, "rows": rows, "columns": columns, "relation": relation}
    again += [
        word for name, value in given.items() if value is not None for word in (f"--{name}", str(value))
    ]
    again += ["--low", f"{low:g}", "--high", f"{high:g}"] if not pairs else []
    again += ["--evaluations", str(evaluations), "--seed", str(seed)]
    say(text.sensitivity(found, reproduce=shlex.join(again)))
    return FOUND if found.violated else 0
