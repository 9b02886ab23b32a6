"""Common to BERT and Hugging Face's encoders built like it: names, sizes, heads.

A post-norm encoder with a norm after the embeddings, learned positions and segments; masked-language-model
heads have a dense layer and a norm before the generator. The oldest files call the weights of norms gamma and
beta.
"""

from __future__ import annotations

from dataclasses import replace

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.family import Renames, module_renames, prefixed
from transformer.checkpoints.importing.layout.hugging_face import (
    POSITION_IDS,
    classifiers,
    read_activation,
)
from transformer.checkpoints.importing.not_computed import missing_by_name
from transformer.checkpoints.reading.raw import RawCheckpoint

WORDS = "embeddings.word_embeddings.weight"
POSITIONS = "embeddings.position_embeddings.weight"
SEGMENTS = "embeddings.token_type_embeddings.weight"
_FIRST_LAYER = "encoder.layer.0.intermediate.dense.weight"

_LAYER: Renames = {
    "attention.self.query": "self_attn.w_q",
    "attention.self.key": "self_attn.w_k",
    "attention.self.value": "self_attn.w_v",
    "attention.output.dense": "self_attn.w_o",
    "attention.output.LayerNorm": "self_attn_norm",
    "intermediate.dense": "feed_forward.w_1",
    "output.dense": "feed_forward.w_2",
    "output.LayerNorm": "feed_forward_norm",
}
ENCODER: Renames = {
    "embeddings.LayerNorm": "src_embedding.norm",
    **prefixed(_LAYER, "encoder.layer.{}.", "encoder.layers.{}."),
}
EMBEDDINGS: Renames = {WORDS: "src_embedding.weight", SEGMENTS: "src_embedding.segments"}
HEAD: Renames = {
    "cls.predictions.transform.dense": "generator_transform.dense",
    "cls.predictions.transform.LayerNorm": "generator_transform.norm",
}

RENAMES: Renames = {
    **EMBEDDINGS,
    POSITIONS: "src_embedding.positions.weight",
    **module_renames({**ENCODER, **HEAD, "cls.predictions.decoder": "generator"}),
    **module_renames({**ENCODER, **HEAD}, gamma="gamma", beta="beta"),
    "cls.predictions.bias": "generator.bias",
}

_UNUSED_BIAS = "unused.head.bias"
POOLER = "The pooler makes one vector of a sentence for classifiers; no attention depends on it."
NEXT_SENTENCE = "The head that predicts whether two sentences follow each other."
IGNORED = {
    "embeddings.position_ids": POSITION_IDS,
    "embeddings.token_type_ids": "Segment 0 for every position, which is what our model takes.",
    "pooler.dense.weight": POOLER,
    "pooler.dense.bias": POOLER,
    "cls.seq_relationship.weight": NEXT_SENTENCE,
    "cls.seq_relationship.bias": NEXT_SENTENCE,
    **classifiers("classifier", "classifier.dense", "classifier.out_proj", "qa_outputs"),
    _UNUSED_BIAS: "The generator has a bias of its own; untied, nothing uses the other one.",
}


def arrange(raw: RawCheckpoint) -> RawCheckpoint:
    """If nothing is tied, set aside the head's second bias, which is unused."""
    if raw.json("config.json").get("tie_word_embeddings") is not False:
        return raw
    tensors = dict(raw.tensors)
    for head in ("cls.predictions", "lm_head", "predictions"):
        if {f"{head}.bias", f"{head}.decoder.bias"} <= tensors.keys():
            tensors[_UNUSED_BIAS] = tensors.pop(f"{head}.bias")
    return replace(raw, tensors=tensors)


def has_encoder(raw: RawCheckpoint) -> bool:
    """True if there are BERT's names, and no name of a model that shares them but is not built like BERT."""
    names = {WORDS, POSITIONS, "encoder.layer.0.attention.self.query.weight"}
    stored = [tensor.name for tensor in raw.tensors.values()]
    return names <= raw.tensors.keys() and not missing_by_name(stored)


def read_encoder(
    draft: ConfigDraft,
    *,
    likely_eps: tuple[float, ...] = (1e-12, 1e-5),
    activation: str = "gelu",
    first_layer: str = _FIRST_LAYER,
    segments: str = SEGMENTS,
) -> None:
    """Fill in sizes, heads and norms: all but the number of layers and the head.

    Args:
        draft: to be filled in.
        likely_eps: answers for norm_eps without config.json; if config.json lacks it, it is 1e-12.
        activation: the family's usual activation, by its name in transformers.
        first_layer: name of the first feed-forward matrix in the first layer.
        segments: name of the segment table.
    """
    draft.size("d_model", "hidden_size", first_layer, 1)
    draft.size("src_vocab_size", "vocab_size", WORDS, 0)
    draft.size("n_segments", "type_vocab_size", segments, 0)
    draft.size("d_ff", "intermediate_size", first_layer, 0)
    draft.size("max_len", "max_position_embeddings", POSITIONS, 0)
    draft.heads("num_attention_heads")
    read_activation(draft, "hidden_act", activation)
    likely = likely_eps if draft.config is None else (1e-12,)
    draft.number("norm_eps", "layer_norm_eps", likely, "What is added to the variance in a norm?")
    draft.layout("an encoder alone", tgt_vocab_size=0, n_decoder_layers=0)
    draft.layout("every BERT", norm_position="post", embedding_norm=True, embedding_scale=False)
    draft.layout("every BERT", positions="learned", final_norm=False)


def read_layers(draft: ConfigDraft) -> None:
    """Fill in the number of layers, each with its own weights."""
    draft.layers("n_encoder_layers", "num_hidden_layers", "encoder.layer.")


def read_d_embedding(draft: ConfigDraft) -> None:
    """Fill in the width of the embeddings, which are projected if narrower than the model."""
    draft.size("d_embedding", "embedding_size", WORDS, 1)


def read_head(draft: ConfigDraft, head: str, *, activation: str = "") -> None:
    """Fill in whether there is a masked-language-model head, and whether it is tied to the embedding.

    Args:
        draft: to be filled in.
        head: name of the dense layer before the generator.
        activation: the head's fixed activation, by its name in transformers; empty if it is the layers'.

    Raises:
        CheckpointError: if the layers' activation differs from the head's.
    """
    has_head = draft.present("has_generator", f"{head}.weight")
    draft.present("generator_transform", f"{head}.weight")
    tied = draft.config is None or draft.config.flag("tie_word_embeddings", True)
    draft.configured("tie_generator", tied and has_head, "tie_word_embeddings, which is usual")
    if not has_head:
        draft.note(
            "There is no masked-language-model head in the files: the model gives hidden states and "
            "attention, and predicts no words."
        )
    elif activation and draft.config is not None:
        draft.config.only("hidden_act", activation, why="layers with another activation than the head has")


def refuse_other_computations(draft: ConfigDraft, *harmless: str) -> None:
    """Reject options of BERT that our model does not compute.

    Args:
        draft: all but filled in.
        harmless: attributes of config.json that change nothing, besides the common ones.

    Raises:
        CheckpointError: naming the attribute.
    """
    if draft.config is None:
        return
    config = draft.config
    config.only(
        "position_embedding_type", "absolute", why="positions that are relative inside each attention"
    )
    config.only("is_decoder", False, why="a BERT whose later words are hidden from earlier ones")
    config.only("add_cross_attention", False, why="BERT layers that look at another model's memory")
    if "d_embedding" not in draft.settings:
        config.only("embedding_size", draft["d_model"], why="embeddings that are not as wide as the model")
    config.refuse_unknown({"output_past", *harmless})
