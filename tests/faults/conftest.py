"""What the tests with real workers share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dplitmus
from dplitmus import Result, executors

CODE = """
import os, time
from pathlib import Path

import numpy as np

import dplitmus

HERE = Path(__file__).parent
own = np.random.default_rng(7)


def laplace(x, n, rng):
    return x + rng.laplace(scale=0.7, size=n)


def in_the_parent():
    return os.getpid() == int((HERE / "parent").read_text())


def once(what):
    \"\"\"True in one worker, once.\"\"\"
    if in_the_parent():
        return False
    try:
        (HERE / what).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def killed(x, n, rng):
    if 20 < n < 64 and once("killed"):
        os.kill(os.getpid(), 9)
    return laplace(x, n, rng)


def hangs(x, n, rng):
    if 20 < n < 64 and once("hung"):
        time.sleep(600)
    return laplace(x, n, rng)


def always_killed(x, n, rng):
    if 20 < n < 64 and not in_the_parent():
        os.kill(os.getpid(), 9)
    return laplace(x, n, rng)


def held(x, n, rng):
    return x + own.laplace(size=n)


def held_and_noted(x, n, rng):
    drawn = own.laplace(size=n)
    if not in_the_parent():
        with (HERE / "drawn").open("ab") as file:
            file.write(drawn.tobytes())
    return x + drawn


def held_until_killed(x, n, rng):
    if 20 < n < 64 and once("killed"):
        os.kill(os.getpid(), 9)
    return held(x, n, rng)


def few_outputs(x, rng):
    return x if own.random() < 0.73 else 1 - x


held_few = dplitmus.each(few_outputs)


def starved(x, n, rng):
    \"\"\"Once in a worker, more than the system gives.\"\"\"
    import resource

    if 20 < n < 64 and once("starved"):
        limits = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (2**31, limits[1]))
        try:
            hungry(x, n, rng)
        finally:
            resource.setrlimit(resource.RLIMIT_AS, limits)
    return laplace(x, n, rng)


def swells(x, n, rng):
    \"\"\"In a worker, more and more memory, and time for somebody to see it.\"\"\"
    if 20 < n < 64 and not in_the_parent():
        kept = []
        for _ in range(100):
            kept.append(np.ones(2**22))
            time.sleep(0.02)
    return laplace(x, n, rng)


def global_state(x, n, rng):
    return x + np.random.laplace(size=n)


def hungry(x, n, rng):
    return x + np.ones(2**33)[:n]


def sleeps(x, n, rng):
    if n < 64:
        time.sleep(600)
    return laplace(x, n, rng)


calls = 0


def remembers(x, n, rng):
    global calls
    calls += 1
    return np.full(n, x + 10.0 * calls)


def several(x, n, rng):
    return [[float(x)] * length for length in rng.geometric(0.2, size=n).tolist()]


def dies(x, n, rng):
    os._exit(5)


def one(x, rng):
    time.sleep(0.001)
    return x + rng.laplace()


slow = dplitmus.each(one)
"""

Audit = Callable[..., Result]


@pytest.fixture
def audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Audit:
    """Audit a mechanism of a file, which workers find by its path, on an executor that is named."""
    import os

    from dplitmus.target import load

    (tmp_path / "noise_of_faults.py").write_text(CODE)
    (tmp_path / "parent").write_text(str(os.getpid()))
    monkeypatch.chdir(tmp_path)

    def run(name: str, *, on: str | None = None, **settings: Any) -> Result:
        target = f"{tmp_path / 'noise_of_faults.py'}:{name}"
        mechanism = load(target, epsilon=1.0, dimension=1)
        chosen = {"epsilon": 1.0, "neighbours": [(0.0, 1.0)], "samples": 1000, "seed": 1, **settings}
        if on is None:
            return dplitmus.audit(mechanism, target=target, **chosen)
        with executors.opened(on) as executor:
            return dplitmus.audit(mechanism, target=target, executor=executor, **chosen)

    return run
