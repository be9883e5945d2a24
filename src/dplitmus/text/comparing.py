"""Published and corrected side by side: train, release, attack and audit over a list of epsilons.

Takes a data set and settings; gives one row per system, variant and epsilon. Variants of DPText: no noise;
published; correct noise in the published dimension, which shows the price; corrected in its default shape,
which is the way out. ADePT is trained once: its noise plays no part in training.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from dplitmus.text import attacks
from dplitmus.text.adept import ADePT, ADePTSettings
from dplitmus.text.auditing import audit_model
from dplitmus.text.dptext import DPText, DPTextSettings
from dplitmus.text.rewriting import TextClassifier, kept

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dplitmus.text.data import Dataset
    from dplitmus.text.score import Score
    from dplitmus.text.system import TextSystem

NO_NOISE, PUBLISHED, SAME_SIZE, CORRECTED = "no noise", "published", "correct, same size", "corrected"


@dataclass(frozen=True, kw_only=True)
class Row:
    """One trained and released variant, attacked and audited."""

    system: str
    variant: str
    epsilon: float | None
    utility: Score | None  # the task from released vectors (DPText), or the intent of rewrites (ADePT)
    private: dict[str, Score] = field(default_factory=dict)
    linkage: Score
    bleu: float | None = None
    exact: float | None = None
    certified: float | None = None
    violated: bool | None = None
    draws: int = 0
    seconds: float = 0.0  # of the audit
    example: str = ""  # a rewrite of the first text


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is compared: the data, the epsilons, the audits, and who hears of each step."""

    train: Dataset
    test: Dataset
    epsilons: Sequence[float]
    rewriting: Sequence[float]  # epsilons of ADePT
    dptext: DPTextSettings
    adept: ADePTSettings
    samples: int
    seed: int
    tell: Callable[[str], None] = lambda _: None


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """All rows, the paths of learned epsilons, and how to make them again."""

    rows: list[Row]
    learned: dict[str, list[float]]
    cap: float
    original: str  # the text that examples rewrite
    data: str
    command: str
    seconds: float

    @property
    def accused(self) -> list[Row]:
        """Corrected variants whose claim was refuted: there should be none."""
        return [row for row in self.rows if row.violated and row.variant != PUBLISHED]


def compare(plan: Plan, *, systems: Sequence[str], data: str, command: str) -> Comparison:
    """Run everything: train, release, attack, audit."""
    started = time.monotonic()
    rows: list[Row] = []
    learned: dict[str, list[float]] = {}
    if "dptext" in systems:
        rows += _dptext(plan)
        learned = _learned(plan)
    if "adept" in systems:
        rows += _adept(plan)
    return Comparison(
        rows=rows,
        learned=learned,
        cap=max(plan.epsilons),
        original=plan.test.texts[0],
        data=data,
        command=command,
        seconds=time.monotonic() - started,
    )


def _dptext(plan: Plan) -> Iterator[Row]:
    train, test, settings = plan.train, plan.test, plan.dptext
    same = replace(settings, mode="published").resolved(2)
    shapes: list[tuple[str, float | None, dict[str, Any]]] = [(NO_NOISE, None, {"mode": "unprotected"})]
    for claimed in plan.epsilons:
        wide = {"latent": same.latent, "bound": "box"}
        shapes += [
            (PUBLISHED, claimed, {"mode": "published"}),
            (SAME_SIZE, claimed, {"mode": "corrected", **wide}),
            (CORRECTED, claimed, {"mode": "corrected"}),
        ]
    for variant, epsilon, changes in shapes:
        plan.tell(f"dptext, {variant}" + (f", epsilon {epsilon:g}" if epsilon else ""))
        chosen = replace(settings, **changes, epsilon=epsilon or settings.epsilon)
        model = DPText(chosen).fit(train.texts, train.labels, train.private)
        known, asked = model.encode(train.texts), model.encode(test.texts)
        private = {
            name: attacks.strongest((known, train.private[name]), (asked, test.private[name]))[1]
            for name in test.private
        }
        row = Row(
            system="dptext",
            variant=variant,
            epsilon=epsilon,
            utility=attacks.strongest((known, train.labels or []), (asked, test.labels or []))[1],
            private=private,
            linkage=attacks.strongest_link(asked, model.bounded(test.texts))[1],
        )
        yield _audited(plan, row, model) if epsilon else row


def _adept(plan: Plan) -> Iterator[Row]:
    train, test = plan.train, plan.test
    plan.tell("adept, training")
    model = ADePT(plan.adept).fit(train.texts)
    intents = TextClassifier(train.texts, train.labels) if train.labels else None
    clean = model.bounded(test.texts)
    for variant, sensitivity in ((NO_NOISE, ""), (PUBLISHED, "published"), (CORRECTED, "correct")):
        system = model.with_sensitivity(sensitivity) if sensitivity else model
        for epsilon in plan.rewriting if sensitivity else (None,):
            plan.tell(f"adept, {variant}" + (f", epsilon {epsilon:g}" if epsilon else ""))
            released = system.encode(test.texts, epsilon=epsilon) if epsilon else clean
            rewrites = system.decode(released)
            left = kept(test.texts, rewrites)
            row = Row(
                system="adept",
                variant=variant,
                epsilon=epsilon,
                utility=intents.score(rewrites, test.labels or []) if intents else None,
                linkage=attacks.strongest_link(released, clean)[1],
                bleu=left.bleu,
                exact=left.exact,
                example=rewrites[0],
            )
            yield _audited(plan, row, system) if epsilon else row


def _audited(plan: Plan, row: Row, model: TextSystem) -> Row:
    result = audit_model(
        model,
        plan.test.texts,
        epsilon=row.epsilon,
        samples=plan.samples,
        seed=plan.seed,
        stop="never",
        pairs=1,
    )
    return replace(
        row,
        certified=result.epsilon_lower,
        violated=result.verdict.value == "violated",
        draws=result.samples,
        seconds=result.seconds or 0.0,
    )


def _learned(plan: Plan) -> dict[str, list[float]]:
    train, settings, cap = plan.train, plan.dptext, max(plan.epsilons)
    paths = {}
    for mode in ("published", "corrected"):
        for capped in (True, False):
            name = f"{mode}, {f'cap {cap:g}' if capped else 'no cap'}"
            plan.tell(f"dptext, learned epsilon, {name}")
            shape = replace(settings, mode="published").resolved(2)
            chosen = replace(
                settings,
                mode=mode,
                latent=shape.latent,
                bound="box",
                epsilon=cap,
                learn_epsilon=True,
                epochs=max(1, settings.epochs // 2),
                cap=capped,
                unsafe=not capped,
            )
            model = DPText(chosen).fit(train.texts, train.labels, train.private)
            paths[name] = model.history["epsilon"]
    return paths
