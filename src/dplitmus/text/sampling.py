"""Noise of scale 1 or of a learned scale, right and as published, on tensors.

Takes a shape (and a generator in tests and audits); gives noise. Floats have holes (Mironov 2012): this is
for training and for showing what was published; what is released comes from `dplitmus.text.releasing`.

    laplace         right: the difference of two exponential variables, independent in every coordinate
    dptext-zero     DPText, NaN replaced by zero: half of the coordinates are released as they are
    dptext-redraw   DPText, NaN drawn again: an exponential variable, never negative
    one-scalar      DPNR: one Laplace number per row, added to all of its coordinates
    none            nothing: what utility is compared with
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Generator, Tensor

SAMPLERS = ("laplace", "dptext-zero", "dptext-redraw", "one-scalar", "none")
_NO_NAN = 0.25  # any v below one half has a finite logarithm


def noise(sampler: str, shape: tuple[int, ...], scale: Tensor, generator: Generator | None = None) -> Tensor:
    """Noise of the given scale in float64; the gradient with respect to `scale` is finite."""
    device = scale.device
    if sampler == "none":
        return torch.zeros(shape, dtype=torch.float64, device=device)
    if sampler == "laplace":
        return laplace(shape, device, generator) * scale
    if sampler == "one-scalar":
        return (laplace((*shape[:-1], 1), device, generator) * scale).expand(shape)
    v = torch.rand(shape, dtype=torch.float64, device=device, generator=generator)
    if sampler == "dptext-redraw":
        return dptext_redraw(v, scale)
    return dptext_zero(v, scale)


def laplace(shape: tuple[int, ...], device: torch.device, generator: Generator | None = None) -> Tensor:
    """Laplace noise of scale 1: no log(0), no sign(0), symmetric by construction."""
    draws = torch.empty(2, *shape, dtype=torch.float64, device=device).exponential_(generator=generator)
    return draws[0] - draws[1]


def dptext_literal(v: Tensor, scale: Tensor) -> Tensor:
    """DPText's formula with its own uniform, v in (0, 1): NaN wherever v is above one half.

    Replacing the NaN afterwards does not help training: backwards, zero times NaN is NaN, so the gradient of
    epsilon is lost. `dptext_zero` is what its authors must have run if they replaced NaN by zero.
    """
    return -scale * torch.sign(v) * torch.log(1 - 2 * v.abs())


def dptext_zero(v: Tensor, scale: Tensor) -> Tensor:
    """NaN to zero with a gradient that works: where() before the logarithm and again after it."""
    usable = v < 0.5
    safe = torch.where(usable, v, _NO_NAN)
    return torch.where(usable, dptext_literal(safe, scale), 0.0)


def dptext_redraw(v: Tensor, scale: Tensor) -> Tensor:
    """Drawn again until v is below one half, which makes v uniform on (0, 1/2): so is v / 2."""
    return dptext_literal(v / 2, scale)
