"""Published and corrected DPText on made-up sentences: same task, same attackers, one honest claim.

python examples/honest_text.py
"""

from __future__ import annotations

from dplitmus.text import DPText, Ledger, generated
from dplitmus.text.attacks import strongest, strongest_link
from dplitmus.text.auditing import audit_model


def main() -> None:
    """Train both, release, attack, audit."""
    train, test = generated(600).split(0.3)
    for mode, epsilon in (("published", 1.0), ("corrected", 5.0)):
        model = DPText(mode=mode, epsilon=epsilon, epochs=6, least_count=1)
        model.fit(train.texts, train.labels, train.private)
        ledger = Ledger(epsilon) if model.honest else None
        released = model.encode(test.texts, ledger=ledger)
        _, task = strongest((model.encode(train.texts), train.labels or []), (released, test.labels or []))
        _, link = strongest_link(released, model.bounded(test.texts))
        result = audit_model(model, test.texts, samples=20_000, seed=1)
        print(f"{mode}, epsilon {epsilon:g}: task {task}, linked {link}, audit {result.verdict}")


if __name__ == "__main__":
    main()
