"""ADePT: an autoencoder whose latent vector is clipped and noised; what it writes then is the rewrite.

Takes texts; gives texts. Encoder and decoder are unidirectional LSTMs; noise is added only when rewriting,
not in training. `sensitivity="published"` is 2C with an L2 clip, too small by sqrt(n) for Laplace noise;
"correct" is the L1 diameter, 2C sqrt(n) for the L2 clip and 2C for an L1 clip. Published at epsilon is
correct at epsilon * sqrt(n).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import torch
from torch import Tensor, nn

from dplitmus.errors import bad_value, one_of, whole_number
from dplitmus.text import networks, training
from dplitmus.text.data import checked_texts, unusable
from dplitmus.text.layer import BoundedLaplace
from dplitmus.text.settings import TextSettings, share
from dplitmus.text.system import TextSystem
from dplitmus.text.vocabulary import SPECIAL, Vocabulary

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping, Sequence

SENSITIVITIES = ("published", "correct")
_CHANGED = 0.6  # share of the training texts that are changed in each epoch


@dataclass(frozen=True, kw_only=True)
class ADePTSettings(TextSettings):
    """All settings of the autoencoder and its noise."""

    sensitivity: str = "correct"
    epsilon: float = 100.0
    latent: int = 96
    bound: str = "l2"
    hidden: int = 256
    embedding: int = 128
    vocabulary: int = 6000
    max_length: int = 20
    epochs: int = 25
    learning_rate: float = 3e-3
    word_dropout: float = 0.4
    dropout: float = 0.0
    substitution: float = 0.15

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("sensitivity", self.sensitivity, SENSITIVITIES)
        one_of("bound", self.bound, ("l2", "l1"))
        whole_number("latent", self.latent, least=1, most=2**16, help="try latent=96")
        share("substitution", self.substitution)
        if self.sensitivity == "published" and self.bound != "l2":
            raise bad_value(
                "bound", self.bound, "be 'l2' as published", help="with an L1 clip 2C is correct: say so"
            )

    def layer(self) -> BoundedLaplace:
        """The noise layer, with the sensitivity that was asked for."""
        published = self.sensitivity == "published"
        return BoundedLaplace(
            self.latent,
            epsilon=self.epsilon,
            bound=self.bound,
            radius=self.radius,
            sensitivity=2 * self.radius if published else None,
            unsafe=published,
        )


class Network(nn.Module):
    """Encoder, noise layer and decoder, all on one table of word vectors."""

    def __init__(self, settings: ADePTSettings, words: int) -> None:
        super().__init__()
        table = networks.embedding(words, settings.embedding)
        self.layer = settings.layer()
        self.encoder = networks.LastState(table, settings.hidden, settings.latent)
        self.decoder = networks.Decoder(table, settings.latent, settings.hidden)
        # A constant: coordinates of a vector of norm C are small, and networks like numbers around 1.
        root = math.sqrt(settings.latent) if settings.bound == "l2" else settings.latent
        self.gain = root / settings.radius
        self.dropout = nn.Dropout(settings.dropout)

    def features(self, noised: Tensor) -> Tensor:
        """What the decoder sees of a noised vector."""
        dropped: Tensor = self.dropout(noised * self.gain)
        return dropped


class ADePT(TextSystem):
    """Train with `fit`, rewrite with `rewrite` (alias `privatize`)."""

    name: ClassVar[str] = "adept"
    settings: ADePTSettings

    def __init__(self, settings: ADePTSettings | None = None, **changes: Any) -> None:
        super().__init__((settings or ADePTSettings()).changed(changes))

    def fit(
        self,
        texts: Sequence[str],
        labels: Sequence[str] | None = None,  # noqa: ARG002  (one interface: an autoencoder needs none)
        private: Mapping[str, Sequence[str]] | None = None,  # noqa: ARG002
        *,
        progress: Callable[[int], None] | None = None,
    ) -> Self:
        """Train the autoencoder on the texts; labels and private attributes are not looked at."""
        found = checked_texts(texts)
        if len(found) < 2:
            raise unusable("ADePT needs two texts to train on, or more", "give more texts")
        settings = self.settings
        device = training.usable_device(settings.device)
        with training.reproducible(settings.seed, settings.threads) as rng:
            self.vocabulary = Vocabulary.of(found, most=settings.vocabulary, least_count=settings.least_count)
            rows = self.vocabulary.encode(
                found, longest=settings.max_length, truncate=settings.truncate, strict=False
            )
            self.build()
            network = self._trained().to(device)
            optimiser = torch.optim.Adam(network.parameters(), lr=settings.learning_rate)

            def step(batch: Sequence[int], share_done: float) -> float:
                changed = [self._changed(rows[row], rng) for row in batch]
                latent = network.layer.bounded(network.encoder(*networks.padded(changed, device)))
                features = network.features(latent)
                loss: Tensor = network.decoder.loss(features, changed, settings.word_dropout)
                training.descend(optimiser, loss, training.rate(settings.learning_rate, share_done))
                return loss.item()

            self.history["loss"] = training.train(
                network,
                step,
                lengths=[len(row) for row in rows],
                epochs=settings.epochs,
                batch_size=settings.batch_size,
                rng=rng,
                progress=progress,
            )
        return self

    def with_sensitivity(self, sensitivity: str) -> ADePT:
        """The same trained weights behind another noise scale: noise plays no part in the training."""
        other = ADePT(replace(self.settings, sensitivity=sensitivity))
        other.vocabulary, other.history = self.vocabulary, self.history
        other.build()
        declared = other.layer.declared.clone()
        weights = {**self._trained().state_dict(), "layer.declared": declared}
        other.network.load_state_dict(weights)
        other.network.to(self.layer.declared.device).eval()
        return other

    def _changed(self, row: list[int], rng: random.Random) -> list[int]:
        """The row with some words replaced by random ones: it must copy what it was never shown."""
        if not self.settings.substitution or rng.random() > _CHANGED or self.vocabulary is None:
            return row
        chance = 2 * rng.random() * self.settings.substitution
        # Words are sorted by frequency: a power of a uniform number prefers frequent ones.
        known = len(self.vocabulary) - len(SPECIAL)
        return [
            len(SPECIAL) + int(known * rng.random() ** 1.5) if rng.random() < chance else word for word in row
        ]

    def build(self) -> None:
        """Make the untrained network that the settings and words describe."""
        self.network = Network(self.settings, len(self.vocabulary or ()))

    def _latents(self, network: Any, texts: list[str]) -> Tensor:
        if self.vocabulary is None:  # pragma: no cover  (a trained model has one)
            raise ValueError("no vocabulary")
        rows = self.vocabulary.encode(
            texts, longest=self.settings.max_length, truncate=self.settings.truncate
        )
        z: Tensor = network.encoder(*networks.padded(rows, self.layer.declared.device))
        return z

    privatize = TextSystem.rewrite

    @classmethod
    def of_config(cls, config: Mapping[str, Any], vocabulary: Vocabulary | None) -> Self:
        """The untrained model of a saved configuration."""
        model = cls(ADePTSettings(**config["settings"]))
        model.vocabulary = vocabulary
        model.build()
        return model
