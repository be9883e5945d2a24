"""OpenDP's measurements at scale 1 (or a randomised response of 3/4), on the usual domains and metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dplitmus.adapters import installed
from dplitmus.adapters import opendp as adapter
from dplitmus.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dplitmus.adapters import Adapted

_DELTA = 0.01  # for concentrated privacy; so large that some hundred thousand draws can see what it hides
_LEFT_OUT = {
    "alp-queryable": "it answers queries one by one; audit a function that asks them",
    "laplace-threshold and gaussian-threshold": "a distance of three numbers; adapt them with d_in=(1, 1, 1)",
    "private-expr and private-lazyframe": "a query of Polars; audit a function that runs it",
    "randomized-response-bitvec": "a bit vector has no usual pairs; adapt it with neighbours",
    "user-measurement": "it is your own function; adapt the measurement",
}


def builders() -> dict[str, Callable[[], Adapted]]:
    """By the names of the constructors, with the kind of input."""
    dp = installed.load("opendp", "opendp.prelude")
    dp.enable_features("contrib")
    made = {name: _adapter(build) for name, build in (_additive(dp) | _chosen(dp) | _chained(dp)).items()}
    return made | {name: _refuser(why) for name, why in _LEFT_OUT.items()}


def _adapter(build: Callable[[], Any]) -> Callable[[], Adapted]:
    def adapted() -> Adapted:
        measurement = build()
        concentrated = "Concentrated" in str(measurement.output_measure)
        return adapter.adapt(measurement, delta=_DELTA if concentrated else None)

    return adapted


def _refuser(why: str) -> Callable[[], Adapted]:
    def refuse() -> Adapted:
        raise InputError(why, code="DP242", help="see docs/guides/your-library.md")

    return refuse


def _number(dp: Any, kind: type) -> Any:
    """Numbers of a type; since 0.13 floats must be said to have no NaN."""
    try:
        return dp.atom_domain(T=kind, nan=False) if kind is float else dp.atom_domain(T=kind)
    except TypeError:
        return dp.atom_domain(T=kind)


def _additive(dp: Any) -> dict[str, Callable[[], Any]]:
    """Noise on numbers and vectors."""
    found: dict[str, Callable[[], Any]] = {}
    for word, kind in (("float", float), ("int", int)):
        atom = _number(dp, kind)
        vector = dp.vector_domain(atom)
        for name, make, metric in (
            ("laplace", dp.m.make_laplace, dp.l1_distance),
            ("gaussian", dp.m.make_gaussian, dp.l2_distance),
        ):
            found[f"{name}-{word}"] = _call(make, atom, dp.absolute_distance(T=kind), scale=1.0)
            found[f"{name}-{word}-vector"] = _call(make, vector, metric(T=kind), scale=1.0)
    whole = _number(dp, int)
    found["geometric-int"] = _call(dp.m.make_geometric, whole, dp.absolute_distance(T=int), scale=1.0)
    found["geometric-int-bounded"] = _call(
        dp.m.make_geometric, whole, dp.absolute_distance(T=int), scale=1.0, bounds=(0, 4)
    )
    canonical = getattr(dp.m, "make_canonical_noise", None)
    if canonical:
        distance = dp.absolute_distance(T=float)
        found["canonical-noise"] = _call(
            canonical, _number(dp, float), distance, d_in=1.0, d_out=(1.0, _DELTA)
        )
    return found


def _chosen(dp: Any) -> dict[str, Callable[[], Any]]:
    """Measurements that pick one of several."""
    scores = dp.vector_domain(_number(dp, float))
    found: dict[str, Callable[[], Any]] = {
        "randomized-response-bool": _call(dp.m.make_randomized_response_bool, prob=0.75),
        "randomized-response": _call(dp.m.make_randomized_response, ["a", "b", "c"], prob=0.75),
    }
    if hasattr(dp.m, "make_noisy_max"):
        for word, measure in (("", dp.max_divergence()), ("-zcdp", dp.zero_concentrated_divergence())):
            distance = dp.linf_distance(T=float)
            found[f"noisy-max{word}"] = _call(dp.m.make_noisy_max, scores, distance, measure, scale=1.0)
            if hasattr(dp.m, "make_noisy_top_k"):
                found[f"noisy-top-k{word}"] = _call(
                    dp.m.make_noisy_top_k, scores, distance, measure, k=1, scale=1.0
                )
    else:
        gumbel = dp.m.make_report_noisy_max_gumbel
        found["report-noisy-max-gumbel"] = _call(
            gumbel, scores, dp.linf_distance(T=float), scale=1.0, optimize="max"
        )
    return found


def _chained(dp: Any) -> dict[str, Callable[[], Any]]:
    """Queries on datasets with noise at the end: the maps of both must be right."""
    symmetric = dp.symmetric_distance()
    any_size = dp.vector_domain(dp.atom_domain(bounds=(0, 1)))
    sized = dp.vector_domain(dp.atom_domain(bounds=(0.0, 1.0)), size=4)
    found: dict[str, Callable[[], Any]] = {
        "count": lambda: dp.t.make_count(any_size, symmetric) >> dp.m.then_laplace(scale=1.0),
        "sum-int": lambda: dp.t.make_sum(any_size, symmetric) >> dp.m.then_laplace(scale=1.0),
        "sum-float-sized": lambda: dp.t.make_sum(sized, symmetric) >> dp.m.then_laplace(scale=1.0),
        "mean-sized": lambda: dp.t.make_mean(sized, symmetric) >> dp.m.then_laplace(scale=0.25),
        "variance-sized": lambda: dp.t.make_variance(sized, symmetric) >> dp.m.then_laplace(scale=0.25),
    }
    if hasattr(dp.m, "then_private_quantile"):
        domain = dp.vector_domain(_number(dp, float))
        found["private-quantile"] = _call(
            dp.m.make_private_quantile,
            domain,
            symmetric,
            dp.max_divergence(),
            candidates=[0.0, 0.5, 1.0],
            alpha=0.5,
            scale=1.0,
        )
    return found


def _call(make: Callable[..., Any], *arguments: Any, **settings: Any) -> Callable[[], Any]:
    return lambda: make(*arguments, **settings)
