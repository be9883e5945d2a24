"""ARCHITECTURE.md's import rules, read from the code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "dplitmus"

# A module may import from its own line and from the lines above it.
LAYERS = [
    ["errors"],
    ["claim", "explanations", "bits", "arithmetic"],
    ["mechanisms"],
    ["neighbours"],
    ["adapters"],
    ["libraries"],
    ["target"],
    ["outputs"],
    ["samples"],
    ["habits", "independence"],
    ["forecast"],
    ["counts"],
    ["bounds", "evidence", "prospects", "certificate"],
    ["verdict"],
    ["distributions"],
    ["engine"],
    ["isolation"],
    ["executors", "dispatch", "journal"],
    ["shipping"],
    ["chunks"],
    ["judging", "arms"],
    ["sanity", "search"],
    ["exam"],
    ["grading"],
    ["answering"],
    ["diagnosis", "measuring"],
    ["auditing"],
    ["store", "report"],
    ["findings"],
    ["replaying", "survey", "asserting"],
    ["paper", "text"],
    ["__init__", "console"],
    ["cli", "cli_audit", "cli_text", "cli_report", "cli_library", "cli_sensitivity", "__main__"],
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
# str(result) is the text report, and save() writes it; files name the version; a finding on a model is
# replayed by `text`. The imports stand inside.
EXCEPTIONS = {
    ("sanity", "report"),
    ("measuring", "report"),
    ("verdict", "report"),
    ("verdict", "store"),
    ("verdict", "__init__"),
    ("text", "__init__"),
    ("replaying", "text"),
}
# Who may import a third party at all; numpy and scipy.special are free.
THIRD_PARTIES = {
    "click": {"console", "cli", "cli_audit", "cli_text", "cli_report", "cli_library", "cli_sensitivity"},
    "rich": {"console"},
    "matplotlib": {"paper"},
    "threadpoolctl": {"arithmetic"},
    "distributed": {"executors"},
    "loky": {"executors"},
    "torch": {"text", "cli_text", "adapters", "measuring"},
    "safetensors": {"text"},
    "tokenizers": {"text"},
    "sklearn": {"text", "adapters"},
    "opendp": {"adapters"},
    "diffprivlib": {"adapters"},
    "pydp": {"adapters"},
    "opacus": {"adapters"},
    "sacrebleu": {"text"},
}


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def part_of(path: Path) -> str:
    relative = path.relative_to(SOURCE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imports(path: Path, *, top_level: bool = False) -> Iterator[str]:
    tree = ast.parse(path.read_text())
    for node in tree.body if top_level else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports would hide from this test"
            assert node.module
            if node.module == "dplitmus":
                yield from (f"dplitmus.{alias.name}" for alias in node.names)
            else:
                yield node.module


def first_part(module: str) -> str:
    name = module.removeprefix("dplitmus.").split(".")[0]
    return name if name in RANK else "__init__"  # a public name such as dplitmus.__version__


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_stage_imports_only_stages_before_it(path: Path) -> None:
    here = part_of(path)
    for module in imports(path):
        if module.split(".")[0] != "dplitmus":
            continue
        there = first_part(module)
        allowed = RANK[there] <= RANK[here] or (here, there) in EXCEPTIONS
        assert allowed, f"{here} must not import {there} ({module})"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_third_parties_stay_where_they_belong(path: Path) -> None:
    here = part_of(path)
    for module in imports(path):
        top = module.split(".")[0]
        assert here in THIRD_PARTIES.get(top, {here}), f"{here} must not import {top}"
        assert not module.startswith("scipy.stats"), "scipy.stats is slow to import"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_exceptions_and_optional_packages_are_imported_inside_functions(path: Path) -> None:
    here = part_of(path)
    for module in imports(path, top_level=True):
        assert not module.startswith("matplotlib")
        if here == "adapters":
            assert module.split(".")[0] not in {"torch", "sklearn", "opendp", "diffprivlib", "pydp", "opacus"}
        if module.startswith("dplitmus"):
            assert (here, first_part(module)) not in EXCEPTIONS


def test_every_part_has_its_layer() -> None:
    assert {part_of(path) for path in modules()} == set(RANK)


def test_the_page_shows_the_layers() -> None:
    page = (SOURCE.parents[1] / "ARCHITECTURE.md").read_text()
    for name in RANK:
        assert f"`{name}" in page, f"ARCHITECTURE.md does not mention {name}"


def test_mechanisms_know_no_statistics_and_bounds_no_mechanism() -> None:
    for path in modules():
        if part_of(path) == "mechanisms":
            assert not any(module.startswith("scipy") for module in imports(path))
        if part_of(path) in {"bounds", "counts", "evidence", "certificate"}:
            assert not any("mechanisms" in module for module in imports(path))
