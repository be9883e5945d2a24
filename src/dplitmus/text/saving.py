"""Model directories: configuration, weights, vocabulary, model card; data only, never pickle.

Takes a trained system or a directory; gives the other. `config.json` holds the digest of the other files
and of itself, so that what was changed is not loaded; and a format number, so that another version's
directory is refused by name. Digests find accidents and careless hands; who means to deceive can make new
ones, so take models only from those you trust. The model card is for people, and may be edited.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import safetensors.torch

from dplitmus import store
from dplitmus.errors import InputError, one_line
from dplitmus.text.adept import ADePT
from dplitmus.text.card import model_card
from dplitmus.text.dptext import DPText
from dplitmus.text.vocabulary import SPECIAL, Vocabulary

if TYPE_CHECKING:
    import os

    from dplitmus.text.system import TextSystem

KIND, FORMAT = "dplitmus-text-model", 1
_CONFIG, _WEIGHTS, _WORDS, _CARD = "config.json", "model.safetensors", "vocabulary.json", "README.md"
_SYSTEMS: dict[str, type[DPText | ADePT]] = {"dptext": DPText, "adept": ADePT}
_MOST_BYTES = 4 * 2**30


def save(model: TextSystem, directory: str | os.PathLike[str]) -> Path:
    """Write the model directory; the configuration comes last, so that half a directory is none."""
    from dplitmus import __version__

    folder = store.prepare_directory(directory)
    network = model.network
    weights = {name: value.contiguous().cpu() for name, value in network.state_dict().items()}
    content = {_WEIGHTS: safetensors.torch.save(_distinct(weights))}
    if model.vocabulary is not None:
        words = json.dumps({"words": list(model.vocabulary.words)}, ensure_ascii=False, indent=0)
        content[_WORDS] = words.encode()
    config: dict[str, Any] = {
        "kind": KIND,
        "format": FORMAT,
        "version": __version__,
        "system": model.name,
        **model.config(),
        "claim": dict(model.claim()),
        "audit": model.audited,
        "history": model.history,
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in content.items()},
    }
    config["digest"] = _digest(config)
    for name, data in content.items():
        store.write(folder / name, data)
    store.write(folder / _CARD, model_card(config))
    store.write(folder / _CONFIG, json.dumps(config, indent=2, allow_nan=False) + "\n")
    return folder


def _digest(config: dict[str, Any]) -> str:
    """Of the whole configuration but the digest itself, however its file is laid out."""
    signed = {name: value for name, value in config.items() if name != "digest"}
    return hashlib.sha256(json.dumps(signed, sort_keys=True).encode()).hexdigest()


def _distinct(weights: dict[str, Any]) -> dict[str, Any]:
    """Weights that are shared (the word vectors) once each: the format refuses to store them twice."""
    seen: set[int] = set()
    kept = {}
    for name, value in weights.items():
        if value.data_ptr() not in seen or value.numel() == 1:
            kept[name] = value.clone()
        seen.add(value.data_ptr())
    return kept


def load(directory: str | os.PathLike[str]) -> DPText | ADePT:
    """Read a model directory, or refuse with DP223 what is none or was changed."""
    folder = Path(directory)
    config = _config(folder)
    content = {name: _checked(folder / name, digest) for name, digest in config["files"].items()}
    if not content.keys() <= {_WEIGHTS, _WORDS} or _WEIGHTS not in content:
        raise _refusal(f"{str(folder)!r} lists files that a model does not have")
    try:
        vocabulary = _vocabulary(content[_WORDS]) if _WORDS in content else None
        model = _SYSTEMS[config["system"]].of_config(config, vocabulary)
        weights = safetensors.torch.load(content[_WEIGHTS])
        missing, unexpected = model.network.load_state_dict(weights, strict=False)
        shared = {name for name in missing if name.endswith("embedding.weight")}
        foreign = bool(unexpected) or set(missing) != shared
    except InputError:
        raise
    except Exception as error:  # whatever a foreign file makes the parsers raise
        raise _refusal(f"{str(folder)!r} cannot be read as a model: {one_line(str(error))}") from error
    if foreign:
        raise _refusal(f"the weights in {str(folder)!r} are not those of its configuration")
    if dict(model.claim()) != config["claim"]:
        raise _refusal(f"the claim in {str(folder / _CONFIG)!r} was changed after the model was saved")
    model.audited, model.history = config.get("audit"), dict(config.get("history", {}))
    model.network.eval()
    return model


def _config(folder: Path) -> dict[str, Any]:
    file = folder / _CONFIG
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise _refusal(f"{str(folder)!r} is no model directory: no {_CONFIG}") from error
    except (ValueError, RecursionError) as error:
        raise _refusal(f"{str(file)!r} is not JSON") from error
    if not isinstance(config, dict) or config.get("kind") != KIND:
        raise _refusal(f"{str(folder)!r} is no model of dplitmus")
    if config.get("format") != FORMAT:
        raise _refusal(
            f"{str(folder)!r} has format {config.get('format')!r} (dplitmus {config.get('version')}), and "
            f"this version reads format {FORMAT}"
        )
    if config.get("digest") != _digest(config):
        raise _refusal(f"{str(file)!r} was changed after the model was saved")
    named = config.get("system") in _SYSTEMS and isinstance(config.get("files"), dict)
    if not named or not config.keys() >= {"settings", "labels", "private", "claim"}:
        raise _refusal(f"{str(file)!r} is incomplete")
    return config


def _checked(file: Path, digest: object) -> bytes:
    if file.name not in {_WEIGHTS, _WORDS}:
        raise _refusal(f"{str(file)!r} is no part of a model")
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise _refusal(f"{str(file)!r} is larger than any model")
        data = file.read_bytes()
    except OSError as error:
        raise _refusal(f"cannot read {str(file)!r}: {error.strerror or error}") from error
    if hashlib.sha256(data).hexdigest() != digest:
        raise _refusal(f"{str(file)!r} was changed after the model was saved")
    return data


def _vocabulary(data: bytes) -> Vocabulary:
    words = json.loads(data)["words"]
    if tuple(words[: len(SPECIAL)]) != SPECIAL or not all(isinstance(word, str) for word in words):
        raise _refusal(f"{_WORDS} is no vocabulary")
    return Vocabulary(tuple(words))


def _refusal(message: str) -> InputError:
    return InputError(message, code="DP223", help="take the directory as it was saved, or train again")
