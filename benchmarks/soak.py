"""Audits for a long time over random zoo mechanisms, executors and injected faults.

Each audit runs twice: undisturbed in this process, and as a command on some executor while a fault is
injected; killed runs are resumed from their journals. Both findings must be equal to the last bit. Counted
are audits, faults, results that were lost or differ, wrong accusations, and what leaks: processes, file
handles, memory.

    python benchmarks/soak.py [MINUTES] [SEED]
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from dplitmus import audit
from dplitmus.mechanisms.zoo import ZOO
from dplitmus.target import zoo_setting

SAMPLES, ALPHA = 2500, 1e-6
EXECUTORS = [None, "threads:2", "processes:2", "processes:3", "loky:2", "dask:local:2"]
FAULTS = ["none", "worker killed", "run killed", "terminated", "interrupted", "journal damaged", "disk full"]
MARK = "DPLITMUS_SOAK"
PATIENCE = 300  # seconds for one command
GRACE = 10  # seconds in which workers of a killed run notice


@dataclass
class Tally:
    """What is counted."""

    audits: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    resumed: int = 0
    executors: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)
    false_alarms: list[str] = field(default_factory=list)
    leaked: list[str] = field(default_factory=list)


def comparable(finding: str) -> dict[str, Any]:
    """All of a finding but the time it took."""
    data: dict[str, Any] = json.loads(finding)
    del data["seconds"]
    return data


def marked() -> list[psutil.Process]:
    """Processes that descend from a command of this soak, other than zombies."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get(MARK) == str(os.getpid()):
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


def small_files() -> None:
    """In a child: a disk that is full after 48 kB."""
    import resource  # noqa: PLC0415

    resource.setrlimit(resource.RLIMIT_FSIZE, (48_000, 48_000))


@dataclass
class Run:
    """One command and what is done to it."""

    arguments: list[str]
    place: Path
    chance: random.Random
    fault: str
    resumed: int = 0
    injected: bool = False

    def finding(self) -> str | None:
        """The finding at the end of it all."""
        journal, out = self.place / "run.journal", self.place / "finding.json"
        command = [*self.arguments, "--json", str(out)]
        self._start([*command, "--journal", str(journal)], disturb=True)
        while not out.exists() and journal.exists() and self.resumed < 3:
            if self.fault == "journal damaged":
                whole = journal.read_bytes()
                cut = self.chance.randrange(max(1, whole.index(b"\n") + 1), len(whole) + 1)
                journal.write_bytes(whole[:cut] + self.chance.randbytes(self.chance.randrange(40)))
            self.resumed += 1
            self._start([*command, "--resume", str(journal)], disturb=False)
        if not out.exists() and not journal.exists() and self.injected:  # killed before the first line
            self.resumed += 1
            self._start(command, disturb=False)
        return out.read_text() if out.exists() else None

    def _start(self, command: list[str], *, disturb: bool) -> None:
        full = disturb and self.fault == "disk full"
        self.injected |= full
        with (
            (self.place / "output").open("ab") as output,
            subprocess.Popen(  # noqa: S603
                command,
                stdout=output,
                stderr=output,
                env=os.environ | {MARK: str(os.getpid())},
                preexec_fn=small_files if full else None,  # noqa: PLW1509  (no threads here)
            ) as process,
        ):
            if disturb and self.fault not in {"none", "disk full"}:
                self._disturb(process)
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
        out = self.place / "finding.json"
        if out.exists() and not json.loads(out.read_text())["finished"]:
            out.unlink()

    def _disturb(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + PATIENCE
        while (
            process.poll() is None
            and not (self.place / "run.journal").exists()
            and time.monotonic() < deadline
        ):
            time.sleep(0.02)
        time.sleep(self.chance.uniform(0.0, 2.0))
        if process.poll() is not None:
            return
        if self.fault == "worker killed":
            children = [
                child
                for child in psutil.Process(process.pid).children(recursive=True)
                if not any(word in " ".join(_command_of(child)) for word in ("tracker", "forkserver import"))
            ]
            if children:
                self.chance.choice(children).kill()
                self.injected = True
            return
        signals = {"terminated": signal.SIGTERM, "interrupted": signal.SIGINT}
        process.send_signal(signals.get(self.fault, signal.SIGKILL))
        self.injected = True


def _command_of(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return ["tracker"]


def one(tally: Tally, chance: random.Random) -> None:
    """One mechanism, one executor, one fault."""
    name, seed = chance.choice(sorted(ZOO)), chance.randrange(2**32)
    executor, fault = chance.choice(EXECUTORS), chance.choice(FAULTS)
    setting = zoo_setting(name, epsilon=None, dimension=None)
    expected = audit(
        setting.mechanism,
        epsilon=setting.epsilon,
        delta=setting.delta,
        neighbours=setting.neighbours,
        samples=SAMPLES,
        alpha=ALPHA,
        seed=seed,
        target=setting.target,
    )
    arguments = [sys.executable, "-m", "dplitmus", "audit", f"zoo:{name}"]
    arguments += ["--samples", str(SAMPLES), "--alpha", str(ALPHA), "--seed", str(seed)]
    arguments += ["--executor", executor] if executor else []
    label = f"{name}, {executor or 'serial'}, {fault}, seed {seed}"
    with tempfile.TemporaryDirectory(prefix="soak-") as place:
        run = Run(arguments, Path(place), chance, fault)
        found = run.finding()
        if found is None:
            tally.lost.append(label)
            print((Path(place) / "output").read_text()[-2000:], flush=True)
        elif comparable(found) != comparable(expected.to_json()):
            tally.different.append(label)
    tally.audits += 1
    tally.resumed += run.resumed
    tally.executors[executor or "serial"] += 1
    tally.faults[fault if run.injected else "none"] += 1
    if expected.verdict == "violated" and not ZOO[name].broken:
        tally.false_alarms.append(label)
    deadline = time.monotonic() + GRACE
    while marked() and time.monotonic() < deadline:
        time.sleep(0.2)
    for process in marked():
        tally.leaked.append(f"{label}: {' '.join(_command_of(process))[:80]}")
        process.kill()


def main() -> None:
    """Run for so many minutes and print the figures."""
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 30.0
    chance = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)  # noqa: S311
    tally, here = Tally(), psutil.Process()
    one(tally, chance)  # warm up: what is imported once is no leak
    handles, memory = here.num_fds(), here.memory_info().rss
    end = time.monotonic() + 60 * minutes
    while time.monotonic() < end:
        one(tally, chance)
        if tally.audits % 10 == 0:
            print(
                f"{tally.audits} audits, {len(tally.lost)} lost, {len(tally.different)} different", flush=True
            )
    print(f"\naudits finished            {tally.audits}  ({dict(tally.executors)})")
    injected = sum(count for fault, count in tally.faults.items() if fault != "none")
    print(f"faults injected            {injected}  ({dict(tally.faults)})")
    print(f"runs resumed               {tally.resumed}")
    for what, found in (
        ("results lost", tally.lost),
        ("results that differ", tally.different),
        ("correct ones accused", tally.false_alarms),
        ("processes leaked", tally.leaked),
    ):
        print(f"{what:<27}{len(found)}  {'; '.join(found)}")
    print(f"file handles               {handles} at first, {here.num_fds()} at the end")
    megabytes = [size / 2**20 for size in (memory, here.memory_info().rss)]
    print(f"memory of this process     {megabytes[0]:.0f} MB at first, {megabytes[1]:.0f} MB at the end")
    sys.exit(bool(tally.lost or tally.different or tally.leaked))


if __name__ == "__main__":
    main()
