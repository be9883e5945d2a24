"""A run that is killed, interrupted or out of disk goes on and ends as it would have."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dplitmus
from dplitmus import Result, cli, journal
from dplitmus.errors import InputError
from dplitmus.journal import Journal, batch_as_data, batch_from_data
from dplitmus.neighbours import Pair
from dplitmus.outputs import encode, labelled

Audit = Callable[..., Result]
COMMAND = [sys.executable, "-m", "dplitmus", "audit"]
PAIRS: list[Any] = [(np.zeros(2), np.ones(2)), (np.zeros(2), np.array([0.0, 1.0]))]


def noise(x: Any, n: int, rng: np.random.Generator) -> Any:
    return x + rng.laplace(scale=2.0, size=(n, 2))


def audited(path: Path | None = None, **settings: Any) -> Result:
    chosen = {"epsilon": 1.0, "neighbours": PAIRS, "samples": 1200, "seed": 3, "stop": "never", **settings}
    return dplitmus.audit(noise, journal=path, **chosen)


@pytest.mark.parametrize("keep", [0.0, 0.01, 0.3, 0.9, 1.0])
def test_what_is_left_of_a_journal_is_enough(keep: float, tmp_path: Path) -> None:
    """The journal is cut anywhere, in the middle of a line too, and the end is damaged."""
    expected, file = audited(), tmp_path / "run.journal"
    assert expected == audited(file)
    whole = file.read_bytes()
    first = whole.index(b"\n") + 1
    file.write_bytes(whole[: first + int(keep * (len(whole) - first))] + b"damaged" * (0 < keep < 1))
    assert expected == audited(file)
    assert whole == file.read_bytes()


def test_answers_of_the_journal_are_not_drawn_again(tmp_path: Path) -> None:
    calls = 0

    def counted(x: Any, n: int, rng: np.random.Generator) -> Any:
        nonlocal calls
        calls += 1
        return ["a" if c else ("b", 1) for c in rng.random(n) < 0.3 + 0.2 * x]

    settings: dict[str, Any] = {"epsilon": 1.0, "neighbours": [(0, 1)], "samples": 3000, "seed": 1}
    first = dplitmus.audit(counted, journal=tmp_path / "j", **settings)
    calls = 0
    assert first == dplitmus.audit(counted, journal=tmp_path / "j", **settings)
    assert (
        calls == 3 + 32 + 8
    )  # the looks at habits and independence, the fresh draws that name a cause: no chunk


KILLS = """
import os, random, sys, time
import dplitmus.auditing, dplitmus.journal
dplitmus.journal._BATCH_SECONDS = 0.0
sys.path.insert(0, {directory!r})
from killed_runs import settings
moments = random.Random(5)
for kill in range(21):
    child = os.fork()
    if child == 0:
        result = dplitmus.auditing.audit(journal={journal!r}, **settings)
        open({out!r}, "w").write(repr(result))
        os._exit(0)
    if kill < 20:
        time.sleep(moments.uniform(0.0, {longest}))
        os.kill(child, 9)
    os.waitpid(child, 0)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_run_that_is_killed_at_twenty_random_moments_ends_as_if_it_had_not_been(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "killed_runs.py").write_text(
        "def noise(x, n, rng):\n    return x + rng.laplace(size=n)\n"
        "settings = dict(mechanism=noise, epsilon=1.0, neighbours=[(0.0, 1.0)], samples=6000, seed=3)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    from killed_runs import settings  # type: ignore[import-not-found]

    started = time.perf_counter()
    expected = dplitmus.audit(**settings)
    longest = (time.perf_counter() - started) / 5
    file, out = tmp_path / "run.journal", tmp_path / "out"
    script = KILLS.format(directory=str(tmp_path), journal=str(file), out=str(out), longest=longest)
    subprocess.run([sys.executable, "-c", script], check=True)
    found = out.read_text()
    assert found.split(", seconds=")[0] == repr(expected).split(", seconds=")[0]


@pytest.mark.parametrize("moment", [0, 1, 2])
def test_an_interrupt_while_the_journal_is_written_leaves_every_answer_once(
    moment: int, tmp_path: Path
) -> None:
    file, interrupted = Journal(tmp_path / "run.journal", delay=60), False

    def answer(number: int) -> int:
        nonlocal interrupted
        if number == moment and not interrupted:
            interrupted = True
            raise KeyboardInterrupt
        return number

    file.begin({"seed": 1})
    for number in range(3):
        file.append((number,), lambda number=number: answer(number))  # type: ignore[misc]
    with pytest.raises(KeyboardInterrupt):
        file.flush()
    file.close()
    again = Journal(tmp_path / "run.journal")
    again.begin({"seed": 1})
    assert [again.reserve((number,)) for number in range(4)] == [0, 1, 2, None]
    again.close()


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_run_with_the_command_that_goes_on(number: int, audit: Audit, tmp_path: Path) -> None:
    del audit  # its directory and its mechanisms
    run = [
        "noise_of_faults.py:slow",
        "--epsilon",
        "1",
        "--pair",
        "0",
        "1",
        "--samples",
        "1500",
        "--seed",
        "4",
    ]
    command = [*COMMAND, *run, "--journal", "run.journal", "--executor", "processes:2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path) as process:
        while not (tmp_path / "run.journal").exists():
            time.sleep(0.05)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert b"Unfinished" in out
    line = next(line for line in err.decode().splitlines() if line.startswith("Go on:"))
    assert "--resume run.journal" in line
    again = line.split("dplitmus audit ")[1].split()
    assert cli.run(["audit", *again, "--json", "again.json"]) == 0
    assert cli.run(["audit", *run, "--json", "whole.json"]) == 0
    findings = [json.loads((tmp_path / name).read_text()) for name in ("again.json", "whole.json")]
    for finding in findings:
        del finding["seconds"]
    assert findings[0] == findings[1]


def test_a_full_disk_ends_the_journal_and_not_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit on the size of files, as the system enforces it; the run then goes on from what was written."""
    resource = pytest.importorskip("resource")
    expected, file = audited(), tmp_path / "run.journal"
    ledger = Journal(file)
    monkeypatch.setattr(journal, "_BATCH_SECONDS", 0.0)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, limits[1]))
    try:
        result = dplitmus.audit(
            noise, epsilon=1.0, neighbours=PAIRS, samples=1200, seed=3, stop="never", journal=ledger
        )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert result == expected
    assert ledger.failure == "File too large"
    assert 5000 < file.stat().st_size <= 12_000
    assert expected == audited(file)


def test_a_directory_that_cannot_be_written_to_ends_the_journal_and_not_the_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ledger = Journal(tmp_path / "file" / "run.journal")
    assert audited() == dplitmus.audit(
        noise, epsilon=1.0, neighbours=PAIRS, samples=1200, seed=3, stop="never", journal=ledger
    )
    assert ledger.failure is not None


def test_a_clock_that_jumps_backwards_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    expected = audited()
    now = [time.time()]

    def backwards() -> float:
        now[0] -= 3600.0
        return now[0]

    monkeypatch.setattr("time.time", backwards)
    assert expected == audited(tmp_path / "run.journal", seconds=600.0)


def test_short_runs_leave_no_journal(tmp_path: Path) -> None:
    ledger = Journal(tmp_path / "run.journal", delay=600.0)
    dplitmus.audit(noise, epsilon=1.0, neighbours=PAIRS, samples=300, journal=ledger)
    assert not ledger.path.exists()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"seed": 4}, "seed was 3, and now is 4"),
        ({"samples": 1201}, "samples was 1200, and now is 1201"),
        ({"neighbours": PAIRS[:1]}, "pairs was"),
        ({"on_error": "retry"}, "on_error was 'fail'"),
    ],
)
def test_a_journal_of_another_run_is_refused(settings: dict[str, Any], words: str, tmp_path: Path) -> None:
    file = tmp_path / "run.journal"
    audited(file)
    before = file.read_bytes()
    with pytest.raises(InputError, match="DP234") as caught:
        audited(file, **settings)
    assert words in str(caught.value)
    assert before == file.read_bytes()


def test_a_journal_of_another_mechanism_is_refused(tmp_path: Path) -> None:
    audited(tmp_path / "j")

    def noise(x: Any, n: int, rng: np.random.Generator) -> Any:
        return x + rng.laplace(scale=2.1, size=(n, 2))

    with pytest.raises(InputError, match=r"DP234.*draws was"):
        dplitmus.audit(
            noise, epsilon=1.0, neighbours=PAIRS, samples=1200, seed=3, stop="never", journal=tmp_path / "j"
        )


def test_a_run_whose_own_noise_starts_all_over_again_is_not_continued(tmp_path: Path) -> None:
    """A fixed seed in a module: the new process would draw again what the journal has counted."""

    def held(seed: int | None) -> Any:
        own = np.random.default_rng(seed)

        def noise(x: float, n: int, rng: np.random.Generator) -> Any:
            return x + own.laplace(size=n)

        return noise

    settings: dict[str, Any] = {"epsilon": 1.0, "neighbours": [(0.0, 1.0)], "samples": 300, "seed": 1}
    for seed in (7, None):
        dplitmus.audit(held(seed), journal=tmp_path / f"{seed}", **settings)
    with pytest.raises(InputError, match=r"DP234.*a generator that starts all over again"):
        dplitmus.audit(held(7), journal=tmp_path / "7", **settings)
    assert not dplitmus.audit(held(None), journal=tmp_path / "None", **settings).replayable


@pytest.mark.parametrize("content", [b"", b"\n", b"x" * 1000, b"\0" * 10**6, b"{}\n", b"a" * 16 + b" {}\n"])
def test_what_is_no_journal_is_refused_and_not_touched(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "j"
    file.write_bytes(content)
    with pytest.raises(InputError, match="DP234"):
        audited(file)
    assert content == file.read_bytes()


def sealed(path: Path, *payloads: str) -> Path:
    """A journal whose checksums are right, whatever it says."""
    ledger = Journal(path)
    with path.open("wb") as file:
        for payload in payloads:
            ledger._chain = ledger._checksum(payload.encode())
            file.write(ledger._chain + b" " + payload.encode() + b"\n")
    return path


@pytest.mark.parametrize(
    "entry",
    [
        "[" * 100_000,
        "9" * 100_000,
        "1e999",
        "NaN",
        "null",
        "{}",
        "[[20,0,0],null]",
        "[[20,0,0],{}]",
        '[[20,0,0],{"counts":[[0,1,1]],"raised":0,"learnt":{"shape":[10000000000,1],"values":"","labels":""}}]',
        '[[20,0,0],{"counts":[[0,1,1]],"raised":0,"learnt":{"shape":[2,-1],"values":"","labels":""}}]',
        '[[20,0,0],{"counts":[[0,1e300,1]],"raised":0,"learnt":{}}]',
        '[[20,0,0],{"counts":[[99999999,1,1]],"raised":0,"learnt":{}}]',
        "[[20,0,1],{}]",
    ],
)
def test_a_journal_with_nonsense_behind_right_checksums_is_refused(entry: str, tmp_path: Path) -> None:
    audited(tmp_path / "j")
    header = (tmp_path / "j").read_text().splitlines()[0].partition(" ")[2]
    with pytest.raises(InputError, match="DP234"):
        audited(sealed(tmp_path / "k", header, entry))


def test_two_runs_do_not_share_a_journal(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    audited(tmp_path / "j")
    first = Journal(tmp_path / "j")
    assert first.seed() == 3
    first._open()
    with pytest.raises(InputError, match="another run is writing to it"):
        audited(tmp_path / "j")
    first.close()


def test_batches_come_back_bit_by_bit() -> None:
    pair = Pair(0.0, 1.0, "")
    low = encode([1.5, float("nan"), -0.0, "text", (1, 2)])
    high = encode([2.5, None])
    labels = np.array([False, True, False, False, True, False, False])
    batch = labelled(low, high, labels, pair)
    again = batch_from_data(json.loads(json.dumps(batch_as_data(batch))), pair, 7)
    assert batch.values.tobytes() == again.values.tobytes()
    assert (batch.keys == again.keys).all()
    assert (batch.labels == again.labels).all()
    assert batch.names == again.names
    with pytest.raises(ValueError, match="more outputs than draws"):
        batch_from_data(batch_as_data(batch), pair, 6)
