"""hkproj/pytorch-transformer, Umar Jamil's "Coding a Transformer from scratch".

Pre-norm, with a final norm after each stack; norms divide by the unbiased deviation plus eps. In the first
version a norm has a single alpha and bias for the whole vector, and attention has biases; later there is one
alpha and bias per component, and attention has no biases.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.tutorials import _shared as shared
from transformer.checkpoints.importing.family import Family, Into, Renames, prefixed
from transformer.checkpoints.importing.layout.questions import put_final_norm
from transformer.model.config import TransformerConfig

if TYPE_CHECKING:
    from torch import Tensor


def one_for_each(tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
    """(D,) unchanged, or (1,) -> (D,): one number for all components."""
    return (tensor.expand(config.d_model).contiguous(),)


_NORM = {"gamma": "alpha", "beta": "bias"}
_ATTENTION: Renames = {"w_q": "w_q", "w_k": "w_k", "w_v": "w_v", "w_o": "w_o"}
_SUBLAYERS: Renames = {
    **prefixed(_ATTENTION, "self_attention_block.", "self_attn."),
    "feed_forward_block.linear_1": "feed_forward.w_1",
    "feed_forward_block.linear_2": "feed_forward.w_2",
    "residual_connections.0.norm": Into(one_for_each, "self_attn_norm"),
}
_ENCODER_LAYER: Renames = {
    **_SUBLAYERS,
    "residual_connections.1.norm": Into(one_for_each, "feed_forward_norm"),
}
_DECODER_LAYER: Renames = {
    **_SUBLAYERS,
    **prefixed(_ATTENTION, "cross_attention_block.", "cross_attn."),
    **prefixed(_ATTENTION, "source_attention_block.", "cross_attn."),
    "residual_connections.1.norm": Into(one_for_each, "cross_attn_norm"),
    "residual_connections.2.norm": Into(one_for_each, "feed_forward_norm"),
}
_STACKS: Renames = {
    "encoder.norm": Into(one_for_each, "encoder.final_norm"),
    "decoder.norm": Into(one_for_each, "decoder.final_norm"),
}

RENAMES: Renames = shared.renames(_ENCODER_LAYER, _DECODER_LAYER, final_norm=_STACKS, norm=_NORM)

RENAMED_PARTS = {
    "src_embed.embedding.weight": "src_embedding",
    "tgt_embed.embedding.weight": "tgt_embedding",
    "src_pos.pe": "src_positions",
    "tgt_pos.pe": "tgt_positions",
    "projection_layer.proj.weight": "generator.weight",
    "projection_layer.proj.bias": "generator.bias",
}

_QUERIES = "encoder.layers.0.self_attention_block.w_q.weight"


def read_config(draft: ConfigDraft) -> None:
    """Read the shapes, and ask for the rest."""
    shared.put_sizes(draft, hidden="encoder.layers.0.feed_forward_block.linear_1.weight")
    shared.ask_heads(draft, _QUERIES)
    draft.layout(
        "the same in every version of this code",
        norm="layer_unbiased",
        norm_eps=1e-6,
        norm_position="pre",
        activation="relu",
        embedding_scale=True,
    )
    put_final_norm(draft, ("encoder", "decoder"), "alpha")
    draft.present("attention_bias", _QUERIES.replace("weight", "bias"))
    shared.put_outside(draft, pad_id=1)


FAMILY = Family(
    name="hkproj",
    label="hkproj/pytorch-transformer",
    matches=shared.has(_QUERIES, "decoder.layers.0.self_attention_block.w_q.weight"),
    read_config=read_config,
    renames=RENAMES,
    ignored=shared.IGNORED,
    arrange=shared.arranged(RENAMED_PARTS),
)
