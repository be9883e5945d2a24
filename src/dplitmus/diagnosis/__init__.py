"""Naming the cause: statistical tests that say, in words and numbers, what is probably wrong.

Takes a mechanism, its claim, one pair of inputs, and outputs on both; gives notes, the likeliest cause first.
It comes after the verdict and changes nothing about it. A cause is named where a coincidence has probability
below 1e-9, and where it would break the claim: noise that is larger than needed is nobody's mistake.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dplitmus.diagnosis.budget import growing
from dplitmus.diagnosis.lattice import lattice
from dplitmus.diagnosis.law import law as law_of
from dplitmus.diagnosis.noise import correlation, dependent, family, one_sided, shared, silent_input
from dplitmus.diagnosis.scale import odds, too_much, unclipped
from dplitmus.diagnosis.values import atoms, repeated, special, symbols, unlike
from dplitmus.verdict import Note

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dplitmus.diagnosis.subject import Subject
    from dplitmus.habits import Habits


def notes(subject: Subject) -> Iterator[Note]:
    """All notes, those that explain others first: values, then the law of the noise, then its bits."""
    with np.errstate(all="ignore"):  # outputs may be as large as floats can be
        causes = list(_causes(subject))
        if not causes and subject.violated:
            causes += growing(subject)
        causes += lattice(subject)
    yield from causes
    if not any(note.code == "DP306" for note in causes):
        yield from special(subject)
    yield from unlike(subject)
    yield from randomness(subject.habits)


def _causes(subject: Subject) -> Iterator[Note]:
    yield from symbols(subject)
    if silent_input(subject) is None:
        yield from seeds(subject)
        if subject.habits.constant:
            return
    repetition = list(repeated(subject))
    yield from repetition
    yield from atoms(subject)
    law = law_of(subject, reused=bool(repetition))
    if law is not None:
        yield from one_sided(subject, law)
    mixing = correlation(subject)
    together = list(shared(subject, mixing)) if mixing is not None else []
    yield from together
    # Sums of noisy answers are correlated with them, and nobody's mistake; but their losses do not add up.
    mixed = mixing is not None and mixing.clear and not (mixing.singular and together)
    dependence = list(dependent(subject, law))
    if law is not None:
        wrong = list(family(subject, law))
        yield from wrong
        if wrong or dependence:
            yield from unclipped(subject, law)
        else:
            yield from too_much(subject, law, mixed=mixed)
    elif subject.violated and not mixed:
        yield from odds(subject)
    yield from dependence


def seeds(subject: Subject) -> Iterator[Note]:
    """What a mechanism's habits say about its seed."""
    habits, (low, high) = subject.habits, subject.sides
    # One that mostly gives the same answer on both inputs hides them well.
    if habits.constant and (subject.violated or not np.isin(low.keys, high.keys).any()):
        yield Note(
            "DP304",
            f"{habits.seen} outputs on one input are all the same: the noise is missing, switched off, "
            "seeded anew at every draw, or kept from the first call on (with isolate each call starts anew).",
        )
    if habits.shares:
        yield Note(
            "DP307",
            "all outputs of one call are the same, or a few of them again and again, and those of the next "
            "call are others: the noise is drawn once for a whole batch. Differences between the records of "
            "a batch come out without noise. For this audit each draw was a call of its own.",
        )
    if habits.repeats:
        yield Note(
            "DP305",
            "the draws repeat from call to call: there is a fixed seed inside, and whoever knows it can "
            "subtract the noise. For this audit all draws came from one long call on each input.",
        )


def randomness(habits: Habits) -> Iterator[Note]:
    """Whether the run can be replayed."""
    if not habits.replays:
        yield Note(
            "DP303",
            "the mechanism does not take all its randomness from the rng: another run of the same command "
            "draws other numbers.",
        )
