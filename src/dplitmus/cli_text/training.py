"""dplitmus text train."""

from __future__ import annotations

import shlex
from typing import Any

import click

from dplitmus.cli_text.options import (
    DEMO_SETTINGS,
    TextCommand,
    config_file,
    data_columns,
    dataset,
    threads_option,
)
from dplitmus.console import Count, examples, progress_bar, say
from dplitmus.errors import InputError


@click.command(
    cls=TextCommand,
    epilog=examples(
        "dplitmus text train dptext --demo --out model",
        "dplitmus text train dptext data.csv --label-column label --private-column gender --out m",
        "dplitmus text train adept texts.txt --sensitivity published --out m",
    ),
)
@click.argument("system")
@click.argument("data", required=False)
@config_file
@data_columns
@click.option("--demo", is_flag=True, help="Train on the generated corpus.")
@click.option("--out", default="model", show_default=True, help="Directory of the model.")
@click.option("--epsilon", type=float, help="The declared epsilon.")
@click.option("--mode", help="DPText: 'corrected', 'published' or 'unprotected'.")
@click.option("--reading", help="DPText as published: 'zero', 'redraw', or DPNR's 'one-scalar'.")
@click.option("--sensitivity", help="ADePT: 'correct' or 'published'.")
@click.option("--encoder", help="DPText: 'gru', or a frozen 'wordllama' or 'minilm'.")
@click.option("--learn-epsilon", is_flag=True, default=None, help="DPText: train epsilon below its cap.")
@click.option("--latent", type=Count(), help="Numbers in a latent vector.")
@click.option("--bound", help="'l1', 'l2' or 'box'.")
@click.option("--radius", type=float, help="Radius C of the bound.")
@click.option("--hidden", type=Count(), help="Size of the recurrent states.")
@click.option("--embedding", type=Count(), help="Size of word vectors.")
@click.option("--vocabulary", type=Count(), help="Words at most.")
@click.option("--least-count", type=Count(), help="How often a word must occur to be known.")
@click.option("--max-length", type=Count(), help="Tokens of a text at most.")
@click.option("--truncate", is_flag=True, default=None, help="Cut longer texts.")
@click.option("--epochs", type=Count(), help="Passes over the data.")
@click.option("--batch-size", type=Count(), help="Texts per step.")
@click.option("--learning-rate", type=float, help="Peak learning rate.")
@click.option("--word-dropout", type=float, help="Share of words hidden from the decoder in training.")
@click.option("--dropout", type=float, help="Share of a layer switched off in training.")
@click.option("--substitution", type=float, help="ADePT: share of words replaced by others in training.")
@click.option("--reconstruction", type=float, help="DPText: weight of the autoencoder's loss.")
@click.option("--adversary", type=float, help="DPText: weight of the private discriminators.")
@click.option("--device", help="'cpu' or 'cuda'.")
@click.option("--seed", type=Count(), help="Same seed, same training (never a release).")
@threads_option
def train(system: str, data: str | None, demo: bool, out: str, **given: Any) -> int:
    """Train SYSTEM (dptext or adept) on DATA and write a model directory.

    DATA is CSV, TSV, JSON lines, plain text or - for standard input. Train on public texts, or on others than
    those you will release: the guarantee of a release is given for a fixed model.
    """
    from dplitmus import store
    from dplitmus.errors import one_of
    from dplitmus.text.adept import ADePT, ADePTSettings
    from dplitmus.text.dptext import DPText, DPTextSettings

    one_of("system", system, ("dptext", "adept"))
    names = ("text_column", "label_column", "private_columns", "form", "drop_missing")
    columns = {name: given.pop(name) for name in names}
    kind = DPTextSettings if system == "dptext" else ADePTSettings
    wanted = {name: value for name, value in given.items() if value is not None}
    for name in wanted:
        if name not in kind.__dataclass_fields__:
            option = "--" + name.replace("_", "-")
            raise InputError(f"{option} is no option of {system}", code="DP202", help="leave it out")
    if demo:
        wanted = {**DEMO_SETTINGS[system], **wanted}
    found, _ = dataset(data, demo, columns)
    folder = store.prepare_directory(out)
    model: Any = DPText(**wanted) if system == "dptext" else ADePT(**wanted)
    try:
        with progress_bar(model.settings.epochs * len(found), "texts") as progress:
            model.fit(found.texts, found.labels, found.private, progress=progress)
    except InputError as error:
        if error.code == "DP226" and "weights of epoch" in error.help:
            model.save_pretrained(folder)
            error.help += f", and is saved in {str(folder)!r}"
        raise
    model.save_pretrained(folder)
    claim = model.claim()
    say(f"{system}: trained on {len(found):,} texts, loss {model.history['loss'][-1]:.3f}")
    say(
        f"  bound {claim['bound']}, radius {claim['radius']:g}, latent size {claim['dimension']}; "
        f"sensitivity {claim['sensitivity']:g}, declared epsilon {claim['epsilon']:g}"
    )
    if not claim["holds"]:
        say("  The claim is false: a published mistake, or no noise at all. Release nothing with it.")
    say(f"  Written to {folder}; what it promises stands in README.md, the model card.")
    say(f"  Audit it:  dplitmus text audit {shlex.quote(str(folder))}")
    return 0
