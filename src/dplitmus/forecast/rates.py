"""How often each of many symbols had label 1, when all are looked at together.

Takes labels counted per symbol; gives a forecast per symbol. The symbols' true logits are taken as draws
from one unknown distribution, symmetric around zero, which is learned too: where others turned out to be
strong the next one probably is, and where nothing ever was, chance is not taken for a signal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betaln, expit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# The distribution is a mixture of Betas around these logits, each narrow beside the next.
_POSITIVE = 0.03 * 1.45 ** np.arange(16)
_CENTRES = np.concatenate([-_POSITIVE[::-1], [0.0], _POSITIVE])
_DEVIATIONS = np.where(_CENTRES == 0, 0.02, 0.17 * np.abs(_CENTRES))
_MEANS = expit(_CENTRES)
_PSEUDO = 1 / (_MEANS * (1 - _MEANS) * _DEVIATIONS**2)
_ONES, _ZEROS = _PSEUDO * _MEANS, _PSEUDO * (1 - _MEANS)
_EXPECTED_SIZE = 1.0  # of a logit, before anything was seen
_LEAST, _CERTAIN = 0.002, 0.08  # shares: of a component, at least; of either end
_STRENGTH, _STEPS = 1.5, 10  # symbols that the expectation is worth, and steps of expectation-maximisation


def _expected() -> Floats:
    """Shares of the components before anything was seen: logits of about 1, some certain, none ruled out."""
    spacing = np.maximum(np.abs(_CENTRES), _POSITIVE[0])
    shares = np.exp(-np.abs(_CENTRES) / _EXPECTED_SIZE) * spacing
    shares = np.maximum(shares / shares.sum(), _LEAST)
    shares[[0, -1]] = _CERTAIN
    return np.asarray(shares / shares.sum())


_EXPECTED = _expected()


def together(counts: Floats) -> Floats:
    """Probability of label 1 for each symbol, `counts[symbol, label]`.

    Empirical Bayes (Robbins 1956), the shares by expectation-maximisation (Laird 1978); symmetric, because
    the labels are coin tosses and neither input is special.
    """
    # Symbols with equal counts get equal rates; where every output is new, there are two kinds of symbols.
    codes = counts[:, 0].astype(np.int64) << 32 | counts[:, 1].astype(np.int64)
    _, first, place, times = np.unique(codes, return_index=True, return_inverse=True, return_counts=True)
    zeros, ones = counts[first, :1], counts[first, 1:]
    logs = betaln(ones + _ONES, zeros + _ZEROS) - betaln(_ONES, _ZEROS)
    likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
    shares = _EXPECTED
    for _ in range(_STEPS):
        posterior = likelihood * shares
        posterior *= (times / posterior.sum(axis=1))[:, np.newaxis]
        found = posterior.sum(axis=0)
        shares = (found + found[::-1] + 2 * _STRENGTH * _EXPECTED) / (2 * (found.sum() + _STRENGTH))
    posterior = likelihood * shares
    posterior /= posterior.sum(axis=1, keepdims=True)
    rates = (posterior * (ones + _ONES) / (ones + zeros + _PSEUDO)).sum(axis=1)
    return np.asarray(rates[place])
