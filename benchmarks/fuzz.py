"""Damaged, random and hostile input for everything that reads: a refusal with a code, or an answer.

Valid inputs are damaged (bits, slices, tokens) and rebuilt around random values (wrong types, huge numbers,
deep nesting, other letters), so that what passes one check meets the next. Counts inputs, crashes (anything
but a refusal with a code), the slowest input and the memory that the process ever took.

    python benchmarks/fuzz.py [INPUTS] [SEED] [READERS...]
"""

from __future__ import annotations

import copy
import json
import random
import resource
import sys
import tempfile
import time
import tomllib
import traceback
from collections import deque
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import _dplitmus_pytest as plugin
import dplitmus
from dplitmus import findings
from dplitmus.adapters.program import _Run
from dplitmus.chunks import Chunk, Desk, Pending
from dplitmus.cli_audit import pairs_from_json
from dplitmus.cli_text.training import train
from dplitmus.dispatch import Dispatch
from dplitmus.errors import DplitmusError
from dplitmus.executors import Inline
from dplitmus.journal import Journal
from dplitmus.judging import Judge
from dplitmus.neighbours import as_pairs
from dplitmus.outputs import encode
from dplitmus.report import index
from dplitmus.shipping import Parcel
from dplitmus.text.settings import TextSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

TOKENS = [
    *(
        b"null",
        b"true",
        b"NaN",
        b"-Infinity",
        b"1e999",
        b"-1",
        b"0",
        b"[",
        b"]",
        b"{",
        b"}",
        b'"',
        b",",
        b":",
    ),
    *(b"\\", b"\\u0000", b"\\ud800", b"\x00", b"\xff", b"9" * 400, b"[" * 2000, b'{"a":' * 500),
    *(b"</script>", b"<script>", b"'", b"=", b"\n", b"# ", b"2026-11-16"),
]
SHARES = {
    "program": 0.35,
    "pairs": 0.3,
    "settings": 0.05,
    "config": 0.1,
    "journal": 0.15,
    "finding": 0.025,
    "page": 0.025,
}
CONFIG = """out = "model"
epsilon = 10.0
latent = 4
private-column = ["gender"]
truncate = true
epochs = 1e1
seed = 7
"""


def noise(x: Any, n: int, rng: np.random.Generator) -> Any:
    """What the journal is of."""
    return x + rng.laplace(size=n)


