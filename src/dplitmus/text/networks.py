"""The parts that are trained: encoders to a latent vector, a decoder from it, discriminators on it.

Takes rows of word numbers or latent vectors; gives latent vectors, words or classes. The decoder sees the
latent vector and its own words, nothing else of the input: no attention, no copying, no path around the
bottleneck.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional

from dplitmus.text.vocabulary import END, PAD, START, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

_CANDIDATES = 600  # random words in the softmax of a training batch, besides those of the batch
_FULL_SOFTMAX = 1500  # vocabularies up to this size are cheap enough


def padded(rows: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """A rectangle of word numbers and the length of each row; the lengths stay on the CPU."""
    longest = max(len(row) for row in rows)
    table = torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows], device=device)
    return table, torch.tensor([len(row) for row in rows])


class LastState(nn.Module):
    """A unidirectional LSTM read at its end, as in ADePT: hidden and cell state to a latent vector."""

    def __init__(self, embedding: nn.Embedding, hidden: int, latent: int) -> None:
        super().__init__()
        self.embedding = embedding
        self.recurrent = nn.LSTM(embedding.embedding_dim, hidden, batch_first=True)
        self.project = nn.Linear(2 * hidden, latent)
        # Centred and scaled by constants of the training: the clip must not squeeze all texts together.
        self.standardise = nn.BatchNorm1d(latent, affine=False)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """One latent vector per row, not yet bounded."""
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embedding(words), lengths, batch_first=True, enforce_sorted=False
        )
        _, (hidden, cell) = self.recurrent(packed)
        latent: Tensor = self.standardise(self.project(torch.cat([hidden[0], cell[0]], dim=1)))
        return latent


class Pooled(nn.Module):
    """A GRU whose states are pooled over the sentence (maximum and mean): DPText's encoder."""

    def __init__(self, embedding: nn.Embedding, hidden: int, latent: int, dropout: float) -> None:
        super().__init__()
        self.embedding = embedding
        self.dropout = nn.Dropout(dropout)
        self.recurrent = nn.GRU(embedding.embedding_dim, hidden, batch_first=True)
        self.project = nn.Linear(2 * hidden, latent)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """One latent vector per row, not yet bounded."""
        states, _ = self.recurrent(self.dropout(self.embedding(words)))
        inside = (torch.arange(words.shape[1])[None] < lengths[:, None]).to(words.device)[..., None]
        highest = states.masked_fill(~inside, -math.inf).amax(dim=1)
        mean = (states * inside).sum(dim=1) / inside.sum(dim=1)
        latent: Tensor = self.project(self.dropout(torch.cat([highest, mean], dim=1)))
        return latent


class Centred(nn.Module):
    """Latents centred and scaled by what a batch has in common, and by constants once trained.

    One number that drifts to an end of its box has no gradient to come back with, and says nothing from
    then on. Centred it cannot drift; the spread reaches well into both ends.
    """

    def __init__(self, latent: int) -> None:
        super().__init__()
        self.standardise = nn.BatchNorm1d(latent, affine=False)

    def forward(self, latent: Tensor) -> Tensor:
        """The same rows with mean 0 and a standard deviation of 2."""
        centred: Tensor = 2.0 * self.standardise(latent)
        return centred


class Readout(nn.Module):
    """What a network can use of a noised vector: each coordinate cut at the bound, and whether it was inside.

    The likelihood ratio of Laplace noise between the two ends of a box is this clamp, so nothing useful is
    lost; and the second bit shows which coordinates DPText's sampler left as they were.
    """

    def __init__(self, radius: float, dimension: int) -> None:
        super().__init__()
        self.radius = radius
        self.features = 2 * dimension

    def forward(self, noised: Tensor) -> Tensor:
        """Twice as many features as coordinates."""
        inside = (noised.abs() <= self.radius).to(noised.dtype)
        return torch.cat([noised.clamp(-self.radius, self.radius) / self.radius, inside], dim=1)


