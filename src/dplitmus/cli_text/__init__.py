"""The commands of `dplitmus text`: train, encode, rewrite, attack, audit, compare.

Take arguments or a TOML file with the same names; print, write, and set the exit status of the contract.
"""

from __future__ import annotations

import click

from dplitmus.cli_text.comparing import compare
from dplitmus.cli_text.releasing import encode, rewrite
from dplitmus.cli_text.studying import attack, audit
from dplitmus.cli_text.training import train
from dplitmus.console import Group, examples


@click.group(
    "text",
    cls=Group,
    epilog=examples(
        "dplitmus text compare --demo",
        "dplitmus text train dptext data.csv --label-column label --private-column gender --out model",
        "dplitmus text audit model",
    ),
)
def text() -> None:
    """DPText and ADePT, as published and corrected: train, attack, audit."""


for _command in (train, encode, rewrite, attack, audit, compare):
    text.add_command(_command)
