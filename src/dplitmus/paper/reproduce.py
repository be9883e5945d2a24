"""`dplitmus reproduce acl2022`: run everything, write everything.

Takes a number of samples, a seed and a directory; leaves figures, `losses.json` and `index.html` there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dplitmus import engine, store
from dplitmus.paper import figures, footnote, grid, page, theorems
from dplitmus.samples import checked_samples

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SAMPLES, SEED = 10_000_000, 2022
FILES = (
    *(f"figure{i}.{kind}" for i in (1, 2, 3) for kind in ("svg", "png")),
    "losses.json",
    "index.html",
)


def total_draws(samples: int) -> int:
    """How many vectors a run draws: what its progress adds up to."""
    return grid.total_draws(samples) + footnote.total_draws(samples)


def reproduce(
    *,
    samples: int = SAMPLES,
    seed: int = SEED,
    out: Path,
    command: str,
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> page.Reproduction:
    """Make the paper's figures, table, footnote and theorems in `out`.

    What could stop it at the end (no matplotlib, no permission to write) is found at the start.
    """
    samples = checked_samples(samples)
    engine.checked_threads(threads)
    figures.require_matplotlib()
    for name in FILES:
        store.prepare_file(out / name)
    checks = grid.run(samples, seed=seed, threads=threads, progress=progress)
    run = page.Reproduction(
        checks=checks,
        footnote=footnote.run(samples, seed=seed, threads=threads, progress=progress),
        demonstrations=tuple(theorems.demonstrate(seed)),
        figures=(figures.figure_1(), figures.figure_2(checks), figures.figure_3(seed)),
        samples=samples,
        seed=seed,
        command=command,
    )
    for figure in run.figures:
        store.write(out / f"{figure.name}.svg", figure.svg)
        store.write(out / f"{figure.name}.png", figure.png)
    store.write(out / "losses.json", page.losses_json(checks))
    store.write(out / "index.html", page.index_html(run))
    return run