class Discriminator(nn.Module):
    """A recurrent cell fed with the noised latent vector, and a class from its state."""

    def __init__(self, readout: Readout, hidden: int, classes: int) -> None:
        super().__init__()
        self.readout = readout
        self.cell = nn.GRUCell(readout.features, hidden)
        self.classify = nn.Linear(hidden, classes)

    def forward(self, noised: Tensor) -> Tensor:
        """A logit per class."""
        logits: Tensor = self.classify(self.cell(self.readout(noised)))
        return logits


class Decoder(nn.Module):
    """An LSTM that writes a text from features of a latent vector; its output words share the embedding."""

    def __init__(self, embedding: nn.Embedding, features: int, hidden: int) -> None:
        super().__init__()
        self.embedding = embedding
        self.start = nn.Linear(features, 2 * hidden)
        self.recurrent = nn.LSTM(embedding.embedding_dim + features, hidden, batch_first=True)
        self.project = nn.Linear(hidden, embedding.embedding_dim)
        self.bias = nn.Parameter(torch.zeros(embedding.num_embeddings))

    def _state(self, features: Tensor) -> tuple[Tensor, Tensor]:
        hidden, cell = self.start(features).chunk(2, dim=1)
        return hidden.tanh()[None].contiguous(), cell[None].contiguous()

    def loss(self, features: Tensor, rows: Sequence[Sequence[int]], word_dropout: float) -> Tensor:
        """Cross-entropy per word, with the true words before it as input, some of them hidden.

        Hidden words make the decoder look at the latent vector instead of guessing from the last word.
        """
        device = features.device
        before, _ = padded([[START, *row] for row in rows], device)
        target, _ = padded([[*row, END] for row in rows], device)
        hide = (torch.rand(before.shape, device=device) < word_dropout) & (before > START)
        before = before.masked_fill(hide, UNKNOWN)
        along = features[:, None].expand(-1, before.shape[1], -1)
        states, _ = self.recurrent(torch.cat([self.embedding(before), along], dim=2), self._state(features))
        inside = target != PAD
        wanted = target[inside]
        written = self.project(states[inside])
        if self.bias.numel() <= _FULL_SOFTMAX:
            return functional.cross_entropy(written @ self.embedding.weight.T + self.bias, wanted)
        # A large vocabulary: the batch's own words and random others stand for all.
        others = torch.randint(END, self.bias.numel(), (_CANDIDATES,), device=device)
        candidates = torch.unique(torch.cat([wanted, others]))
        logits = written @ self.embedding.weight[candidates].T + self.bias[candidates]
        return functional.cross_entropy(logits, torch.searchsorted(candidates, wanted))

    def write(
        self,
        features: Tensor,
        longest: int,
        *,
        temperature: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> list[list[int]]:
        """One row of words per vector: the likeliest word each time, or one drawn at a temperature."""
        state = self._state(features)
        words = torch.full((len(features), 1), START, device=features.device)
        ended = torch.zeros(len(features), dtype=torch.bool, device=features.device)
        written = []
        for _ in range(longest + 1):
            step = torch.cat([self.embedding(words), features[:, None]], dim=2)
            states, state = self.recurrent(step, state)
            logits = self.project(states[:, 0]) @ self.embedding.weight.T + self.bias
            logits[:, [PAD, START, UNKNOWN]] = -math.inf
            if temperature > 0:
                chances = (logits / temperature).softmax(dim=1)
                words = torch.multinomial(chances, 1, generator=generator)
            else:
                words = logits.argmax(dim=1, keepdim=True)
            written.append(words)
            ended |= words[:, 0] == END
            if bool(ended.all()):
                break
        rows: list[list[int]] = torch.cat(written, dim=1).tolist()
        return rows


def embedding(words: int, size: int) -> nn.Embedding:
    """Word vectors that start small, as they are the output layer too."""
    table = nn.Embedding(words, size, padding_idx=PAD)
    nn.init.normal_(table.weight, std=0.1)
    return table
