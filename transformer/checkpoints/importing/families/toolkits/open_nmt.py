"""OpenNMT-py's Transformers (Klein et al. 2017), versions 2 and 3: translators and language models.

Pre-norm, with a final norm after each stack; the feed-forward contains its own norm. Sinusoids are stored,
and embeddings are scaled where they are added. The trainer saves its options next to the weights, as `opt`.
"""

from __future__ import annotations

from collections.abc import Mapping

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.family import (
    Family,
    Into,
    Renames,
    StandIn,
    module_renames,
    prefixed,
    table_of_positions,
)
from transformer.checkpoints.importing.foreign_config import ForeignConfig
from transformer.checkpoints.importing.layout import questions
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.errors import CheckpointError, shown

_ATTENTION: Renames = {
    "linear_query": "w_q",
    "linear_keys": "w_k",
    "linear_values": "w_v",
    "final_linear": "w_o",
}
_FEED_FORWARD: Renames = {
    "feed_forward.layer_norm": "feed_forward_norm",
    "feed_forward.w_1": "feed_forward.w_1",
    "feed_forward.w_2": "feed_forward.w_2",
    "feed_forward.w_3": "feed_forward.w_3",
}
_ENCODER_LAYER: Renames = {
    "layer_norm": "self_attn_norm",
    **prefixed(_ATTENTION, "self_attn.", "self_attn."),
    **_FEED_FORWARD,
}
_DECODER_LAYER: Renames = {
    "layer_norm_1": "self_attn_norm",
    **prefixed(_ATTENTION, "self_attn.", "self_attn."),
    "layer_norm_2": "cross_attn_norm",
    **prefixed(_ATTENTION, "context_attn.", "cross_attn."),
    **_FEED_FORWARD,
}
_SOURCE, _TARGET = (
    f"{stack}.embeddings.make_embedding.emb_luts.0.weight" for stack in ("encoder", "decoder")
)
_SOURCE_TABLE, _TARGET_TABLE = (
    f"{stack}.embeddings.make_embedding.pe.pe" for stack in ("encoder", "decoder")
)

RENAMES: Renames = {
    _SOURCE: "src_embedding.weight",
    _SOURCE_TABLE: Into(table_of_positions, "src_embedding.positions.weight"),
    **prefixed(module_renames(_ENCODER_LAYER), "encoder.transformer.{}.", "encoder.layers.{}."),
    _TARGET: "tgt_embedding.weight",
    _TARGET_TABLE: Into(table_of_positions, "tgt_embedding.positions.weight"),
    **prefixed(module_renames(_DECODER_LAYER), "decoder.transformer_layers.{}.", "decoder.layers.{}."),
    **module_renames(
        {
            "encoder.layer_norm": "encoder.final_norm",
            "decoder.layer_norm": "decoder.final_norm",
            "generator": "generator",
            "generator.0": "generator",
        }
    ),
}
IGNORED = dict.fromkeys((_SOURCE_TABLE, _TARGET_TABLE), questions.SINUSOIDS)

_BLANK = "<blank>"
_LAYER = "decoder.transformer_layers.0"
_QUERIES, _KEYS = f"{_LAYER}.self_attn.linear_query.weight", f"{_LAYER}.self_attn.linear_keys.weight"
_GENERATORS = ("generator.weight", "generator.0.weight")
_REFUSED = {
    "relative_positions_embeddings": "relative positions by vectors for each distance (Shaw et al. 2018)",
    "relative_attention_bias": "a bias by distance in each layer (--max_relative_positions)",
    "copy_attn": "a generator that copies words of the source (--copy_attn)",
    "emb_luts.1.": "features in addition to words, each with its own embedding",
    "layer_norm_res": "parallel sublayers (--parallel_residual)",
    "experts": "a mixture of experts",
}
_ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "silu": "silu", "gated-gelu": "gelu", "gated-silu": "silu"}
_OF_GATED = {"silu": "SiLU (silu)", "gelu": "GELU (gated-gelu)"}


def matches(raw: RawCheckpoint) -> bool:
    """True if there are OpenNMT's decoder and its embedding."""
    return {_TARGET, _QUERIES} <= raw.tensors.keys()


def read_config(draft: ConfigDraft) -> None:
    """Read the trainer's options, where the file has them, the shapes, and answers.

    Raises:
        CheckpointError: for what our model does not compute.
    """
    raw = draft.raw
    for name in raw.tensors:
        for part, why in _REFUSED.items():
            if part in name:
                raise CheckpointError(f"There is {shown(name)}: {why}. Headlight's model does not have that.")
    opt = raw.extras.get("opt")
    told = ForeignConfig(opt, "opt") if isinstance(opt, dict) and "heads" in opt else None
    draft.config = told
    why = "every Transformer of OpenNMT"
    draft.size("d_model", "d_model", _TARGET, 1)
    draft.put("d_ff", draft.length(f"{_LAYER}.feed_forward.w_1.weight", 0), "shapes", "axis 0 of w_1.weight")
    for name, prefix in (
        ("n_encoder_layers", "encoder.transformer."),
        ("n_decoder_layers", "decoder.transformer_layers."),
    ):
        draft.put(name, raw.layer_count(prefix), "shapes", f"names from {prefix}0 on")
    _read_heads(draft)
    draft.layout(why, norm_position="pre", final_norm=True)
    is_rms = "decoder.layer_norm.bias" not in raw.tensors
    draft.put("norm", "rms" if is_rms else "layer", "shapes", "whether norms have a bias")
    draft.number("norm_eps", "norm_eps", (1e-6, 1e-5), "What is added under the root of a norm?")
    _read_feed_forward(draft)
    draft.present("bias", f"{_LAYER}.feed_forward.w_1.bias")
    draft.present("attention_bias", f"{_LAYER}.self_attn.final_linear.bias")
    _read_words(draft)
    _read_positions(draft)
    _read_pad_id(draft)


