"""Attacks on released vectors: which class does one belong to, and which person.

Takes released vectors with what the attacker may know; gives scores. A classifier is trained on released
vectors of other people. Linkage knows the clean vectors of everybody and asks which of them a released one
belongs to.

A linear attacker alone would pass DPText: its noise hides the few exact numbers among large ones. So there
are three classifiers and four ways to link.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from dplitmus.errors import one_of
from dplitmus.text.score import Score, majority

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Vectors = NDArray[np.float64]

CLASSIFIERS = ("linear", "mlp", "mask")
LINKS = ("exact", "support", "l1", "shift")
_SLACK = 1e-9  # rounding of the clean vectors, as a share of their size
_CHUNK = 2**22  # numbers in one comparison


def classify(
    attack: str,
    train: tuple[Vectors, Sequence[str]],
    test: tuple[Vectors, Sequence[str]],
    *,
    radius: float = 1.0,
    seed: int = 0,
) -> Score:
    """Train the attack on (vectors, classes) and score it on others.

    "linear": logistic regression. "mlp": one hidden layer. "mask": logistic regression on each coordinate
    cut at the bound and on whether it lay inside.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.metrics import f1_score

    one_of("attack", attack, CLASSIFIERS)
    model = _classifier(attack, seed)
    known, asked = _features(attack, train[0], radius), _features(attack, test[0], radius)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a weaker attack is still an attack
        # By number: the early stopping of scikit-learn 1.8 cannot score labels that are texts.
        classes, numbers = np.unique(np.asarray(list(train[1])), return_inverse=True)
        model.fit(known, numbers)
    guesses = classes[model.predict(asked)]
    truth = np.asarray(list(test[1]))
    f1 = float(f1_score(truth, guesses, average="macro", zero_division=0))
    return Score.of(guesses == truth, baseline=majority(test[1]), macro_f1=f1, seed=seed)


def strongest(
    train: tuple[Vectors, Sequence[str]],
    test: tuple[Vectors, Sequence[str]],
    *,
    radius: float = 1.0,
    seed: int = 0,
) -> tuple[str, Score]:
    """The classifier that does best on a quarter of the training rows held back, and its score on the test.

    The attacked rows play no part in the choice: the best of three on them would look stronger than it is.
    """
    vectors, classes = train[0], np.asarray(list(train[1]))
    held = _held_back(classes, seed)
    best = CLASSIFIERS[0]
    if held.any():
        halves = [(vectors[rows], classes[rows].tolist()) for rows in (~held, held)]
        tried = {name: classify(name, *halves, radius=radius, seed=seed) for name in CLASSIFIERS}
        best = max(tried, key=lambda name: tried[name].value)
    return best, classify(best, train, test, radius=radius, seed=seed)


def _held_back(classes: NDArray[np.str_], seed: int) -> NDArray[np.bool_]:
    """A random quarter of each class, rounded down: the rest still has every class."""
    held = np.zeros(len(classes), dtype=bool)
    rng = np.random.default_rng(seed)
    for name in np.unique(classes):
        rows = rng.permutation(np.flatnonzero(classes == name))
        held[rows[: len(rows) // 4]] = True
    return held


def _classifier(attack: str, seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if attack == "mlp":
        network = MLPClassifier((64,), max_iter=40, early_stopping=True, random_state=seed)
        return make_pipeline(StandardScaler(), network)
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=300, C=0.1))


def _features(attack: str, vectors: Vectors, radius: float) -> Vectors:
    if attack != "mask":
        return vectors
    inside = (np.abs(vectors) <= radius).astype(float)
    cut = np.clip(vectors, -radius, radius)
    return np.concatenate([cut, inside, cut * inside], axis=1)


def linkage(released: Vectors, clean: Vectors, link: str) -> Score:
    """How often row i of `released` is traced to row i of `clean` (or to an equal row) among all of them.

    "exact": most coordinates equal. "support": most coordinates not above the released ones (one-sided
    noise), the nearest among equals. "l1": nearest in L1, the best attack on Laplace noise. "shift":
    nearest after each row's minimum is subtracted, which undoes one number for all coordinates.
    """
    one_of("link", link, LINKS)
    rows, dimension = clean.shape
    step = max(1, _CHUNK // (rows * dimension))
    if link == "shift":
        released = released - released.min(axis=1, keepdims=True)
        shifted = clean - clean.min(axis=1, keepdims=True)
    else:
        shifted = clean
    size = max(1.0, float(np.abs(clean).max()))
    found = np.concatenate(
        [
            _nearest(released[first : first + step], shifted, link, _SLACK * size)
            for first in range(0, len(released), step)
        ]
    )
    own = np.arange(len(released))
    hits = (found >= 0) & np.all(clean[found] == clean[own], axis=1)
    return Score.of(hits, baseline=1 / rows)


def _nearest(released: Vectors, clean: Vectors, link: str, slack: float) -> NDArray[np.intp]:
    """The row that each vector is traced to; -1 where nothing speaks for any."""
    gaps = released[:, None] - clean[None]
    distance = np.abs(gaps).sum(axis=2)
    if link in {"l1", "shift"}:
        return np.asarray(distance.argmin(axis=1))
    fits = np.abs(gaps) <= slack if link == "exact" else gaps >= -slack
    count = fits.sum(axis=2).astype(float)
    # The nearest among those with the same count: distances only break ties.
    near = distance / (1 + distance.max(axis=1, keepdims=True))
    best = (count - near).argmax(axis=1)
    if link == "exact":
        best = np.where(count.max(axis=1) > 0, best, -1)
    return np.asarray(best)


def strongest_link(released: Vectors, clean: Vectors) -> tuple[str, Score]:
    """The best of the four links, and its name."""
    found = {link: linkage(released, clean, link) for link in LINKS}
    best = max(found, key=lambda name: found[name].value)
    return best, found[best]
