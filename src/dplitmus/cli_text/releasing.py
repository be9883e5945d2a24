"""dplitmus text encode and rewrite."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dplitmus.cli_text.options import (
    TextCommand,
    config_file,
    data_columns,
    loaded_model,
    release_options,
    threads_option,
)
from dplitmus.console import examples, say

if TYPE_CHECKING:
    from dplitmus.text.data import Dataset
    from dplitmus.text.ledger import Ledger


@click.command(
    cls=TextCommand,
    epilog=examples("dplitmus text encode model texts.txt --ledger ledger.json --out vectors.jsonl"),
)
@click.argument("model")
@click.argument("data")
@config_file
@data_columns
@release_options
@threads_option
def encode(model: str, data: str, threads: int, **given: Any) -> int:
    """Release one noised vector per text of DATA, as JSON lines.

    A corrected model draws from the operating system's secure source and charges the ledger. Labels are not
    copied to the output: they are not protected.
    """
    import json

    loaded, found, account = _before_release(model, data, threads, given)
    vectors = loaded.encode(
        found.texts,
        epsilon=given["epsilon"],
        ledger=account,
        texts_per_person=given["texts_per_person"],
    )
    _written(given["out"], "".join(json.dumps({"vector": row}) + "\n" for row in vectors.tolist()))
    return 0


@click.command(cls=TextCommand, epilog=examples("dplitmus text rewrite model texts.txt --epsilon 100"))
@click.argument("model")
@click.argument("data")
@config_file
@data_columns
@release_options
@click.option("--temperature", type=float, default=0.0, show_default=True, help="0: the likeliest words.")
@threads_option
def rewrite(model: str, data: str, threads: int, temperature: float, **given: Any) -> int:
    """Rewrite every text of DATA from its noised latent vector, one per line."""
    loaded, found, account = _before_release(model, data, threads, given)
    rewrites = loaded.rewrite(
        found.texts,
        epsilon=given["epsilon"],
        ledger=account,
        texts_per_person=given["texts_per_person"],
        temperature=temperature,
    )
    _written(given["out"], "".join(f"{line}\n" for line in rewrites))
    return 0


def _before_release(
    model: str, data: str, threads: int, given: dict[str, Any]
) -> tuple[Any, Dataset, Ledger | None]:
    from dplitmus import store
    from dplitmus.text.data import read

    loaded = loaded_model(model, threads)
    names = ("text_column", "label_column", "private_columns", "form", "drop_missing")
    found = read(data, **{name: given[name] for name in names})
    if given["out"]:
        store.prepare_file(given["out"])
    account = _ledger(given["ledger_file"], given["budget"], loaded.layer.budget)
    return loaded, found, account


def _ledger(file: str | None, budget: float | None, usual: float) -> Ledger | None:
    from dplitmus.text.ledger import Ledger

    if file is None:
        if budget is not None:
            raise click.UsageError("--budget needs --ledger FILE, which remembers it")
        return None
    return Ledger.open(file, usual if budget is None and not Path(file).exists() else budget)


def _written(out: str | None, content: str) -> None:
    from dplitmus import store

    if out is None:
        say(content.rstrip("\n"), data=True)
    else:
        store.write(store.prepare_file(out), content)
