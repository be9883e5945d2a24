"""What several text commands share: options, a TOML file in their place, data and models."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dplitmus.console import Count
from dplitmus.errors import InputError, did_you_mean, one_line
from dplitmus.text.extra import require

if TYPE_CHECKING:
    from collections.abc import Callable

    from dplitmus.text.data import Dataset

DEMO_ROWS = 1000
DEMO_SETTINGS: dict[str, dict[str, Any]] = {
    "dptext": {"epochs": 8, "batch_size": 32, "least_count": 1},
    "adept": {
        "epochs": 30,
        "batch_size": 16,
        "least_count": 1,
        "hidden": 96,
        "latent": 64,
        "embedding": 48,
        "substitution": 0.05,
    },
}


class TextCommand(click.Command):
    """A command that needs the extra when it runs; its help and its usage errors do not."""

    def invoke(self, ctx: click.Context) -> Any:
        """Say what is missing before any work."""
        require()
        return super().invoke(ctx)


def from_toml(ctx: click.Context, param: click.Parameter, file: str | None) -> str | None:
    """Take defaults of this command from a TOML file; a name that no flag has is refused."""
    if file is None:
        return None
    try:
        found = tomllib.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        message = f"cannot read {file!r}: {error.strerror}"
        raise InputError(message, code="DP202", help="check the path") from error
    except (ValueError, RecursionError) as error:  # no TOML, no UTF-8, or a number of thousands of digits
        reason = one_line(str(error), 200)
        raise InputError(f"{file!r} is not TOML: {reason}", code="DP202", help="repair the file") from error
    known = {
        flag.lstrip("-"): option
        for option in ctx.command.params
        if isinstance(option, click.Option) and option.name != param.name
        for flag in option.opts
        if flag.startswith("--")
    }
    given = {}
    for name, value in found.items():
        option = known.get(name.replace("_", "-"))
        if option is None:
            hint = did_you_mean(name, known) or f"see  {ctx.command_path} --help"
            raise InputError(f"{file!r} sets {name!r}, which is no option here", code="DP202", help=hint)
        if isinstance(value, list) and not option.multiple:
            raise InputError(f"{file!r} gives {name!r} several values", code="DP202", help="give it one")
        if not all(_fits(option, one) for one in (value if isinstance(value, list) else [value])):
            hint = "text in quotes, a number, true or false"
            raise InputError(f"{file!r} gives {name!r} what no flag can have", code="DP202", help=hint)
        given[str(option.name)] = [value] if option.multiple and not isinstance(value, list) else value
    ctx.default_map = {**(ctx.default_map or {}), **given}
    return file


def _fits(option: click.Option, value: object) -> bool:
    """Whether TOML has a truth value for a switch; else text or a number of 64 bits: no date, no table."""
    if option.is_flag:
        return isinstance(value, bool)
    return isinstance(value, str | float) or (isinstance(value, int) and -(2**63) <= value < 2**63)


def options(*several: Callable[..., Any]) -> Callable[..., Any]:
    """Several options as one decorator."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(several):
            function = option(function)
        return function

    return decorate


config_file = click.option(
    "--config", is_eager=True, expose_value=False, callback=from_toml, help="TOML file with these options."
)
data_columns = options(
    click.option("--text-column", default="text", show_default=True, help="Column of the texts."),
    click.option("--label-column", help="Column of the task label."),
    click.option("--private-column", "private_columns", multiple=True, help="Private attribute; repeatable."),
    click.option("--format", "form", help="csv, tsv, jsonl or text. [default: by the suffix]"),
    click.option("--drop-missing", is_flag=True, help="Leave rows with empty cells out."),
)
release_options = options(
    click.option("--epsilon", type=float, help="Epsilon of this release. [default: the model's]"),
    click.option("--ledger", "ledger_file", help="File that remembers what was spent."),
    click.option("--budget", type=float, help="Budget of a new ledger. [default: the model's epsilon]"),
    click.option("--texts-per-person", type=Count(), default=1, show_default=True, help="Each is paid for."),
    click.option("--out", help="File for the result. [default: standard output]"),
)
threads_option = click.option(
    "--threads", type=Count(), default=1, show_default=True, help="Threads of torch."
)


def dataset(
    data: str | None,
    demo: bool,
    columns: dict[str, Any],
) -> tuple[Dataset, str]:
    """The user's data, or the generated corpus; and what to call it."""
    from dplitmus.text.corpus import generated
    from dplitmus.text.data import read

    if demo:
        if data is not None:
            raise click.UsageError("--demo brings its own data: leave DATA out")
        return generated(DEMO_ROWS), f"generated corpus, {DEMO_ROWS:,} sentences"
    if data is None:
        raise click.UsageError("Missing argument 'DATA' (a file, - for standard input, or --demo).")
    found = read(data, **columns)
    name = "standard input" if data == "-" else Path(data).name
    return found, f"{name}, {len(found):,} texts"


def loaded_model(model: str, threads: int) -> Any:
    """A model directory, loaded, with torch on so many threads."""
    import torch

    from dplitmus.errors import whole_number
    from dplitmus.text.saving import load

    torch.set_num_threads(whole_number("threads", threads, least=1, most=1024, help="try threads=1"))
    return load(model)
