"""The layout of a widespread tutorial in which one linear layer makes queries, keys and values, head by head.

In self-attention, `qkv_layer` has each head's queries, then its keys, then its values; cross-attention has
`q_layer` and `kv_layer`. Norms have gamma and beta, usually after the sublayers; sinusoids are computed.

One version of the tutorial transposes the heads' outputs back before concatenating them for `linear_layer`;
another only reshapes them, which mixes them across tokens. Both train and save the same weights, so the
version is asked.
"""

from __future__ import annotations

from dataclasses import replace

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.family import (
    Family,
    Into,
    Renames,
    interleaved_by_head,
    module_renames,
    prefixed,
)
from transformer.checkpoints.importing.layout import questions
from transformer.checkpoints.reading.raw import RawCheckpoint

_NORM = {"gamma": "gamma", "beta": "beta"}
_SELF_ATTENTION: Renames = {
    "qkv_layer": Into(interleaved_by_head, "self_attn.w_q", "self_attn.w_k", "self_attn.w_v"),
    "linear_layer": "self_attn.w_o",
}
_CROSS_ATTENTION: Renames = {
    "q_layer": "cross_attn.w_q",
    "kv_layer": Into(interleaved_by_head, "cross_attn.w_k", "cross_attn.w_v"),
    "linear_layer": "cross_attn.w_o",
}
_FEED_FORWARD: Renames = {"ffn.linear1": "feed_forward.w_1", "ffn.linear2": "feed_forward.w_2"}
_ENCODER_LAYER: Renames = {
    **prefixed(_SELF_ATTENTION, "attention.", ""),
    "norm1": "self_attn_norm",
    **_FEED_FORWARD,
    "norm2": "feed_forward_norm",
}
_DECODER_LAYER: Renames = {
    **prefixed(_SELF_ATTENTION, "self_attention.", ""),
    "norm1": "self_attn_norm",
    **prefixed(_CROSS_ATTENTION, "encoder_decoder_attention.", ""),
    "norm2": "cross_attn_norm",
    **_FEED_FORWARD,
    "norm3": "feed_forward_norm",
}

RENAMES: Renames = {
    "src_embedding": "src_embedding.weight",
    "tgt_embedding": "tgt_embedding.weight",
    **prefixed(module_renames(_ENCODER_LAYER, **_NORM), "encoder.layers.{}.", "encoder.layers.{}."),
    **prefixed(module_renames(_DECODER_LAYER, **_NORM), "decoder.layers.{}.", "decoder.layers.{}."),
    **module_renames({"generator": "generator"}),
}

RENAMED_PARTS = {
    "encoder.sentence_embedding.embedding.weight": "src_embedding",
    "decoder.sentence_embedding.embedding.weight": "tgt_embedding",
    "linear.weight": "generator.weight",
    "linear.bias": "generator.bias",
}


def matches(raw: RawCheckpoint) -> bool:
    """True if the encoder's self-attention has the fused layer, and there are both embeddings."""
    names = {"src_embedding", "tgt_embedding", "encoder.layers.0.attention.qkv_layer.weight"}
    return names <= raw.tensors.keys()


def arrange(raw: RawCheckpoint) -> RawCheckpoint:
    """Rename the parts outside the stacks; some versions call the decoder's norms layer_norm1 to 3."""
    tensors = {
        RENAMED_PARTS.get(name, name.replace(".layer_norm", ".norm")): stored
        for name, stored in raw.tensors.items()
    }
    return replace(raw, tensors=tensors)


def read_config(draft: ConfigDraft) -> None:
    """Read the shapes, and ask for the rest."""
    encoder = draft.raw.layer_count("encoder.layers.")
    decoder = draft.raw.layer_count("decoder.layers.")
    draft.put("n_encoder_layers", encoder, "shapes", "layers of the encoder")
    draft.put("n_decoder_layers", decoder, "shapes", "layers of the decoder")
    draft.size("d_model", "d_model", "src_embedding", 1)
    draft.size("d_ff", "ffn_hidden", "encoder.layers.0.ffn.linear1.weight", 0)
    draft.ask_heads(8)
    _ask_merge(draft)
    questions.ask_norm_position(draft)
    draft.layout("the tutorial", final_norm=False)
    questions.ask_norm_eps(draft, 1e-5, 1e-6)
    questions.ask_activation(draft)
    questions.put_vocabularies(draft)
    questions.ask_positions(draft, [])
    questions.ask_embedding_scale(draft, likely=False)
    questions.ask_pad_id(draft, None, usual=1)


def _ask_merge(draft: ConfigDraft) -> None:
    merge = draft.ask(
        "merge_heads",
        "Does the attention transpose its heads back before merging them?",
        "Both versions of this tutorial save the same names and shapes. Look for permute(0, 2, 1, 3) between "
        "the values and linear_layer in your code.",
        {
            "transposed": "yes: values.permute(0, 2, 1, 3).reshape(...)",
            "untransposed": "no: values.reshape(...) alone",
        },
    )
    if merge == "untransposed":
        draft.note(
            "The heads are merged without transposing back: each token gets parts of other tokens, later "
            "ones too, and the output depends on the length of the padding. Headlight computes exactly that."
        )


FAMILY = Family(
    name="fused_tutorial",
    label="the tutorial layout with fused projections (qkv_layer)",
    matches=matches,
    read_config=read_config,
    renames=RENAMES,
    arrange=arrange,
)
