"""A bug that others have published, found again: the noise of diffprivlib's LinearRegression.

https://github.com/IBM/differential-privacy-library/issues/105 (diffprivlib 0.6.6): the sensitivity of a
squared feature is computed from its lower bound alone, so that it is 0 for a feature in [0, 10].

    dplitmus audit examples/libraries/published_bug.py:regression --samples 20000
"""

from __future__ import annotations

from diffprivlib.models import LinearRegression

from dplitmus.adapters import adapt

# Two records that differ in the feature: the claim must hide which of them is in the data.
SMALL = {"X": [[0.1]], "y": [0.0]}
LARGE = {"X": [[10.0]], "y": [0.0]}

regression = adapt(
    LinearRegression(epsilon=1.0, bounds_X=(0.0, 10.0), bounds_y=(0.0, 1.0), fit_intercept=False),
    relation="replace-one",
    neighbours=[(SMALL, LARGE)],
)
# The same model with a lower bound of -10, where the lower bound alone gives the right sensitivity.
symmetric = adapt(
    LinearRegression(epsilon=1.0, bounds_X=(-10.0, 10.0), bounds_y=(-1.0, 1.0), fit_intercept=False),
    relation="replace-one",
    neighbours=[(SMALL, LARGE)],
)
