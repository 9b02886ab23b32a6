"""Llama (Touvron et al. 2023) and models built like it, as Hugging Face's transformers saves them.

A decoder with RMS norms before the sublayers, rotary positions, a gated feed-forward, and fewer heads of keys
and values than of queries; Qwen 3 has norms of queries and keys, too. The files keep the two halves of each
rotated pair half a head apart.
"""

from __future__ import annotations

from collections.abc import Mapping

from transformer.checkpoints.importing.config_draft import ConfigDraft, likely_heads
from transformer.checkpoints.importing.families.hugging_face.common import (
    classifiers,
    is_for_words,
    note_on_lookalikes,
    put_no_generator,
    read_activation,
)
from transformer.checkpoints.importing.families.hugging_face.decoders._rotary import put_rotary
from transformer.checkpoints.importing.family import (
    Family,
    Into,
    Renames,
    StandIn,
    inside,
    may_be,
    of_modules,
    rotated_pairs_side_by_side,
)
from transformer.checkpoints.importing.foreign_config import ForeignConfig
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.errors import CheckpointError, shown

_ATTENTION: Renames = {
    "q_proj": Into(rotated_pairs_side_by_side, "w_q"),
    "k_proj": Into(rotated_pairs_side_by_side, "w_k"),
    "v_proj": "w_v",
    "o_proj": "w_o",
}
_FEED_FORWARD: Renames = {"gate_proj": "w_1", "up_proj": "w_3", "down_proj": "w_2"}
_LAYER: Renames = {
    "input_layernorm.weight": "self_attn_norm.gamma",
    **inside(of_modules(_ATTENTION), "self_attn.", "self_attn."),
    "self_attn.q_norm.weight": Into(rotated_pairs_side_by_side, "self_attn.q_norm.gamma"),
    "self_attn.k_norm.weight": Into(rotated_pairs_side_by_side, "self_attn.k_norm.gamma"),
    "post_attention_layernorm.weight": "feed_forward_norm.gamma",
    **inside(of_modules(_FEED_FORWARD), "mlp.", "feed_forward."),
}
RENAMES: Renames = {
    "embed_tokens.weight": "tgt_embedding.weight",
    **inside(_LAYER, "layers.{}.", "decoder.layers.{}."),
    "norm.weight": "decoder.final_norm.gamma",
    "lm_head.weight": "generator.weight",
}

_CLASSIFIERS = classifiers("score", "qa_outputs")

IGNORED = {
    "layers.{}.self_attn.rotary_emb.inv_freq": "The rotary frequencies; our model makes its own.",
    "rotary_emb.inv_freq": "The rotary frequencies; our model makes its own.",
    **_CLASSIFIERS,
}

_Q_NORM = "layers.0.self_attn.q_norm.weight"
_HEAD = "lm_head.weight"
_WIDEST = 2**28
"""Rows of queries."""

_BARE = ("LlamaModel", "MistralModel", "Qwen2Model", "Qwen3Model")
_HARMLESS = {
    "attention_bias",
    "is_llama_config",
    "max_window_layers",
    "mlp_bias",
    "pretraining_tp",
    "use_sliding_window",
}
_ATTENTION_TYPES = ("full_attention", "sliding_attention")


def matches(raw: RawCheckpoint) -> bool:
    """Whether there are Llama's names, and no more than that in each layer."""
    names = {"embed_tokens.weight", "layers.0.self_attn.q_proj.weight", "layers.0.mlp.gate_proj.weight"}
    return names <= raw.tensors.keys() and may_be(raw, "llama", "mistral", "qwen2", "qwen3")


def read_config(draft: ConfigDraft) -> None:
    """From config.json, or from the shapes and answers."""
    draft.size("d_model", "hidden_size", "embed_tokens.weight", 1)
    draft.size("tgt_vocab_size", "vocab_size", "embed_tokens.weight", 0)
    draft.size("d_ff", "intermediate_size", "layers.0.mlp.gate_proj.weight", 0)
    draft.layers("n_decoder_layers", "num_hidden_layers", "layers.")
    draft.layout("a decoder alone", src_vocab_size=0, n_encoder_layers=0)
    draft.layout(
        "every model built like Llama", norm="rms", norm_position="pre", final_norm=True, positions="rotary"
    )
    draft.layout("every model built like Llama", gated=True, embedding_scale=False, generator_bias=False)
    for name, tensor in (("bias", "mlp.gate_proj.bias"), ("attention_bias", "self_attn.q_proj.bias")):
        draft.put(name, f"layers.0.{tensor}" in draft.raw.tensors, "shapes", f"whether there is {tensor}")
    has_norms = _Q_NORM in draft.raw.tensors
    draft.put("query_key_norm", has_norms, "shapes", "whether queries and keys have norms")
    read_activation(draft, "hidden_act", "silu")
    draft.number("norm_eps", "rms_norm_eps", (1e-6, 1e-5), "What is added to the mean square in a norm?")
    draft.pad_id()
    if draft.config is None:
        _ask(draft)
    else:
        _take(draft, draft.config)


def stand_ins(raw: RawCheckpoint) -> Mapping[str, StandIn]:
    """Some models built like Llama have biases everywhere but after the heads."""
    has_bias = "layers.0.self_attn.o_proj.bias" in raw.tensors
    return {} if has_bias else {"decoder.layers.{}.self_attn.w_o.bias": "zeros"}


