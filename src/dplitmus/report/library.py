"""The audits of a whole library as a table in a terminal, row by row as they end."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from dplitmus.errors import one_line
from dplitmus.neighbours import in_relation_words
from dplitmus.report.text import at_least
from dplitmus.report.wrapping import WIDTH

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_NAME = 28


def head(library: str, version: str, *, level: str, samples: int) -> str:
    """What is audited, and the columns."""
    columns = f"{'claimed':>9}{'delta':>8}{'certified':>11}{'draws':>12}  verdict"
    return (
        f"{library} {version}, {level} outputs, at most {samples:,} draws on each.\n"
        f"Above each group: which inputs are neighbours.\n\n{'mechanism':<{_NAME}}{columns}"
    )


def row(finding: Mapping[str, Any]) -> str:
    """One audit."""
    claim = finding["claim"]
    delta = f"{claim['delta']:g}" if claim["delta"] else "-"
    return (
        f"{one_line(finding['mechanism'], _NAME - 1):<{_NAME}}{claim['epsilon']:>9.4g}{delta:>8}"
        f"{at_least(finding['epsilon_lower']):>11}{finding['samples']:>12,}  {finding['verdict']}"
    )


def listed(stock: Iterable[tuple[str, str, str]], left_out: Mapping[str, str]) -> str:
    """Names with their claims and relations, without an audit; what is left out, with the reason."""
    lines = [f"{name:<{_NAME}}{claim:<22}{in_relation_words(relation)}" for name, claim, relation in stock]
    lines += ["", "Left out"] if left_out else []
    for name, why in left_out.items():
        lines += textwrap.wrap(f"{name}: {why}", WIDTH, subsequent_indent="    ")
    return "\n".join(lines)
