"""From the TARGET of a command line to a mechanism.

Takes `zoo:NAME`, `LIBRARY:NAME`, `program:COMMAND`, `package.module:function` or `path/file.py:function`;
gives the callable, or the object of a library that an adapter knows. Loading a target runs its module: it is
the user's own code, asked for by name.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from dplitmus import libraries
from dplitmus.adapters import Adapted, installed, library_of, program
from dplitmus.errors import InputError, did_you_mean, in_words, one_line
from dplitmus.mechanisms import zoo
from dplitmus.mechanisms.base import as_callee
from dplitmus.neighbours import patterns

if TYPE_CHECKING:
    from types import ModuleType

    from dplitmus.mechanisms.base import Mechanism

_BUILT = re.compile(r"zoo:(?P<name>[\w-]+)\((?P<epsilon>[0-9.eE+-]+),(?P<dimension>[0-9]{1,8})\)")
MODEL_TARGET = "text:"  # text:VIEW:DIRECTORY, a trained model; only findings of `dplitmus text audit` have it
_FORMS = "a TARGET is zoo:NAME, program:COMMAND, package.module:function or path/file.py:function"


class Setting(NamedTuple):
    """What an audit of a target needs: the mechanism, its claim, its inputs, and its name for next time."""

    mechanism: Mechanism
    epsilon: float | None  # None where the object of a library tells it
    delta: float | None
    neighbours: list[Any] | None
    target: str
    adaptable: bool = False  # an object of a library, which tells what is None


def zoo_setting(
    target: str, *, epsilon: float | None, dimension: int | None, level: str = "ideal"
) -> Setting:
    """A zoo mechanism with its own claim and inputs; `zoo:NAME(EPSILON,DIMENSION)` says all in one word.

    At the level "bits" its inputs include pairs of different magnitude, if they are patterns.
    """
    match = _BUILT.fullmatch(target)
    name = match["name"] if match else target.removeprefix("zoo:")
    entry = zoo.find(name)
    if match:
        epsilon, dimension = float(match["epsilon"]), int(match["dimension"])
    epsilon = entry.epsilon if epsilon is None else epsilon
    dimension = entry.dimension if dimension is None else dimension
    claimed, delta = entry.claim(epsilon, dimension)
    pairs: list[Any] = (
        list(entry.pairs) if entry.pairs else list(patterns(entry.relation, dimension, level=level))
    )
    built = f"zoo:{entry.name}({epsilon!r},{dimension})"
    return Setting(entry.build(epsilon, dimension), claimed, delta, pairs, built)


def own_setting(
    target: str, *, epsilon: float | None, delta: float | None, timeout: float | None = None
) -> Setting:
    """The user's own code with the user's claim, or an object of a library, which has one of its own."""
    mechanism = load(target, epsilon=epsilon or 1.0, dimension=1, timeout=timeout)
    adaptable = isinstance(mechanism, Adapted) or library_of(mechanism) is not None
    pairs: list[Any] | None = None if adaptable else [(0.0, 1.0)]
    return Setting(mechanism, epsilon, delta, pairs, target, adaptable)


def load(target: str, *, epsilon: float, dimension: int, timeout: float | None = None) -> Mechanism:
    """Return the mechanism that `target` names; a zoo mechanism is built for the claim.

    `timeout` is for a program, which can be ended; it replaces the adapter's own limit.
    """
    if target.startswith("zoo:"):
        return zoo_setting(target, epsilon=epsilon, dimension=dimension).mechanism
    if target.startswith("program:"):
        return program.adapt(target.removeprefix("program:"), timeout=timeout or program.TIMEOUT)
    if target.startswith(MODEL_TARGET):
        raise InputError(
            f"{target!r} is a trained model",
            code="DP203",
            help="audit it with  dplitmus text audit DIRECTORY,  and a finding with  dplitmus replay FILE",
        )
    library, _, entry = target.partition(":")
    if library in libraries.LIBRARIES:
        return libraries.find(library, entry)
    found = named(target)
    if not isinstance(found, Adapted) and library_of(found) is None:
        as_callee(found)  # refuses what cannot be called, before any work
    return cast("Mechanism", found)


def named(target: str) -> object:
    """Return what `package.module:name` or `path/file.py:name` names, whatever it is."""
    # The last colon separates: a Windows path has one of its own.
    place, _, name = target.rpartition(":")
    if not place or not name:
        known = [f"zoo:{known}" for known in (*zoo.ZOO, *zoo.ALIASES)]
        hint = "" if target.endswith(".py") else did_you_mean(f"zoo:{target}", known)
        raise InputError(
            f"target={target!r} names no function", code="DP203", help=f"{hint}  {_FORMS}".strip()
        )
    module = _load_file(Path(place)) if place.endswith(".py") else _import(place)
    return _attribute(module, name, place)


def resolved(target: str) -> str:
    """The same target from any directory: what is run, in full."""
    place, _, name = target.rpartition(":")
    return f"{Path(place).resolve()}:{name}" if place.endswith(".py") else target


def importable_name(function: object) -> str | None:
    """The TARGET that would load this callable again, if there is one."""
    try:
        known = getattr(function, "dplitmus_target", None)
        if isinstance(known, str):
            return known
        name = getattr(function, "__qualname__", None)
        module = getattr(function, "__module__", None)
    except Exception:  # noqa: BLE001  (an object's own attributes may raise anything)
        return None
    if not isinstance(name, str) or not isinstance(module, str) or "<" in name:
        return None
    if module == "__main__":
        file = getattr(sys.modules["__main__"], "__file__", None)
        return f"{file}:{name}" if file else None
    return f"{module}:{name}"


def _attribute(module: ModuleType, name: str, place: str) -> object:
    found: object = module
    for part in name.split("."):
        if not _has(found, part):
            public = [known for known in vars(module) if not known.startswith("_")]
            hint = did_you_mean(name, public) or f"define it in {place}"
            raise InputError(f"{place} has no {name!r}", code="DP203", help=hint)
        found = getattr(found, part)
    return found


def _has(found: object, name: str) -> bool:
    try:
        return hasattr(found, name)
    except Exception:  # noqa: BLE001  (a module's own __getattr__ may raise anything)
        return False


def _load_file(path: Path) -> ModuleType:
    try:
        exists = path.is_file()
    except OSError:
        exists = False
    if not exists:
        raise InputError(
            f"no file {str(path)!r} in {Path.cwd()}",
            code="DP203",
            help="check the path; " + _FORMS,
        )
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:  # pragma: no cover  (a .py file always has a loader)
        raise InputError(f"{path} is not a Python module", code="DP203", help=_FORMS)
    module = importlib.util.module_from_spec(spec)
    # As for a script: it finds the modules beside it, later too, and dataclasses find their module.
    _look_in(path.resolve().parent)
    shadowed = sys.modules.get(path.stem)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        if shadowed is None:
            del sys.modules[path.stem]
        else:
            sys.modules[path.stem] = shadowed
        raise _failed_import(str(path), error) from error
    return module


def _look_in(directory: Path) -> None:
    if str(directory) not in sys.path:
        sys.path.insert(0, str(directory))


def _import(name: str) -> ModuleType:
    _look_in(Path.cwd())  # as `python -m` does
    try:
        return importlib.import_module(name)
    except BaseException as error:
        raise _failed_import(name, error) from error


def _failed_import(place: str, error: BaseException) -> BaseException:
    if isinstance(error, KeyboardInterrupt):
        return error
    return InputError(
        f"cannot import {place}: {type(error).__name__}: {one_line(in_words(str, error), 200)}",
        code="DP203",
        help=installed.raised_in(error) or "it must import cleanly in this environment; " + _FORMS,
    )
