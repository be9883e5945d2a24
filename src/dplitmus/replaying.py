"""Running a finding again from its file.

Takes the file of an audit, JSON or HTML; loads the mechanism it names, runs the same audit, and says whether
the finding stands. A file is data: nothing in it is executed but the target it names, which is the user's own
code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dplitmus import auditing, findings, target
from dplitmus.report import json

if TYPE_CHECKING:
    import os

    from dplitmus.verdict import Result

_COMPARED = ("verdict", "samples", "epsilon_lower")


@dataclass(frozen=True)
class Replay:
    """A finding and what came out this time."""

    finding: dict[str, Any]
    result: Result

    @property
    def status(self) -> str:
        """Whether the finding "stands", has "changed", is "not replayable" bit for bit, or "ended early".

        A run that a time limit or an interrupt ended is not a function of its seed: another one goes farther.
        """
        now = {
            "verdict": self.result.verdict.value,
            "samples": self.result.samples,
            "epsilon_lower": self.result.epsilon_lower,
        }
        if all(self.finding.get(name) == now[name] for name in _COMPARED):
            return "stands"
        if not self.result.replayable:
            return "not replayable"
        early = not self.finding["finished"] or self.finding.get("time_limit") is not None
        return "ended early" if early else "changed"


def replay(path: str | os.PathLike[str], *, number: int | None = None) -> Replay:
    """Run the audit of a saved finding again: a JSON file, or a report; `number` counts findings from 1."""
    finding = chosen(path, number)
    claim = finding["claim"]
    pairs = [_pair(pair) for pair in finding["pairs"]]
    result = auditing.audit(
        _mechanism(finding, pairs),
        epsilon=claim["epsilon"],
        delta=claim["delta"],
        neighbours=pairs,
        relation=finding.get("relation"),
        samples=finding["budget"],
        alpha=finding["alpha"],
        seed=finding["seed"],
        level=finding["level"],
        stop=finding["stop"],
        on_error=finding.get("on_error", "fail"),
        isolate=finding.get("isolate", False),
        piece=finding.get("piece"),
        target=None if _is_model(finding) else finding["target"],  # a model's name does not tell its view
    )
    return Replay(finding, result)


def _is_model(finding: dict[str, Any]) -> bool:
    return bool(finding["target"].startswith(target.MODEL_TARGET))


def _mechanism(finding: dict[str, Any], pairs: list[tuple[Any, Any]]) -> Any:
    epsilon = finding["claim"]["epsilon"]
    if _is_model(finding):
        from dplitmus.text.auditing import mechanism_again  # noqa: PLC0415  (a leaf that needs torch)

        return mechanism_again(finding["target"], epsilon=epsilon, pairs=pairs)
    return target.load(finding["target"], epsilon=epsilon, dimension=_dimension(finding["pairs"]))


def chosen(path: str | os.PathLike[str], number: int | None) -> dict[str, Any]:
    """The finding of a file, or the one that is asked for."""
    found = findings.read(path)
    if number is None and len(found) > 1:
        choose = f"say which one to replay: --number 1 to {len(found)}"
        raise findings.refusal(path, f"it holds {len(found)} findings", choose)
    if number is not None and not 1 <= number <= len(found):
        raise findings.refusal(path, f"it has no finding number {number}, but {len(found)} in all")
    finding = found[(number or 1) - 1]
    if not isinstance(finding["target"], str):
        raise findings.refusal(
            path,
            "it names no target: the mechanism was a local function or object",
            "give it a name in a module; or audit it again with this seed, in the program that has it",
        )
    if any("repr" in pair.get("forms", []) for pair in finding["pairs"]):
        raise findings.refusal(
            path,
            "its inputs were objects that JSON cannot hold",
            "the program that has them can audit again, with the seed of the finding",
        )
    return finding


def _pair(pair: dict[str, Any]) -> tuple[Any, Any]:
    forms = pair.get("forms", ["json", "json"])
    return json.as_input(pair["x"], forms[0]), json.as_input(pair["x_prime"], forms[1])


def _dimension(pairs: Any) -> int:
    try:
        first = pairs[0]["x"]
        return len(first) if isinstance(first, list) else 1
    except (TypeError, KeyError, IndexError):
        return 1
