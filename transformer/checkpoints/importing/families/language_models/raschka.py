"""The models in Raschka's book "Build a Large Language Model (From Scratch)" (rasbt/LLMs-from-scratch).

The book's GPT is GPT-2 with a separate generator; biases of queries, keys and values are optional. The Llama
and Qwen 3 that follow in its chapter 5 have the same module names, with a gated feed-forward (fc1, fc2, fc3)
and rotary positions whose pairs are half a head apart.
"""

from __future__ import annotations

from collections.abc import Mapping

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.language_models._rotary import (
    BASES,
    LENGTHS,
    NORM_EPS,
    ask_stretch,
)
from transformer.checkpoints.importing.family import (
    Family,
    Into,
    Renames,
    StandIn,
    module_renames,
    prefixed,
    rotated_pairs_side_by_side,
)
from transformer.checkpoints.importing.layout import rotary_questions
from transformer.checkpoints.importing.layout.questions import ask_activation
from transformer.checkpoints.reading.raw import RawCheckpoint

_LAYER: Renames = {
    "norm1": "self_attn_norm",
    "att.W_query": "self_attn.w_q",
    "att.W_key": "self_attn.w_k",
    "att.W_value": "self_attn.w_v",
    "att.out_proj": "self_attn.w_o",
    "norm2": "feed_forward_norm",
}
_FEED_FORWARD: Renames = {"ff.layers.0": "feed_forward.w_1", "ff.layers.2": "feed_forward.w_2"}
_NORM = {"gamma": "scale", "beta": "shift"}
_GENERATOR: Renames = {"out_head.weight": "generator.weight"}

GPT_RENAMES: Renames = {
    "tok_emb.weight": "tgt_embedding.weight",
    "pos_emb.weight": "tgt_embedding.positions.weight",
    **prefixed(module_renames({**_LAYER, **_FEED_FORWARD}, **_NORM), "trf_blocks.{}.", "decoder.layers.{}."),
    **module_renames({"final_norm": "decoder.final_norm"}, **_NORM),
    **_GENERATOR,
}

_ROTARY_LAYER: Renames = {
    "norm1.weight": "self_attn_norm.gamma",
    "norm1.scale": "self_attn_norm.gamma",
    "att.W_query.weight": Into(rotated_pairs_side_by_side, "self_attn.w_q.weight"),
    "att.W_key.weight": Into(rotated_pairs_side_by_side, "self_attn.w_k.weight"),
    "att.W_value.weight": "self_attn.w_v.weight",
    "att.out_proj.weight": "self_attn.w_o.weight",
    "att.q_norm.scale": Into(rotated_pairs_side_by_side, "self_attn.q_norm.gamma"),
    "att.k_norm.scale": Into(rotated_pairs_side_by_side, "self_attn.k_norm.gamma"),
    "norm2.weight": "feed_forward_norm.gamma",
    "norm2.scale": "feed_forward_norm.gamma",
    "ff.fc1.weight": "feed_forward.w_1.weight",
    "ff.fc2.weight": "feed_forward.w_3.weight",
    "ff.fc3.weight": "feed_forward.w_2.weight",
}
ROTARY_RENAMES: Renames = {
    "tok_emb.weight": "tgt_embedding.weight",
    **prefixed(_ROTARY_LAYER, "trf_blocks.{}.", "decoder.layers.{}."),
    "final_norm.weight": "decoder.final_norm.gamma",
    "final_norm.scale": "decoder.final_norm.gamma",
    **_GENERATOR,
}

_MASK = "The causal mask; our model makes its own."
_ANGLES = "The cosines or sines of the rotary positions; our model makes its own."
IGNORED = {"trf_blocks.{}.att.mask": _MASK, "mask": _MASK}
ROTARY_IGNORED = {
    **IGNORED,
    **dict.fromkeys(("trf_blocks.{}.att.cos", "trf_blocks.{}.att.sin", "cos", "sin"), _ANGLES),
}

