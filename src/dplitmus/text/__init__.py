"""The text systems of the paper, as published and corrected: `pip install 'dplitmus[text]'`.

The core never imports it; what it offers is loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dplitmus.text.adept import ADePT, ADePTSettings
    from dplitmus.text.corpus import generated
    from dplitmus.text.data import Dataset, read
    from dplitmus.text.dptext import DPText, DPTextSettings
    from dplitmus.text.layer import BoundedLaplace, published
    from dplitmus.text.ledger import Ledger
    from dplitmus.text.releasing import release
    from dplitmus.text.saving import load

__all__ = [
    "ADePT",
    "ADePTSettings",
    "BoundedLaplace",
    "DPText",
    "DPTextSettings",
    "Dataset",
    "Ledger",
    "generated",
    "load",
    "published",
    "read",
    "release",
]
_PLACES = {
    "ADePT": "adept",
    "ADePTSettings": "adept",
    "BoundedLaplace": "layer",
    "DPText": "dptext",
    "DPTextSettings": "dptext",
    "Dataset": "data",
    "Ledger": "ledger",
    "generated": "corpus",
    "load": "saving",
    "published": "layer",
    "read": "data",
    "release": "releasing",
}


def __getattr__(name: str) -> object:
    """Load a public name, or say which package is missing."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    from dplitmus.text.extra import require

    require()
    return getattr(importlib.import_module(f"dplitmus.text.{_PLACES[name]}"), name)
