"""The paper's three figures for the page, drawn by the parts of every report: on a phone, and in the dark.

Takes results; gives charts, each with its title. `paper.figures` draws the same for print.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from dplitmus.mechanisms import dptext
from dplitmus.mechanisms.laplace import inverse_cdf_eq4, inverse_cdf_eq7
from dplitmus.paper.figures import histogram_panels
from dplitmus.paper.grid import DIMENSIONS, EPSILONS
from dplitmus.report.lines import Chart, Series

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dplitmus.mechanisms.base import FloatArray
    from dplitmus.sanity import SanityCheck

Titled = tuple[str, Chart]
_HIGH = 5.0  # of the noise in figure 1
_LEAST, _INFINITE = 3e-3, 9e2  # ends of the axis of figure 2: what lies beyond is drawn there
_KINDS = ("x", "xp", "good", "ink", "soft", "plum")  # of the dimensions
_MECHANISMS = {
    "copy": "Copy input",
    "random": "Random output",
    "laplace": "Laplace mechanism",
    "adept": "ADePT",
    "dptext": "DPText",
}


def figure_1() -> Iterator[Titled]:
    """Inverse CDFs for Laplace sampling: two right ones, and what DPText uses."""
    u = np.linspace(0.001, 0.999, 400)
    yield "Right: equations (4), (5), u from (0, 1)", _curves("u", [("noise", "x", u, inverse_cdf_eq4(u))])
    v = u - 0.5
    title = "Right: equation (7), v from (-0.5, 0.5)"
    yield title, _curves("v", [("noise", "good", v, inverse_cdf_eq7(v))])
    real_part = -np.log(np.abs(1 - 2 * u))
    curves = [
        ("noise, never negative", "bad", u, dptext.inverse_cdf_eq9(u)),
        ("NaN: its real part", "soft", u[u > 0.5], real_part[u > 0.5]),
    ]
    yield "DPText: equation (9), v from (0, 1)", _curves("v", curves)


def _curves(name: str, curves: Sequence[tuple[str, str, FloatArray, FloatArray]]) -> Chart:
    def points(x: FloatArray, y: FloatArray) -> list[tuple[float, ...]]:
        return [(float(a), float(b)) for a, b in zip(x, y, strict=True) if abs(b) <= _HIGH]

    return Chart(
        x_label=name,
        y_label="noise, in scales b",
        series=[Series(title, kind, points(x, y)) for title, kind, x, y in curves],
        log_x=False,
        left=float(curves[0][2][0]),
        right=float(curves[0][2][-1]),
        bottom=-_HIGH,
        top=_HIGH,
    )


def figure_2(checks: Sequence[SanityCheck]) -> Iterator[Titled]:
    """Empirical loss against epsilon, by dimension."""
    found = {(c.mechanism, c.dimension, c.claim.epsilon): c for c in checks}
    for mechanism, title in _MECHANISMS.items():
        series = []
        for rank, (dimension, kind) in enumerate(zip(DIMENSIONS, _KINDS, strict=True)):
            shift = 1.035 ** (rank - 2.5)  # sideways: markers of several dimensions would hide each other
            cells = [found[mechanism, dimension, epsilon] for epsilon in EPSILONS]
            points = [_point(check, shift) for check in cells]
            exact = [(c.claim.epsilon * shift, c.exact.loss) for c in cells if c.exact]
            series.append(Series(str(dimension), kind, points, line=exact))
        yield (
            title,
            Chart(
                x_label="claimed epsilon",
                y_label="loss, by n:",
                series=series,
                levels=[("infinite", _INFINITE)],
                diagonal="claim",
                log_y=True,
                bottom=_LEAST,
                top=_INFINITE,
            ),
        )


def _point(check: SanityCheck, shift: float) -> tuple[float, ...]:
    """The estimate; where it is infinite, a bar down to what is certified."""
    place = check.claim.epsilon * shift
    bar = (check.epsilon_lower, check.estimate) if math.isinf(check.estimate) else ()
    return place, check.estimate, *bar


def figure_3(seed: int) -> Iterator[Titled]:
    """Five histograms: numpy's Laplace, the uniform, and three inverse CDFs of that uniform."""
    for title, sample in histogram_panels(seed):
        uniform = "uniform" in title
        span = (0.0, 1.0) if uniform else (-6.0, 6.0)
        heights, edges = np.histogram(sample, bins=48, range=span)
        density = heights / (sample.size * (edges[1] - edges[0]))
        corners = [
            (float(edge), float(height))
            for height, ends in zip(density, itertools.pairwise(edges), strict=True)
            for edge in ends
        ]
        t = np.linspace(-6, 6, 121)
        laplace = [(float(a), float(b)) for a, b in zip(t, np.exp(-np.abs(t)) / 2, strict=True)]
        series = [Series("sample", "bad" if "DPText" in title else "x", corners)]
        series += [] if uniform else [Series("Laplace density", "soft", laplace)]
        label = "v" if uniform else "noise, in scales b"
        yield title, Chart(x_label=label, y_label="density", series=series, log_x=False, bottom=0.0)
