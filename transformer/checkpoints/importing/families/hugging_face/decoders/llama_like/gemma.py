"""Gemma (Gemma Team 2024, arXiv:2403.08295) as Hugging Face's transformers saves it.

Llama's names, with norms that multiply by 1 + w, embeddings multiplied by sqrt(d_model), GELU in the gated
feed-forward, and a tied generator.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.hugging_face.decoders.llama_like import (
    _llama_layout as llama_layout,
)
from transformer.checkpoints.importing.family import (
    Family,
    Into,
    Renames,
    may_be,
    prefixed,
    rotated_pairs_side_by_side,
)
from transformer.checkpoints.importing.layout.hugging_face import ACTIVATIONS
from transformer.checkpoints.reading.memory_map import map_tensor
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.model.config import TransformerConfig

if TYPE_CHECKING:
    from torch import Tensor


def from_zero(tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
    """w -> 1 + w: norm weights are stored as the difference from 1."""
    return (1 + tensor.float(),)


def of_heads_from_zero(tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
    """The same for a norm of queries or keys, with rotated pairs side by side."""
    [paired] = rotated_pairs_side_by_side(tensor, config)
    return from_zero(paired, config)


_NORMS: Renames = {
    "input_layernorm.weight": Into(from_zero, "self_attn_norm.gamma"),
    "post_attention_layernorm.weight": Into(from_zero, "feed_forward_norm.gamma"),
}
RENAMES: Renames = {
    **llama_layout.RENAMES,
    **prefixed(_NORMS, "layers.{}.", "decoder.layers.{}."),
    "norm.weight": Into(from_zero, "decoder.final_norm.gamma"),
}

_USUAL = llama_layout.Usual(
    of="every Gemma", bare=("GemmaModel",), tied=True, d_head=256, norm_eps=(1e-6,), lengths=(8192,)
)
_VOCABULARIES = ((256_000,), (256_128,))
"""Rows of the published embeddings."""
_BELOW_ZERO = 0.01
"""If more than this share of norm weights is negative, they are stored as the difference from 1."""
_HALVES = {"BF16": "bfloat16", "F16": "float16"}


def matches(raw: RawCheckpoint) -> bool:
    """True if there are Llama's names and no norms of queries and keys."""
    has_norms = "layers.0.self_attn.q_norm.weight" in raw.tensors
    return llama_layout.has_names(raw) and not has_norms and may_be(raw, "gemma")


def is_likely(raw: RawCheckpoint) -> bool:
    """True if the vocabulary is Gemma's, or norm weights are below 0, which learned factors are not."""
    if raw.tensors["embed_tokens.weight"].shape[:1] in _VOCABULARIES:
        return True
    stored = [raw.tensors[name] for name in raw.tensors if name.endswith("layernorm.weight")]
    weights = [map_tensor(one).flatten() for one in stored if one.dtype in ("F32", *_HALVES)]
    below = sum(int((weight < 0).sum()) for weight in weights)
    return below > _BELOW_ZERO * sum(len(weight) for weight in weights)


def read_config(draft: ConfigDraft) -> None:
    """Read config.json, or the shapes and answers."""
    llama_layout.read_layers(draft, _USUAL)
    draft.layout("every Gemma", activation="gelu_tanh")
    put_embedding_scale(draft)
    config = draft.config
    if config is not None:
        # The first files say gelu but mean its approximation, as hidden_activation in later ones shows.
        told = config.choice("hidden_act", ACTIVATIONS | {"gelu": "gelu_tanh"}, "gelu_pytorch_tanh")
        if "hidden_activation" in config:
            told = config.choice("hidden_activation", ACTIVATIONS)
        draft.configured("activation", told, "hidden_act, hidden_activation")
        config.only("use_bidirectional_attention", False, why="a decoder that sees later tokens")
        llama_layout.refuse_other_computations(config)


def put_embedding_scale(draft: ConfigDraft) -> None:
    """Fill in embedding_scale: sqrt(d_model), which Gemma's code rounds to the weights' precision."""
    exact = math.sqrt(draft["d_model"])
    half = _HALVES.get(draft.raw.tensors["embed_tokens.weight"].dtype)
    rounded = exact if half is None else _rounded(exact, half)
    if rounded == exact:
        draft.layout("every Gemma", embedding_scale=True)
    else:
        why = f"sqrt(d_model), {exact:.5g}, rounded to the precision of the weights as Gemma's code does"
        draft.put("embedding_scale", rounded, "shapes", why)


def _rounded(value: float, dtype: str) -> float:
    import torch  # imported here because rejected files don't need it

    return torch.tensor(value, dtype=getattr(torch, dtype)).item()


FAMILY = Family(
    name="gemma",
    label="Gemma",
    matches=matches,
    read_config=read_config,
    renames=RENAMES,
    ignored=llama_layout.IGNORED,
    prefixes=("model.",),
    stand_ins=llama_layout.stand_ins,
    kin=llama_layout.KIN,
    trait="norms multiply by 1 + w, embeddings are multiplied by the square root of d_model",
    likely=is_likely,
)
