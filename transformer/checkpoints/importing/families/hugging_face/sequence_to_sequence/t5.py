"""T5 (Raffel et al. 2020), versions 1.0 and 1.1, and mT5, as Hugging Face's transformers saves them.

Pre-norm with RMS norms, no biases, unscaled scores, and a learned bias of the scores by distance, stored in
the first layer and used in all. Version 1.0 divides the decoder's output by sqrt(d_model), as its generator
is the embedding; 1.1 has a separate generator and gated GELU.
"""

from __future__ import annotations

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.family import Family, Renames, may_be
from transformer.checkpoints.importing.foreign_config import ForeignConfig
from transformer.checkpoints.importing.layout.hugging_face import (
    ACTIVATIONS,
    ask_usual_activation,
    classifiers,
    put_no_generator,
)
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.errors import CheckpointError, shown

RENAMES: Renames = {
    "shared.weight": "src_embedding.weight",
    "encoder.embed_tokens.weight": "src_embedding.weight",
    "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight": "encoder.relative_bias.weight",
    "encoder.block.{}.layer.0.layer_norm.weight": "encoder.layers.{}.self_attn_norm.gamma",
    "encoder.block.{}.layer.0.SelfAttention.q.weight": "encoder.layers.{}.self_attn.w_q.weight",
    "encoder.block.{}.layer.0.SelfAttention.k.weight": "encoder.layers.{}.self_attn.w_k.weight",
    "encoder.block.{}.layer.0.SelfAttention.v.weight": "encoder.layers.{}.self_attn.w_v.weight",
    "encoder.block.{}.layer.0.SelfAttention.o.weight": "encoder.layers.{}.self_attn.w_o.weight",
    "encoder.block.{}.layer.1.layer_norm.weight": "encoder.layers.{}.feed_forward_norm.gamma",
    "encoder.block.{}.layer.1.DenseReluDense.wi.weight": "encoder.layers.{}.feed_forward.w_1.weight",
    "encoder.block.{}.layer.1.DenseReluDense.wi_0.weight": "encoder.layers.{}.feed_forward.w_1.weight",
    "encoder.block.{}.layer.1.DenseReluDense.wi_1.weight": "encoder.layers.{}.feed_forward.w_3.weight",
    "encoder.block.{}.layer.1.DenseReluDense.wo.weight": "encoder.layers.{}.feed_forward.w_2.weight",
    "encoder.final_layer_norm.weight": "encoder.final_norm.gamma",
    "decoder.embed_tokens.weight": "tgt_embedding.weight",
    "decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight": "decoder.relative_bias.weight",
    "decoder.block.{}.layer.0.layer_norm.weight": "decoder.layers.{}.self_attn_norm.gamma",
    "decoder.block.{}.layer.0.SelfAttention.q.weight": "decoder.layers.{}.self_attn.w_q.weight",
    "decoder.block.{}.layer.0.SelfAttention.k.weight": "decoder.layers.{}.self_attn.w_k.weight",
    "decoder.block.{}.layer.0.SelfAttention.v.weight": "decoder.layers.{}.self_attn.w_v.weight",
    "decoder.block.{}.layer.0.SelfAttention.o.weight": "decoder.layers.{}.self_attn.w_o.weight",
    "decoder.block.{}.layer.1.layer_norm.weight": "decoder.layers.{}.cross_attn_norm.gamma",
    "decoder.block.{}.layer.1.EncDecAttention.q.weight": "decoder.layers.{}.cross_attn.w_q.weight",
    "decoder.block.{}.layer.1.EncDecAttention.k.weight": "decoder.layers.{}.cross_attn.w_k.weight",
    "decoder.block.{}.layer.1.EncDecAttention.v.weight": "decoder.layers.{}.cross_attn.w_v.weight",
    "decoder.block.{}.layer.1.EncDecAttention.o.weight": "decoder.layers.{}.cross_attn.w_o.weight",
    "decoder.block.{}.layer.2.layer_norm.weight": "decoder.layers.{}.feed_forward_norm.gamma",
    "decoder.block.{}.layer.2.DenseReluDense.wi.weight": "decoder.layers.{}.feed_forward.w_1.weight",
    "decoder.block.{}.layer.2.DenseReluDense.wi_0.weight": "decoder.layers.{}.feed_forward.w_1.weight",
    "decoder.block.{}.layer.2.DenseReluDense.wi_1.weight": "decoder.layers.{}.feed_forward.w_3.weight",
    "decoder.block.{}.layer.2.DenseReluDense.wo.weight": "decoder.layers.{}.feed_forward.w_2.weight",
    "decoder.final_layer_norm.weight": "decoder.final_norm.gamma",
    "lm_head.weight": "generator.weight",
}

