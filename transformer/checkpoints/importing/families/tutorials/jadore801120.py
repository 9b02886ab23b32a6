"""jadore801120/attention-is-all-you-need-pytorch, versions since 2018.

Today there is a norm after the embeddings, sublayers are post-norm, and if the generator is the embedding
matrix, logits are divided by sqrt(d_model). For a while in 2020 the sublayers were pre-norm and the outer
norm came after the last layer, with the same names and shapes. Before that there was no outer norm, attention
had biases, the feed-forward consisted of convolutions over single tokens, and positions counted from 1.
"""

from __future__ import annotations

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.tutorials import _shared as shared
from transformer.checkpoints.importing.family import (
    Family,
    Into,
    Renames,
    module_renames,
    pointwise,
    prefixed,
)
from transformer.checkpoints.importing.layout import questions

_ATTENTION: Renames = {"w_qs": "w_q", "w_ks": "w_k", "w_vs": "w_v", "fc": "w_o"}
_SUBLAYERS: Renames = {
    **prefixed(_ATTENTION, "slf_attn.", "self_attn."),
    "slf_attn.layer_norm": "self_attn_norm",
    "pos_ffn.w_1": Into(pointwise, "feed_forward.w_1"),
    "pos_ffn.w_2": Into(pointwise, "feed_forward.w_2"),
    "pos_ffn.layer_norm": "feed_forward_norm",
}
_DECODER_LAYER: Renames = {
    **_SUBLAYERS,
    **prefixed(_ATTENTION, "enc_attn.", "cross_attn."),
    "enc_attn.layer_norm": "cross_attn_norm",
}

RENAMES: Renames = {
    **shared.renames(_SUBLAYERS, _DECODER_LAYER, layers="layer_stack"),
    "encoder.position_enc.weight": Into(shared.from_row_1, "src_embedding.positions.weight"),
    "decoder.position_enc.weight": Into(shared.from_row_1, "tgt_embedding.positions.weight"),
    **module_renames(
        {
            "src_embedding_norm": "src_embedding.norm",
            "tgt_embedding_norm": "tgt_embedding.norm",
            "encoder.layer_norm": "encoder.final_norm",
            "decoder.layer_norm": "decoder.final_norm",
        }
    ),
}
"""Norms outside the layers have the first two names if they follow the embeddings."""

RENAMED_PARTS = {
    "encoder.src_word_emb.weight": "src_embedding",
    "decoder.trg_word_emb.weight": "tgt_embedding",
    "decoder.tgt_word_emb.weight": "tgt_embedding",
    "encoder.position_enc.pos_table": "src_positions",
    "decoder.position_enc.pos_table": "tgt_positions",
    "trg_word_prj.weight": "generator.weight",
    "tgt_word_prj.weight": "generator.weight",
}

_OF_EMBEDDINGS = shared.arranged(
    {
        f"{stack}.layer_norm.{part}": f"{side}_embedding_norm.{part}"
        for stack, side in (("encoder", "src"), ("decoder", "tgt"))
        for part in ("weight", "bias")
    }
)
_QUERIES = "encoder.layer_stack.0.slf_attn.w_qs.weight"
_OUTER_NORM = "encoder.layer_norm.weight"
_OLD_POSITIONS = ("encoder.position_enc.weight", "decoder.position_enc.weight")


def read_config(draft: ConfigDraft) -> None:
    """Read the shapes, and ask for the rest."""
    shared.put_sizes(draft, hidden="encoder.layer_stack.0.pos_ffn.w_1.weight", layers="layer_stack")
    shared.ask_heads(draft, _QUERIES)
    draft.layout("the same in every version of this code", norm="layer", activation="relu")
    draft.present("attention_bias", _QUERIES.replace("weight", "bias"))
    questions.put_vocabularies(draft)
    _ask_scale(draft)
    _read_norms(draft)
    _read_positions(draft)
    questions.ask_pad_id(draft, "src_embedding", usual=0 if _is_old(draft) else 1)


def _is_old(draft: ConfigDraft) -> bool:
    return _OLD_POSITIONS[0] in draft.raw.tensors


def _ask_scale(draft: ConfigDraft) -> None:
    """Ask what is scaled if embedding and generator share one matrix."""
    if not draft["tie_generator"]:
        why = "embedding and generator are two matrices"
        draft.layout(why, logits_scale=False, embedding_scale=False)
        return
    scaled = draft.ask(
        "scale_emb_or_prj",
        "Is anything scaled because embedding and generator are one matrix?",
        "It is an argument of Transformer in this code, and not stored. Versions without it do what the "
        "first answer says.",
        {
            "prj": "logits are divided by the square root of d_model (scale_emb_or_prj='prj')",
            "emb": "embeddings are multiplied by the square root of d_model (scale_emb_or_prj='emb')",
            "none": "nothing (scale_emb_or_prj='none')",
        },
    )
    questions.put_answered(
        draft, "scale_emb_or_prj", logits_scale=scaled == "prj", embedding_scale=scaled == "emb"
    )


def _read_norms(draft: ConfigDraft) -> None:
    """Fill in where norms are, in the sublayers and outside the layers."""
    if _OUTER_NORM not in draft.raw.tensors:
        draft.layout(
            "versions without a norm outside of the layers",
            norm_eps=1e-5,
            norm_position="post",
            embedding_norm=False,
            final_norm=False,
        )
        return
    draft.layout("versions with a norm outside of the layers", norm_eps=1e-6)
    questions.ask_norm_position(
        draft,
        {
            "post": "after, as today: q = self.layer_norm(q) is at the end of forward",
            "pre": "before: q = self.layer_norm(q) is at the beginning of forward",
        },
        "Versions of this code differ, but save the same. Look at MultiHeadAttention in your code.",
    )
    place = draft.ask(
        "place_of_layer_norm",
        "Where is the layer_norm of Encoder and Decoder?",
        "Versions of this code differ, but save the same. Look at forward of Encoder in your code.",
        {"embeddings": "before the first layer, as today", "last": "after the last layer"},
        likely="last" if draft["norm_position"] == "pre" else "embeddings",
    )
    norms = {"embedding_norm": place == "embeddings", "final_norm": place == "last"}
    questions.put_answered(draft, "place_of_layer_norm", **norms)
    if place == "embeddings":
        draft.raw = _OF_EMBEDDINGS(draft.raw)


def _read_positions(draft: ConfigDraft) -> None:
    if not _is_old(draft):
        questions.ask_positions(draft, questions.stored_positions(draft.raw))
        return
    why = "tables of positions that count from 1"
    draft.put("positions", "learned", "shapes", why)
    draft.put("max_len", min(draft.length(name, 0) for name in _OLD_POSITIONS) - 1, "shapes", why)


FAMILY = Family(
    name="jadore801120",
    label="jadore801120/attention-is-all-you-need-pytorch",
    matches=shared.has(_QUERIES, "decoder.layer_stack.0.slf_attn.w_qs.weight"),
    read_config=read_config,
    renames=RENAMES,
    ignored=shared.IGNORED,
    arrange=shared.arranged(RENAMED_PARTS),
)
