"""Mechanisms that travel: a bound method, an object, a file loaded by its path."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dplitmus
from dplitmus import executors
from dplitmus.shipping import Parcel, unpacked


class Shifted:
    """Its method has a name that leads elsewhere."""

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def noise(self, x: float, n: int, rng: np.random.Generator) -> Any:
        """As its object says."""
        return x + rng.laplace(scale=self.scale, size=n)


def test_a_bound_method_travels_with_its_object() -> None:
    class Local(Shifted):
        pass

    settings: dict[str, Any] = {"epsilon": 1.0, "neighbours": [(0.0, 1.0)], "samples": 100, "seed": 1}
    expected = dplitmus.audit(Local(0.3).noise, **settings)
    with executors.opened("loky:1") as executor:
        assert expected == dplitmus.audit(Local(0.3).noise, executor=executor, **settings)


def test_a_target_is_found_from_another_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "travelling.py").write_text("def noise(x, n, rng):\n    return x + rng.laplace(size=n)\n")
    monkeypatch.chdir(tmp_path)
    packed = pickle.loads(pickle.dumps(Parcel(len, target="travelling.py:noise").packed))  # noqa: S301
    monkeypatch.chdir("/")
    assert unpacked(packed).callee.name == "noise"
    assert unpacked(packed) is unpacked(packed)
