"""The paper's three figures, drawn from this run's numbers.

Takes results; gives each figure as SVG and PNG bytes. Colours are those of Okabe and Ito (2008) and
the cividis map, which colour-blind readers can tell apart; every series also has its own marker.
"""

from __future__ import annotations

import importlib.util
import io
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dplitmus.errors import MissingExtraError
from dplitmus.mechanisms import dptext
from dplitmus.mechanisms.laplace import SAMPLERS, inverse_cdf_eq4, inverse_cdf_eq7
from dplitmus.paper.grid import DIMENSIONS, EPSILONS
from dplitmus.samples import stream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dplitmus.mechanisms.base import FloatArray
    from dplitmus.sanity import SanityCheck

BLUE, GREEN, RED, GREY = "#0072B2", "#009E73", "#D55E00", "#666666"
HISTOGRAM_SAMPLES = 100_000
_PHASE = 13
_MARKERS = ("o", "s", "^", "D", "v", "P")
_FLOOR, _CEILING = 3e-3, 3e2  # what figure 2 shows; about zero and infinity have strips
_ZERO, _INFINITY = 1.6e-3, 8e2


class Figure(NamedTuple):
    """One drawn figure."""

    name: str
    svg: bytes
    png: bytes


def require_matplotlib() -> None:
    """Refuse now, with the pip command, rather than after minutes of sampling."""
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtraError("matplotlib", extra="plots", purpose="drawing figures")


def figure_1() -> Figure:
    """Inverse CDFs for Laplace sampling: two right ones, and what DPText uses."""
    figure, axes = _canvas(1, 3, width=10.5, height=3.6, sharey=True)
    u = np.linspace(0, 1, 2001)
    v = u - 0.5
    with np.errstate(divide="ignore"):
        real_part = -np.log(np.abs(1 - 2 * u))
    axes[0].plot(u, inverse_cdf_eq4(u), color=BLUE, lw=2)
    axes[0].set_title("right: equations (4), (5)\nu from (0, 1)")
    axes[1].plot(v, inverse_cdf_eq7(v), color=GREEN, lw=2)
    axes[1].set_title("right: equation (7)\nv from (-0.5, 0.5)")
    axes[2].axvspan(0.5, 1, color=RED, alpha=0.12, lw=0)
    axes[2].plot(u, dptext.inverse_cdf_eq9(u), color=RED, lw=2)
    beyond = u > 0.5
    axes[2].plot(u[beyond], real_part[beyond], color=RED, lw=1.5, ls=":")
    axes[2].set_title("DPText: equation (9)\nv from (0, 1)")
    axes[2].text(0.75, -2.6, "logarithm of a\nnegative number:\nNaN", ha="center", va="center")
    axes[2].text(0.75, 4.3, "(dotted: real part)", ha="center", fontsize=8, color=GREY)
    axes[2].text(0.04, -4.6, "never negative", color=RED)
    for axis, name in zip(axes, ("u", "v", "v"), strict=True):
        axis.axhline(0, color=GREY, lw=0.8)
        axis.set(xlabel=name, ylim=(-5.2, 5.2))
    axes[0].set_ylabel("noise, in scales b")
    return _render(figure, "figure1")


def figure_2(checks: Sequence[SanityCheck]) -> Figure:
    """Empirical loss against epsilon, by dimension: four panels as in the paper."""
    from matplotlib import colormaps

    figure, axes = _canvas(1, 4, width=14, height=5.6, sharey=True)
    colours = [colormaps["cividis"](i / (len(DIMENSIONS) - 1) * 0.92) for i in range(6)]
    panels = (
        ("Extreme baselines", ("copy", "random")),
        ("Laplace mechanism", ("laplace",)),
        ("ADePT", ("adept",)),
        ("DPText", ("dptext",)),
    )
    by_cell = {(c.mechanism, c.dimension, c.claim.epsilon): c for c in checks}
    for axis, (title, mechanisms) in zip(axes, panels, strict=True):
        _figure_2_background(axis, title)
        for mechanism in mechanisms:
            for dimension, colour, marker in zip(DIMENSIONS, colours, _MARKERS, strict=True):
                series = [by_cell[mechanism, dimension, epsilon] for epsilon in EPSILONS]
                _figure_2_series(axis, series, colour, marker, DIMENSIONS.index(dimension))
    paper = {"facecolor": "white", "edgecolor": "none", "pad": 2}
    axes[0].text(1, 90, "copy input", ha="center", va="center", bbox=paper, zorder=6)
    axes[0].text(1, 0.02, "random output", ha="center", va="center", bbox=paper, zorder=6)
    axes[0].set_ylabel("privacy loss of the attack")
    _figure_2_legend(figure, colours)
    return _render(figure, "figure2")


