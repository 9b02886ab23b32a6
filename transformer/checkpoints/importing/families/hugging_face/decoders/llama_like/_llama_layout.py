"""Common to Llama and the models built like it: names, sizes, heads, rotation, length.

A pre-norm decoder with RMS norms, rotary positions, a gated feed-forward, and fewer key/value heads than
query heads. The files store the two numbers of each rotated pair half a head apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.family import (
    Into,
    Renames,
    StandIn,
    module_renames,
    prefixed,
    rotated_pairs_side_by_side,
)
from transformer.checkpoints.importing.foreign_config import ForeignConfig
from transformer.checkpoints.importing.layout import rotary_questions
from transformer.checkpoints.importing.layout.head import HEAD, read_head
from transformer.checkpoints.importing.layout.hugging_face import (
    classifiers,
)
from transformer.checkpoints.importing.layout.rotary import (
    Names,
    ask_rotary_dims,
    put_rotary,
)
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
    **prefixed(module_renames(_ATTENTION), "self_attn.", "self_attn."),
    "self_attn.q_norm.weight": Into(rotated_pairs_side_by_side, "self_attn.q_norm.gamma"),
    "self_attn.k_norm.weight": Into(rotated_pairs_side_by_side, "self_attn.k_norm.gamma"),
    "post_attention_layernorm.weight": "feed_forward_norm.gamma",
    **prefixed(module_renames(_FEED_FORWARD), "mlp.", "feed_forward."),
}
RENAMES: Renames = {
    "embed_tokens.weight": "tgt_embedding.weight",
    **prefixed(_LAYER, "layers.{}.", "decoder.layers.{}."),
    "norm.weight": "decoder.final_norm.gamma",
    **HEAD,
}

_CLASSIFIERS = classifiers("score", "qa_outputs")

IGNORED = {
    "layers.{}.self_attn.rotary_emb.inv_freq": "The rotary frequencies; our model makes its own.",
    "rotary_emb.inv_freq": "The rotary frequencies; our model makes its own.",
    **_CLASSIFIERS,
}

KIN = "llama"
_OTHERS = ("pre_feedforward_layernorm.weight", "post_feedforward_layernorm.weight", "input_layernorm.bias")
"""Names in layers that contain more than Llama's: Gemma 2's, OLMo 2's, StableLM's."""
_FUSED = "layers.0.self_attn.qkv_proj.weight"
_Q_NORM = "layers.0.self_attn.q_norm.weight"
_WORDS = "embed_tokens.weight"

_HARMLESS = {
    "attention_bias",
    "is_llama_config",
    "max_window_layers",
    "mlp_bias",
    "pretraining_tp",
    "use_sliding_window",
}
_ATTENTION_TYPES = ("full_attention", "sliding_attention")


@dataclass(frozen=True)
class Usual:
    """A family's defaults for attributes missing from config.json, and its likely answers without one.

    Attributes:
        of: the family in words, for the report.
        bare: names in config.json of the models without a head.
        tied: whether the generator is the embedding.
        d_head: width of a head; 0 for d_model / n_heads.
        norm_eps: likely values, config.json's default first; a single one is not asked about.
        bases: base of the rotation -> text for the user; order and single ones as for norm_eps.
        lengths: likely maximum lengths, config.json's default first.
        window: window of layers with local attention; 0 for none.
        rotation_of: type of the layers that use the base; empty if all layers share one rotation.
        rotated_part: the share of each head that is rotated; 0 for a family that rotates whole heads.
    """

    of: str
    bare: tuple[str, ...]
    tied: bool = False
    d_head: int = 0
    norm_eps: tuple[float, ...] = (1e-6, 1e-5)
    bases: Mapping[float, str] = field(default_factory=lambda: {10_000.0: "10,000"})
    lengths: tuple[int, ...] = (2048, 4096, 8192)
    rotated_part: float = 0.0
    window: int = 0
    rotation_of: str = ""


def has_names(raw: RawCheckpoint) -> bool:
    """True if there are Llama's names, and no further norms in each layer."""
    inside = ("input_layernorm", "self_attn.q_proj", "mlp.gate_proj")
    names = {_WORDS, *(f"layers.0.{name}.weight" for name in inside)}
    return names <= raw.tensors.keys() and not any(f"layers.0.{name}" in raw.tensors for name in _OTHERS)


