"""How much of a text is left after rewriting: BLEU, exact match, edit distance, intent kept, membership.

Takes texts, their rewrites and labels; gives scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dplitmus.errors import InputError
from dplitmus.text.score import Score, majority
from dplitmus.text.vocabulary import normal, tokens_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dplitmus.text.data import Dataset


@dataclass(frozen=True, kw_only=True)
class Kept:
    """What rewrites have in common with their originals."""

    bleu: float  # 0 to 100, of the whole set
    exact: float  # share of texts that are unchanged
    edits: float  # token edits per token of the original


def kept(originals: Sequence[str], rewrites: Sequence[str]) -> Kept:
    """Compare texts as the systems see them: lower case, tokens with blanks between."""
    import sacrebleu

    before, after = [normal(text) for text in originals], [normal(text) for text in rewrites]
    bleu = sacrebleu.corpus_bleu(after, [before], force=True, tokenize="none").score
    same = float(np.mean([one == other for one, other in zip(before, after, strict=True)]))
    pairs = [(tokens_of(one), tokens_of(other)) for one, other in zip(before, after, strict=True)]
    edits = sum(edit_distance(one, other) for one, other in pairs) / sum(len(one) for one, _ in pairs)
    return Kept(bleu=bleu, exact=same, edits=edits)


def edit_distance(one: Sequence[str], other: Sequence[str]) -> int:
    """The fewest insertions, deletions and replacements of tokens that turn one into the other.

    >>> edit_distance("a b c".split(), "a c d".split())
    2
    """
    row = list(range(len(other) + 1))
    for i, token in enumerate(one, start=1):
        diagonal, row[0] = row[0], i
        for j, rival in enumerate(other, start=1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (token != rival))
    return row[-1]


class TextClassifier:
    """Logistic regression on words and pairs of words: an intent classifier, or an attacker."""

    def __init__(self, texts: Sequence[str], labels: Sequence[str]) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline

        words = TfidfVectorizer(tokenizer=tokens_of, token_pattern=None, lowercase=False, ngram_range=(1, 2))
        self._model: Any = make_pipeline(words, LogisticRegression(max_iter=1000, C=10.0))
        # A rewrite may be empty; a mark keeps it a text.
        self._model.fit([f"{text} ." for text in texts], list(labels))

    def score(self, texts: Sequence[str], labels: Sequence[str]) -> Score:
        """How often the class is right."""
        guesses = self._model.predict([f"{text} ." for text in texts])
        return Score.of(guesses == np.asarray(list(labels)), baseline=majority(labels))

    def confidences(self, texts: Sequence[str], labels: Sequence[str]) -> NDArray[np.float64]:
        """Probabilities, the true class's first and the others in falling order."""
        chances = self._model.predict_proba([f"{text} ." for text in texts])
        place = {name: number for number, name in enumerate(self._model.classes_)}
        own = np.array(
            [row[place[label]] if label in place else 0.0 for row, label in zip(chances, labels, strict=True)]
        )
        ordered = -np.sort(-chances, axis=1)[:, :3]
        return np.column_stack([own, np.log(own + 1e-9), ordered])


def membership(data: Dataset, rewrites: Sequence[str], seed: int = 0) -> tuple[Score, float]:
    """Who was among the rewritten texts that a classifier was trained on? Accuracy, and area under the curve.

    As Shokri et al. (2017), with one shadow model: a classifier trained on one quarter's rewrites shows the
    attacker how members look, and the attack is run on a classifier trained on another quarter's. No
    evidence of privacy when it fails: it is one attack.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    if data.labels is None or len(data) < 40:
        raise InputError(
            "membership inference needs 40 labelled texts or more", code="DP221", help="give more rows"
        )
    order = np.random.default_rng(seed).permutation(len(data))
    quarters = [part.tolist() for part in np.array_split(order, 4)]

    def views(inside: list[int], outside: list[int]) -> tuple[Any, Any]:
        chosen = data.rows(inside)
        classifier = TextClassifier([rewrites[i] for i in inside], chosen.labels or [])
        both = data.rows(inside + outside)
        member = np.array([True] * len(inside) + [False] * len(outside))
        return classifier.confidences(both.texts, both.labels or []), member

    shadow, shadow_member = views(quarters[0], quarters[1])
    target, target_member = views(quarters[2], quarters[3])
    attacker = LogisticRegression(max_iter=1000).fit(shadow, shadow_member)
    suspicion = attacker.predict_proba(target)[:, 1]
    hits = (suspicion > 0.5) == target_member
    return Score.of(hits, baseline=0.5), float(roc_auc_score(target_member, suspicion))
