"""The audit of a trained model: a trained model is a mechanism.

Takes a model and texts; gives a `Result`. The inputs are the worst pairs of texts among many: those whose
bounded latents are farthest apart in L1, for Laplace noise then hides them least; the bandit of the audit
chooses among them. What is judged is the released vector, or the rewritten text itself. The code that draws
is the code that releases, with the audit's own source of bytes in place of the operating system's, so that
a finding replays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dplitmus.auditing import audit
from dplitmus.errors import InputError, one_line, one_of, whole_number
from dplitmus.neighbours import Pair
from dplitmus.target import MODEL_TARGET
from dplitmus.text.data import checked_texts
from dplitmus.text.extra import require

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from dplitmus.text.system import TextSystem
    from dplitmus.verdict import Result

    Latent = NDArray[np.float64]

VIEWS = ("vectors", "raw", "texts")
_MOST_TEXTS = 2000  # whose distances are all compared
_PAIRS = 2
_SLACK = 1e-9  # rounding of latents, as a share of the bound's radius


class VectorMechanism:
    """(x, n, rng): n released vectors of the text x, as an attacker who knows the pairs looks at them.

    For each pair of latents (a, b), six statistics of a released vector y: |y - b|_1 - |y - a|_1, the
    likelihood ratio of Laplace noise; the same after each vector's minimum is subtracted; on how many
    coordinates y lies below a, and below b; and how many equal those of a, and of b. A function of the
    output: if the statistics break the claim, the vectors do.
    """

    def __init__(
        self, model: TextSystem, epsilon: float, latents: dict[str, Latent], pairs: Sequence[tuple[str, str]]
    ) -> None:
        self.model, self.epsilon, self.latents, self.pairs = model, epsilon, latents, pairs
        self.name = f"{model.name}-vectors"

    def __call__(self, x: str, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Release the text n times."""
        released = _released(self.model, self.latents[x], self.epsilon, n, rng)
        return np.column_stack(
            [column for pair in self.pairs for column in self._statistics(released, *pair)]
        )

    def _statistics(self, y: NDArray[np.float64], one: str, other: str) -> list[NDArray[np.float64]]:
        slack = _SLACK * self.model.layer.bound.radius
        a, b = self.latents[one], self.latents[other]
        gaps = [y - a, y - b]
        ratio = _nearer(*gaps)
        base = y - y.min(axis=1, keepdims=True)
        shape = _nearer(base - (a - a.min()), base - (b - b.min()))
        below = [(gap < -slack).sum(axis=1) for gap in gaps]
        equal = [(np.abs(gap) <= slack).sum(axis=1) for gap in gaps]
        return [np.asarray(column, dtype=np.float64) for column in (ratio, shape, *below, *equal)]


def _nearer(to_a: NDArray[np.float64], to_b: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.abs(to_b).sum(axis=1) - np.abs(to_a).sum(axis=1))