def read_layers(draft: ConfigDraft, usual: Usual) -> None:
    """Fill in all but the activation and family specifics, from config.json or from shapes and answers."""
    draft.size("d_model", "hidden_size", _WORDS, 1)
    draft.size("tgt_vocab_size", "vocab_size", _WORDS, 0)
    draft.size("d_ff", "intermediate_size", "layers.0.mlp.down_proj.weight", 1)
    draft.layers("n_decoder_layers", "num_hidden_layers", "layers.")
    draft.layout("a decoder alone", src_vocab_size=0, n_encoder_layers=0)
    draft.layout(usual.of, norm="rms", norm_position="pre", final_norm=True, positions="rotary")
    draft.layout(usual.of, gated=True, embedding_scale=False)
    draft.present("bias", "layers.0.mlp.down_proj.bias")
    draft.present("attention_bias", "layers.0.self_attn.q_proj.bias")
    draft.present("query_key_norm", _Q_NORM)
    if draft.config is None and len(usual.norm_eps) == 1:
        draft.layout(usual.of, norm_eps=usual.norm_eps[0])
    else:
        question = "What is added to the mean square in a norm?"
        draft.number("norm_eps", "rms_norm_eps", usual.norm_eps, question)
    draft.pad_id()
    if draft.config is None:
        _ask(draft, usual)
    else:
        _take(draft, draft.config, usual)
    read_head(draft, _WORDS, tied=usual.tied, heads=_CLASSIFIERS, bare=usual.bare)


def refuse_other_computations(config: ForeignConfig) -> None:
    """Reject attributes that were not read.

    Raises:
        CheckpointError: with their names.
    """
    config.refuse_unknown(_HARMLESS)


def stand_ins(raw: RawCheckpoint) -> Mapping[str, StandIn]:
    """Some models built like Llama have biases everywhere except in the output matrix of attention."""
    has_bias = "layers.0.self_attn.o_proj.bias" in raw.tensors
    return {} if has_bias else {"decoder.layers.{}.self_attn.w_o.bias": "zeros"}


def _take(draft: ConfigDraft, config: ForeignConfig, usual: Usual) -> None:
    n_heads = draft.heads("num_attention_heads")
    width = usual.d_head or (draft["d_model"] // n_heads if n_heads > 0 else 0)
    if draft["query_key_norm"]:
        width = draft.length(_Q_NORM, 0)
    draft.configured("d_head", config.integer("head_dim", width), "head_dim")
    n_kv_heads = config.integer("num_key_value_heads", n_heads)
    draft.configured("n_kv_heads", n_kv_heads, "num_key_value_heads")
    _take_length(draft, config, usual)
    names = Names(next(iter(usual.bases)), usual.rotated_part, entry=usual.rotation_of)
    put_rotary(draft, config, names)


def _take_length(draft: ConfigDraft, config: ForeignConfig, usual: Usual) -> None:
    """Fill in max_len: at most the window, so that local attention sees the whole text."""
    positions = config.integer("max_position_embeddings", usual.lengths[0])
    draft.configured("max_len", positions, "max_position_embeddings")
    left_out = config.leaves_out("sliding_window") and usual.window
    window = usual.window if left_out else config.integer("sliding_window", positions)
    layers = config.get("layer_types", ["sliding_attention"])
    if not isinstance(layers, list) or any(kind not in _ATTENTION_TYPES for kind in layers):
        raise CheckpointError(
            f"config.json says layer_types {shown(layers)}: Headlight does not know them all."
        )
    if window < positions and "sliding_attention" in layers and config.get("use_sliding_window", True):
        draft.configured("max_len", window, "sliding_window; longer texts would need the window")


def _ask(draft: ConfigDraft, usual: Usual) -> None:
    """Ask for what neither names nor shapes tell: heads, the base of the rotation, and the longest text."""
    _put_heads(draft, usual.d_head)
    if len(usual.bases) == 1:
        draft.layout(usual.of, position_base=next(iter(usual.bases)))
    else:
        rotary_questions.ask_base(draft, usual.bases)
    if usual.rotated_part:
        ask_rotary_dims(draft, round(1 / usual.rotated_part))
    rotary_questions.ask_length(draft, *usual.lengths)


def _put_heads(draft: ConfigDraft, usual_width: int) -> None:
    """Fill in how queries and keys are divided into heads: a norm in each head has their width, or ask.

    Raises:
        CheckpointError: when they can't be divided this way.
    """
    q_rows = draft.length("layers.0.self_attn.o_proj.weight", 1)
    if _FUSED in draft.raw.tensors:
        k_rows = (draft.length(_FUSED, 0) - q_rows) // 2
    else:
        k_rows = draft.length("layers.0.self_attn.k_proj.weight", 0)
    if draft["query_key_norm"]:
        n_heads = q_rows // max(1, draft.length(_Q_NORM, 0))
        draft.put("n_heads", n_heads, "shapes", "width of all heads over the length of q_norm")
        rotary_questions.put_grouped_heads(draft, n_heads, q_rows, k_rows)
    else:
        rotary_questions.ask_grouped_heads(draft, q_rows, k_rows, usual_width)
