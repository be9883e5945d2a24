"""Every mechanism of the zoo: it runs, says what it is, and is as broken as it says."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dplitmus.errors import InputError
from dplitmus.mechanisms import zoo
from dplitmus.mechanisms.base import as_callee
from dplitmus.mechanisms.zoo import Entry, paper
from dplitmus.neighbours import patterns

EVERY = pytest.mark.parametrize("entry", zoo.ZOO.values(), ids=zoo.ZOO.keys())


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def pairs_of(entry: Entry) -> list[tuple[Any, Any]]:
    if entry.pairs is not None:
        return list(entry.pairs)
    return [(pair.x, pair.x_prime) for pair in patterns(entry.relation, entry.dimension)]


@EVERY
def test_a_mechanism_returns_n_outputs_on_each_of_its_inputs(entry: Entry) -> None:
    mechanism = entry.build(entry.epsilon, entry.dimension)
    for pair in pairs_of(entry):
        shapes = {np.asarray(mechanism(x, n, rng())).shape[1:] for x in pair for n in (1, 7)}
        assert len(shapes) == 1
        assert all(len(mechanism(x, n, rng())) == n for x in pair for n in (1, 7))


@EVERY
def test_a_mechanism_depends_on_its_arguments_only_and_leaves_them_alone(entry: Entry) -> None:
    mechanism = entry.build(entry.epsilon, entry.dimension)
    x = np.array(pairs_of(entry)[0][0])
    before = x.copy()
    first = np.array(mechanism(x, 50, rng(3)))
    again = np.array(pickle.loads(pickle.dumps(mechanism))(x, 50, rng(3)))  # noqa: S301  (our own bytes)
    np.testing.assert_array_equal(before, x)
    np.testing.assert_array_equal(first, again)


@EVERY
def test_a_mechanism_carries_its_name_and_its_entry_fits_the_listing(entry: Entry) -> None:
    name = as_callee(entry.build(1.0, 3)).name
    assert name == (
        "laplace" if entry.name in {"laplace-eq5", "laplace-eq7", "laplace-numpy"} else entry.name
    )
    assert entry.name == entry.name.lower()
    assert len(entry.name) <= 23
    assert len(entry.summary) <= 38
    assert len(entry.truth) <= 12


@pytest.mark.parametrize("name", [entry.name for entry in paper.ENTRIES] + list(zoo.ALIASES))
def test_the_papers_mechanisms_return_vectors_like_their_input(name: str) -> None:
    assert np.asarray(zoo.find(name).build(1.0, 3)(np.zeros(3), 7, rng())).shape == (7, 3)


@EVERY
def test_bad_parameters_are_refused(entry: Entry) -> None:
    with pytest.raises(InputError, match=r"epsilon=0\.0 must"):
        entry.build(0.0, 2)
    with pytest.raises(InputError, match="dimension=0 must"):
        entry.build(1.0, 0)


def test_broken_is_what_exceeds_its_claim() -> None:
    correct = {name for name, entry in zoo.ZOO.items() if not entry.broken}
    assert correct == {
        *("laplace", "laplace-eq5", "laplace-eq7", "laplace-numpy", "halved-output", "random"),
        *("laplace-one-query", "laplace-parallel", "snapping", "noisy-hist-1", "prefix-sum"),
        *("geometric", "truncated-geometric-2", "gaussian", "rnm-1", "rnm-2", "svt-1", "svt-2"),
        *("numerical-svt", "randomised-response", "rappor", "one-time-rappor"),
    }
    assert zoo.find("adept").true_epsilon(0.5, 8) == 4.0


def test_an_unknown_name_suggests_the_closest() -> None:
    with pytest.raises(InputError, match=r"error\[DP204\].*'zoo:laplce'\n.*did you mean 'zoo:laplace'\?"):
        zoo.find("laplce")


# Infinite losses: an event that happens on the first input and cannot happen on the second. Epsilon is
# chosen so that it happens often enough to be seen.
Event = Callable[[NDArray[Any]], NDArray[np.bool_]]
ZEROS, ONES, LEFT, RIGHT = np.array([[0, 0, 0, 0], [1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1]], dtype=float)
KNOWN_NOISE = zoo.find("seeded").build(1.0, 4)(ZEROS, 1, rng())[0, 0]
IMPOSSIBLE: dict[str, tuple[float, Any, Any, Event]] = {
    "dptext-nan0": (1.0, ZEROS, ONES, lambda y: y[:, 0] < 1),
    "dptext-redraw": (1.0, ZEROS, ONES, lambda y: y[:, 0] < 1),
    "dptext-nan": (1.0, ZEROS, ONES, lambda y: y[:, 0] < 1),
    "copy": (1.0, ZEROS, ONES, lambda y: y[:, 0] < 1),
    "rnm-4": (2.0, ONES, 2 * ONES, lambda y: y < 2),
    "svt-5": (0.1, 2 * LEFT, ONES, lambda y: y[:, 0] > y[:, 3]),
    "dpnr": (1.0, LEFT, RIGHT, lambda y: y[:, 0] > y[:, 3]),
    "one-scalar-for-all": (1.0, LEFT, RIGHT, lambda y: y[:, 0] > y[:, 3]),
    "seeded": (1.0, ZEROS, ONES, lambda y: y[:, 0] == KNOWN_NOISE),
    "noise-in-eval-off": (1.0, ZEROS, ONES, lambda y: y[:, 0] == 0),
    "data-dependent-scale": (1.0, ZEROS, ONES, lambda y: y[:, 0] == 0),
    "half-precision-laplace": (1.0, ZEROS[:1], ONES[:1], lambda y: _finer_than_one_plus_noise(y[:, 0])),
}


def _finer_than_one_plus_noise(y: NDArray[np.float16]) -> NDArray[np.bool_]:
    # Noise between -1.5 and -0.5 is a multiple of 2^-11 in 16 bits, and adding it to 1 is exact.
    finer: NDArray[np.bool_] = np.mod(y.astype(float), 2.0**-11) != 0
    return finer & (np.abs(y) < 0.5)


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_an_infinite_loss_shows_in_an_event_that_only_one_input_can_cause(name: str) -> None:
    """Each event has probability above 1 in 100 on its input: 10,000 draws miss it with less than 1e-40."""
    epsilon, x, x_prime, event = IMPOSSIBLE[name]
    mechanism = zoo.find(name).build(epsilon, len(x))
    assert np.count_nonzero(event(mechanism(x, 10_000, rng(1)))) > 0
    assert np.count_nonzero(event(mechanism(x_prime, 10_000, rng(2)))) == 0


def test_every_infinite_loss_has_such_an_event_but_one_that_grows_with_the_input() -> None:
    said = {name for name, e in zoo.ZOO.items() if math.isinf(e.true_epsilon(e.epsilon, e.dimension))}
    assert said == {*IMPOSSIBLE, "clip-missing"}


def test_what_one_coordinate_cannot_show_is_not_called_infinite() -> None:
    finite = {"svt-5": 0.5, "dpnr": 0.0, "one-scalar-for-all": 1.0, "rnm-1": 0.0, "rnm-2": 0.0}
    assert finite == {name: zoo.find(name).true_epsilon(1.0, 1) for name in finite}
