"""The command that measures a query without noise: `sensitivity`."""

from __future__ import annotations

import shlex
from dataclasses import replace
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
        "dplitmus sensitivity my_release.py:clamped_sum",
    ),
)
@click.argument("target")
@click.option("--claimed", type=float, help="The claimed global sensitivity.")
@click.option("--norm", help="'l1' (for Laplace noise), 'l2' or 'linf'. [default: l1]")
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
@click.option("--low", type=float, help="The smallest number in an input. [default: 0]")
@click.option("--high", type=float, help="The largest number in an input. [default: 1]")
@click.option("--evaluations", type=Count(), default=4000, show_default=True, help="Pairs to try.")
@click.option("--seed", type=Count(), help="Same seed, same result. [default: a fresh one]")
@click.option("--json", "json_file", help="Also write the result to this file.")
def sensitivity(
    target: str,
    claimed: float | None,
    norm: str | None,
    pairs: tuple[tuple[str, str], ...],
    dimension: int | None,
    rows: int | None,
    columns: int | None,
    relation: str | None,
    low: float | None,
    high: float | None,
    evaluations: int,
    seed: int | None,
    json_file: str | None,
) -> int:
    """Search for neighbours between which a query moves by more than is claimed.

    TARGET is package.module:function or path/file.py:function, a function of one input that returns numbers,
    or a torch module. A mechanism (x, n, rng), or zoo:NAME, is run with one seed on both inputs. An OpenDP
    transformation tells its neighbours, its norm and, by its stability map, its claim.

    Exit status: 0 nothing found, 1 a larger sensitivity, 2 bad input, 3 the query failed.
    """
    import dplitmus
    from dplitmus import store
    from dplitmus import target as targets
    from dplitmus.adapters import library_of
    from dplitmus.report import json, text
    from dplitmus.samples import checked_seed

    query: Any
    if target.startswith("zoo:"):
        query = targets.zoo_setting(target, epsilon=None, dimension=dimension).mechanism
    else:
        query = targets.named(target)
    tells = library_of(query) == "opendp"
    if claimed is None and not tells:
        raise click.UsageError("--claimed is missing: what is the sensitivity said to be?")
    ranged: dict[str, Any] = {"low": low, "high": high, "relation": relation}
    ranged = {name: value for name, value in ranged.items() if value is not None}
    where = _where(pairs, dimension, rows, columns, ranged, needed=not tells)
    file = store.prepare_file(json_file) if json_file else None
    seed = checked_seed(seed)
    found = dplitmus.sensitivity(query, where, claimed, norm, evaluations=evaluations, seed=seed)
    if tells:
        found = replace(found, query=target.rpartition(":")[2])  # an object has no name of its own
    if file:
        store.write(file, json.dumps(json.sensitivity(found, version=dplitmus.__version__)))
    again = ["dplitmus", "sensitivity", target]
    given = {"claimed": claimed, "norm": norm, "dimension": dimension, "rows": rows, "columns": columns}
    given |= ranged if not pairs else {}
    for name, value in given.items():
        if value is not None:
            again += [f"--{name}", f"{value:g}" if isinstance(value, float) else str(value)]
    for pair in pairs:
        again += ["--pair", *pair]
    again += ["--evaluations", str(evaluations), "--seed", str(seed)]
    say(text.sensitivity(found, reproduce=shlex.join(again)))
    return FOUND if found.violated else 0


def _where(
    pairs: tuple[tuple[str, str], ...],
    dimension: int | None,
    rows: int | None,
    columns: int | None,
    ranged: dict[str, Any],
    *,
    needed: bool,
) -> Any:
    """The neighbours that the options describe; None if they describe none and none are needed."""
    from dplitmus import neighbours

    if rows is not None and dimension is not None:
        raise click.UsageError("--rows and --dimension exclude each other")
    if pairs:
        return pairs_from_json(pairs)
    if rows is not None:
        return neighbours.datasets(rows, columns=columns or 1, **ranged)
    if needed or dimension is not None:
        return neighbours.vectors(dimension or 1, **ranged)
    if ranged:
        raise click.UsageError("--low, --high and --relation of a transformation need --rows")
    return None
