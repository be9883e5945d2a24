"""Running a finding again from its file.

Takes a JSON file of an audit; loads the mechanism it names, runs the same audit, and says whether the finding
stands. A file is data: nothing in it is executed but the target it names, which is the user's own code.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dplitmus import auditing, target
from dplitmus.errors import InputError

if TYPE_CHECKING:
    import os

    from dplitmus.verdict import Result

_MOST_BYTES = 64 * 2**20
_NEEDED = {
    "schema",
    "kind",
    "target",
    "claim",
    "pairs",
    "budget",
    "alpha",
    "seed",
    "level",
    "stop",
    "verdict",
}
_COMPARED = ("verdict", "samples", "epsilon_lower")


@dataclass(frozen=True)
class Replay:
    """A finding and what came out this time."""

    finding: dict[str, Any]
    result: Result

    @property
    def status(self) -> str:
        """Whether the finding "stands", has "changed", or is "not replayable" bit for bit."""
        now = {
            "verdict": self.result.verdict.value,
            "samples": self.result.samples,
            "epsilon_lower": self.result.epsilon_lower,
        }
        if all(self.finding.get(name) == now[name] for name in _COMPARED):
            return "stands"
        return "changed" if self.result.replayable else "not replayable"


def replay(path: str | os.PathLike[str]) -> Replay:
    """Run the audit of a saved finding again."""
    finding = read(path)
    claim = finding["claim"]
    mechanism = target.load(
        finding["target"], epsilon=claim["epsilon"], dimension=_dimension(finding["pairs"])
    )
    result = auditing.audit(
        mechanism,
        epsilon=claim["epsilon"],
        delta=claim["delta"],
        neighbours=[(pair["x"], pair["x_prime"]) for pair in finding["pairs"]],
        samples=finding["budget"],
        alpha=finding["alpha"],
        seed=finding["seed"],
        level=finding["level"],
        stop=finding["stop"],
        target=finding["target"],
    )
    return Replay(finding, result)


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a finding, or refuse with DP209 what is not one."""
    file = Path(path)
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise _not_a_finding(file, "it is larger than 64 MB")
        finding = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise _not_a_finding(file, error.strerror or str(error)) from error
    except (ValueError, RecursionError) as error:
        raise _not_a_finding(file, "it is not JSON") from error
    if not isinstance(finding, dict) or not finding.keys() >= _NEEDED or finding["kind"] != "audit":
        raise _not_a_finding(file, "it is not the JSON of an audit")
    if finding["schema"] != 1:
        raise _not_a_finding(file, f"its schema is {finding['schema']!r}, and this version reads schema 1")
    if not isinstance(finding["target"], str):
        raise _not_a_finding(file, "it names no target: the mechanism was a local function or object")
    return finding


def _dimension(pairs: Any) -> int:
    try:
        first = pairs[0]["x"]
        return len(first) if isinstance(first, list) else 1
    except (TypeError, KeyError, IndexError):
        return 1


def _not_a_finding(file: Path, reason: str) -> InputError:
    return InputError(
        f"cannot replay {str(file)!r}: {reason}",
        code="DP209",
        help="a finding is written by  dplitmus audit ... --json FILE  or  result.save(FILE)",
    )
