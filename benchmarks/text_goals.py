"""The text systems on real data, over several seeds: utility, attacks, linkage, audits, against the goals.

    python benchmarks/text_goals.py sentiment happydb atis snips learned audits rewriting-audits

The data sets are not part of this repository: they are looked for in $DPLITMUS_DATA, or in shared/data beside
the clone. Every finished part is kept in --cache (one JSON file each), so that a run can be continued;
`table` prints what is there.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dplitmus.text as dt
from dplitmus.text import attacks
from dplitmus.text.auditing import audit_model
from dplitmus.text.rewriting import TextClassifier, kept
from dplitmus.text.score import majority
from dplitmus.text.vocabulary import tokens_of

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = Path(os.environ.get("DPLITMUS_DATA", Path(__file__).parents[2] / "shared" / "data"))
SAME = 32  # dimension of the published DPText, and of the correct noise beside it
EPOCHS = {"sentiment": 9, "happydb": 5}
ADEPT: dict[str, dict[str, Any]] = {
    "atis": {"epochs": 25, "substitution": 0.15, "least_count": 2},
    "snips": {"epochs": 20, "substitution": 0.25, "least_count": 1, "vocabulary": 12_000, "dropout": 0.05},
}


def sentiment(seed: int) -> dict[str, Any]:
    """Published and correct DPText at epsilon 1, trained end to end, on sentiment_sentences."""
    data = dt.read(
        str(DATA / "sentiment_sentences" / "all.csv"), label_column="label", private_columns=["source"]
    )
    train, test = data.split(800 / len(data), seed)
    variants: dict[str, dict[str, Any]] = {
        "no noise": {"mode": "unprotected"},
        "published 1": {"mode": "published", "epsilon": 1.0},
        "correct 1": {"mode": "corrected", "epsilon": 1.0, "latent": SAME, "bound": "box"},
    }
    return {name: _dptext(train, test, seed, "sentiment", **kw) for name, kw in variants.items()}


def happydb(seed: int) -> dict[str, Any]:
    """The same on happydb (both files mixed, 6,000 + 3,000 rows), and the corrected default shape."""
    private = ["parenthood", "gender", "married"]
    parts = [
        dt.read(
            str(DATA / "happydb" / f"{part}.csv"),
            label_column="social",
            private_columns=private,
            drop_missing=True,
        )
        for part in ("train", "test")
    ]
    data = dt.Dataset(
        parts[0].texts + parts[1].texts,
        (parts[0].labels or []) + (parts[1].labels or []),
        {name: parts[0].private[name] + parts[1].private[name] for name in private},
    )
    rows, _ = data.rows([i for i, g in enumerate(data.private["gender"]) if g in {"m", "f"}]).split(
        0.001, seed
    )
    test, train = rows.rows(range(3000)), rows.rows(range(3000, 9000))
    variants: dict[str, dict[str, Any]] = {
        "no noise": {"mode": "unprotected"},
        "published 1": {"mode": "published", "epsilon": 1.0},
        "correct 1": {"mode": "corrected", "epsilon": 1.0, "latent": SAME, "bound": "box"},
        "default 10": {"mode": "corrected", "epsilon": 10.0},
    }
    return {name: _dptext(train, test, seed, "happydb", **kw) for name, kw in variants.items()}


def _dptext(train: dt.Dataset, test: dt.Dataset, seed: int, name: str, **settings: Any) -> dict[str, Any]:
    started = time.process_time()
    model = dt.DPText(truncate=True, seed=seed, epochs=EPOCHS[name], **settings)
    model.fit(train.texts, train.labels, train.private)
    known, asked = model.encode(_known(model, train)), model.encode(_known(model, test))
    clean = model.bounded(_known(model, test))
    trainable, testable = _rows_known(model, train), _rows_known(model, test)
    own = [a == b for a, b in zip(model.predict(asked), testable.labels or [], strict=True)]
    learnt, wanted = (known, trainable.labels or []), (asked, testable.labels or [])
    found: dict[str, Any] = {
        "task": sum(own) / len(own),
        "task, fresh classifier": attacks.strongest(learnt, wanted)[1].value,
        "majority": majority(testable.labels or []),
        "link": attacks.strongest_link(asked, clean)[1].value,
    }
    for attribute in test.private:
        hidden = (known, trainable.private[attribute]), (asked, testable.private[attribute])
        _, score = attacks.strongest(*hidden)
        found[f"{attribute} above majority"] = score.value - score.baseline
        found[f"{attribute}, lower end"] = score.low - score.baseline
        found[f"{attribute}, upper end"] = score.high - score.baseline
        # What the task itself gives away: the attribute guessed from the true task label and nothing else.
        found[f"{attribute} from the label"] = _from_label(trainable, testable, attribute)
    found["seconds"] = time.process_time() - started
    return found


def _from_label(train: dt.Dataset, test: dt.Dataset, attribute: str) -> float:
    """Accuracy above the majority of guessing the attribute that goes most often with the task label."""
    seen = Counter(zip(train.labels or [], train.private[attribute], strict=True))
    values = sorted(set(train.private[attribute]))
    guess = {label: max(values, key=lambda value: seen[label, value]) for label in set(train.labels or [])}
    truth = test.private[attribute]
    right = [guess[label] == value for label, value in zip(test.labels or [], truth, strict=True)]
    return sum(right) / len(right) - majority(truth)


def _rows_known(model: dt.DPText, data: dt.Dataset) -> dt.Dataset:
    """The rows with a word that the model knows: others are refused by it."""
    words = model.vocabulary.numbers if model.vocabulary else {}
    return data.rows([i for i, text in enumerate(data.texts) if any(t in words for t in tokens_of(text))])


def _known(model: dt.DPText, data: dt.Dataset) -> list[str]:
    return _rows_known(model, data).texts


def adept(name: str) -> Callable[[int], dict[str, Any]]:
    """ADePT on atis or snips: published and correct sensitivity at several epsilons, 400 unseen sentences."""

    def part(seed: int) -> dict[str, Any]:
        started = time.process_time()
        train, test = (
            dt.read(str(DATA / name / f"{split}.csv"), label_column="label") for split in ("train", "test")
        )
        seen = set(train.texts)
        test = test.rows([i for i, text in enumerate(test.texts) if text not in seen][:400])
        intents = TextClassifier(train.texts, train.labels or [])
        model = dt.ADePT(truncate=True, seed=seed, **ADEPT[name])
        model.fit(sorted(seen))
        model.save_pretrained(_directory("models", name, seed))
        seconds = time.process_time() - started
        clean = model.bounded(test.texts)
        found: dict[str, Any] = {"no noise": _rewritten(test, model.decode(clean), intents)}
        seen_texts = train.texts[:400]
        found["no noise"]["seen bleu"] = kept(seen_texts, model.decode(model.bounded(seen_texts))).bleu
        for sensitivity in ("published", "correct"):
            changed = model.with_sensitivity(sensitivity)
            for epsilon in (1.0, 10.0, 100.0, 1000.0):
                released = changed.encode(test.texts, epsilon=epsilon)
                row = _rewritten(test, changed.decode(released), intents)
                row["link"] = attacks.strongest_link(released, clean)[1].value
                found[f"{sensitivity} {epsilon:g}"] = row
        found["no noise"]["seconds"] = seconds
        return found

    return part


def _rewritten(test: dt.Dataset, rewrites: list[str], intents: TextClassifier) -> dict[str, Any]:
    left = kept(test.texts, rewrites)
    intent = intents.score(rewrites, test.labels or []).value
    return {"bleu": left.bleu, "exact": left.exact, "edits": left.edits, "intent": intent}


def learned(seed: int) -> dict[str, Any]:
    """Where a learned epsilon goes, with and without a cap, by right and by published noise."""
    data = dt.read(
        str(DATA / "sentiment_sentences" / "all.csv"), label_column="label", private_columns=["source"]
    )
    train, _ = data.split(800 / len(data), seed)
    found = {}
    for mode in ("corrected", "published"):
        for cap in (True, False):
            settings: dict[str, Any] = {"mode": mode, "epsilon": 10.0, "learn_epsilon": True, "cap": cap}
            settings |= {"latent": 8, "bound": "box", "unsafe": not cap}
            model = dt.DPText(truncate=True, seed=seed, epochs=6, **settings)
            model.fit(train.texts, train.labels, train.private)
            path = model.history["epsilon"]
            name = f"{mode}, {'cap 10' if cap else 'no cap'}"
            found[name] = {"first": path[0], "last": path[-1], "largest": max(path)}
    return found


def audits(seed: int) -> dict[str, Any]:
    """Audits of trained DPText models, at most 200,000 released vectors each."""
    data = dt.read(
        str(DATA / "sentiment_sentences" / "all.csv"), label_column="label", private_columns=["source"]
    )
    train, test = data.split(800 / len(data), seed)
    found: dict[str, Any] = {}
    variants: dict[str, dict[str, Any]] = {
        "dptext published, zero": {"mode": "published", "epsilon": 1.0},
        "dptext published, redraw": {"mode": "published", "epsilon": 1.0, "reading": "redraw"},
        "dpnr": {"mode": "published", "epsilon": 1.0, "reading": "one-scalar"},
        "dptext correct, same shape": {
            "mode": "corrected",
            "epsilon": 1.0,
            "latent": SAME,
            "bound": "box",
        },
        "dptext corrected, default": {"mode": "corrected", "epsilon": 10.0},
    }
    for name, settings in variants.items():
        model = dt.DPText(truncate=True, seed=seed, epochs=4, **settings)
        model.fit(train.texts, train.labels, train.private)
        found[name] = _audited(model, _known(model, test), seed)
    return found


def rewriting_audits(seed: int) -> dict[str, Any]:
    """The same of ADePT, with the models that `atis` and `snips` have left."""
    found: dict[str, Any] = {}
    for name in ("atis", "snips"):
        folder = _directory("models", name, seed)
        if not folder.exists():
            continue
        texts = dt.read(str(DATA / name / "test.csv"), label_column="label").texts
        base = dt.ADePT.from_pretrained(folder)
        for sensitivity in ("published", "correct"):
            model_ = base.with_sensitivity(sensitivity)
            found[f"adept {name}, {sensitivity}"] = _audited(model_, texts, seed, epsilon=1.0)
    return found


def _audited(model: Any, texts: list[str], seed: int, epsilon: float | None = None) -> dict[str, Any]:
    result = audit_model(model, texts, samples=200_000, seed=seed, epsilon=epsilon)
    return {
        "claimed": result.claim.epsilon,
        "certified": result.epsilon_lower,
        "violated": float(result.verdict.value == "violated"),
        "draws": result.samples,
        "seconds": result.seconds or 0.0,
    }


PARTS: dict[str, Callable[[int], dict[str, Any]]] = {
    "sentiment": sentiment,
    "happydb": happydb,
    "atis": adept("atis"),
    "snips": adept("snips"),
    "learned": learned,
    "audits": audits,
    "rewriting-audits": rewriting_audits,
}
CACHE = Path(".dplitmus") / "text-goals"


def _directory(*parts: Any) -> Path:
    return CACHE.joinpath(*map(str, parts))


def table(name: str) -> None:
    """Print mean, lowest and highest over the seeds that are there."""
    runs = [json.loads(file.read_text()) for file in sorted(CACHE.glob(f"{name}-*.json"))]
    if not runs:
        return
    print(f"\n{name}, {len(runs)} seeds: mean (lowest to highest)")
    variants = {variant: metrics for run in runs for variant, metrics in run.items()}
    for variant, metrics in variants.items():
        for metric in metrics:
            values = [run[variant][metric] for run in runs if variant in run]
            spread = f"({min(values):.3f} to {max(values):.3f})"
            print(f"  {variant:<28}{metric:<28}{statistics.mean(values):>10.3f}  {spread}")


def main() -> None:
    """Run the parts that are asked for, seed by seed, and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", choices=[*PARTS, "table"], default="table")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    arguments = parser.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    names = [name for name in PARTS if name in arguments.parts]
    for seed in arguments.seeds:
        for name in names:
            file = CACHE / f"{name}-{seed}.json"
            if not file.exists():
                file.write_text(json.dumps(PARTS[name](seed), indent=2))
                print(f"{name} {seed} done", flush=True)
    for name in PARTS:
        table(name)


if __name__ == "__main__":
    main()
