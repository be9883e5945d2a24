"""The noise layer: bounds a latent vector and adds Laplace noise for a declared claim.

Takes latent vectors of any two texts; gives noised ones. The claim is local differential privacy: any two
texts are neighbours, so the sensitivity is the L1 diameter of the bound. Whatever does not fit together is
refused, unless `unsafe=True` says that a published mistake is wanted.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Generator, Tensor, nn

from dplitmus.errors import InputError, bad_value, one_of, positive_number
from dplitmus.text.bound import KINDS, Bound
from dplitmus.text.sampling import SAMPLERS, noise

RELATION = "any two texts"
_LEAST_SHARE = 1e-3  # of the budget: the smallest epsilon that can be learned
_ROUNDING = 1e-9


class BoundedLaplace(nn.Module):
    """Bound, then noise, in training and in evaluation alike.

    `epsilon` is the declared budget. With `learn=True` the noise follows a trained epsilon between 0.001
    and 1 times the budget, never above it. `cap=False` lifts the budget, as in DPText; `sensitivity`
    replaces the diameter of the bound; `sampler` is one of `SAMPLERS`: each of them needs `unsafe=True`
    where the claim would be false.
    """

    declared: Tensor

    def __init__(
        self,
        dimension: int,
        *,
        epsilon: float,
        bound: str = "l1",
        radius: float = 1.0,
        relation: str = RELATION,
        sensitivity: float | None = None,
        sampler: str = "laplace",
        learn: bool = False,
        start: float | None = None,
        cap: bool = True,
        unsafe: bool = False,
    ) -> None:
        super().__init__()
        one_of("relation", relation, (RELATION,))
        self.bound = Bound(kind=bound, radius=radius, dimension=dimension)
        self.budget = positive_number("epsilon", epsilon)
        self.sampler = one_of("sampler", sampler, SAMPLERS)
        self.sensitivity = positive_number("sensitivity", sensitivity or self.bound.diameter)
        self.relation, self.learn, self.cap, self.unsafe = relation, learn, cap, unsafe
        if not unsafe:
            self._refuse_mistakes()
        first = self.budget / 2 if start is None else positive_number("start", start)
        if cap and first > self.budget:
            raise bad_value("start", start, f"be at most epsilon={self.budget:g}", help="start lower")
        raw = torch.tensor(self._raw(first) if learn else 0.0)
        if learn:
            self.raw_epsilon = nn.Parameter(raw)
        # Saved with the weights: a layer never takes over weights of another claim.
        self.register_buffer("declared", torch.tensor(self._declaration(), dtype=torch.float64))

    def _refuse_mistakes(self) -> None:
        needed = self.bound.diameter
        if self.sensitivity < needed * (1 - _ROUNDING):
            raise _mismatch(
                f"sensitivity={self.sensitivity:g} must be at least {needed:g}, the L1 distance that two "
                f"vectors within the {self.bound.kind} bound can have"
            )
        if self.sampler != "laplace":
            raise _mismatch(f"sampler={self.sampler!r} must be 'laplace': the others are published mistakes")
        if not self.cap:
            raise _mismatch("cap=False must not be: a learned epsilon without a cap has no claim")

    def _declaration(self) -> list[float]:
        kind, sampler = KINDS.index(self.bound.kind), SAMPLERS.index(self.sampler)
        return [self.bound.dimension, self.bound.radius, kind, sampler, self.sensitivity, self.budget]

    @property
    def honest(self) -> bool:
        """Whether bound, sensitivity and sampler fit together, so that the claim holds."""
        enough = self.sensitivity >= self.bound.diameter * (1 - _ROUNDING)
        return enough and self.sampler == "laplace" and (self.cap or not self.learn)

    @property
    def epsilon(self) -> Tensor:
        """What the noise follows now: the declared budget, or the trained value below it."""
        if not self.learn:
            return torch.tensor(self.budget, dtype=torch.float64, device=self.declared.device)
        raw = self.raw_epsilon.double()
        if not self.cap:
            return torch.nn.functional.softplus(raw)
        # A sigmoid, because the gradient of a clamp is zero at the cap.
        least = _LEAST_SHARE * self.budget
        return least + (self.budget - least) * raw.sigmoid()

    def _raw(self, epsilon: float) -> float:
        if not self.cap:
            return epsilon + math.log(-math.expm1(-epsilon))  # the inverse of softplus
        share = epsilon / self.budget
        inside = min(max((share - _LEAST_SHARE) / (1 - _LEAST_SHARE), 1e-4), 1 - 1e-4)
        return math.log(inside / (1 - inside))

    def bounded(self, z: Tensor) -> Tensor:
        """The vectors inside the bound, without noise: not for release."""
        self._refuse_unusable(z)
        return self.bound.clip(z)

    def forward(self, z: Tensor, generator: Generator | None = None) -> Tensor:
        """Bounded and noised vectors, at the current epsilon."""
        return self.perturbed(self.bounded(z), self.epsilon, generator)

    def perturbed(self, bounded: Tensor, epsilon: Tensor, generator: Generator | None = None) -> Tensor:
        """Noise for vectors that are already inside the bound."""
        drawn = noise(self.sampler, tuple(bounded.shape), self.sensitivity / epsilon, generator)
        return bounded + drawn.to(bounded.dtype)

    def _refuse_unusable(self, z: Tensor) -> None:
        if z.dtype not in {torch.float32, torch.float64} or torch.is_autocast_enabled(z.device.type):
            raise _mismatch(
                f"z.dtype={z.dtype} must be float32 or float64 without autocast: half-precision noise ends "
                "after a few scales, and what lies beyond tells texts apart"
            )
        if z.shape[-1] != self.bound.dimension:
            raise _mismatch(f"z.shape={tuple(z.shape)} must end in {self.bound.dimension}")
        if not torch.isfinite(z).all():
            raise _mismatch("z must be finite: NaN and infinity pass every clip")

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        saved = state_dict.get(f"{prefix}declared")
        if saved is not None and not torch.equal(saved.cpu(), self.declared.cpu()):
            raise _mismatch(
                f"the saved layer (dimension, radius, bound, sampler, sensitivity, epsilon = "
                f"{saved.tolist()}) must equal this one ({self._declaration()})"
            )
        super()._load_from_state_dict(state_dict, prefix, *args)


def published(system: str, dimension: int, *, epsilon: float, radius: float = 1.0) -> BoundedLaplace:
    """The layer of a published system, mistakes and all.

    "dptext-zero", "dptext-redraw": the wrong uniform in the inverse CDF. "adept": an L2 clip with the
    sensitivity 2C, which is its L2 diameter. "dpnr": each row scaled to [0, 1], sensitivity 1, and one
    number for all coordinates; subtracting the minimum of the output gives the input back.
    """
    one_of("system", system, ("dptext-zero", "dptext-redraw", "adept", "dpnr"))
    if system == "adept":
        bound, sensitivity, sampler = "l2", 2 * radius, "laplace"
    elif system == "dpnr":
        bound, sensitivity, sampler = "min-max", radius, "one-scalar"
    else:
        bound, sensitivity, sampler = "box", 2 * radius * dimension, system
    return BoundedLaplace(
        dimension,
        epsilon=epsilon,
        bound=bound,
        radius=radius,
        sensitivity=sensitivity,
        sampler=sampler,
        unsafe=True,
    )


def _mismatch(message: str) -> InputError:
    return InputError(
        message, code="DP225", help="repair the layer; unsafe=True builds published mistakes on purpose"
    )