class RawMechanism:
    """(x, n, rng): n released vectors of the bounded latent vector x, nothing done to them."""

    def __init__(self, model: TextSystem, epsilon: float) -> None:
        self.model, self.epsilon = model, epsilon
        self.name = f"{model.name}-raw"

    def __call__(self, x: Latent, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Release the same latent vector n times."""
        return _released(self.model, np.asarray(x, dtype=np.float64), self.epsilon, n, rng)


class TextMechanism:
    """(x, n, rng): n rewrites of the text x."""

    def __init__(self, model: TextSystem, epsilon: float) -> None:
        self.model, self.epsilon = model, epsilon
        self.name = f"{model.name}-texts"

    def __call__(self, x: str, n: int, rng: np.random.Generator) -> list[str]:
        """Rewrite the same text n times."""
        latent = self.model.bounded([x])[0]
        return self.model.decode(_released(self.model, latent, self.epsilon, n, rng))


def _released(
    model: TextSystem, latent: Latent, epsilon: float, n: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    return model.noised(np.repeat(latent[None], n, axis=0), epsilon, rng.bytes)


def worst_pairs(model: TextSystem, texts: Sequence[str], most: int = _PAIRS) -> list[tuple[int, int]]:
    """Pairs of rows whose bounded latents are farthest apart in L1; no row twice."""
    from scipy.spatial.distance import cdist

    latents = model.bounded(texts)
    distances = np.triu(cdist(latents, latents, "cityblock"), 1)
    found: list[tuple[int, int]] = []
    while len(found) < most and distances.max() > 0:
        row, column = (int(place) for place in np.unravel_index(distances.argmax(), distances.shape))
        found.append((row, column))
        for used in (row, column):
            distances[used, :] = distances[:, used] = 0.0
    return found


def audit_model(
    model: TextSystem,
    texts: Sequence[str],
    *,
    epsilon: float | None = None,
    view: str = "vectors",
    samples: int = 200_000,
    alpha: float = 1e-6,
    seed: int | None = None,
    stop: str = "violated",
    pairs: int = _PAIRS,
    seconds: float | None = None,
    progress: Callable[[int], None] | None = None,
    saved_in: str | os.PathLike[str] | None = None,
) -> Result:
    """Audit the declared epsilon (or another) on the worst pairs among the first 2,000 usable texts.

    `saved_in` is the directory that this model was loaded from or saved in: `replay` finds it there.
    """
    one_of("view", view, VIEWS)
    claimed = model.layer.budget if epsilon is None else epsilon
    chosen = model.usable(list(dict.fromkeys(checked_texts(list(texts)))))[:_MOST_TEXTS]
    if len(chosen) < 2:
        raise InputError(
            f"the model can read {len(chosen)} of the texts, and a pair needs two",
            code="DP222",
            help="give texts of the kind it was trained on, with --texts",
        )
    worst = worst_pairs(model, chosen, whole_number("pairs", pairs, least=1, help="try pairs=2"))
    if not worst:
        raise InputError(
            f"the {len(chosen)} texts have one and the same latent vector",
            code="DP221",
            help="give texts that differ, with --texts",
        )
    ends = [(chosen[one], chosen[other]) for one, other in worst]
    mechanism, neighbours = _setting(model, claimed, ends, view)
    if saved_in is not None:
        mechanism.dplitmus_target = f"{MODEL_TARGET}{view}:{saved_in}"
    result = audit(
        mechanism,
        epsilon=claimed,
        neighbours=neighbours,
        samples=samples,
        alpha=alpha,
        seed=seed,
        stop=stop,
        seconds=seconds,
        progress=progress,
    )
    model.audited = {
        "verdict": result.verdict.value,
        "claimed": claimed,
        "epsilon_lower": result.epsilon_lower,
        "samples": result.samples,
        "view": view,
        "seed": result.seed,
    }
    return result


def _setting(
    model: TextSystem, epsilon: float, ends: Sequence[tuple[str, str]], view: str
) -> tuple[Any, list[Pair]]:
    """The mechanism of a view, and pairs of texts as inputs to it."""
    names = [f"{one_line(one, 18)!r} against {one_line(other, 18)!r}" for one, other in ends]
    inputs: Sequence[tuple[Any, Any]] = ends
    if view == "raw":
        latents = _latents(model, ends)
        inputs = [(latents[one], latents[other]) for one, other in ends]
    pairs = [Pair(*pair, name) for pair, name in zip(inputs, names, strict=True)]
    return _mechanism(model, epsilon, ends, view), pairs


def _mechanism(model: TextSystem, epsilon: float, ends: Sequence[tuple[str, str]], view: str) -> Any:
    if view == "raw":
        return RawMechanism(model, epsilon)
    if view == "texts":
        return TextMechanism(model, epsilon)
    return VectorMechanism(model, epsilon, _latents(model, ends), ends)


def _latents(model: TextSystem, ends: Sequence[tuple[str, str]]) -> dict[str, Latent]:
    """Of all texts, in one batch: another one may round otherwise."""
    involved = list(dict.fromkeys(text for pair in ends for text in pair))
    return dict(zip(involved, model.bounded(involved), strict=True))


def mechanism_again(target: str, *, epsilon: float, pairs: Sequence[tuple[Any, Any]]) -> Any:
    """The mechanism of a finding: its target names a view and a model directory, its pairs are the inputs."""
    require()
    import torch

    from dplitmus.text.saving import load

    view, _, directory = target.removeprefix(MODEL_TARGET).partition(":")
    one_of("view", view, VIEWS)
    if view != "raw" and not all(isinstance(text, str) for pair in pairs for text in pair):
        raise InputError(
            f"the inputs of {target!r} must be texts",
            code="DP209",
            help="take the finding as  dplitmus text audit  wrote it",
        )
    torch.set_num_threads(1)  # as the commands do: several threads may round otherwise
    mechanism = _mechanism(load(directory), epsilon, pairs, view)
    mechanism.dplitmus_target = target
    return mechanism
