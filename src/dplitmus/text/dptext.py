"""DPText: a latent vector for a task, noised, and trained against discriminators of private attributes.

Takes texts with a task label and private attributes; gives vectors. Three modes:

    published     DPText's sampler; `reading` says what becomes of its NaN ("one-scalar": DPNR's mistake)
    corrected     Laplace noise for the L1 diameter of the bound, and a small latent by default
    unprotected   no noise: what utility is compared with

The game: encoder, decoder, semantic discriminator and, if it is learned, epsilon minimise reconstruction
and task loss minus the private discriminators' losses, which each of them minimises for itself. Per-record
privacy of the release holds for a fixed encoder: train it on public texts, or on texts other than those
that are released.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import torch
from torch import Tensor, nn

from dplitmus.errors import one_of, whole_number
from dplitmus.text import networks, training
from dplitmus.text.bound import KINDS
from dplitmus.text.data import checked_classes, checked_columns, checked_texts, unusable
from dplitmus.text.frozen import ENCODERS, frozen_vectors, width
from dplitmus.text.game import Game
from dplitmus.text.layer import BoundedLaplace
from dplitmus.text.settings import TextSettings, weight
from dplitmus.text.system import TextSystem
from dplitmus.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

MODES = ("published", "corrected", "unprotected")
READINGS = ("zero", "redraw", "one-scalar")
_PUBLISHED_LATENT, _LARGEST_SMALL = 32, 8


@dataclass(frozen=True, kw_only=True)
class DPTextSettings(TextSettings):
    """All settings; `latent`, `bound` and `centre` follow from the mode and the classes unless given."""

    mode: str = "corrected"
    reading: str = "zero"
    latent: int | None = None
    bound: str | None = None
    centre: bool | None = None  # whether latents are centred before they are bounded
    learn_epsilon: bool = False
    cap: bool = True
    unsafe: bool = False  # lets the corrected mode do without a cap
    encoder: str = "gru"
    adversary: float = 0.3
    reconstruction: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("mode", self.mode, MODES)
        one_of("reading", self.reading, READINGS)
        one_of("encoder", self.encoder, ("gru", *ENCODERS))
        for name in ("adversary", "reconstruction"):
            weight(name, getattr(self, name))
        if self.latent is not None:
            whole_number("latent", self.latent, least=1, most=2**16, help="try latent=1")
        if self.bound is not None:
            one_of("bound", self.bound, KINDS)

    def resolved(self, classes: int) -> DPTextSettings:
        """The same with every default filled in: one number for two classes, one for each of several."""
        small = 1 if classes == 2 else min(classes, _LARGEST_SMALL)
        latent = self.latent or (small if self.mode == "corrected" else _PUBLISHED_LATENT)
        dpnr = self.mode == "published" and self.reading == "one-scalar"
        usual = "min-max" if dpnr else "box" if latent == 1 or self.mode != "corrected" else "l1"
        # Only the small default: what is compared with the published network should be the same network.
        small_default = self.mode == "corrected" and self.latent is None
        centre = small_default if self.centre is None else self.centre
        return replace(self, latent=latent, bound=self.bound or usual, centre=centre)

    def layer(self) -> BoundedLaplace:
        """The noise layer of the mode."""
        if self.latent is None or self.bound is None:  # pragma: no cover  (resolved() comes first)
            raise ValueError("resolve the settings first")
        wrong = self.reading if self.reading == "one-scalar" else f"dptext-{self.reading}"
        return BoundedLaplace(
            self.latent,
            epsilon=self.epsilon,
            bound=self.bound,
            radius=self.radius,
            sensitivity=self.radius if self.mode == "published" and self.bound == "min-max" else None,
            sampler={"published": wrong, "corrected": "laplace", "unprotected": "none"}[self.mode],
            learn=self.learn_epsilon,
            cap=self.cap,
            unsafe=self.unsafe or self.mode != "corrected",
        )


class Network(nn.Module):
    """Encoder, noise layer, decoder, one semantic and several private discriminators."""

    def __init__(self, settings: DPTextSettings, words: int, labels: int, private: Sequence[int]) -> None:
        super().__init__()
        self.layer = settings.layer()
        latent = self.layer.bound.dimension
        self.readout = networks.Readout(settings.radius, latent)
        self.decoder: networks.Decoder | None = None
        if settings.encoder == "gru":
            table = networks.embedding(words, settings.embedding)
            self.encoder: nn.Module = networks.Pooled(table, settings.hidden, latent, settings.dropout)
            self.decoder = networks.Decoder(table, self.readout.features, settings.hidden)
        else:
            self.encoder = nn.Sequential(
                nn.Dropout(settings.dropout),
                nn.Linear(width(settings.encoder), settings.hidden),
                nn.ReLU(),
                nn.Linear(settings.hidden, latent),
            )
        self.centre = networks.Centred(latent) if settings.centre else nn.Identity()
        self.semantic = networks.Discriminator(self.readout, settings.hidden, labels)
        self.private = nn.ModuleList(
            networks.Discriminator(self.readout, settings.hidden, classes) for classes in private
        )

    def latents(self, *inputs: Tensor) -> Tensor:
        """One latent vector per row, not yet bounded."""
        found: Tensor = self.centre(self.encoder(*inputs))
        return found

    def features(self, noised: Tensor) -> Tensor:
        """What the decoder sees of a noised vector."""
        found: Tensor = self.readout(noised)
        return found


class DPText(TextSystem):
    """Train with `fit`, release vectors with `encode` (alias `privatize`)."""

    name: ClassVar[str] = "dptext"
    settings: DPTextSettings

    def __init__(self, settings: DPTextSettings | None = None, **changes: Any) -> None:
        super().__init__((settings or DPTextSettings()).changed(changes))

    def fit(
        self,
        texts: Sequence[str],
        labels: Sequence[str] | None = None,
        private: Mapping[str, Sequence[str]] | None = None,
        *,
        progress: Callable[[int], None] | None = None,
    ) -> Self:
        """Train on the texts, their task labels and their private attributes."""
        found = checked_texts(texts)
        if labels is None:
            raise unusable("DPText needs a task label for each text", "name a column with --label-column")
        self.labels = checked_classes("labels", labels, len(found))
        self.private = checked_columns(private, len(found))
        self.settings = self.settings.resolved(len(self.labels))
        device = training.usable_device(self.settings.device)
        with training.reproducible(self.settings.seed, self.settings.threads) as rng:
            inputs = self._prepare(found)
            self.build()
            network = self._trained().to(device)
            lengths = [len(row) for row in inputs] if isinstance(inputs, list) else [1] * len(found)
            targets = [_numbers(labels, self.labels, device)]
            targets += [_numbers((private or {})[name], self.private[name], device) for name in self.private]
            step = Game(network, self.settings, inputs, targets, self.history)
            self.history["loss"] = training.train(
                network,
                step,
                lengths=lengths,
                epochs=self.settings.epochs,
                batch_size=self.settings.batch_size,
                rng=rng,
                progress=progress,
            )
        return self

    def build(self) -> None:
        """Make the untrained network that the settings, classes and words describe."""
        private = [len(classes) for classes in self.private.values()]
        words = len(self.vocabulary) if self.vocabulary else 0
        self.network = Network(self.settings, words, len(self.labels), private)

    def _prepare(self, texts: list[str]) -> list[list[int]] | Tensor:
        if self.settings.encoder != "gru":
            return torch.from_numpy(frozen_vectors(self.settings.encoder, texts))
        self.vocabulary = Vocabulary.of(
            texts, most=self.settings.vocabulary, least_count=self.settings.least_count
        )
        # A training text of unknown words only teaches nothing, and does no harm.
        return self.vocabulary.encode(
            texts, longest=self.settings.max_length, truncate=self.settings.truncate, strict=False
        )

    def _latents(self, network: Any, texts: list[str]) -> Tensor:
        device = self.layer.declared.device
        if self.vocabulary is None:
            vectors = torch.from_numpy(frozen_vectors(self.settings.encoder, texts)).to(device)
            z: Tensor = network.latents(vectors)
            return z
        rows = self.vocabulary.encode(
            texts, longest=self.settings.max_length, truncate=self.settings.truncate
        )
        words: Tensor = network.latents(*networks.padded(rows, device))
        return words

    privatize = TextSystem.encode

    def predict(self, vectors: NDArray[np.float64]) -> list[str]:
        """The task label that the semantic discriminator reads from released vectors."""
        network = self._trained().eval()
        given = torch.from_numpy(self.checked_vectors(vectors)).float().to(self.layer.declared.device)
        with torch.no_grad():
            best: list[int] = network.semantic(given).argmax(dim=1).tolist()
        return [self.labels[number] for number in best]

    @classmethod
    def of_config(cls, config: Mapping[str, Any], vocabulary: Vocabulary | None) -> Self:
        """The untrained model of a saved configuration."""
        model = cls(DPTextSettings(**config["settings"]))
        model.vocabulary = vocabulary
        model.labels = list(config["labels"])
        model.private = {str(name): list(classes) for name, classes in config["private"].items()}
        model.build()
        return model


def _numbers(values: Sequence[str], classes: Sequence[str], device: torch.device) -> Tensor:
    place = {name: number for number, name in enumerate(classes)}
    return torch.tensor([place[value] for value in values], device=device)
