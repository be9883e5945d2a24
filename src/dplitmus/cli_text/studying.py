"""dplitmus text attack and audit."""

from __future__ import annotations

import shlex
from typing import Any

import click

from dplitmus import __version__
from dplitmus.cli_text.options import (
    DEMO_ROWS,
    TextCommand,
    config_file,
    data_columns,
    dataset,
    loaded_model,
    threads_option,
)
from dplitmus.console import FOUND, Count, examples, finding_file, progress_bar, say


@click.command(
    cls=TextCommand,
    epilog=examples(
        "dplitmus text attack model --demo",
        "dplitmus text attack model data.csv --label-column label --private-column gender",
    ),
)
@click.argument("model")
@click.argument("data", required=False)
@config_file
@data_columns
@click.option("--demo", is_flag=True, help="Attack texts of the generated corpus.")
@click.option("--epsilon", type=float, help="Epsilon of the release. [default: the model's]")
@click.option("--seed", type=Count(), default=1, show_default=True, help="Of the split and the attacks.")
@click.option("--json", "json_file", help="Also write the scores to this file.")
@threads_option
def attack(
    model: str,
    data: str | None,
    demo: bool,
    epsilon: float | None,
    seed: int,
    json_file: str | None,
    threads: int,
    **columns: Any,
) -> int:
    """Attack releases of DATA: labels and private attributes, linkage, rewrites, membership.

    Half of the texts train the attackers, the other half is attacked. A weak attack is no evidence of
    privacy.
    """
    from dplitmus import store
    from dplitmus.report import json
    from dplitmus.text.report import attack_report

    loaded = loaded_model(model, threads)
    found, name = dataset(data, demo, columns)
    file = store.prepare_file(json_file) if json_file else None
    known, attacked = found.split(0.5, seed)
    report = attack_report(loaded, known, attacked, epsilon=epsilon, seed=seed)
    say(f"{loaded.name}: {name}\n")
    say(report.text())
    if file:
        store.write(
            file, json.dumps({"schema": 1, "kind": "text-attack", "version": __version__, **report.plain()})
        )
    return 0


@click.command(
    cls=TextCommand,
    epilog=examples("dplitmus text audit model", "dplitmus text audit model --texts texts.txt --view texts"),
)
@click.argument("model")
@config_file
@click.option("--texts", help="File of texts to find the worst pair in. [default: generated ones]")
@click.option("--text-column", default="text", show_default=True, help="Column of the texts.")
@click.option("--epsilon", type=float, help="The claim. [default: the model's]")
@click.option(
    "--view",
    default="vectors",
    show_default=True,
    help="'vectors' (six statistics of each), 'raw' (as released) or 'texts' (rewrites).",
)
@click.option("--samples", type=Count(), default=200_000, show_default=True, help="Releases in all, at most.")
@click.option("--seconds", type=float, help="Stop after so many seconds.")
@click.option("--alpha", type=float, default=1e-6, show_default=True, help="Probability of a false alarm.")
@click.option("--seed", type=Count(), help="Same seed, same result. [default: a fresh one]")
@click.option(
    "--stop", default="violated", show_default=True, help="'violated', or 'never' for the best bound."
)
@click.option("--json", "json_file", help="Also write the result to this file.")
@click.option("--html", "html_file", help="Also write a report to this file, one offline page.")
@click.option("--update-card", is_flag=True, help="Write the verdict into the model directory.")
@threads_option
def audit(
    model: str,
    texts: str | None,
    text_column: str,
    json_file: str | None,
    html_file: str | None,
    update_card: bool,
    threads: int,
    **given: Any,
) -> int:
    """Try to refute the declared epsilon of a trained MODEL directory.

    The two texts whose bounded latents are farthest apart are released again and again, and an attacker is
    trained to tell them apart. Exit status: 0 nothing found, 1 violated.
    """
    from dplitmus import store
    from dplitmus.report import text as report
    from dplitmus.text.auditing import audit_model
    from dplitmus.text.corpus import generated
    from dplitmus.text.data import read
    from dplitmus.verdict import Verdict

    loaded = loaded_model(model, threads)
    found = read(texts, text_column=text_column).texts if texts else generated(DEMO_ROWS).texts
    file = store.prepare_file(json_file) if json_file else None
    page = store.prepare_file(html_file) if html_file else None
    with progress_bar(given["samples"], "releases") as progress:
        result = audit_model(loaded, found, progress=progress, saved_in=model, **given)
    violated = result.verdict is Verdict.VIOLATED
    if file is None and page is None and violated:
        file = finding_file(result.mechanism, result.to_json())
    if file:
        store.write(file, result.to_json())
    if page:
        store.write(page, result.to_html())
    if update_card:
        loaded.save_pretrained(model)
    saved = file or page
    context = click.get_current_context()
    again = shlex.join(["dplitmus", "replay", str(saved)]) if saved else _again(context, model, result.seed)
    say(report.audit(result, reproduce=again))
    return FOUND if violated else 0


def _again(ctx: click.Context, model: str, seed: int | None) -> str:
    """The command with what was asked of it, by flags or by a file, and the seed that was drawn."""
    given = {**ctx.params, "seed": seed}
    words = ["dplitmus", "text", "audit", model]
    for option in ctx.command.params:
        value = given.get(str(option.name))
        if option.name in {"model", "json_file", "html_file", "update_card"} or value in (
            None,
            option.default,
        ):
            continue
        words += [option.opts[0], str(value)]
    return shlex.join(words)
