"""Gemma 2 (Gemma Team 2024, arXiv:2408.00118) as Hugging Face's transformers saves it.

Gemma with a norm before and one after each sublayer, and with scores and logits capped by tanh. Every second
layer attends to a window only, which makes no difference for texts that fit into it.
"""

from __future__ import annotations

import math

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.hugging_face.decoders.llama_like import (
    _llama_layout as llama_layout,
)
from transformer.checkpoints.importing.families.hugging_face.decoders.llama_like.gemma import (
    from_zero,
    put_embedding_scale,
)
from transformer.checkpoints.importing.family import Family, Into, Renames, may_be, prefixed
from transformer.checkpoints.importing.foreign_config import ForeignConfig
from transformer.checkpoints.importing.layout.hugging_face import ACTIVATIONS
from transformer.checkpoints.reading.raw import RawCheckpoint

_NORMS: Renames = {
    "input_layernorm.weight": Into(from_zero, "self_attn_norm.gamma"),
    "post_attention_layernorm.weight": Into(from_zero, "self_attn_post_norm.gamma"),
    "pre_feedforward_layernorm.weight": Into(from_zero, "feed_forward_norm.gamma"),
    "post_feedforward_layernorm.weight": Into(from_zero, "feed_forward_post_norm.gamma"),
}
RENAMES: Renames = {
    **llama_layout.RENAMES,
    **prefixed(_NORMS, "layers.{}.", "decoder.layers.{}."),
    "norm.weight": Into(from_zero, "decoder.final_norm.gamma"),
}

_USUAL = llama_layout.Usual(
    of="every Gemma 2",
    bare=("Gemma2Model",),
    tied=True,
    d_head=256,
    norm_eps=(1e-6,),
    lengths=(4096, 8192),
    window=4096,
)
_SCORES_CAP, _LOGITS_CAP = 50.0, 30.0


def has_names(raw: RawCheckpoint) -> bool:
    """True if there are Llama's names and the norms around both sublayers."""
    names = {"self_attn.q_proj.weight", "mlp.gate_proj.weight", *_NORMS}
    return {"embed_tokens.weight", *(f"layers.0.{name}" for name in names)} <= raw.tensors.keys()


def matches(raw: RawCheckpoint) -> bool:
    """True if there are Gemma 2's norms, and none of queries and keys, as in Gemma 3."""
    has_norms = "layers.0.self_attn.q_norm.weight" in raw.tensors
    return has_names(raw) and not has_norms and may_be(raw, "gemma2")


def read_layers(draft: ConfigDraft, usual: llama_layout.Usual) -> None:
    """Fill in what Gemma 2 and 3 have in common, except the caps."""
    llama_layout.read_layers(draft, usual)
    draft.layout(usual.of, norm_position="both")
    put_embedding_scale(draft)
    config = draft.config
    if config is None:
        draft.layout(usual.of, activation="gelu_tanh")
        _ask_attention_scale(draft)
    else:
        told = config.choice("hidden_activation", ACTIVATIONS, "gelu_pytorch_tanh")
        draft.configured("activation", told, "hidden_activation")
        config.get("hidden_act")  # transformers never reads it
        width = config.number("query_pre_attn_scalar", 256.0)
        scale: bool | float = width == draft["d_head"] or (width**-0.5 if width > 0 else 0.0)
        draft.configured("attention_scale", scale, "query_pre_attn_scalar ** -0.5")
        config.only("use_bidirectional_attention", False, why="a decoder that sees later tokens")


def read_config(draft: ConfigDraft) -> None:
    """Read config.json, or the shapes and answers."""
    read_layers(draft, _USUAL)
    if draft.config is None:
        draft.layout(_USUAL.of, attention_soft_cap=_SCORES_CAP)
        put_logits_cap(draft, _LOGITS_CAP)
    else:
        cap = _cap(draft.config, "attn_logit_softcapping", _SCORES_CAP)
        draft.configured("attention_soft_cap", cap, "attn_logit_softcapping")
        put_logits_cap(draft, _LOGITS_CAP)
        llama_layout.refuse_other_computations(draft.config)


def put_logits_cap(draft: ConfigDraft, usual: float) -> None:
    """Fill in the cap on the logits; a model without a generator has none."""
    config = draft.config
    if config is not None:
        usual = _cap(config, "final_logit_softcapping", usual)
    why = "final_logit_softcapping, where there is a generator"
    draft.put(
        "logits_soft_cap", usual if draft["has_generator"] else 0.0, "config" if config else "layout", why
    )


def _cap(config: ForeignConfig, key: str, usual: float) -> float:
    """The cap in config.json: null means none, a missing attribute the usual one."""
    return config.number(key, usual if config.leaves_out(key) else 0.0)


def _ask_attention_scale(draft: ConfigDraft) -> None:
    """Ask for the divisor of scores: 27B models use another width's square root than the head's."""
    n_heads, d_head = draft["n_heads"], draft["d_head"]
    other = draft["d_model"] / n_heads
    draft.ask(
        "attention_scale",
        "What are scores divided by?",
        "It is done in the program (query_pre_attn_scalar) and not stored.",
        {
            True: f"the square root of a head's width, {d_head}",
            1 / math.sqrt(other): f"the square root of d_model / n_heads, {other:g}, as in the 27B model",
        },
    )


FAMILY = Family(
    name="gemma2",
    label="Gemma 2",
    matches=matches,
    read_config=read_config,
    renames=RENAMES,
    ignored=llama_layout.IGNORED,
    prefixes=("model.",),
    stand_ins=llama_layout.stand_ins,
)
