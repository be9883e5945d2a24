"""How often each of many symbols had label 1, when all are looked at together.

Takes labels counted per symbol; gives a forecast per symbol. The symbols' true logits are taken as draws
from an unknown law, symmetric around zero, which is learned too: where others turned out to be strong the
next one probably is, and where nothing ever was, chance is not taken for a signal. Rare symbols may have
another law than common ones: what betrays the input is often rare, or all that is common.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betaln, expit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# A law is a mixture of Betas around these logits, each narrow beside the next.
_POSITIVE = 0.03 * 1.45 ** np.arange(16)
_CENTRES = np.concatenate([-_POSITIVE[::-1], [0.0], _POSITIVE])
_DEVIATIONS = np.where(_CENTRES == 0, 0.02, 0.17 * np.abs(_CENTRES))
_MEANS = expit(_CENTRES)
_PSEUDO = 1 / (_MEANS * (1 - _MEANS) * _DEVIATIONS**2)
_ONES, _ZEROS = _PSEUDO * _MEANS, _PSEUDO * (1 - _MEANS)
_NORMAL = betaln(_ONES, _ZEROS)
_EXPECTED_SIZE = 1.0  # of a logit, before anything was seen
_LEAST, _CERTAIN = 0.002, 0.08  # shares: of a component, at least; of either end
_TELLING = ((0.02, 0.25), (0.5, 0.25), (0.98, 0.5))  # share of symbols that tell something, and its prior
_ALL = 0.3  # prior of telling everything
_OTHERS = 0.05  # share of symbols of any other kind
_ANY_SIZE = 0.05  # prior of the law by which symbols tell more or less
_ALIKE = 0.15  # prior of one law for rare and common symbols


def _expected() -> Floats:
    """Logits of about 1, some certain, none ruled out."""
    spacing = np.maximum(np.abs(_CENTRES), _POSITIVE[0])
    shares = np.exp(-np.abs(_CENTRES) / _EXPECTED_SIZE) * spacing
    shares = np.maximum(shares / shares.sum(), _LEAST)
    shares[[0, -1]] = _CERTAIN
    return np.asarray(shares / shares.sum())


def _laws() -> tuple[Floats, Floats]:
    """The laws that are thought of, and the logs of their prior: one size of logits each, or any size."""
    expected, middle = _expected(), _POSITIVE.size
    laws, masses = [expected], [_ANY_SIZE]
    sizes = expected[middle + 1 :].copy()
    sizes *= (1 - _ALL) / sizes[:-1].sum()
    sizes[-1] = _ALL
    for k, mass in enumerate(sizes, start=1):
        for telling, share in _TELLING:
            law = np.zeros(_CENTRES.size)
            law[middle] = 1 - telling
            law[[middle - k, middle + k]] = telling / 2
            laws.append((1 - _OTHERS) * law + _OTHERS * expected)
            masses.append((1 - _ANY_SIZE) * mass * share)
    return np.array(laws).T, np.log(masses)


_LAWS, _LOG_PRIOR = _laws()


def together(counts: Floats) -> Floats:
    """Probability of label 1 for each symbol, `counts[symbol, label]`.

    Bayes over all laws and over all cuts between rare symbols and common ones, which then have laws of
    their own. Laws are symmetric, because the labels are coin tosses and neither input is special; that a
    law may depend on how common a symbol is takes nothing for granted about its label.
    """
    # Symbols with equal counts get equal rates; where every output is new, there are two kinds of symbols.
    codes = counts.sum(axis=1).astype(np.int64) << 32 | counts[:, 1].astype(np.int64)
    kinds, first, place, times = np.unique(codes, return_index=True, return_inverse=True, return_counts=True)
    zeros, ones = counts[first, :1], counts[first, 1:]
    logs = betaln(ones + _ONES, zeros + _ZEROS) - _NORMAL
    likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
    by_law = likelihood @ _LAWS
    rates = (likelihood * (ones + _ONES) / (ones + zeros + _PSEUDO)) @ _LAWS / by_law
    # Row i: the kinds up to i, and those after it, from rare to common.
    up_to = np.cumsum(times[:, np.newaxis] * np.log(by_law), axis=0)
    rare, common = up_to + _LOG_PRIOR, up_to[-1] - up_to + _LOG_PRIOR
    rare_evidence, common_evidence = (np.logaddexp.reduce(part, axis=1) for part in (rare, common))
    evidence = rare_evidence + common_evidence
    cuts = np.diff(kinds >> 32) > 0
    evidence[:-1] += np.where(cuts, math.log((1 - _ALIKE) / max(cuts.sum(), 1)), -np.inf)
    evidence[-1] += math.log(_ALIKE)  # after the last kind is no cut
    believed = np.exp(evidence - evidence.max())[:, np.newaxis]
    of_rare = believed * np.exp(rare - rare_evidence[:, np.newaxis])
    of_common = believed * np.exp(common - common_evidence[:, np.newaxis])
    # A kind is among the rare for every cut at or after it, among the common for those before it.
    weights = np.cumsum(of_rare[::-1], axis=0)[::-1]
    weights[1:] += np.cumsum(of_common[:-1], axis=0)
    return np.asarray(((rates * weights).sum(axis=1) / believed.sum())[place])