def _read_pad_id(draft: ConfigDraft) -> None:
    """Fill in pad_id: the index of <blank> in the saved vocabularies, if they are lists; else ask."""
    vocab = draft.raw.extras.get("vocab")
    lists = [words for words in vocab.values() if isinstance(words, list)] if isinstance(vocab, dict) else []
    places = {words.index(_BLANK) for words in lists if _BLANK in words}
    if len(places) == 1:
        draft.put("pad_id", places.pop(), "config", f"vocab: the place of {_BLANK}")
    else:
        questions.ask_pad_id(draft, _TARGET, usual=1)


def _read_heads(draft: ConfigDraft) -> None:
    """Fill in the heads; keys and values may have fewer (--num_kv, --multiquery), as their rows show."""
    n_heads = draft.heads("heads")
    rows, k_rows = draft.length(_QUERIES, 0), draft.length(_KEYS, 0)
    if n_heads < 1 or rows % n_heads or k_rows % (rows // n_heads):
        raise CheckpointError(
            f"{shown(n_heads)} heads are impossible: {rows} rows of queries and {k_rows} rows of keys must "
            "be divided into heads of one width."
        )
    draft.put("n_kv_heads", k_rows * n_heads // rows, "shapes", "rows of keys over the width of a head")


def _read_feed_forward(draft: ConfigDraft) -> None:
    gated = draft.present("gated", f"{_LAYER}.feed_forward.w_3.weight")
    if draft.config is not None:
        told = draft.config.choice("pos_ffn_activation_fn", _ACTIVATIONS, "relu")
        draft.configured("activation", told, "pos_ffn_activation_fn")
        draft.config.only("parallel_residual", False, why="parallel sublayers")
        draft.config.only("sliding_window", 0, why="an attention to near tokens alone")
    elif gated:
        questions.ask_activation(draft, _OF_GATED)
    else:
        questions.ask_activation(draft)


def _read_words(draft: ConfigDraft) -> None:
    raw = draft.raw
    for name, layers, embedding in (
        ("src_vocab_size", "n_encoder_layers", _SOURCE),
        ("tgt_vocab_size", "n_decoder_layers", _TARGET),
    ):
        size = draft.length(embedding, 0) if draft[layers] else 0
        draft.put(name, size, "shapes", f"axis 0 of {embedding}" if size else "there is no such stack")
    shared = raw.same_numbers(_SOURCE, _TARGET)
    draft.put("share_embeddings", shared, "shapes", "whether both embeddings are stored as one tensor")
    generator = next((name for name in _GENERATORS if name in raw.tensors), None)
    why = "whether there is a generator"
    draft.put("has_generator", generator is not None, "shapes", why)
    tied = generator is not None and raw.same_numbers(generator, _TARGET)
    draft.put("tie_generator", tied, "shapes", "whether embedding and generator are one tensor")
    has_bias = generator is not None and generator.replace("weight", "bias") in raw.tensors
    draft.put("generator_bias", has_bias, "shapes", "whether the generator has a bias")
    if generator is None:
        draft.note(
            "The files have no generator: the model gives hidden states and attention, and predicts no words."
        )


def _read_positions(draft: ConfigDraft) -> None:
    """Sinusoids are stored, and embeddings are scaled only where they are added."""
    tables = [name for name in (_SOURCE_TABLE, _TARGET_TABLE) if name in draft.raw.tensors]
    told = draft.config
    if told is not None:
        told.only("max_relative_positions", 0, why="relative or rotary positions")
    if tables:
        questions.ask_positions(draft, tables)
    else:
        draft.put("positions", "none", "shapes", "no table of positions is stored")
        draft.put("max_len", 1024, "assumed", "no table of positions is stored")
    draft.put("embedding_scale", bool(tables), "layout", "scaled where positions are added")


def stand_ins(raw: RawCheckpoint) -> Mapping[str, StandIn]:
    """Version 3 may omit only the biases of queries, keys and values."""
    has_bias = f"{_LAYER}.self_attn.linear_query.bias" in raw.tensors
    attentions = (
        "encoder.layers.{}.self_attn",
        "decoder.layers.{}.self_attn",
        "decoder.layers.{}.cross_attn",
    )
    return {} if has_bias else {f"{name}.w_{m}.bias": "zeros" for name in attentions for m in "qkv"}


FAMILY = Family(
    name="open_nmt",
    label="OpenNMT-py",
    matches=matches,
    read_config=read_config,
    renames=RENAMES,
    ignored=IGNORED,
    stand_ins=stand_ins,
)