class Fuzz:
    """Readers, valid inputs for them, and ways to damage these."""

    def __init__(self, seed: int, place: Path) -> None:
        self.chance = random.Random(seed)  # noqa: S311
        self.file = place / "input"
        result = dplitmus.audit(noise, epsilon=0.1, neighbours=[(0.0, 1.0)], samples=400, seed=1)
        self.finding = result.to_json()
        self.page = index.page([findings.checked("", self.finding)])
        journal = place / "journal"
        self.run: dict[str, Any] = {"epsilon": 1.0, "neighbours": [(0.0, 1.0)], "samples": 60, "seed": 1}
        dplitmus.audit(noise, journal=journal, **self.run)
        self.lines = [line.partition(b" ")[2] for line in journal.read_bytes().splitlines()]
        self.spec = json.loads(self.lines[0])["spec"]

    def damaged(self, data: bytes) -> bytes:
        """Some bytes changed, moved, dropped or put in."""
        chance = self.chance
        for _ in range(chance.choice((1, 1, 2, 4))):
            at = chance.randrange(len(data) + 1)
            how = chance.randrange(6)
            if how == 0 and data:
                at = min(at, len(data) - 1)
                data = data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
            elif how == 1:
                data = data[:at] + data[at + chance.randrange(20) :]
            elif how == 2:
                data = data[:at]
            elif how == 3:
                piece = data[at : at + chance.randrange(60)]
                data = data[:at] + piece * chance.choice((2, 5)) + data[at:]
            else:
                data = data[:at] + chance.choice(TOKENS) + data[at:]
        return data

    def value(self, depth: int = 0) -> Any:
        """Any JSON value, with a taste for trouble."""
        chance = self.chance
        simple: list[Any] = [
            None, True, 0, -1, 1.5, 2**53, 2**70, -(10**300), 1e308, 5e-324, "", "NaN", "Infinity", "x" * 300,
            "\x00\u202e\ud800", "1", [], {}, "AAAA", "<b>", 10**10,
        ]  # fmt: skip
        if depth > 3 or chance.random() < 0.7:
            return chance.choice(simple)
        items = [self.value(depth + 1) for _ in range(chance.randrange(4))]
        return items if chance.random() < 0.5 else {str(k): item for k, item in enumerate(items)}

    def rebuilt(self, data: Any) -> Any:
        """A valid value with something else in one or two places."""
        data = copy.deepcopy(data)
        for _ in range(self.chance.choice((1, 1, 2))):
            spot: Any = data
            while True:
                keys = list(spot) if isinstance(spot, dict) else list(range(len(spot)))
                if not keys:
                    break
                key = self.chance.choice(keys)
                if isinstance(spot[key], dict | list) and self.chance.random() < 0.8:
                    spot = spot[key]
                    continue
                if isinstance(spot, dict) and self.chance.random() < 0.15:
                    del spot[key]
                else:
                    spot[key] = self.value()
                break
        return data

    def journal(self) -> None:
        """Right checksums around wrong lines, or bytes that were right once."""
        lines = list(self.lines)
        at = self.chance.randrange(4)
        if self.chance.random() < 0.5:
            lines[at] = json.dumps(self.rebuilt(json.loads(lines[at]))).encode()
        else:
            lines[at] = self.damaged(lines[at])
        sealer, data = Journal(self.file), b""
        for line in lines[: at + 2]:
            sealer._chain = sealer._checksum(line)  # noqa: SLF001
            data += sealer._chain + b" " + line + b"\n"  # noqa: SLF001
        self.file.write_bytes(data if self.chance.random() < 0.8 else self.damaged(data))
        journal = Journal(self.file)
        try:
            journal.begin(self.spec)
            for number in range(3):
                chunk = Chunk(Parcel(noise), as_pairs([(0.0, 1.0)])[0], 2, 1, (20, 0, number), None)
                recorded = journal.reserve(chunk.key)
                if recorded is None:
                    break
                desk = Desk(Dispatch(Inline(), replays=True), journal)
                desk.result(Pending(chunk, Judge(None), [], recorded))
        finally:
            journal.close()

    def finding_(self) -> None:
        """The JSON of a finding."""
        if self.chance.random() < 0.5:
            self.file.write_bytes(self.damaged(self.finding.encode()))
        else:
            self.file.write_text(json.dumps(self.rebuilt(json.loads(self.finding))))
        index.page(findings.read(self.file))

    def page_(self) -> None:
        """A report, which holds the JSON."""
        opens = self.page.index("<script")
        data = self.page.encode()
        cut = self.damaged(data[opens:])
        self.file.write_bytes(data[:opens] + cut if self.chance.random() < 0.8 else self.damaged(data))
        findings.read(self.file)

    def program(self) -> None:
        """Lines that a program writes."""
        run = object.__new__(_Run)
        run.shown, run.last_words = "program", deque()
        lines = [json.dumps(self.value()).encode() for _ in range(self.chance.randrange(1, 5))]
        lines = [self.damaged(line) if self.chance.random() < 0.5 else line for line in lines]
        encode([run._parsed(number, line) for number, line in enumerate(lines, start=1)])

    def pairs(self) -> None:
        """The members of --pair."""
        texts = [json.dumps(self.value()) for _ in range(2)]
        texts = [
            self.damaged(text.encode()).decode(errors="replace") if self.chance.random() < 0.5 else text
            for text in texts
        ]
        as_pairs(pairs_from_json(((texts[0], texts[1]),)))

    def settings(self) -> None:
        """[tool.dplitmus] of pyproject.toml."""
        words = b'[tool.dplitmus]\nsamples = 1000\nalpha = 1e-6\nseed = 3\nreport = "page.html"\n'
        (self.file.parent / "pyproject.toml").write_bytes(self.damaged(words))
        plugin._from_project(self.file.parent)  # noqa: SLF001

    def config(self) -> None:
        """The TOML file of a text command: its options, and the settings that are made of them."""
        text = CONFIG.encode()
        if self.chance.random() < 0.5:
            name = self.chance.choice(list(tomllib.loads(CONFIG)))
            text += f"{name.replace('-', '_')} = {self.toml()}\n".encode(errors="surrogatepass")
            text = text.replace(name.encode() + b" ", b"# ", 1)
        else:
            text = self.damaged(text)
        self.file.write_bytes(text)
        given = train.make_context("train", ["adept", "--config", str(self.file)]).params
        shared = {field.name: given[field.name] for field in fields(TextSettings) if field.name in given}
        TextSettings().changed({name: value for name, value in shared.items() if value is not None})

    def toml(self) -> str:
        """Any TOML value."""
        return self.chance.choice(
            ["1", "-1", "0", "1e400", "nan", "-inf", "9" * 5000, "2026-11-16", "12:00:00", '""', '"x"', "[]",
             "{}", "[[]]", "[1, 2]", "['a', 1, {}]", "{a = 1}", "true", "0x" + "f" * 400, "5e-324", "1.5",
             "[" * 900 + "]" * 900, '"\\u0000"', "'<b>'"]
        )  # fmt: skip


def main() -> None:
    """Feed all readers and print the figures."""
    inputs = int(float(sys.argv[1])) if len(sys.argv) > 1 else 1_000_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    crashes = 0
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as place:  # noqa: S108
        fuzz = Fuzz(seed, Path(place))
        readers: dict[str, Callable[[], None]] = {
            "program": fuzz.program,
            "pairs": fuzz.pairs,
            "settings": fuzz.settings,
            "config": fuzz.config,
            "journal": fuzz.journal,
            "finding": fuzz.finding_,
            "page": fuzz.page_,
        }
        columns = ("inputs", "refused", "crashes", "CPU s", "slowest ms", "peak MB")
        print(f"{'reader':<10}" + "".join(f"{column:>12}" for column in columns))
        for name in sys.argv[3:] or readers:
            reader = readers[name]
            refused = failed = 0
            slowest = spent = 0.0
            count = int(SHARES[name] * inputs)
            for _ in range(count):
                started = time.process_time()
                try:
                    reader()
                except (DplitmusError, click.ClickException):
                    refused += 1
                except Exception:  # noqa: BLE001  (that is what is counted)
                    failed += 1
                    if failed <= 3:
                        traceback.print_exc(limit=-3)
                took = time.process_time() - started
                slowest, spent = max(slowest, took), spent + took
            crashes += failed
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            row = (
                f"{count:,}",
                f"{refused:,}",
                failed,
                f"{spent:.0f}",
                f"{slowest * 1e3:.1f}",
                f"{peak:.0f}",
            )
            print(f"{name:<10}" + "".join(f"{cell:>12}" for cell in row), flush=True)
    sys.exit(bool(crashes))


if __name__ == "__main__":
    main()
