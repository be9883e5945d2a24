"""DPText as a game: private discriminators learn to attack, the others serve the task and confuse them.

Takes a network, its inputs and targets; trains on the batches that it is called with.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

from dplitmus.text import networks, training

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dplitmus.text.dptext import DPTextSettings, Network


class Game:
    """One round of the game on a batch: the discriminators learn, then everybody else does."""

    def __init__(
        self,
        network: Network,
        settings: DPTextSettings,
        inputs: list[list[int]] | Tensor,
        targets: list[Tensor],
        history: dict[str, list[float]],
    ) -> None:
        self.network, self.settings, self.inputs, self.targets = network, settings, inputs, targets
        self.epsilons = history.setdefault("epsilon", [])
        rivals = {id(weight) for weight in network.private.parameters()}
        epsilon = [weight for name, weight in network.named_parameters() if name.endswith("raw_epsilon")]
        ours = [
            weight
            for name, weight in network.named_parameters()
            if id(weight) not in rivals and not name.endswith("raw_epsilon")
        ]
        # A scalar needs larger steps than weights do; no weight decay, which would move the budget.
        groups: list[dict[str, Any]] = [{"params": ours}, {"params": epsilon, "factor": 60.0}]
        self.main = torch.optim.Adam(groups, lr=settings.learning_rate)
        self.rivals = (
            torch.optim.Adam(network.private.parameters(), lr=settings.learning_rate) if rivals else None
        )
        self.device = network.layer.declared.device

    def __call__(self, batch: Sequence[int], share_done: float) -> float:
        """Train on these rows and return the main loss."""
        network, settings = self.network, self.settings
        speed = training.rate(settings.learning_rate, share_done)
        if isinstance(self.inputs, list):
            rows = [self.inputs[row] for row in batch]
            latent = network.latents(*networks.padded(rows, self.device))
        else:
            rows = []
            latent = network.latents(self.inputs[list(batch)].to(self.device))
        noised = network.layer(latent)
        index = torch.as_tensor(batch, device=self.device)
        wanted = [target[index] for target in self.targets]
        if self.rivals:
            training.descend(self.rivals, self._rival_loss(noised.detach(), wanted[1:]), speed)
        loss = functional.cross_entropy(network.semantic(noised), wanted[0])
        if self.rivals and settings.adversary:
            loss = loss - settings.adversary * self._confusion(noised, wanted[1:])
        if network.decoder is not None and settings.reconstruction:
            words = network.decoder.loss(network.features(noised), rows, settings.word_dropout)
            loss = loss + settings.reconstruction * words
        training.descend(self.main, loss, speed)
        if network.layer.learn:
            self.epsilons.append(network.layer.epsilon.item())
        return loss.item()

    def _rival_loss(self, noised: Tensor, wanted: list[Tensor]) -> Tensor:
        pairs = zip(self.network.private, wanted, strict=True)
        return torch.stack(
            [functional.cross_entropy(rival(noised), target) for rival, target in pairs]
        ).mean()

    def _confusion(self, noised: Tensor, wanted: list[Tensor]) -> Tensor:
        # No rival can be worse off than with a coin for long: what is above its entropy is not rewarded.
        losses = []
        for rival, target in zip(self.network.private, wanted, strict=True):
            logits = rival(noised)
            losses.append(functional.cross_entropy(logits, target).clamp(max=math.log(logits.shape[1])))
        return torch.stack(losses).mean()
