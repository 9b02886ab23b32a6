"""gordicaleksa/pytorch-original-transformer: pre-norm, with a final norm after each stack."""

from __future__ import annotations

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.tutorials import _shared as shared
from transformer.checkpoints.importing.family import Family, Renames, prefixed
from transformer.checkpoints.importing.layout.questions import put_final_norm

_ATTENTION: Renames = {
    "qkv_nets.0": "w_q",
    "qkv_nets.1": "w_k",
    "qkv_nets.2": "w_v",
    "out_projection_net": "w_o",
}
_SUBLAYERS: Renames = {
    "pointwise_net.linear1": "feed_forward.w_1",
    "pointwise_net.linear2": "feed_forward.w_2",
    "sublayers.0.norm": "self_attn_norm",
}
_ENCODER_LAYER: Renames = {
    **_SUBLAYERS,
    **prefixed(_ATTENTION, "multi_headed_attention.", "self_attn."),
    "sublayers.1.norm": "feed_forward_norm",
}
_DECODER_LAYER: Renames = {
    **_SUBLAYERS,
    **prefixed(_ATTENTION, "trg_multi_headed_attention.", "self_attn."),
    **prefixed(_ATTENTION, "src_multi_headed_attention.", "cross_attn."),
    "sublayers.1.norm": "cross_attn_norm",
    "sublayers.2.norm": "feed_forward_norm",
}

RENAMES: Renames = shared.renames(
    _ENCODER_LAYER, _DECODER_LAYER, layers="{}_layers", final_norm=shared.FINAL_NORMS
)

RENAMED_PARTS = {
    "src_embedding.embeddings_table.weight": "src_embedding",
    "trg_embedding.embeddings_table.weight": "tgt_embedding",
    "src_pos_embedding.positional_encodings_table": "src_positions",
    "trg_pos_embedding.positional_encodings_table": "tgt_positions",
    "decoder_generator.linear.weight": "generator.weight",
    "decoder_generator.linear.bias": "generator.bias",
}

_QUERIES = "encoder.encoder_layers.0.multi_headed_attention.qkv_nets.0.weight"


def read_config(draft: ConfigDraft) -> None:
    """Read the shapes, and ask for the rest."""
    hidden = "encoder.encoder_layers.0.pointwise_net.linear1.weight"
    shared.put_sizes(draft, hidden=hidden, layers="{}_layers")
    shared.ask_heads(draft, _QUERIES)
    draft.layout(
        "the same in every version of this code",
        norm="layer",
        norm_eps=1e-5,
        norm_position="pre",
        activation="relu",
        embedding_scale=True,
    )
    put_final_norm(draft, ("encoder", "decoder"), "weight")
    shared.put_outside(draft, pad_id=1)


FAMILY = Family(
    name="gordicaleksa",
    label="gordicaleksa/pytorch-original-transformer",
    matches=shared.has(_QUERIES, "decoder.decoder_layers.0.trg_multi_headed_attention.qkv_nets.0.weight"),
    read_config=read_config,
    renames=RENAMES,
    ignored=shared.IGNORED,
    arrange=shared.arranged(RENAMED_PARTS),
)
