"""The answer: what was found, the counterexample, and what else was seen on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from dplitmus.bounds import Grade
    from dplitmus.claim import Claim


class Verdict(StrEnum):
    """The two answers. There is no third: "not found" is not "private"."""

    VIOLATED = "violated"
    NOT_FOUND = "not-found"


class Note(NamedTuple):
    """Something seen that the user should know, with the code that explains it."""

    code: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Counterexample:
    """A rule that a person can read and recompute: when the event happens, guess that input.

    Of `draws` fresh draws with a fair coin for the input, `guesses` had the event and `correct` of them
    were right. Under the claim each guess is right with probability at most `ceiling`, so that
    P[Bin(guesses, ceiling) >= correct] is a p-value.
    """

    x: Any
    x_prime: Any
    event: str
    remark: str  # what else would do, found on the search draws
    guess: str  # "x" or "x'"
    draws: int
    guesses: int
    correct: int
    ceiling: float
    p_value: float
    epsilon_lower: float  # certified by these counts alone, at the rule's share of alpha


class Exam(NamedTuple):
    """What the panel had learned, on fresh draws: it was frozen, and guessed at log odds from `threshold` on.

    For the tightest bound it went on learning, and its surest guesses counted most: then there are `grades`,
    and no threshold; at least half of the draws were made on `pair`.
    """

    pair: str
    threshold: float | None
    draws: int
    guesses: int
    correct: int
    alpha: float  # its share of the run's
    epsilon_lower: float  # certified by these counts alone
    grades: tuple[Grade, ...] = ()


class PairSummary(NamedTuple):
    """How much was spent on one pair and how well its inputs could be told apart."""

    name: str
    x: Any
    x_prime: Any
    draws: int
    epsilon_lower: float


class Moment(NamedTuple):
    """Where the search stood after so many draws."""

    draws: int
    log_wealth: float  # of the bets against the claim
    epsilon_lower: float  # refuted by then, on a coarse grid: never above what a fine one gives


class Bin(NamedTuple):
    """Outputs of one kind: numbers in [low, high), or those that `name` names."""

    name: str  # empty for an interval
    low: float | None  # None where there is a name
    high: float | None
    x: int
    x_prime: int
    event: bool  # whether these outputs are the counterexample's event


class Distributions(NamedTuple):
    """A sample of the search's outputs on both inputs of one pair, along the number that differs most."""

    pair: str
    of: str  # "y", "y[3]", "sum(y)"
    bins: tuple[Bin, ...]


class Alphas(NamedTuple):
    """How alpha was divided before the first draw; the four add up to it."""

    search: float
    panel: float
    rule: float
    delta: float = 0.0  # for the least delta at the claimed epsilon, where a pure claim is scanned for it


@dataclass(frozen=True, kw_only=True)
class Result:
    """The outcome of an audit; echoes what was asked."""

    mechanism: str
    target: str | None  # where `replay` finds the mechanism
    verdict: Verdict
    claim: Claim
    epsilon_lower: float
    delta_lower: float
    alpha: float
    samples: int
    budget: int
    seed: int
    level: str
    stop: str
    log_wealth: float  # of the bets against the claim, at the end of the search
    counterexample: Counterexample | None
    exam: Exam | None
    pairs: tuple[PairSummary, ...]
    detectable: float  # the smallest true epsilon that this run would have caught
    notes: tuple[Note, ...]
    replayable: bool
    relation: str | None = None  # which inputs are neighbours, in words
    claimed_by: str | None = None  # where the claim comes from, if not from the user
    finished: bool = True
    # Seconds, as asked: what they ended is no function of the seed alone.
    time_limit: float | None = field(default=None, compare=False)
    alphas: Alphas | None = None
    history: tuple[Moment, ...] = ()
    distributions: Distributions | None = None
    on_error: str = "fail"  # what an exception of the mechanism was taken for
    isolate: bool = False  # whether each call had a process of its own
    piece: int | None = None  # draws of a slow mechanism that were made at a time, at least
    seconds: float | None = field(default=None, compare=False)

    def to_json(self) -> str:
        """The finding as JSON text; `dplitmus report --schema` prints its schema."""
        from dplitmus import __version__  # noqa: PLC0415  (a later stage)
        from dplitmus.report import json  # noqa: PLC0415

        return json.dumps(json.audit(self, version=__version__))

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The report as one offline page, which holds the JSON too; written to `path` if there is one."""
        from dplitmus import __version__, store  # noqa: PLC0415  (a later stage)
        from dplitmus.report import finding, json  # noqa: PLC0415

        page = finding.page(json.audit(self, version=__version__))
        if path is not None:
            store.write(store.prepare_file(path), page)
        return page

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the finding as JSON, for `dplitmus.replay` and `dplitmus replay`."""
        from dplitmus import store  # noqa: PLC0415  (a later stage)

        return store.write(store.prepare_file(path), self.to_json())

    def _repr_html_(self) -> str:
        from dplitmus import __version__  # noqa: PLC0415  (a later stage)
        from dplitmus.report import finding, json  # noqa: PLC0415

        return finding.card(json.audit(self, version=__version__))

    def __str__(self) -> str:
        from dplitmus.report.text import audit as as_text  # noqa: PLC0415  (a later stage)

        return as_text(self)