def _figure_2_background(axis: Any, title: str) -> None:
    axis.fill_between(EPSILONS, EPSILONS, _CEILING, color=RED, alpha=0.08, lw=0)
    axis.plot(EPSILONS, EPSILONS, color=GREEN, lw=2.5, zorder=1)
    axis.axhspan(_CEILING, _INFINITY * 2.2, color="#f0f0f0", lw=0)
    axis.axhspan(_ZERO / 2.2, _FLOOR, color="#f0f0f0", lw=0)
    axis.set(xscale="log", yscale="log", xlabel="claimed epsilon", title=title)
    axis.set_ylim(_ZERO / 1.6, _INFINITY * 1.8)
    axis.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
    ticks = (0.01, 0.1, 1, 10, 100)
    axis.set_yticks((_ZERO, *ticks, _INFINITY), ("< 0.003", *(f"{tick:g}" for tick in ticks), "infinite"))
    axis.minorticks_off()


def _figure_2_series(
    axis: Any,
    series: Sequence[SanityCheck],
    colour: Any,
    marker: str,
    rank: int,
) -> None:
    # A little sideways shift keeps markers of different dimensions from hiding each other.
    shift = 1.035 ** (rank - 2.5)
    x = [check.claim.epsilon * shift for check in series]
    estimates = [_shown(check.estimate) for check in series]
    exact = [check.exact.loss if check.exact else math.nan for check in series]
    visible = [loss if _FLOOR <= loss <= _CEILING else math.nan for loss in exact]
    axis.plot(x, visible, color=colour, lw=1.2, zorder=2)
    for left, check, top in zip(x, series, estimates, strict=True):
        if top == _INFINITY:  # an "infinite" estimate: what is certified, and an arrow upwards
            axis.plot([left], [check.epsilon_lower], marker="_", ms=9, mew=2, color=colour, zorder=4)
            axis.plot([left, left], [check.epsilon_lower, top], color=colour, lw=0.7, ls=":", zorder=2)
    axis.plot(x, estimates, marker=marker, ls="", ms=5.5, color=colour, mec="black", mew=0.4, zorder=5)


def _shown(loss: float) -> float:
    if math.isinf(loss):
        return _INFINITY
    return loss if loss >= _FLOOR else _ZERO


def _figure_2_legend(figure: Any, colours: Sequence[Any]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Line2D([], [], color=colour, marker=marker, mec="black", mew=0.4, label=f"n = {dimension}")
        for dimension, colour, marker in zip(DIMENSIONS, colours, _MARKERS, strict=True)
    ]
    handles += [
        Line2D([], [], color=GREEN, lw=2.5, label="loss = epsilon"),
        Patch(color=RED, alpha=0.12, label="violates the claim"),
        Line2D([], [], color="black", marker="_", ms=9, mew=2, ls="", label="certified at least"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=9, frameon=False)
    figure.suptitle(
        "Markers: simulated attack. Lines: exact loss. Dashes: certified where the estimate is infinite.",
        fontsize=10,
    )


def histogram_panels(seed: int) -> tuple[tuple[str, FloatArray], ...]:
    """Titles and samples of figure 3."""
    rng = stream(seed, _PHASE)
    uniform = rng.random(HISTOGRAM_SAMPLES)
    faulty = dptext.inverse_cdf_eq9(uniform)
    return (
        ("Laplace, by numpy", SAMPLERS["numpy"](rng, (HISTOGRAM_SAMPLES,))),
        ("uniform v, basis of the next three", uniform),
        ("right, equation (4)", inverse_cdf_eq4(uniform)),
        ("DPText, NaN replaced by 0", np.nan_to_num(faulty, nan=0.0)),
        ("DPText, NaN discarded", faulty[~np.isnan(faulty)]),
    )


def figure_3(seed: int) -> Figure:
    """Five histograms: numpy's Laplace, the uniform, and three inverse CDFs of that uniform."""
    figure, axes = _canvas(1, 5, width=14, height=3.6)
    colours = (GREY, GREY, BLUE, RED, RED)
    for axis, (title, sample), colour in zip(axes, histogram_panels(seed), colours, strict=True):
        is_uniform = "uniform" in title
        span = (0.0, 1.0) if is_uniform else (-6.0, 6.0)
        axis.hist(sample, bins=48, range=span, color=colour, density=True)
        axis.set(title=title.replace(", ", "\n", 1), xlim=span)
        axis.set_xlabel("v" if is_uniform else "noise, in scales b")
        if not is_uniform:
            t = np.linspace(-6, 6, 401)
            axis.plot(t, np.exp(-np.abs(t)) / 2, color="black", lw=1, ls="--")
        axis.set_yticks([])
    axes[0].set_ylabel("density")
    axes[0].text(5.8, 0.47, "dashed: Laplace\ndensity", ha="right", va="top", fontsize=8)
    for axis in axes[3:]:
        axis.text(-5.8, axis.get_ylim()[1] * 0.93, "nothing\nbelow 0", va="top", color=RED)
    return _render(figure, "figure3")


def _canvas(rows: int, columns: int, *, width: float, height: float, sharey: bool = False) -> Any:
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, sharey=sharey)


def _render(figure: Any, name: str) -> Figure:
    import matplotlib as mpl

    svg, png = io.BytesIO(), io.BytesIO()
    # A fixed salt and no date: the same numbers give the same bytes.
    with mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "none", "font.family": "sans-serif"}):
        figure.savefig(svg, format="svg", metadata={"Date": None})
    figure.savefig(png, format="png", dpi=160, metadata={"Software": None})
    return Figure(name, svg.getvalue(), png.getvalue())
