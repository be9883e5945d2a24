"""What all commands share: numbers, groups, examples, progress, printing, where findings go.

Knows click and rich, and no command.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from dplitmus.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

FOUND, INTERRUPTED = 1, 130
WIDTH = 80  # that texts are made for


if TYPE_CHECKING:
    _IntegerType = click.ParamType[int]
else:
    _IntegerType = click.ParamType  # which has no type parameter before click 8.4


class Count(_IntegerType):
    """A number of things: 1000000, 1_000_000 or 1e6."""

    name = "count"

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> int:
        """Return the whole number, or fail with a sentence."""
        if isinstance(value, int):
            return value
        try:
            if isinstance(value, str):  # int(1.5) would be 1
                return int(value)
        except ValueError:
            pass
        try:
            number = float(value)
            if number == int(number):
                return int(number)
        except (ValueError, OverflowError):
            pass
        return self.fail(f"{value!r} is not a whole number", param, ctx)


class _Help(click.HelpFormatter):
    """Help pages for any terminal: by itself click writes fifty columns in a narrower one."""

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """A list of options: in a narrow terminal long ones stand above their meaning."""
        super().write_dl(rows, min(col_max, self.width // 3), col_spacing)

    def getvalue(self) -> str:
        """The whole page, with its examples, which click does not break."""
        from dplitmus.report.wrapping import broken

        lines = super().getvalue().split("\n")
        return "\n".join(part for line in lines for part in broken(line, self.width))


class _Context(click.Context):
    formatter_class = _Help


class Group(click.Group):
    """A group of commands that suggests the closest one, and loads those of other modules when asked."""

    context_class = _Context

    def __init__(self, *args: Any, elsewhere: Mapping[str, str] | None = None, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.elsewhere = elsewhere or {}  # command: its module

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, those of other modules included."""
        return sorted([*super().list_commands(ctx), *self.elsewhere])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Find a command, here or in its own module."""
        if cmd_name in self.elsewhere:
            module = importlib.import_module(self.elsewhere[cmd_name])
            found: click.Command | None = getattr(module, cmd_name.replace("-", "_"))
        else:
            found = super().get_command(ctx, cmd_name)
        if found is not None:
            found.context_class = _Context
            # By itself click cuts the first sentence of the help where the line ends.
            found.short_help = found.short_help or " ".join((found.help or "").split("\n\n")[0].split())
        return found

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the command, or say which one was probably meant."""
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            hint = did_you_mean(args[0], self.list_commands(ctx)) or "dplitmus --help lists the commands"
            raise InputError(f"no command {args[0]!r}", code="DP202", help=hint)
        return super().resolve_command(ctx, args)


def examples(*commands: str) -> str:
    """The end of a help page: commands to paste."""
    return "\b\nExamples:\n" + "\n".join(f"  {command}" for command in commands)


@contextlib.contextmanager
def progress_bar(total: int, unit: str, name: str = "") -> Iterator[Callable[[int], None] | None]:
    """A progress bar on stderr if that is a terminal; otherwise nothing at all."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    parts = (
        TextColumn(f"{name:<24}" if name else ""),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn(f"of {total:,} {unit}"),
        TimeRemainingColumn(),
    )
    with Progress(*parts, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda done: bar.advance(task, done)


def command_again(changes: Mapping[str, str | None]) -> str:
    """The command that runs, as it was typed, but for these options."""
    context = click.get_current_context()
    words = context.command_path.split()
    for parameter in context.command.params:
        name = parameter.name or ""
        typed = context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        value = changes[name] if name in changes else context.params[name] if typed else None
        if isinstance(parameter, click.Argument):
            words.append(str(value))
        elif value is True:
            words.append(parameter.opts[0])
        elif value is not None:
            for one in value if parameter.multiple else [value]:
                words += [parameter.opts[0], *map(str, one if isinstance(one, tuple) else [one])]
    return shlex.join(words)


def columns(stream: TextIO) -> int:
    """Columns of the terminal, or of $COLUMNS; at most those that texts are made for."""
    if not stream.isatty() and "COLUMNS" not in os.environ:
        return WIDTH
    return max(30, min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns))


def complain(text: str) -> None:
    """Print to standard error; in a terminal no line is longer than it is wide."""
    if sys.stderr.isatty() or columns(sys.stderr) < WIDTH:
        from dplitmus.report.wrapping import narrowed

        text = narrowed(text, columns(sys.stderr))
    click.echo(text, file=sys.stderr)  # by itself click writes UTF-8 where the terminal is ASCII


def say(text: str, *, data: bool = False) -> None:
    """Print to standard output; a reader who has gone away changes neither the work nor the status.

    In a narrow terminal the lines are broken, unless they are data that somebody may copy.
    """
    if columns(sys.stdout) < WIDTH and not data:
        from dplitmus.report.wrapping import narrowed

        text = narrowed(text, columns(sys.stdout))
    try:
        click.echo(text, file=sys.stdout)  # as above
        sys.stdout.flush()
    except BrokenPipeError:
        # Nobody listens: what Python still tries to write at the end goes nowhere, too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        raise InputError(
            f"cannot write to standard output: {error.strerror}",
            code="DP206",
            help="make room, or send the output elsewhere",
        ) from error


def finding_file(mechanism: str, finding: str) -> Path:
    """A place in .dplitmus for a finding: the same finding, the same name."""
    from dplitmus import store

    name = re.sub(r"[^A-Za-z0-9_-]+", "-", mechanism)[:40].strip("-") or "mechanism"
    digest = hashlib.blake2b(finding.encode(), digest_size=4).hexdigest()
    return store.prepare_file(Path(".dplitmus") / f"{name}-{digest}.json")
