"""All attacks on one model, as a table and as data.

Takes a model, texts that the attackers learn from and texts that are attacked; gives scores.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from dplitmus.text import attacks
from dplitmus.text.data import Dataset, checked_classes, checked_texts
from dplitmus.text.rewriting import Kept, TextClassifier, kept, membership

if TYPE_CHECKING:
    from dplitmus.text.score import Score
    from dplitmus.text.system import TextSystem

_LEAST_MEMBERS = 40


@dataclass
class AttackReport:
    """What every attack reached; `columns` holds the classifiers for the task and each private attribute."""

    epsilon: float
    texts: int
    columns: dict[str, dict[str, Score]] = field(default_factory=dict)
    links: dict[str, Score] = field(default_factory=dict)
    left: Kept | None = None
    intent: Score | None = None
    members: Score | None = None
    members_auc: float | None = None

    def plain(self) -> dict[str, Any]:
        """Plain types, for JSON."""
        return asdict(self)

    def text(self) -> str:
        """The table, 80 columns."""
        lines = [f"{'attack':<34}{'share':>8}   {'95 % interval':<16}{'without data':>13}"]
        rows = [
            (f"{column}, {name}", score)
            for column, scores in self.columns.items()
            for name, score in scores.items()
        ]
        rows += [(f"linkage, {name}", score) for name, score in self.links.items()]
        rows += [("label of the rewrite", self.intent)] if self.intent else []
        rows += [("membership", self.members)] if self.members else []
        for name, score in rows:
            interval = f"{score.low:.3f} to {score.high:.3f}"
            lines.append(f"{name:<34}{score.value:>8.3f}   {interval:<16}{score.baseline:>13.3f}")
        if self.left:
            lines.append("")
            lines.append(
                f"rewrites: BLEU {self.left.bleu:.1f}, unchanged {self.left.exact:.3f}, token edits "
                f"{self.left.edits:.2f}"
            )
        if self.members_auc is not None:
            lines.append(f"membership: area under the curve {self.members_auc:.3f}")
        lines.append(
            f"\nReleased at epsilon {self.epsilon:g}: {self.texts:,} texts. A weak attack proves nothing."
        )
        return "\n".join(lines)


def attack_report(
    model: TextSystem, known: Dataset, attacked: Dataset, *, epsilon: float | None, seed: int
) -> AttackReport:
    """Release both halves and run every attack that the columns allow."""
    checked_texts(attacked.texts)
    learnt = model.encode(known.texts, epsilon=epsilon)
    released = model.encode(attacked.texts, epsilon=epsilon)
    report = AttackReport(model.layer.budget if epsilon is None else epsilon, len(attacked))
    radius = model.layer.bound.radius
    columns = {f"private {name}": (known.private[name], attacked.private[name]) for name in known.private}
    if known.labels is not None and attacked.labels is not None:
        columns = {"task": (known.labels, attacked.labels), **columns}
    for name, (learn, ask) in columns.items():
        checked_classes(name, learn, len(known))
        report.columns[name] = {
            attack: attacks.classify(attack, (learnt, learn), (released, ask), radius=radius, seed=seed)
            for attack in attacks.CLASSIFIERS
        }
    clean = model.bounded(attacked.texts)
    report.links = {link: attacks.linkage(released, clean, link) for link in attacks.LINKS}
    if model.vocabulary is not None:
        rewrites = model.decode(released)
        report.left = kept(attacked.texts, rewrites)
        if known.labels is not None and attacked.labels is not None:
            report.intent = TextClassifier(known.texts, known.labels).score(rewrites, attacked.labels)
            if len(attacked) >= _LEAST_MEMBERS:
                report.members, report.members_auc = membership(attacked, rewrites, seed)
    return report
