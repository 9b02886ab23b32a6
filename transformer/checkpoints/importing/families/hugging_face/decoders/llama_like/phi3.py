"""Phi-3 and Phi-4 (Microsoft 2024, arXiv:2404.14219) as Hugging Face's transformers saves them.

Llama with queries, keys and values in one matrix, and the feed-forward's gate and linear part in another.
"""

from __future__ import annotations

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
from transformer.checkpoints.importing.layout.hugging_face import read_activation
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.model.config import TransformerConfig

if TYPE_CHECKING:
    from torch import Tensor


def queries_keys_values(tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
    """((H + 2 kv) * d_head, ...) -> queries, keys, values, with rotated pairs side by side."""
    n_keys = config.n_kv_heads * config.d_head
    queries, keys, values = tensor.split([config.n_heads * config.d_head, n_keys, n_keys])
    return *rotated_pairs_side_by_side(queries, config), *rotated_pairs_side_by_side(keys, config), values


def two_blocks(tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
    """(2 * out, ...) -> two of (out, ...): the gate, then the linear part."""
    return tensor.chunk(2)


_FUSED: Renames = {
    "self_attn.qkv_proj.weight": Into(
        queries_keys_values, "self_attn.w_q.weight", "self_attn.w_k.weight", "self_attn.w_v.weight"
    ),
    "mlp.gate_up_proj.weight": Into(two_blocks, "feed_forward.w_1.weight", "feed_forward.w_3.weight"),
}
RENAMES: Renames = {**llama_layout.RENAMES, **prefixed(_FUSED, "layers.{}.", "decoder.layers.{}.")}

_USUAL = llama_layout.Usual(
    of="every Phi-3",
    bare=("Phi3Model",),
    norm_eps=(1e-5,),
    lengths=(4096, 8192, 131_072),
    rotated_part=1.0,
)


def matches(raw: RawCheckpoint) -> bool:
    """True if there are Phi-3's fused projections."""
    names = {"embed_tokens.weight", *(f"layers.0.{name}" for name in _FUSED)}
    return names <= raw.tensors.keys() and may_be(raw, "phi3")


def read_config(draft: ConfigDraft) -> None:
    """Read config.json, or the shapes and answers."""
    read_activation(draft, "hidden_act", "silu")
    llama_layout.read_layers(draft, _USUAL)
    if draft.config is not None:
        draft.config.get("original_max_position_embeddings")  # for longrope, which is rejected
        llama_layout.refuse_other_computations(draft.config)


FAMILY = Family(
    name="phi3",
    label="Phi-3",
    matches=matches,
    read_config=read_config,
    renames=RENAMES,
    ignored=llama_layout.IGNORED,
    prefixes=("model.",),
)
