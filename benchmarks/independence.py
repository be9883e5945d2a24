"""Whether draws that depend on their call are seen, and what would become of them if nobody looked.

The first mechanisms keep epsilon = 1: in some share of the rows the sign of the Laplace noise is the call's.
For each mechanism: in how many of RUNS it is refused, how many audits of 30,000 draws would accuse it
otherwise, and milliseconds of CPU of a look.

    python benchmarks/independence.py [RUNS]
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import dplitmus
from dplitmus import auditing
from dplitmus.errors import MechanismError
from dplitmus.independence import check_independence
from dplitmus.mechanisms.base import as_callee

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class SharedSign:
    """Laplace noise; this share of the rows has the sign of the call."""

    share: float

    def __call__(self, x: float, n: int, rng: np.random.Generator) -> Any:
        """Return n outputs on x."""
        own, common = rng.choice([-1, 1], size=n), rng.choice([-1, 1])
        return x + np.where(rng.random(n) < self.share, common, own) * rng.exponential(size=n)


def shared_scale(x: float, n: int, rng: np.random.Generator) -> Any:
    """One scale for all rows."""
    return x + rng.exponential() * rng.laplace(size=n)


def walk(x: float, n: int, rng: np.random.Generator) -> Any:
    """A chain that walks on."""
    return x + np.cumsum(rng.laplace(size=n))


def mirrored(x: float, n: int, rng: np.random.Generator) -> Any:
    """Every other draw is the mirror image of the one before."""
    noise = rng.laplace(size=n)
    noise[1::2] = -noise[: n - 1 : 2]
    return x + noise


def numbers(x: float, n: int, rng: np.random.Generator) -> Any:
    """Independent."""
    return x + rng.laplace(size=n)


def vectors(x: float, n: int, rng: np.random.Generator) -> Any:
    """Independent, 32 of them."""
    return x + rng.laplace(scale=32, size=(n, 32))


def words(x: float, n: int, rng: np.random.Generator) -> Any:
    """Independent."""
    return [f"word {k}" for k in rng.integers(0, 200, n) + int(x)]


MECHANISMS: dict[str, Callable[..., Any]] = {
    "one sign for 70 %": SharedSign(0.7),
    "one sign for 50 %": SharedSign(0.5),
    "one sign for 30 %": SharedSign(0.3),
    "one sign for 20 %": SharedSign(0.2),
    "one sign for 10 %": SharedSign(0.1),
    "one scale": shared_scale,
    "walk": walk,
    "mirrored": mirrored,
    "independent numbers": numbers,
    "independent vectors": vectors,
    "independent words": words,
}


def refused(mechanism: Callable[..., Any], runs: int) -> tuple[int, float]:
    """How many looks refuse it, and milliseconds of CPU of a look."""
    found, started = 0, time.process_time()
    for seed in range(runs):
        try:
            check_independence(as_callee(mechanism), 0.0, seed)
        except MechanismError:
            found += 1
    return found, (time.process_time() - started) / runs * 1000


def accused(mechanism: SharedSign, runs: int) -> int:
    """How many audits that do not look would accuse a mechanism that keeps its claim."""
    verdicts = [
        dplitmus.audit(mechanism, epsilon=1.0, neighbours=[(0.0, 1.0)], samples=30_000, seed=seed).verdict
        for seed in range(runs)
    ]
    return sum(verdict == "violated" for verdict in verdicts)


def main() -> None:
    """Print a row per mechanism."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    looks = {name: refused(mechanism, runs) for name, mechanism in MECHANISMS.items()}
    auditing.check_independence = lambda *_: None  # type: ignore[attr-defined]
    print(f"{'mechanism':24}{'refused':>9}{'accused otherwise':>20}{'ms a look':>11}   of {runs}")
    for name, mechanism in MECHANISMS.items():
        found, spent = looks[name]
        wrong = str(accused(mechanism, runs)) if isinstance(mechanism, SharedSign) else ""
        print(f"{name:24}{found:>9}{wrong:>20}{spent:>11.0f}", flush=True)


if __name__ == "__main__":
    main()
