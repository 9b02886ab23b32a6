"""The Transformer in the book "Dive into Deep Learning" (Zhang et al., d2l.ai), in PyTorch.

Post-norm, attention without biases by default, sinusoids not stored. Layers are called block0, block1, ...;
copies with a plain list of layers are read too.
"""

from __future__ import annotations

from dataclasses import replace

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.tutorials import _shared as shared
from transformer.checkpoints.importing.family import Family, Renames, prefixed
from transformer.checkpoints.reading.raw import RawCheckpoint

_ATTENTION: Renames = {"W_q": "w_q", "W_k": "w_k", "W_v": "w_v", "W_o": "w_o"}
_FEED_FORWARD: Renames = {"ffn.dense1": "feed_forward.w_1", "ffn.dense2": "feed_forward.w_2"}
_ENCODER_LAYER: Renames = {
    **prefixed(_ATTENTION, "attention.", "self_attn."),
    "addnorm1.ln": "self_attn_norm",
    **_FEED_FORWARD,
    "addnorm2.ln": "feed_forward_norm",
}
_DECODER_LAYER: Renames = {
    **prefixed(_ATTENTION, "attention1.", "self_attn."),
    "addnorm1.ln": "self_attn_norm",
    **prefixed(_ATTENTION, "attention2.", "cross_attn."),
    "addnorm2.ln": "cross_attn_norm",
    **_FEED_FORWARD,
    "addnorm3.ln": "feed_forward_norm",
}

RENAMES: Renames = shared.renames(_ENCODER_LAYER, _DECODER_LAYER, layers="blks")

RENAMED_PARTS = {
    "encoder.embedding.weight": "src_embedding",
    "decoder.embedding.weight": "tgt_embedding",
    "encoder.pos_encoding.P": "src_positions",
    "decoder.pos_encoding.P": "tgt_positions",
    "decoder.dense.weight": "generator.weight",
    "decoder.dense.bias": "generator.bias",
}

_QUERIES = "encoder.blks.0.attention.W_q.weight"


def arrange(raw: RawCheckpoint) -> RawCheckpoint:
    """Rename the parts outside the stacks; a block's name becomes its number."""
    tensors = {name.replace(".blks.block", ".blks."): stored for name, stored in raw.tensors.items()}
    return shared.arranged(RENAMED_PARTS)(replace(raw, tensors=tensors))


def read_config(draft: ConfigDraft) -> None:
    """Read the shapes, and ask for the rest."""
    shared.put_sizes(draft, hidden="encoder.blks.0.ffn.dense1.weight", layers="blks")
    shared.ask_heads(draft, _QUERIES, usual=4)
    draft.layout(
        "the same in every edition of the book",
        norm="layer",
        norm_eps=1e-5,
        norm_position="post",
        final_norm=False,
        activation="relu",
        embedding_scale=True,
    )
    draft.present("attention_bias", _QUERIES.replace("weight", "bias"))
    shared.put_outside(draft, pad_id=1, computes_sinusoids=True)


FAMILY = Family(
    name="d2l",
    label="Dive into Deep Learning's Transformer",
    matches=shared.has(_QUERIES, "decoder.blks.0.attention1.W_q.weight"),
    read_config=read_config,
    renames=RENAMES,
    ignored=shared.IGNORED,
    arrange=arrange,
)
