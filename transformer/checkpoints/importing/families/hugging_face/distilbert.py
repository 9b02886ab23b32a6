"""DistilBERT (Sanh et al. 2019) as Hugging Face's transformers saves it: BERT without segments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.hugging_face._common import (
    CLASSIFIER,
    POSITION_IDS,
    read_activation,
)
from transformer.checkpoints.importing.family import Family, Renames, may_be
from transformer.checkpoints.importing.report import DerivedConfig
from transformer.checkpoints.reading.raw import RawCheckpoint

RENAMES: Renames = {
    "embeddings.word_embeddings.weight": "src_embedding.weight",
    "embeddings.position_embeddings.weight": "src_embedding.positions.weight",
    "embeddings.LayerNorm.weight": "src_embedding.norm.gamma",
    "embeddings.LayerNorm.bias": "src_embedding.norm.beta",
    "transformer.layer.{}.attention.q_lin.weight": "encoder.layers.{}.self_attn.w_q.weight",
    "transformer.layer.{}.attention.q_lin.bias": "encoder.layers.{}.self_attn.w_q.bias",
    "transformer.layer.{}.attention.k_lin.weight": "encoder.layers.{}.self_attn.w_k.weight",
    "transformer.layer.{}.attention.k_lin.bias": "encoder.layers.{}.self_attn.w_k.bias",
    "transformer.layer.{}.attention.v_lin.weight": "encoder.layers.{}.self_attn.w_v.weight",
    "transformer.layer.{}.attention.v_lin.bias": "encoder.layers.{}.self_attn.w_v.bias",
    "transformer.layer.{}.attention.out_lin.weight": "encoder.layers.{}.self_attn.w_o.weight",
    "transformer.layer.{}.attention.out_lin.bias": "encoder.layers.{}.self_attn.w_o.bias",
    "transformer.layer.{}.sa_layer_norm.weight": "encoder.layers.{}.self_attn_norm.gamma",
    "transformer.layer.{}.sa_layer_norm.bias": "encoder.layers.{}.self_attn_norm.beta",
    "transformer.layer.{}.ffn.lin1.weight": "encoder.layers.{}.feed_forward.w_1.weight",
    "transformer.layer.{}.ffn.lin1.bias": "encoder.layers.{}.feed_forward.w_1.bias",
    "transformer.layer.{}.ffn.lin2.weight": "encoder.layers.{}.feed_forward.w_2.weight",
    "transformer.layer.{}.ffn.lin2.bias": "encoder.layers.{}.feed_forward.w_2.bias",
    "transformer.layer.{}.output_layer_norm.weight": "encoder.layers.{}.feed_forward_norm.gamma",
    "transformer.layer.{}.output_layer_norm.bias": "encoder.layers.{}.feed_forward_norm.beta",
    "vocab_transform.weight": "generator_transform.dense.weight",
    "vocab_transform.bias": "generator_transform.dense.bias",
    "vocab_layer_norm.weight": "generator_transform.norm.gamma",
    "vocab_layer_norm.bias": "generator_transform.norm.beta",
    "vocab_projector.weight": "generator.weight",
    "vocab_projector.bias": "generator.bias",
}

IGNORED = {
    "embeddings.position_ids": POSITION_IDS,
    "pre_classifier.weight": CLASSIFIER,
    "pre_classifier.bias": CLASSIFIER,
    "classifier.weight": CLASSIFIER,
    "classifier.bias": CLASSIFIER,
    "qa_outputs.weight": CLASSIFIER,
    "qa_outputs.bias": CLASSIFIER,
}


def matches(raw: RawCheckpoint) -> bool:
    """Whether there are DistilBERT's attention layers."""
    return "transformer.layer.0.attention.q_lin.weight" in raw.tensors and may_be(raw, "distilbert")


def read_config(raw: RawCheckpoint, answers: Mapping[str, Any]) -> DerivedConfig:
    """From config.json, or from the shapes and an answer."""
    draft = ConfigDraft(raw, answers)
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
    has_head = "vocab_transform.weight" in raw.tensors
    for name in ("has_generator", "generator_transform"):
        draft.put(name, has_head, "shapes", "whether there is vocab_transform.weight")
    draft.pad_id(usual=0)
    tied = draft.config is None or draft.config.flag("tie_word_embeddings", True)
    draft.put(
        "tie_generator", tied and has_head, "config", "config.json: tie_word_embeddings, which is usual"
    )
    if not has_head:
        draft.note("There is no masked-language-model head in the files: the model proposes no words.")
    if draft.config is not None:
        draft.config.refuse_unknown({"sinusoidal_pos_embds", "tie_weights_"})  # they only began as sinusoids
    return draft.finish()


FAMILY = Family(
    name="distilbert",
    label="DistilBERT",
    matches=matches,
    read_config=read_config,
    renames=RENAMES,
    ignored=IGNORED,
    prefixes=("distilbert.",),
)
