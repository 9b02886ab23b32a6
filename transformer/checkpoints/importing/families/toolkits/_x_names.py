"""The names in x-transformers, as arranged by `_sublayers`, and ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from transformer.checkpoints.importing.families.toolkits._sublayers import HALVES, OFFSET
from transformer.checkpoints.importing.family import (
    Into,
    Renames,
    module_renames,
    prefixed,
    rotated_pairs_side_by_side,
)
from transformer.model.config import TransformerConfig

if TYPE_CHECKING:
    from torch import Tensor


def _plus_one(tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
    return (tensor + 1,)


def _scaled_positions(tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
    return (tensor[: config.max_len] * config.d_model**-0.5,)


def _norm(name: str) -> Renames:
    return {
        f"{name}.gamma": f"{name}.gamma",
        f"{name}.{OFFSET}": Into(_plus_one, f"{name}.gamma"),
        f"{name}.beta": f"{name}.beta",
    }


def _attention(name: str) -> Renames:
    return {
        f"{name}.to_q.weight": f"{name}.w_q.weight",
        f"{name}.to_k.weight": f"{name}.w_k.weight",
        f"{name}.to_q.{HALVES}": Into(rotated_pairs_side_by_side, f"{name}.w_q.weight"),
        f"{name}.to_k.{HALVES}": Into(rotated_pairs_side_by_side, f"{name}.w_k.weight"),
        f"{name}.to_v.weight": f"{name}.w_v.weight",
        f"{name}.to_out.weight": f"{name}.w_o.weight",
        f"{name}.to_out.bias": f"{name}.w_o.bias",
    }


def _two_blocks(tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
    """(2 * out, ...) -> two of (out, ...): the linear part, then its gate."""
    return tensor.chunk(2)


_FEED_FORWARD: Renames = {
    "ff.0.0": "w_1",
    "ff.0.proj": Into(_two_blocks, "w_3", "w_1"),
    "ff.2": "w_2",
    "ff.3": "w_2",
}
_LAYER: Renames = {
    name: target
    for sublayer in ("self_attn", "cross_attn", "feed_forward")
    for norm in (f"{sublayer}_norm", f"{sublayer}_post_norm")
    for name, target in _norm(norm).items()
} | {
    **_attention("self_attn"),
    **_attention("cross_attn"),
    **prefixed(module_renames(_FEED_FORWARD), "feed_forward.", "feed_forward."),
}

RENAMES: Renames = {
    "src_embedding": "src_embedding.weight",
    "tgt_embedding": "tgt_embedding.weight",
    "src_positions": Into(_scaled_positions, "src_embedding.positions.weight"),
    "tgt_positions": Into(_scaled_positions, "tgt_embedding.positions.weight"),
    **prefixed(_norm("norm"), "src_embedding.", "src_embedding."),
    **prefixed(_norm("norm"), "tgt_embedding.", "tgt_embedding."),
    **prefixed(_LAYER, "encoder.layers.{}.", "encoder.layers.{}."),
    **prefixed(_LAYER, "decoder.layers.{}.", "decoder.layers.{}."),
    **prefixed(_norm("final_norm"), "encoder.", "encoder."),
    **prefixed(_norm("final_norm"), "decoder.", "decoder."),
    "generator.weight": "generator.weight",
    "generator.bias": "generator.bias",
}
"""Names as given by `arrange`."""

_ANGLES = "The rotary frequencies; our model makes its own."
_UNUSED_HEAD = "The encoder's generator, which nothing uses."
IGNORED = {
    "encoder.rotary_pos_emb.inv_freq": _ANGLES,
    "decoder.rotary_pos_emb.inv_freq": _ANGLES,
    "encoder.to_logits.weight": _UNUSED_HEAD,
    "encoder.to_logits.bias": _UNUSED_HEAD,
}
