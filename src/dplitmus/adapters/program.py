"""Any program, in any language, as a mechanism.

A call starts the command, writes one line of JSON to its standard input,
`{"input": x, "count": n, "seed": s}`, and reads n lines of JSON, one output each, from its standard output. A
program that takes its randomness from the seed can be replayed.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import threading
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from dplitmus.errors import InputError, MechanismError, one_line, positive_number

if TYPE_CHECKING:
    from collections.abc import Sequence

TIMEOUT = 60.0
_LONGEST_LINE = 2**20
_LAST_WORDS = 20  # lines of standard error that are kept
_HELP = "it must read one line of JSON, write `count` lines of JSON and exit with status 0"


@dataclass(frozen=True)
class Program:
    """A mechanism that runs a command for every call."""

    words: tuple[str, ...]
    limit: float

    def __call__(self, x: Any, n: int, rng: np.random.Generator) -> list[Any]:
        """Run the command once, for n outputs on x."""
        request = {"input": _plain(x), "count": n, "seed": int(rng.integers(2**53))}
        return _Run(self.words, self.limit).outputs(request, n)

    @property
    def name(self) -> str:
        """The program, or the script that it runs: `python noise.py` is called noise.py."""
        runs = len(self.words) > 1 and Path(self.words[-1]).is_file()
        return one_line(Path(self.words[-1 if runs else 0]).name, 40)

    @property
    def dplitmus_target(self) -> str:
        """Where `replay` finds it."""
        return f"program:{shlex.join(self.words)}"


def adapt(command: str | Sequence[str], *, timeout: float = TIMEOUT) -> Program:
    """A mechanism that runs `command` for every call; each call may take `timeout` seconds."""
    try:
        words = shlex.split(command) if isinstance(command, str) else [str(word) for word in command]
    except ValueError as error:
        raise InputError(
            f"cannot read the command {command!r}: {error}", code="DP245", help="close its quotes"
        ) from error
    if not words:
        raise InputError("the command is empty", code="DP245", help="give one, as in program:./my_mechanism")
    return Program(tuple(words), positive_number("timeout", timeout))


def _plain(x: Any) -> Any:
    if isinstance(x, np.ndarray | np.generic):
        return x.tolist()
    return x


class _Run:
    """One run of the program; whatever happens, it and its children are gone at the end."""

    def __init__(self, words: Sequence[str], limit: float) -> None:
        self.shown = one_line(shlex.join(words), 60)
        self.limit = limit
        try:
            self.process = subprocess.Popen(  # noqa: S603  (the user's own command, asked for by name)
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(
                f"cannot start {self.shown!r}: {reason}",
                code="DP245",
                help="check the path and that it may be executed; a script needs its interpreter before it",
            ) from error
        self.lines: list[bytes] = []
        self.endless = False  # a line is longer than any output is
        self.last_words: deque[str] = deque(maxlen=_LAST_WORDS)

    def outputs(self, request: dict[str, Any], n: int) -> list[Any]:
        """Send the request, wait for n lines, and read them."""
        threads = [
            threading.Thread(target=self._write, args=(json.dumps(request) + "\n",), daemon=True),
            threading.Thread(target=self._read, args=(n,), daemon=True),
            threading.Thread(target=self._listen, daemon=True),
        ]
        for thread in threads:
            thread.start()
        try:
            threads[1].join(self.limit)
            if self.endless:
                raise self._failed("DP442", f"wrote a line of more than {_LONGEST_LINE:,} bytes")
            if len(self.lines) > n:
                raise self._failed("DP442", f"wrote more than {n} lines")
            ended = not threads[1].is_alive() and self._exited(self.limit)
            if not ended:
                raise MechanismError(
                    f"{self.shown} did not end within {self.limit:g} s; {len(self.lines)} of {n} lines came"
                    f"{self._stderr()}",
                    code="DP406",
                    help="raise the time limit of a call, or look where the program hangs",
                )
            threads[2].join(1.0)
            if self.process.returncode:
                status = self.process.returncode
                how = f"exited with status {status}" if status > 0 else f"was killed by signal {-status}"
                raise self._failed("DP441", how)
            if len(self.lines) < n:
                raise self._failed("DP442", f"wrote {len(self.lines)} lines, not {n}")
            return [self._parsed(number, line) for number, line in enumerate(self.lines, start=1)]
        finally:
            self._end()

    def _write(self, text: str) -> None:
        # A program that does not read, or has gone, is found by what it does not write.
        with contextlib.suppress(OSError):
            self._pipe(self.process.stdin).write(text.encode())
        with contextlib.suppress(OSError):
            self._pipe(self.process.stdin).close()

    def _read(self, n: int) -> None:
        """Lines as they come: one more than was asked for is enough to know that there are too many."""
        with contextlib.suppress(OSError, ValueError):
            while len(self.lines) <= n:
                line = self._pipe(self.process.stdout).readline(_LONGEST_LINE)
                if line:
                    self.lines.append(line)
                if len(line) == _LONGEST_LINE:
                    self.endless = True
                if not line or self.endless:
                    return

    def _listen(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while line := self._pipe(self.process.stderr).readline(1000):
                self.last_words.append(line.decode(errors="replace").rstrip())

    def _exited(self, seconds: float) -> bool:
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _parsed(self, number: int, line: bytes) -> Any:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            shown = one_line(line.decode(errors="replace").strip(), 60)
            raise self._failed("DP442", f"wrote {shown!r} in line {number}, which is no JSON") from None
        return tuple(value) if isinstance(value, list) else value

    def _failed(self, code: str, how: str) -> MechanismError:
        return MechanismError(f"{self.shown} {how}{self._stderr()}", code=code, help=_HELP)

    def _stderr(self) -> str:
        words = [one_line(line, 200) for line in self.last_words if line]
        return "; it said:\n    " + "\n    ".join(words) if words else ""

    def _end(self) -> None:
        if self.process.returncode is None:  # not waited for, so that its number is still its own
            with contextlib.suppress(OSError):
                if os.name == "posix":
                    os.killpg(self.process.pid, signal.SIGKILL)  # its children, too
                else:
                    self.process.kill()
            self.process.wait()
        for pipe in (self.process.stdout, self.process.stderr, self.process.stdin):
            with contextlib.suppress(OSError):
                self._pipe(pipe).close()

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        if pipe is None:  # pragma: no cover  (all three are pipes)
            raise OSError
        return pipe
