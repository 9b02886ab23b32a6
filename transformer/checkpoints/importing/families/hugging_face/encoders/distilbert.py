"""DistilBERT (Sanh et al. 2019) as Hugging Face's transformers saves it: BERT without segments."""

from __future__ import annotations

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.hugging_face.encoders._bert_layout import read_head
from transformer.checkpoints.importing.family import Family, Renames, may_be, module_renames, prefixed
from transformer.checkpoints.importing.layout.hugging_face import (
    POSITION_IDS,
    classifiers,
    read_activation,
)
from transformer.checkpoints.reading.raw import RawCheckpoint

_LAYER: Renames = {
    "attention.q_lin": "self_attn.w_q",
    "attention.k_lin": "self_attn.w_k",
    "attention.v_lin": "self_attn.w_v",
    "attention.out_lin": "self_attn.w_o",
    "sa_layer_norm": "self_attn_norm",
    "ffn.lin1": "feed_forward.w_1",
    "ffn.lin2": "feed_forward.w_2",
    "output_layer_norm": "feed_forward_norm",
}
_MODULES: Renames = {
    "embeddings.LayerNorm": "src_embedding.norm",
    **prefixed(_LAYER, "transformer.layer.{}.", "encoder.layers.{}."),
    "vocab_transform": "generator_transform.dense",
    "vocab_layer_norm": "generator_transform.norm",
    "vocab_projector": "generator",
}
RENAMES: Renames = {
    "embeddings.word_embeddings.weight": "src_embedding.weight",
    "embeddings.position_embeddings.weight": "src_embedding.positions.weight",
    **module_renames(_MODULES),
}

IGNORED = {
    "embeddings.position_ids": POSITION_IDS,
    **classifiers("pre_classifier", "classifier", "qa_outputs"),
}


def matches(raw: RawCheckpoint) -> bool:
    """True if there are DistilBERT's attention layers."""
    return "transformer.layer.0.attention.q_lin.weight" in raw.tensors and may_be(raw, "distilbert")


def read_config(draft: ConfigDraft) -> None:
    """Read config.json, or the shapes and an answer."""
    draft.size("d_model", "dim", "embeddings.word_embeddings.weight", 1)
    draft.size("src_vocab_size", "vocab_size", "embeddings.word_embeddings.weight", 0)
    draft.size("d_ff", "hidden_dim", "transformer.layer.0.ffn.lin1.weight", 0)
    draft.size("max_len", "max_position_embeddings", "embeddings.position_embeddings.weight", 0)
    draft.layers("n_encoder_layers", "n_layers", "transformer.layer.")
    draft.heads("n_heads")
    read_activation(draft, "activation", "gelu")
    draft.layout("an encoder alone", tgt_vocab_size=0, n_decoder_layers=0)
    draft.layout("every DistilBERT", norm_position="post", embedding_norm=True, embedding_scale=False)
    draft.layout("every DistilBERT", positions="learned", final_norm=False, norm_eps=1e-12)
    read_head(draft, "vocab_transform")
    draft.pad_id(usual=0)
    if draft.config is not None:
        draft.config.refuse_unknown({"sinusoidal_pos_embds", "tie_weights_"})  # sinusoids only initially


FAMILY = Family(
    name="distilbert",
    label="DistilBERT",
    matches=matches,
    read_config=read_config,
    renames=RENAMES,
    ignored=IGNORED,
    prefixes=("distilbert.",),
)
