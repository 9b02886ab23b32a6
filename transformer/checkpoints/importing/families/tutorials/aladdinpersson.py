"""aladdinpersson/Machine-Learning-Collection, "transformer_from_scratch".

Post-norm, with learned positions. In the video's code the heads share three matrices of one head's width, for
queries, keys and values; in later versions each matrix is as wide as the model, with biases. Scores are
divided by the square root of the model's width instead of the paper's head width; some copies correct this,
and the choice is not stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.tutorials import _shared as shared
from transformer.checkpoints.importing.family import Family, Into, Renames, StandIn, prefixed
from transformer.checkpoints.importing.layout.questions import ask_score_width
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.model.config import TransformerConfig

if TYPE_CHECKING:
    from torch import Tensor


def once_per_head(tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
    """Repeats shared weights for each head: (d_head, d_head) -> (D, D), block-diagonal, or (d_head,) -> (D,).

    (D, D) and (D,) are unchanged.
    """
    copies = config.d_model // max(1, tensor.shape[0])
    if tensor.dim() == 1:
        return (tensor.repeat(copies),)
    blocks = tensor.new_zeros(copies, tensor.shape[0], copies, tensor.shape[1])
    blocks.diagonal(dim1=0, dim2=2).copy_(tensor[..., None])
    return (blocks.flatten(2).flatten(0, 1),)


_ATTENTION: Renames = {
    "queries": Into(once_per_head, "w_q"),
    "keys": Into(once_per_head, "w_k"),
    "values": Into(once_per_head, "w_v"),
    "fc_out": "w_o",
}
_FEED_FORWARD: Renames = {
    "feed_forward.0": "feed_forward.w_1",
    "feed_forward.2": "feed_forward.w_2",
    "norm2": "feed_forward_norm",
}
_ENCODER_LAYER: Renames = {
    **prefixed(_ATTENTION, "attention.", "self_attn."),
    "norm1": "self_attn_norm",
    **_FEED_FORWARD,
}
_DECODER_LAYER: Renames = {
    **prefixed(_ATTENTION, "attention.", "self_attn."),
    "norm": "self_attn_norm",
    **prefixed(_ATTENTION, "transformer_block.attention.", "cross_attn."),
    "transformer_block.norm1": "cross_attn_norm",
    **prefixed(_FEED_FORWARD, "transformer_block.", ""),
}

RENAMES: Renames = shared.renames(_ENCODER_LAYER, _DECODER_LAYER)

RENAMED_PARTS = {
    "encoder.word_embedding.weight": "src_embedding",
    "decoder.word_embedding.weight": "tgt_embedding",
    "encoder.position_embedding.weight": "src_positions",
    "decoder.position_embedding.weight": "tgt_positions",
    "decoder.fc_out.weight": "generator.weight",
    "decoder.fc_out.bias": "generator.bias",
}

_QUERIES = "encoder.layers.0.attention.queries"


def read_config(draft: ConfigDraft) -> None:
    """Read the shapes, and ask for the rest."""
    shared.put_sizes(draft, hidden="encoder.layers.0.feed_forward.0.weight")
    queries = f"{_QUERIES}.weight"
    d_head, d_model = draft.length(queries, 0), draft["d_model"]
    if d_head < d_model:
        draft.put(
            "n_heads", d_model // d_head, "shapes", f"{draft.stored_name(queries)} is of one head's width"
        )
        draft.note("All heads of an attention share their matrices: they differ only in what they read.")
    else:
        shared.ask_heads(draft, queries)
    ask_score_width(
        draft,
        {
            "model": f"that of the model, {d_model}: energy / (self.embed_size ** (1/2)), as in the original",
            "head": "that of a head: energy / (self.head_dim ** (1/2)), as in the paper and in some copies",
        },
        "Look for energy / ( in forward of SelfAttention.",
    )
    draft.layout(
        "the same in every version of this code",
        norm="layer",
        norm_eps=1e-5,
        norm_position="post",
        final_norm=False,
        activation="relu",
        embedding_scale=False,
    )
    shared.put_outside(draft, pad_id=0)


def stand_ins(raw: RawCheckpoint) -> Mapping[str, StandIn]:
    """Biases of queries, keys and values, if only the output matrix has one."""
    if f"{_QUERIES}.bias" in raw.tensors:
        return {}
    return shared.ZERO_BIASES


FAMILY = Family(
    name="aladdinpersson",
    label="aladdinpersson's Transformer from scratch",
    matches=shared.has(f"{_QUERIES}.weight", "decoder.layers.0.transformer_block.attention.queries.weight"),
    read_config=read_config,
    renames=RENAMES,
    ignored=shared.IGNORED,
    arrange=shared.arranged(RENAMED_PARTS),
    stand_ins=stand_ins,
)