IGNORED = {
    "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight": (
        "The oldest files have a bias for cross-attention, which T5 does not use."
    ),
    **classifiers("classification_head.dense", "classification_head.out_proj", "classifier", "qa_outputs"),
}

USUAL_LENGTH = 512
USUAL_DISTANCE = 128

_Q = "encoder.block.0.layer.0.SelfAttention.q.weight"
_BIAS = "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
_GATED = "encoder.block.0.layer.1.DenseReluDense.wi_0.weight"
_UNGATED = "encoder.block.0.layer.1.DenseReluDense.wi.weight"


def matches(raw: RawCheckpoint) -> bool:
    """True if there are T5's names, and only the first layer has a bias of the scores."""
    _, _, bias = _BIAS.partition("block.0.")
    in_each_layer = any(name.endswith(bias) and "block.0." not in name for name in raw.tensors)
    return {_Q, _BIAS} <= raw.tensors.keys() and not in_each_layer and may_be(raw, "t5", "mt5")


def read_config(draft: ConfigDraft) -> None:
    """Read config.json, or the shapes and an answer."""
    draft.layout("every T5", norm="rms", norm_position="pre", final_norm=True, bias=False)
    draft.layout("every T5", positions="relative", attention_scale=False, embedding_scale=False)
    embedding = "shared.weight" if "shared.weight" in draft.raw.tensors else "encoder.embed_tokens.weight"
    draft.size("d_model", "d_model", embedding, 1)
    draft.size("src_vocab_size", "vocab_size", embedding, 0)
    n_heads = draft.size("n_heads", "num_heads", _BIAS, 1)
    if draft.config is None:
        draft.put("d_head", draft.length(_Q, 0) // max(n_heads, 1), "shapes", "rows of q over heads")
    else:
        draft.size("d_head", "d_kv", _Q, 0)
    draft.size("n_position_buckets", "relative_attention_num_buckets", _BIAS, 0, default=32)
    draft.size("d_ff", "d_ff", _GATED if _GATED in draft.raw.tensors else _UNGATED, 0)
    _read_feed_forward(draft)
    _read_distances(draft)
    draft.number("norm_eps", "layer_norm_epsilon", (1e-6,), "What is added to the mean square in a norm?")
    _read_decoder(draft)
    draft.pad_id(usual=0)
    if draft.config is not None:
        _refuse_other_computations(draft.config)


def _read_feed_forward(draft: ConfigDraft) -> None:
    """Fill in the gate and the activation of the feed-forward, from names such as "relu" and "gated-gelu"."""
    gated = draft.present("gated", _GATED)
    if draft.config is None:
        ask_usual_activation(draft, "gelu_tanh" if gated else "relu")
        return
    told = draft.config.get("feed_forward_proj", "relu")
    first, _, name = str(told).rpartition("-")
    known = first == ("gated" if gated else "") and name in ACTIVATIONS
    if not known:
        raise CheckpointError(
            f"config.json says feed_forward_proj {shown(told)}, but the files have a "
            f"{'gated' if gated else 'plain'} feed-forward, and Headlight knows the activations "
            f"{', '.join(ACTIVATIONS)}: copy the config.json that belongs to the weights."
        )
    # "gated-gelu" has always meant the approximation: models were trained with it.
    activation = "gelu_tanh" if told == "gated-gelu" else ACTIVATIONS[name]
    draft.configured("activation", activation, "feed_forward_proj")


def _read_distances(draft: ConfigDraft) -> None:
    """Fill in the largest distance the bias distinguishes, and max_len, which no table limits."""
    config = draft.config
    if config is None:
        draft.put("max_position_distance", USUAL_DISTANCE, "assumed", "the usual one of this family")
        draft.put("max_len", USUAL_LENGTH, "assumed", "the length that T5 was trained with")
        return
    distance = config.integer("relative_attention_max_distance", USUAL_DISTANCE)
    draft.configured("max_position_distance", distance, "relative_attention_max_distance")
    length = config.integer("n_positions", USUAL_LENGTH)
    draft.configured("max_len", length, "n_positions, or the length T5 was trained with")


def _read_decoder(draft: ConfigDraft) -> None:
    """Fill in the depths, the target vocabulary and the generator; there may be only an encoder."""
    draft.layers("n_encoder_layers", "num_layers", "encoder.block.")
    if not draft.raw.layer_count("decoder.block."):
        draft.layout("an encoder alone", n_decoder_layers=0, tgt_vocab_size=0, has_generator=False)
        draft.note("The files have T5's encoder alone: the model gives hidden states and predicts no words.")
        return
    told = draft.config is not None and "num_decoder_layers" in draft.config
    draft.layers("n_decoder_layers", "num_decoder_layers" if told else "num_layers", "decoder.block.")
    words = draft["src_vocab_size"]
    draft.put("tgt_vocab_size", words, "layout", "one vocabulary for both sides")
    draft.layout("one vocabulary for both sides", share_embeddings=True)
    _read_generator(draft)


def _read_generator(draft: ConfigDraft) -> None:
    """Fill in the generator: version 1.0 ties it and scales its input; 1.1 does neither."""
    raw, config = draft.raw, draft.config
    apart = "lm_head.weight" in raw.tensors and not raw.same_numbers("lm_head.weight", "shared.weight")
    if config is None:
        draft.ask(
            "logits_scale",
            "Are hidden states divided by the square root of d_model before the generator?",
            "It is done in the program and not stored. A wrong answer makes the model too sure or unsure.",
            {True: "yes: version 1.0, whose generator is the embedding", False: "no: version 1.1"},
            likely=not apart,
        )
        draft.put("tie_generator", not apart, "shapes", "whether there is lm_head.weight of its own")
        return
    tied = config.flag("tie_word_embeddings", True)
    # Newer files say it themselves; in older ones an untied generator means version 1.1. mT5 is a 1.1.
    scales = config.flag("scale_decoder_outputs", tied) and config.get("model_type") != "mt5"
    # Newer versions of transformers write that all models are tied, even those that are not.
    bare = config.get("architectures") in (["T5Model"], ["MT5Model"]) and not scales
    if "lm_head.weight" not in raw.tensors and (bare or not tied):
        put_no_generator(draft)
        return
    draft.configured("logits_scale", scales, "scale_decoder_outputs or else tie_word_embeddings")
    draft.configured(
        "tie_generator",
        not apart or (tied and scales),
        "tie_word_embeddings, and whether there is lm_head.weight of its own",
    )


def _refuse_other_computations(config: ForeignConfig) -> None:
    config.only("is_decoder", False, why="a decoder that is a part of another model")
    repeated = {"dense_act_fn", "is_gated_act"}  # both follow from feed_forward_proj
    of_the_decoder = {"num_decoder_layers", "scale_decoder_outputs", "tie_word_embeddings"}
    config.refuse_unknown(repeated | of_the_decoder | {"is_encoder_decoder", "num_hidden_layers"})


FAMILY = Family(
    name="t5",
    label="T5",
    matches=matches,
    read_config=read_config,
    renames=RENAMES,
    ignored=IGNORED,
)
