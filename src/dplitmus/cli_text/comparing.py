"""dplitmus text compare."""

from __future__ import annotations

import shlex
import sys
from typing import Any

import click

from dplitmus import __version__
from dplitmus.cli_text.options import (
    DEMO_SETTINGS,
    TextCommand,
    config_file,
    data_columns,
    dataset,
    threads_option,
)
from dplitmus.console import FOUND, Count, complain, examples, say
from dplitmus.errors import bad_value

_EPSILONS = {False: (1.0, 10.0, 100.0), True: (1.0, 5.0)}  # of a demo: few draws can certify them
_REWRITING = (1.0, 10.0, 100.0)  # the noise of ADePT is on many numbers: nothing is readable below 10


@click.command(
    cls=TextCommand,
    epilog=examples(
        "dplitmus text compare --demo",
        "dplitmus text compare data.csv --label-column label --private-column gender --epsilon 1",
    ),
)
@click.argument("data", required=False)
@config_file
@data_columns
@click.option("--demo", is_flag=True, help="Compare on the generated corpus, in about three minutes.")
@click.option("--system", "systems", multiple=True, help="dptext or adept; repeatable. [default: both]")
@click.option(
    "--epsilon",
    "epsilons",
    type=float,
    multiple=True,
    help="Repeatable. [default: 1, 10, 100; demo: 1, 5]",
)
@click.option("--reading", default="zero", show_default=True, help="DPText as published: 'zero' or 'redraw'.")
@click.option("--epochs", type=Count(), help="Passes over the data, for both systems.")
@click.option("--truncate", is_flag=True, help="Cut texts that are too long.")
@click.option("--test-share", type=float, default=0.3, show_default=True, help="Held back and released.")
@click.option("--samples", type=Count(), help="Releases per audit. [default: 200,000; demo: 6,000]")
@click.option("--seed", type=Count(), default=1, show_default=True, help="Of split, training and audits.")
@click.option("--out", default="text-compare", show_default=True, help="Directory of the page.")
@threads_option
def compare(
    data: str | None,
    demo: bool,
    systems: tuple[str, ...],
    epsilons: tuple[float, ...],
    test_share: float,
    samples: int | None,
    seed: int,
    out: str,
    **given: Any,
) -> int:
    """Published and corrected side by side: one table, and one offline page with plots.

    Exit status: 1 if a corrected system was refuted, and 0 otherwise (the published ones are expected to be).
    """
    from dplitmus import store
    from dplitmus.errors import one_of, positive_number
    from dplitmus.samples import checked_samples
    from dplitmus.text import page
    from dplitmus.text.adept import ADePTSettings
    from dplitmus.text.comparing import Plan
    from dplitmus.text.comparing import compare as run
    from dplitmus.text.dptext import DPTextSettings

    chosen = tuple(one_of("system", name, ("dptext", "adept")) for name in systems) or ("dptext", "adept")
    claims = sorted({positive_number("epsilon", value) for value in epsilons or _EPSILONS[demo]})
    if not 0 < test_share < 1:
        raise bad_value("test_share", test_share, "be between 0 and 1", help="try --test-share 0.3")
    draws = checked_samples((6_000 if demo else 200_000) if samples is None else samples)
    names = ("text_column", "label_column", "private_columns", "form", "drop_missing")
    found, name = dataset(data, demo, {key: given.pop(key) for key in names})
    if found.labels is None and "dptext" in chosen:
        raise click.UsageError("DPText needs --label-column (or --system adept alone)")
    shared = {"seed": seed, "threads": given["threads"], "truncate": given["truncate"]}
    shared |= {} if given["epochs"] is None else {"epochs": given["epochs"]}
    folder = store.prepare_directory(out)
    train_set, test_set = found.split(test_share, seed)
    plan = Plan(
        train=train_set,
        test=test_set,
        epsilons=claims,
        rewriting=claims if epsilons else list(_REWRITING),
        dptext=DPTextSettings(
            **{**(DEMO_SETTINGS["dptext"] if demo else {}), **shared}, reading=given["reading"]
        ),
        adept=ADePTSettings(**{**(DEMO_SETTINGS["adept"] if demo else {}), **shared}),
        samples=draws,
        seed=seed,
        tell=_step,
    )
    command = shlex.join(["dplitmus", *sys.argv[1:]])
    comparison = run(plan, systems=chosen, data=name, command=command)
    say(page.table(comparison))
    store.write(folder / "results.json", page.as_json(comparison, version=__version__))
    store.write(folder / "index.html", page.index_html(comparison))
    say(f"\n{comparison.seconds:.0f} s. Written to {folder}: results.json")
    say(f"Open {folder / 'index.html'}")
    return FOUND if comparison.accused else 0


def _step(words: str) -> None:
    if sys.stderr.isatty():
        complain(f"  {words}")
