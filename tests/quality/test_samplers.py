"""Do all four samplers draw from the Laplace distribution, and from the same one?"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dplitmus.mechanisms.laplace import SAMPLERS, standard_laplace_cdf

N = 1_000_000
ALPHA = 1e-7


def noise(sampler: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    seed = list(SAMPLERS).index(sampler)
    return np.sort(SAMPLERS[sampler](np.random.default_rng(seed), (N,)))


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_each_sampler_has_the_laplace_law(sampler: str) -> None:
    """Kolmogorov distance against the DKW bound; false-failure probability 1e-7 per sampler."""
    law = standard_laplace_cdf(noise(sampler))
    distance = max((np.arange(1, N + 1) / N - law).max(), (law - np.arange(N) / N).max())
    assert distance < math.sqrt(math.log(2 / ALPHA) / (2 * N))


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(SAMPLERS, 2)))
def test_samplers_agree_with_each_other(first: str, second: str) -> None:
    """Two-sample Kolmogorov distance; false-failure probability 1e-7 per pair, 6e-7 in all.

    Each sample is within d of the truth but with probability 2 exp(-2 n d^2), hence the two are
    within 2d of each other but with twice that.
    """
    one, other = noise(first), noise(second)
    everything = np.concatenate([one, other])
    distance = np.abs(
        np.searchsorted(one, everything, "right") - np.searchsorted(other, everything, "right")
    ).max()
    assert distance / N < 2 * math.sqrt(math.log(4 / ALPHA) / (2 * N))


def test_the_wrong_sampler_would_have_been_noticed() -> None:
    """The same test on DPText's noise fails by a wide margin: the test can fail."""
    from dplitmus.mechanisms.dptext import standard_noise

    wrong = np.sort(standard_noise(np.random.default_rng(0), (N,), "redraw"))
    assert (standard_laplace_cdf(wrong) - np.arange(N) / N).max() > 0.49