_WORDS, _QUERIES, _KEYS, _OUT = (
    "tok_emb.weight",
    "trf_blocks.0.att.W_query.weight",
    "trf_blocks.0.att.W_key.weight",
    "out_head.weight",
)
_GPT_IN, _GATE = "trf_blocks.0.ff.layers.0.weight", "trf_blocks.0.ff.fc1.weight"
_Q_NORM = "trf_blocks.0.att.q_norm.scale"
_ACTIVATIONS = {
    "gelu_tanh": "GELU, approximated by tanh, as in the book",
    "gelu": "GELU (nn.GELU())",
    "relu": "ReLU",
    "silu": "SiLU (Swish)",
}


def is_gpt(raw: RawCheckpoint) -> bool:
    """True if there are the book's names and its plain feed-forward."""
    return {_WORDS, _QUERIES, _GPT_IN} <= raw.tensors.keys()


def is_rotary(raw: RawCheckpoint) -> bool:
    """True if there are the book's names and its Llama's gated feed-forward."""
    return {_WORDS, _QUERIES, _GATE} <= raw.tensors.keys()


def read_gpt(draft: ConfigDraft) -> None:
    """Read the shapes and answers."""
    why = "every GPT of the book"
    _read_sizes(draft, _GPT_IN, why)
    draft.size("max_len", "context_length", "pos_emb.weight", 0)
    draft.ask_heads()
    ask_activation(draft, _ACTIVATIONS, "It is written in the program and not stored with the weights.")
    draft.layout(why, norm_eps=1e-5, positions="learned")


def _rows(draft: ConfigDraft) -> tuple[int, int]:
    return draft.length(_QUERIES, 0), draft.length(_KEYS, 0)


def read_rotary(draft: ConfigDraft) -> None:
    """Read the shapes and answers."""
    why = "every Llama of the book"
    _read_sizes(draft, _GATE, why)
    draft.layout(why, norm="rms", positions="rotary", gated=True, bias=False, activation="silu")
    is_qwen = draft.present("query_key_norm", _Q_NORM)
    if is_qwen:
        rows = draft.length(_QUERIES, 0) // max(1, draft.length(_Q_NORM, 0))
        draft.put("n_heads", rows, "shapes", "rows of queries over the length of their norm")
        rotary_questions.put_grouped_heads(draft, rows, *_rows(draft))
    else:
        rotary_questions.ask_grouped_heads(draft, *_rows(draft))
    is_third = draft["n_kv_heads"] < draft["n_heads"] and not is_qwen
    rotary_questions.ask_base(draft, BASES, 1_000_000.0 if is_qwen else 500_000.0 if is_third else 10_000.0)
    if is_third:
        ask_stretch(draft)
    draft.number("norm_eps", "norm_eps", (1e-6, 1e-5) if is_qwen else (1e-5, 1e-6), NORM_EPS)
    rotary_questions.ask_length(draft, *LENGTHS)


def _read_sizes(draft: ConfigDraft, into_feed_forward: str, why: str) -> None:
    draft.size("d_model", "emb_dim", _WORDS, 1)
    draft.size("tgt_vocab_size", "vocab_size", _WORDS, 0)
    draft.size("d_ff", "hidden_dim", into_feed_forward, 0)
    draft.layers("n_decoder_layers", "n_layers", "trf_blocks.")
    draft.layout("a decoder alone", src_vocab_size=0, n_encoder_layers=0)
    draft.layout(why, norm_position="pre", final_norm=True, embedding_scale=False)
    draft.layout(why, generator_bias=False, pad_id=-1)
    draft.tied_generator(_OUT, _WORDS)


def stand_ins(raw: RawCheckpoint) -> Mapping[str, StandIn]:
    """Unless qkv_bias is on, the book's GPT has biases everywhere except in these."""
    has_bias = "trf_blocks.0.att.W_query.bias" in raw.tensors
    return {} if has_bias else {f"decoder.layers.{{}}.self_attn.w_{m}.bias": "zeros" for m in "qkv"}


GPT = Family(
    name="raschka_gpt",
    label="GPTModel of Raschka's book (LLMs-from-scratch)",
    matches=is_gpt,
    read_config=read_gpt,
    renames=GPT_RENAMES,
    ignored=IGNORED,
    stand_ins=stand_ins,
)

ROTARY = Family(
    name="raschka_llama",
    label="the Llama or Qwen 3 of Raschka's book (LLMs-from-scratch)",
    matches=is_rotary,
    read_config=read_rotary,
    renames=ROTARY_RENAMES,
    ignored=ROTARY_IGNORED,
)
