"""A small corpus that is generated, so that every text command runs without any data.

Reviews of a stay, with a task label (would the guest come back?) and two private attributes that the words
give away (where the guest comes from, and whether with children). Nothing here is about anybody.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from dplitmus.errors import whole_number
from dplitmus.text.data import Dataset

if TYPE_CHECKING:
    from collections.abc import Sequence

_THINGS = (
    "room", "bed", "breakfast", "view", "pool", "staff", "lobby", "dinner", "garden", "shower", "balcony",
    "coffee", "soup", "terrace", "kitchen", "window", "towel", "service", "price", "location",
)  # fmt: skip
_GOOD = (
    "lovely",
    "clean",
    "bright",
    "friendly",
    "excellent",
    "quiet",
    "generous",
    "charming",
    "perfect",
    "fresh",
)
_BAD = ("dirty", "noisy", "dark", "rude", "awful", "broken", "stale", "cold", "tiny", "overpriced")
_GLAD = ("we will return", "i would come again", "see you next year", "highly recommended", "a happy stay")
_SORRY = ("never again", "we left early", "i want a refund", "stay away", "a sad week")
_FROM = {
    "coast": (
        "we came by ferry",
        "after a day of sailing",
        "missing the sea",
        "from the harbour",
        "with wet boots",
    ),
    "mountains": (
        "we came by cable car",
        "after a day of skiing",
        "missing the snow",
        "from the valley",
        "with old boots",
    ),
}
_CHILDREN = {
    "yes": ("with our daughter", "our son slept well", "the kids played cards", "with a pram"),
    "no": ("on our own", "after a late concert", "just the two of us", "with two friends"),
}
_WHEN = (
    "in march",
    "in june",
    "in august",
    "in october",
    "on monday",
    "on friday",
    "last week",
    "this winter",
)
_STRAY = 0.08  # of the parts belong to the other class: no attack and no task is perfect


def generated(rows: int = 2000, seed: int = 1) -> Dataset:
    """Return `rows` sentences with the label `again` and the private attributes `home` and `children`."""
    whole_number("rows", rows, least=20, most=10**6, help="try rows=2000")
    rng = random.Random(seed)  # noqa: S311  (made-up sentences are no secret)
    texts: list[str] = []
    labels: list[str] = []
    private: dict[str, list[str]] = {"home": [], "children": []}
    for _ in range(rows):
        again, home, children = (
            rng.random() < 0.5,
            rng.choice(("coast", "mountains")),
            rng.choice(("yes", "no")),
        )
        texts.append(_sentence(rng, again=again, home=home, children=children))
        labels.append("yes" if again else "no")
        private["home"].append(home)
        private["children"].append(children)
    return Dataset(texts, labels, private)


def _sentence(rng: random.Random, *, again: bool, home: str, children: str) -> str:
    parts = [
        f"the {rng.choice(_THINGS)} was {rng.choice(_pick(rng, again, _GOOD, _BAD))}",
        f"the {rng.choice(_THINGS)} was {rng.choice(_pick(rng, again, _GOOD, _BAD))}",
        rng.choice(_pick(rng, home == "coast", _FROM["coast"], _FROM["mountains"])),
        rng.choice(_pick(rng, children == "yes", _CHILDREN["yes"], _CHILDREN["no"])),
        rng.choice(_WHEN),
    ]
    if rng.random() < 0.5:
        parts[1] = rng.choice(_pick(rng, again, _GLAD, _SORRY))
    rng.shuffle(parts)
    return " ".join(parts[: rng.choice((4, 5, 5))])


def _pick(rng: random.Random, first: bool, one: Sequence[str], other: Sequence[str]) -> Sequence[str]:  # noqa: FBT001
    return one if first is (rng.random() >= _STRAY) else other