def _take(draft: ConfigDraft, config: ForeignConfig) -> None:
    n_heads = draft.heads("num_attention_heads")
    usual = draft["d_model"] // n_heads if n_heads > 0 else 0
    if draft["query_key_norm"]:
        usual = draft.length(_Q_NORM, 0)
    d_head = config.integer("head_dim", usual)
    draft.told("d_head", d_head, "head_dim")
    n_kv_heads = config.integer("num_key_value_heads", n_heads)
    draft.told("n_kv_heads", n_kv_heads, "num_key_value_heads")
    _take_length(draft, config)
    put_rotary(draft, config)
    tied = config.flag("tie_word_embeddings", False)
    if _HEAD in draft.raw.tensors or (tied and is_for_words(draft.raw, _CLASSIFIERS, *_BARE)):
        draft.told("tie_generator", tied, "tie_word_embeddings")
    else:
        put_no_generator(draft)
    config.refuse_unknown(_HARMLESS)


def _take_length(draft: ConfigDraft, config: ForeignConfig) -> None:
    """Where layers look back over a window only, texts that fit into it are computed just the same."""
    positions = config.integer("max_position_embeddings", 2048)
    draft.told("max_len", positions, "max_position_embeddings")
    window = config.integer("sliding_window", positions)
    layers = config.get("layer_types", ["sliding_attention"])
    if not isinstance(layers, list) or any(kind not in _ATTENTION_TYPES for kind in layers):
        raise CheckpointError(
            f"config.json says layer_types {shown(layers)}: Headlight does not know them all."
        )
    if window < positions and "sliding_attention" in layers and config.get("use_sliding_window", True):
        draft.told("max_len", window, "sliding_window; longer texts would need the window")


def _ask(draft: ConfigDraft) -> None:
    """What neither names nor shapes tell: heads, the base of the rotation, and the longest text."""
    note_on_lookalikes(draft, "Gemma, Granite and other models")
    _put_heads(draft)
    draft.ask(
        "position_base",
        "What is the base of the rotary positions (rope_theta)?",
        "The angles are computed and not stored.",
        {10_000.0: "10,000 (Llama 2)", 500_000.0: "500,000 (Llama 3)"},
    )
    draft.ask(
        "max_len",
        "How many tokens may a text have?",
        "Rotary positions have no table whose length could be read.",
        {2048: "2,048", 4096: "4,096", 8192: "8,192"},
    )
    if _HEAD in draft.raw.tensors or _is_language_model(draft.raw):
        draft.put("tie_generator", _HEAD not in draft.raw.tensors, "shapes", f"whether there is {_HEAD}")
    else:
        put_no_generator(draft)


def _put_heads(draft: ConfigDraft) -> None:
    """How the rows of queries and keys are cut into heads: a norm inside each head tells, or it is asked for.

    Raises:
        CheckpointError: when they can't be cut so.
    """
    q_rows = draft.length("layers.0.self_attn.q_proj.weight", 0)
    k_rows = draft.length("layers.0.self_attn.k_proj.weight", 0)
    possible = _possible_heads(q_rows, k_rows)
    if draft["query_key_norm"]:
        n_heads = q_rows // max(1, draft.length(_Q_NORM, 0))
        draft.put("n_heads", n_heads, "shapes", "rows of q_proj over the length of q_norm")
    else:
        n_heads = draft.ask(
            "n_heads",
            "How many attention heads has each layer?",
            f"All heads are stored as one matrix of {q_rows} rows for queries and one of {k_rows} for keys.",
            {n: f"{n} (each {q_rows // n} wide)" for n in possible},
        )
    d_head = q_rows // n_heads if n_heads > 0 else 0
    if d_head * n_heads != q_rows or d_head % 2 or k_rows % d_head:
        raise CheckpointError(
            f"{shown(n_heads)} heads can't be: {q_rows} rows of queries and {k_rows} rows of keys must be "
            f"cut into heads of one even width. Choose one of {', '.join(map(str, possible))}."
        )
    draft.put("d_head", d_head, "shapes", "rows of q_proj over heads")
    draft.put("n_kv_heads", k_rows // d_head, "shapes", "rows of k_proj over the width of a head")


def _possible_heads(q_rows: int, k_rows: int) -> list[int]:
    """The numbers of heads of queries, likely ones first, that leave whole heads of keys, of an even width.

    Raises:
        CheckpointError: when there is none.
    """

    def fits(d_head: int) -> bool:
        return d_head % 2 == 0 and k_rows % d_head == 0

    possible = likely_heads(q_rows, fits) if q_rows <= _WIDEST else []
    if not possible:
        raise CheckpointError(
            f"{q_rows} rows of queries and {k_rows} rows of keys can't be cut into heads of one even width: "
            "this is no Llama. Open the whole folder with its config.json."
        )
    return possible


def _is_language_model(raw: RawCheckpoint) -> bool:
    """Whether a model without a generator of its own was saved with its head, which then is the embedding.

    A model saved alone has no "model." before its names, and a classifier has its own head.
    """
    is_whole = any("model" in stored.name.split(".")[:-1] for stored in raw.tensors.values())
    return is_whole and not any(name in raw.tensors for name in _CLASSIFIERS)


FAMILY = Family(
    name="llama",
    label="Llama-like",
    matches=matches,
    read_config=read_config,
    renames=RENAMES,
    ignored=IGNORED,
    prefixes=("model.",),
    stand_ins=stand_ins,
)
