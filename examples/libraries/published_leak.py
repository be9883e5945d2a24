"""A leak that others have published, found again: Opacus divides by the number of records.

https://github.com/meta-pytorch/opacus/issues/571 (Opacus 1.6.0): the noisy sum of gradients is divided by the
expected batch size, which comes from the size of the private dataset. With one record or two the noise has
twice the size or not, whatever the gradients are. A larger dataset hides this: the ratio is (n + 1) / n.

    python examples/libraries/published_leak.py
"""

from __future__ import annotations

import logging
import warnings
from typing import Any

import numpy as np
import torch
from opacus import PrivacyEngine
from torch.utils.data import DataLoader, TensorDataset

import dplitmus

DIMENSION = 64
DELTA = 1e-5
logging.getLogger("opacus").setLevel(logging.ERROR)


def train(records: Any) -> tuple[Any, PrivacyEngine]:
    """One step on all records, from weights of 0, as in Opacus' introduction."""
    features = torch.as_tensor(np.asarray(records), dtype=torch.float32)
    network = torch.nn.Linear(DIMENSION, 1, bias=False)
    torch.nn.init.zeros_(network.weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of secure randomness, once for every draw
        engine = PrivacyEngine(accountant="rdp")
        module, optimizer, loader = engine.make_private(
            module=network,
            optimizer=torch.optim.SGD(network.parameters(), lr=1.0),
            data_loader=DataLoader(TensorDataset(features), batch_size=len(features)),
            noise_multiplier=4.0,
            max_grad_norm=1.0,
        )
        for (batch,) in loader:
            optimizer.zero_grad()
            module(batch).mean().backward()
            optimizer.step()
    return network.weight.detach().numpy().ravel().copy(), engine


@dplitmus.each
def one_step(records: Any, rng: np.random.Generator) -> Any:
    """The weights that are released."""
    torch.manual_seed(int(rng.integers(2**63 - 1)))
    return train(records)[0]


if __name__ == "__main__":
    one, two = (np.zeros((records, DIMENSION)) for records in (1, 2))
    claimed = train(one)[1].get_epsilon(DELTA)  # what Opacus says of this step
    print(
        dplitmus.audit(
            one_step,
            epsilon=claimed,
            delta=DELTA,
            neighbours=[(one, two)],
            relation="add-remove",
            samples=5_000,
            seed=1,
        )
    )
