"""Whether what the text systems need is installed, said in a sentence before any work."""

from __future__ import annotations

import importlib.util

from dplitmus.errors import MissingExtraError

_PACKAGES = {
    "torch": "torch",
    "safetensors": "safetensors",
    "sklearn": "scikit-learn",
    "sacrebleu": "sacrebleu",
}


def require(*modules: str, purpose: str = "dplitmus text") -> None:
    """Refuse with the pip command if one of the modules (by default, any of the extra) is missing."""
    for module in modules or _PACKAGES:
        if importlib.util.find_spec(module) is None:
            raise MissingExtraError(_PACKAGES.get(module, module), extra="text", purpose=purpose)
