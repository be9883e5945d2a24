"""ADePT's mechanism on {0, 1}^n: Laplace noise of scale 1/epsilon, whatever the dimension.

ADePT (Krishna et al. 2021) clips to an L2 norm and calibrates Laplace noise, which needs the L1
norm, with it. On zeros against ones the right sensitivity is n; ADePT's is 1, so the true epsilon
is n times the claimed one (Habernal 2021).
"""

from __future__ import annotations

from dplitmus.mechanisms.laplace import Laplace


def adept(*, epsilon: float) -> Laplace:
    """The Laplace mechanism with ADePT's sensitivity of 1 in any dimension."""
    return Laplace(epsilon=epsilon, sensitivity=1.0, name="adept")
