"""Llama as Meta released it (consolidated.00.pth with params.json), and llama2.c (Karpathy 2023).

Rotated pairs are neighbours, as in our model. llama2.c saves its sizes in model_args next to the weights and
ties the generator to the embedding; Meta's files store both matrices. Settings in neither file are asked for.
"""

from __future__ import annotations

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.language_models._rotary import (
    BASES,
    LENGTHS,
    NORM_EPS,
    ask_stretch,
    put_stretched_range,
)
from transformer.checkpoints.importing.family import Family, Renames, prefixed
from transformer.checkpoints.importing.foreign_config import ForeignConfig
from transformer.checkpoints.importing.layout import rotary_questions
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.errors import CheckpointError

_LAYER: Renames = {
    "attention_norm.weight": "self_attn_norm.gamma",
    "attention.wq.weight": "self_attn.w_q.weight",
    "attention.wk.weight": "self_attn.w_k.weight",
    "attention.wv.weight": "self_attn.w_v.weight",
    "attention.wo.weight": "self_attn.w_o.weight",
    "ffn_norm.weight": "feed_forward_norm.gamma",
    "feed_forward.w1.weight": "feed_forward.w_1.weight",
    "feed_forward.w2.weight": "feed_forward.w_2.weight",
    "feed_forward.w3.weight": "feed_forward.w_3.weight",
}
RENAMES: Renames = {
    "tok_embeddings.weight": "tgt_embedding.weight",
    **prefixed(_LAYER, "layers.{}.", "decoder.layers.{}."),
    "norm.weight": "decoder.final_norm.gamma",
    "output.weight": "generator.weight",
}
_ANGLES = "The rotary frequencies; our model makes its own."
IGNORED = {
    "rope.freqs": _ANGLES,
    "freqs_cos": _ANGLES,
    "freqs_sin": _ANGLES,
    "layers.{}.attention.mask": "The causal mask; our model makes its own.",
    "layers.{}.attention.inner_attention.rope.freqs": _ANGLES,
}

PARAMS = "params.json"
_WORDS, _OUT, _QUERIES, _KEYS = (
    "tok_embeddings.weight",
    "output.weight",
    "layers.0.attention.wq.weight",
    "layers.0.attention.wk.weight",
)
_GATE = "layers.0.feed_forward.w1.weight"


def matches(raw: RawCheckpoint) -> bool:
    """True if there are Meta's names and the gated feed-forward."""
    return {_WORDS, _QUERIES, _GATE} <= raw.tensors.keys()


def read_config(draft: ConfigDraft) -> None:
    """Read params.json or model_args and the shapes, and ask for what they lack."""
    raw = draft.raw
    draft.config = told = _told(raw)
    draft.size("d_model", "dim", _WORDS, 1)
    draft.put("tgt_vocab_size", draft.length(_WORDS, 0), "shapes", f"axis 0 of {_WORDS}")
    draft.put("d_ff", draft.length(_GATE, 0), "shapes", f"axis 0 of {_GATE}")
    draft.layers("n_decoder_layers", "n_layers", "layers.")
    draft.layout("a decoder alone", src_vocab_size=0, n_encoder_layers=0)
    why = "every Llama"
    draft.layout(why, norm="rms", norm_position="pre", final_norm=True, positions="rotary", gated=True)
    draft.layout(why, activation="silu", bias=False, generator_bias=False, embedding_scale=False, pad_id=-1)
    tied = draft.tied_generator(_OUT, _WORDS)
    draft.number("norm_eps", "norm_eps", (1e-5, 1e-6), NORM_EPS)
    if told is None:
        rotary_questions.ask_grouped_heads(draft, *_rows(draft))
        shared = draft["n_kv_heads"] < draft["n_heads"]
        rotary_questions.ask_base(draft, BASES, 500_000.0 if shared and not tied else 10_000.0)
        rotary_questions.ask_length(draft, *LENGTHS)
    else:
        _take(draft, told)


def _rows(draft: ConfigDraft) -> tuple[int, int]:
    return draft.length(_QUERIES, 0), draft.length(_KEYS, 0)


def _told(raw: RawCheckpoint) -> ForeignConfig | None:
    """params.json in Meta's folders, or the model_args that llama2.c's trainer saves with the weights."""
    if PARAMS in raw.texts:
        return ForeignConfig(raw.json(PARAMS), PARAMS)
    saved = raw.extras.get("model_args")
    return ForeignConfig(saved, "model_args") if isinstance(saved, dict) and "n_heads" in saved else None


def _take(draft: ConfigDraft, told: ForeignConfig) -> None:
    n_heads = draft.heads("n_heads")
    rotary_questions.put_grouped_heads(draft, n_heads, *_rows(draft))
    draft.configured("position_base", told.number("rope_theta", 10_000.0), "rope_theta, or 10,000")
    if told.flag("use_scaled_rope", False):
        if "rope_scaling_factor" in told:
            draft.configured("rotary_stretch", told.number("rope_scaling_factor"), "rope_scaling_factor")
            put_stretched_range(draft)
        else:
            ask_stretch(draft)
    if "max_seq_len" in told:
        draft.configured("max_len", told.integer("max_seq_len"), "max_seq_len")
    else:
        rotary_questions.ask_length(draft, *LENGTHS)
    if told.get("moe") or told.get("vision_chunk_size"):
        raise CheckpointError(
            f"{told.source} describes a model with experts or for pictures: Headlight's model has neither. "
            "Choose a text-only model."
        )
    if told.get("quantization_args"):
        raise CheckpointError(
            f"{told.source} says that the weights are quantised (quantization_args), and Headlight opens "
            "float16, bfloat16 and float32: choose the model that they were made from."
        )


FAMILY = Family(
    name="meta_llama",
    label="Llama in Meta's layout, or llama2.c",
    matches=matches,
    read_config=read_config,
    renames=RENAMES,
    ignored=IGNORED,
)
