"""diffprivlib's mechanisms and tools, with the parameters that they do not set themselves."""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any

from dplitmus.adapters import diffprivlib as adapter
from dplitmus.adapters import installed

if TYPE_CHECKING:
    from collections.abc import Callable

    from dplitmus.adapters import Adapted

# Delta is so large that an audit of some hundred thousand draws can see what it hides.
_SETTINGS: dict[str, Any] = {
    "epsilon": 1.0,
    "delta": 0.01,
    "sensitivity": 1,
    "lower": 0,
    "upper": 4,
    "value0": "no",
    "value1": "yes",
    "utility": [0.0, 1.0, 2.0],
    "utility_list": [["A", "B", 1], ["A", "C", 2], ["B", "C", 2]],
    "hierarchy": [["A", "B"], ["C", "D"]],
    "function_sensitivity": 1,
    "dimension": 2,
}
_LIMITS: dict[str, Any] = {
    "bounds": (0.0, 1.0),
    "range": (0.0, 1.0),
    "bins": 2,
    "quant": 0.25,
    "percent": 75,
}


def builders() -> dict[str, Callable[[], Adapted]]:
    """By the names of the library; models are left to the user, who must say the relation."""
    mechanisms = installed.load("diffprivlib", "diffprivlib.mechanisms")
    tools = installed.load("diffprivlib", "diffprivlib.tools")
    found: dict[str, Callable[[], Adapted]] = {}
    for name, machine in sorted(vars(mechanisms).items()):
        kind = inspect.isclass(machine) and issubclass(machine, mechanisms.DPMechanism)
        if kind and not inspect.isabstract(machine):
            found[name] = partial(_mechanism, machine)
    for name, function in sorted(vars(tools).items()):
        if inspect.isfunction(function):
            found[f"tools.{name}"] = partial(_tool, function)
    return found


def _mechanism(machine: Any) -> Adapted:
    needed = [
        name
        for name, parameter in inspect.signature(machine).parameters.items()
        if parameter.default is parameter.empty
    ]
    return adapter.adapt(machine(**{name: _SETTINGS[name] for name in needed}))


def _tool(function: Any) -> Adapted:
    known = inspect.signature(function).parameters
    arguments = {name: value for name, value in _LIMITS.items() if name in known}
    if function.__name__ in {"histogramdd", "histogram2d"}:
        arguments["range"] = [arguments["range"]] * 2
    return adapter.adapt(function, **arguments)
