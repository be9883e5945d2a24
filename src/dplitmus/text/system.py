"""What both text systems share: from texts to bounded latents, released vectors and rewritten texts.

Takes texts; gives vectors or texts. An honest model releases by `dplitmus.text.releasing` (secure noise,
ledger); a published mistake releases what its layer makes, and cannot be entered in a ledger.
"""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import torch

from dplitmus.errors import InputError, positive_number, whole_number
from dplitmus.text.data import checked_texts
from dplitmus.text.ledger import Ledger
from dplitmus.text.releasing import grid_scale, noised, on_grid, release
from dplitmus.text.vocabulary import tokens_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from torch import Generator, Tensor

    from dplitmus.text.layer import BoundedLaplace
    from dplitmus.text.secure import Source
    from dplitmus.text.settings import TextSettings
    from dplitmus.text.vocabulary import Vocabulary

_BATCH = 256  # texts at once when nothing is trained


class TextSystem(ABC):
    """A trained text system; `DPText` and `ADePT` add their networks and their training."""

    name: ClassVar[str]
    settings: TextSettings

    def __init__(self, settings: TextSettings) -> None:
        self.settings = settings
        self.vocabulary: Vocabulary | None = None
        self.network: Any = None  # each system has its own kind of network
        self.labels: list[str] = []  # classes of the task
        self.private: dict[str, list[str]] = {}  # classes of each private attribute
        self.history: dict[str, list[float]] = {}  # what the training saw
        self.audited: dict[str, Any] | None = None  # the last audit's verdict, for the model card

    @abstractmethod
    def fit(
        self,
        texts: Sequence[str],
        labels: Sequence[str] | None = None,
        private: Mapping[str, Sequence[str]] | None = None,
        *,
        progress: Callable[[int], None] | None = None,
    ) -> Self:
        """Train on the texts, their task labels and their private attributes."""

    @abstractmethod
    def _latents(self, network: Any, texts: list[str]) -> Tensor:
        """The latent vectors of the texts, not yet bounded."""

    @classmethod
    @abstractmethod
    def of_config(cls, config: Mapping[str, Any], vocabulary: Vocabulary | None) -> Self:
        """The untrained model of a saved configuration."""

    def config(self) -> dict[str, Any]:
        """What `of_config` needs besides the words."""
        return {"settings": asdict(self.settings), "labels": self.labels, "private": self.private}

    @property
    def layer(self) -> BoundedLaplace:
        """The noise layer, which knows the claim."""
        layer: BoundedLaplace = self._trained().layer
        return layer

    @property
    def honest(self) -> bool:
        """Whether the claim follows from the bound, the sensitivity and the noise."""
        return self.layer.honest

    def _trained(self) -> Any:
        if self.network is None:
            raise InputError("the model is not trained", code="DP201", help="call fit(texts) first")
        return self.network

    def bounded(self, texts: str | Sequence[str]) -> NDArray[np.float64]:
        """The latent vectors inside the bound, without noise: for attacks and audits, never for release."""
        found = checked_texts(texts)
        network = self._trained().eval()
        parts = []
        with torch.no_grad():
            for first in range(0, len(found), _BATCH):
                z = self._latents(network, found[first : first + _BATCH])
                parts.append(self.layer.bounded(z.double()).cpu().numpy())
        return np.concatenate(parts)

    def usable(self, texts: Sequence[str]) -> list[str]:
        """The texts that the model would not refuse: with a known word, and not too long."""
        if self.vocabulary is None:
            return list(texts)
        longest = None if self.settings.truncate else self.settings.max_length
        known = self.vocabulary.numbers
        tokens = [(text, tokens_of(text)) for text in texts]
        return [
            text
            for text, words in tokens
            if any(word in known for word in words) and (longest is None or len(words) <= longest)
        ]

    def encode(
        self,
        texts: str | Sequence[str],
        *,
        epsilon: float | None = None,
        ledger: Ledger | None = None,
        texts_per_person: int = 1,
    ) -> NDArray[np.float64]:
        """Released vectors, one per text.

        `epsilon` is the model's own unless given. A `ledger` accounts for several releases; without one the
        release stands alone. There is no seed: noise that can be repeated can be subtracted.
        """
        spent = self._epsilon(epsilon)
        whole_number("texts_per_person", texts_per_person, least=1, help="try texts_per_person=1")
        bounded = self.bounded(texts)
        if not self.honest:
            self._refuse_ledger(ledger)
            return self.noised(bounded, spent, secrets.token_bytes)
        account = ledger or Ledger(spent * texts_per_person)
        note = f"{self.name}: {len(bounded)} texts"
        return release(
            bounded,
            self.layer.bound,
            epsilon=spent,
            ledger=account,
            texts_per_person=texts_per_person,
            note=note,
        )

    def noised(self, bounded: NDArray[np.float64], epsilon: float, source: Source) -> NDArray[np.float64]:
        """What a release draws, from a source of bytes that an audit may fix; nothing is paid for."""
        if self.honest:
            return noised(on_grid(bounded, self.layer.bound), grid_scale(self.layer.bound, epsilon), source)
        device = self.layer.declared.device
        z = torch.from_numpy(bounded).to(device)
        scale = torch.tensor(epsilon, dtype=torch.float64, device=device)
        with torch.no_grad():
            drawn: NDArray[np.float64] = (
                self.layer.perturbed(z, scale, _generator(source, device)).cpu().numpy()
            )
        return drawn

    def rewrite(
        self,
        texts: str | Sequence[str],
        *,
        epsilon: float | None = None,
        ledger: Ledger | None = None,
        texts_per_person: int = 1,
        temperature: float = 0.0,
    ) -> list[str]:
        """Texts written from released vectors: post-processing, so that nothing more is spent."""
        released = self.encode(texts, epsilon=epsilon, ledger=ledger, texts_per_person=texts_per_person)
        return self.decode(released, temperature=temperature)

    def decode(
        self, vectors: NDArray[np.float64], *, temperature: float = 0.0, seed: int | None = None
    ) -> list[str]:
        """Texts from vectors: the likeliest words, or words drawn at a temperature above 0."""
        vectors = self.checked_vectors(vectors)
        network = self._trained().eval()
        decoder = getattr(network, "decoder", None)
        if decoder is None or self.vocabulary is None:
            raise InputError(
                "a model on a frozen sentence encoder cannot rewrite: it has no decoder",
                code="DP201",
                help="use encode, or train with encoder='gru'",
            )
        device = self.layer.declared.device
        generator = None
        if temperature:
            temperature = positive_number("temperature", temperature)
            fresh = secrets.randbits(63) if seed is None else seed
            generator = torch.Generator(device).manual_seed(fresh)
        texts: list[str] = []
        with torch.no_grad():
            for first in range(0, len(vectors), _BATCH):
                part = torch.from_numpy(vectors[first : first + _BATCH]).float().to(device)
                rows = decoder.write(
                    network.features(part),
                    self.settings.max_length,
                    temperature=temperature,
                    generator=generator,
                )
                texts += [self.vocabulary.decode(row) for row in rows]
        return texts

    def checked_vectors(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Released vectors of this model's size, or a refusal."""
        found = np.asarray(vectors, dtype=np.float64)
        size = self.layer.bound.dimension
        if found.ndim != 2 or found.shape[1] != size or not np.isfinite(found).all():
            raise InputError(
                f"vectors of shape {found.shape} must be finite rows of {size} numbers",
                code="DP201",
                help="give what encode() gave",
            )
        return found

    def _epsilon(self, epsilon: float | None) -> float:
        return self.layer.budget if epsilon is None else positive_number("epsilon", epsilon)

    def _refuse_ledger(self, ledger: Ledger | None) -> None:
        if ledger is not None:
            raise InputError(
                f"a ledger must not be charged for {self.name} as published: its claim is false",
                code="DP225",
                help="train the corrected system",
            )

    def save_pretrained(self, directory: str | os.PathLike[str]) -> Path:
        """Write the model directory: configuration, weights, vocabulary and model card."""
        from dplitmus.text.saving import save

        self._trained()
        return save(self, directory)

    @classmethod
    def from_pretrained(cls, directory: str | os.PathLike[str]) -> Self:
        """Read a model directory of this system."""
        from dplitmus.text.saving import load

        model = load(directory)
        if not isinstance(model, cls):
            raise InputError(
                f"{str(directory)!r} holds a model of {model.name}, not {cls.name}",
                code="DP223",
                help="dplitmus.text.load reads either",
            )
        return model

    def claim(self) -> Mapping[str, Any]:
        """What is declared, for files and the model card."""
        layer = self.layer
        return {
            "epsilon": layer.budget,
            "relation": layer.relation,
            "bound": layer.bound.kind,
            "radius": layer.bound.radius,
            "dimension": layer.bound.dimension,
            "sensitivity": layer.sensitivity,
            "l1_diameter": layer.bound.diameter,
            "sampler": layer.sampler,
            "holds": layer.honest,
        }


def _generator(source: Source, device: torch.device) -> Generator:
    return torch.Generator(device).manual_seed(int.from_bytes(source(8), "little") >> 1)
