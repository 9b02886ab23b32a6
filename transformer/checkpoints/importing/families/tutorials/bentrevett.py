"""bentrevett/pytorch-seq2seq, its last notebook, "Attention is All You Need".

Post-norm, with learned positions. In the notebook's current version each sublayer has its own norm; before,
all sublayers of a layer shared one, and in the first version the parts have short names and the feed-forward
consists of convolutions over single tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.tutorials import _shared as shared
from transformer.checkpoints.importing.family import Family, Into, Renames, pointwise, prefixed
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.model.config import TransformerConfig

if TYPE_CHECKING:
    from torch import Tensor


def for_two(tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
    """The tensor twice."""
    return (tensor, tensor)


def for_three(tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
    """The tensor three times."""
    return (tensor, tensor, tensor)


_ATTENTION: Renames = {
    "fc_q": "w_q",
    "fc_k": "w_k",
    "fc_v": "w_v",
    "fc_o": "w_o",
    "w_q": "w_q",
    "w_k": "w_k",
    "w_v": "w_v",
    "fc": "w_o",
}
_FEED_FORWARD: Renames = {"fc_1": Into(pointwise, "w_1"), "fc_2": Into(pointwise, "w_2")}
_SUBLAYERS: Renames = {
    **prefixed(_ATTENTION, "self_attention.", "self_attn."),
    **prefixed(_ATTENTION, "sa.", "self_attn."),
    **prefixed(_FEED_FORWARD, "positionwise_feedforward.", "feed_forward."),
    **prefixed(_FEED_FORWARD, "pf.", "feed_forward."),
    "self_attn_layer_norm": "self_attn_norm",
    "ff_layer_norm": "feed_forward_norm",
}
_ENCODER_NORMS = Into(for_two, "self_attn_norm", "feed_forward_norm")
_DECODER_NORMS = Into(for_three, "self_attn_norm", "cross_attn_norm", "feed_forward_norm")
_ENCODER_LAYER: Renames = {**_SUBLAYERS, "layer_norm": _ENCODER_NORMS, "ln": _ENCODER_NORMS}
_DECODER_LAYER: Renames = {
    **_SUBLAYERS,
    **prefixed(_ATTENTION, "encoder_attention.", "cross_attn."),
    **prefixed(_ATTENTION, "ea.", "cross_attn."),
    "enc_attn_layer_norm": "cross_attn_norm",
    "layer_norm": _DECODER_NORMS,
    "ln": _DECODER_NORMS,
}

RENAMES: Renames = shared.renames(_ENCODER_LAYER, _DECODER_LAYER)

RENAMED_PARTS = {
    "encoder.tok_embedding.weight": "src_embedding",
    "decoder.tok_embedding.weight": "tgt_embedding",
    "encoder.pos_embedding.weight": "src_positions",
    "decoder.pos_embedding.weight": "tgt_positions",
    "decoder.fc_out.weight": "generator.weight",
    "decoder.fc_out.bias": "generator.bias",
    "decoder.fc.weight": "generator.weight",
    "decoder.fc.bias": "generator.bias",
}

_FIRST = "encoder.layers.0."
_QUERIES = {
    "self_attention.fc_q.weight": "positionwise_feedforward.fc_1.weight",
    "sa.w_q.weight": "pf.fc_1.weight",
}
"""Query matrix -> first feed-forward matrix, in each version."""


def matches(raw: RawCheckpoint) -> bool:
    """True if the encoder has the attention of one of the versions, and there are both embeddings."""
    has_embeddings = {"src_embedding", "tgt_embedding"} <= raw.tensors.keys()
    return has_embeddings and any(_FIRST + queries in raw.tensors for queries in _QUERIES)


def read_config(draft: ConfigDraft) -> None:
    """Read the shapes, and ask for the rest."""
    queries = next(queries for queries in _QUERIES if _FIRST + queries in draft.raw.tensors)
    shared.put_sizes(draft, hidden=_FIRST + _QUERIES[queries])
    shared.ask_heads(draft, _FIRST + queries)
    draft.layout(
        "the same in every version of this notebook",
        norm="layer",
        norm_eps=1e-5,
        norm_position="post",
        final_norm=False,
        activation="relu",
        embedding_scale=True,
    )
    if f"{_FIRST}layer_norm.weight" in draft.raw.tensors or f"{_FIRST}ln.weight" in draft.raw.tensors:
        draft.note("All sublayers of a layer share one norm, whose numbers each of them shows as its own.")
    shared.put_outside(draft, pad_id=1)


FAMILY = Family(
    name="bentrevett",
    label="bentrevett/pytorch-seq2seq",
    matches=matches,
    read_config=read_config,
    renames=RENAMES,
    ignored=shared.IGNORED,
    arrange=shared.arranged(RENAMED_PARTS),
)
