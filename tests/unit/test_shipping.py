"""Mechanisms that travel: a bound method, an object, a file loaded by its path."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dplitmus
from dplitmus import executors
from dplitmus.errors import InputError
from dplitmus.shipping import Parcel, unpacked


def test_a_bound_method_travels_with_its_object() -> None:
    """The name of the method leads to a function that takes one argument more."""

    class Scaled:
        def __init__(self, scale: float) -> None:
            self.scale = scale

        def noise(self, x: float, n: int, rng: np.random.Generator) -> Any:
            return x + rng.laplace(scale=self.scale, size=n)

    settings: dict[str, Any] = {"epsilon": 1.0, "neighbours": [(0.0, 1.0)], "samples": 60, "seed": 1}
    expected = dplitmus.audit(Scaled(0.3).noise, **settings)
    with executors.opened("loky:1") as executor:
        assert expected == dplitmus.audit(Scaled(0.3).noise, executor=executor, **settings)


def test_a_module_that_a_worker_does_not_have_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys
    import types

    module = types.ModuleType("only_here")
    exec("def noise(x, n, rng):\n    return x + rng.laplace(size=n)\n", vars(module))  # noqa: S102
    monkeypatch.setitem(sys.modules, "only_here", module)
    with executors.opened("processes:1") as executor, pytest.raises(InputError, match=r"DP231.*only_here"):
        dplitmus.audit(module.noise, epsilon=1.0, neighbours=[(0.0, 1.0)], executor=executor)


def test_a_target_is_found_from_another_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "travelling.py").write_text("def noise(x, n, rng):\n    return x + rng.laplace(size=n)\n")
    monkeypatch.chdir(tmp_path)
    packed = pickle.loads(pickle.dumps(Parcel(len, target="travelling.py:noise").packed))  # noqa: S301
    monkeypatch.chdir("/")
    assert unpacked(packed).callee.name == "noise"
    assert unpacked(packed) is unpacked(packed)
