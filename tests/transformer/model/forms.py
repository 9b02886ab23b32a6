"""Models with the choices of many families, for tests of properties that every model has."""

from __future__ import annotations

import pytest

from tests.transformer.model.core import KINDS

FORMS: dict[str, dict[str, object]] = {
    "the paper's": {},
    "pre-norm, learned": {
        "norm_position": "pre",
        "final_norm": True,
        "activation": "gelu",
        "positions": "learned",
    },
    "pre-norm, no biases": {"norm_position": "pre", "final_norm": True, "activation": "gelu", "bias": False},
    "untied": {"tie_generator": False, "positions": "learned"},
    "rotary, grouped, gated, rms": {
        "norm": "rms",
        "norm_position": "pre",
        "final_norm": True,
        "gated": True,
        "activation": "silu",
        "positions": "rotary",
        "n_kv_heads": 1,
        "bias": False,
        "embedding_scale": False,
        "tie_generator": False,
    },
    "relative, unscaled, wide heads": {
        "norm": "rms",
        "norm_position": "pre",
        "final_norm": True,
        "positions": "relative",
        "n_position_buckets": 8,
        "max_position_distance": 6,
        "attention_scale": False,
        "d_head": 14,
        "bias": False,
        "logits_scale": True,
    },
    "segments, embedding norm, transform": {
        "positions": "learned",
        "n_segments": 2,
        "embedding_norm": True,
        "embedding_scale": False,
        "generator_transform": True,
        "activation": "gelu",
    },
    "sines first, two biases": {
        "sinusoid_layout": "halves",
        "bias": False,
        "attention_bias": True,
        "generator_bias": True,
    },
    "unbiased norms, few key heads": {
        "norm": "layer_unbiased",
        "norm_position": "pre",
        "final_norm": True,
        "n_heads": 6,
        "n_kv_heads": 2,
        "attention_bias": False,
    },
    "no positions": {"positions": "none", "activation": "gelu_tanh", "generator_bias": False},
    "relative and grouped, with biases": {"positions": "relative", "n_kv_heads": 1, "gated": True},
    "normed queries and keys": {"query_key_norm": True, "n_kv_heads": 1},
    "rotary, normed queries and keys": {
        "query_key_norm": True,
        "positions": "rotary",
        "norm": "rms",
        "norm_position": "pre",
    },
    "rotary, stretched": {
        "positions": "rotary",
        "rotary_stretch": 2.5,
        "stretch_start": 9.0,
        "stretch_full": 50.0,
    },
    "rotary, with biases": {"positions": "rotary", "position_base": 100.0, "norm": "rms"},
    "hidden states": {"has_generator": False, "embedding_norm": True},
    "no padding": {"pad_id": -1},
    "norms before and after, caps, a base for each layer": {
        "norm_position": "both",
        "norm": "rms",
        "final_norm": True,
        "gated": True,
        "activation": "gelu_tanh",
        "bias": False,
        "query_key_norm": True,
        "positions": "rotary",
        "position_base": 500.0,
        "position_bases": (9.0, 0.0, 500.0),
        "rotary_stretch": 2.0,
        "attention_scale": 0.3,
        "attention_soft_cap": 2.5,
        "logits_soft_cap": 3.5,
    },
    "parallel, partly rotated": {
        "norm_position": "pre",
        "final_norm": True,
        "parallel_residual": True,
        "positions": "rotary",
        "rotary_dims": 6,
        "activation": "gelu",
        "tie_generator": False,
    },
    "shared layers, narrow embeddings": {
        "shared_layers": True,
        "d_embedding": 14,
        "n_segments": 2,
        "positions": "learned",
        "embedding_norm": True,
        "embedding_scale": False,
        "generator_transform": True,
    },
    "four factors": {
        "norm_position": "pre",
        "final_norm": True,
        "embedding_scale": 3.5,
        "attention_scale": 0.15,
        "residual_scale": 0.4,
        "logits_scale": 0.3,
    },
    "wavelengths up to the base, a first position, a factor in post-norm": {
        "sinusoid_layout": "halves_to_base",
        "position_offset": 3,
        "residual_scale": 1.5,
    },
    "narrow sinusoids, untied": {"d_embedding": 14, "tie_generator": False, "norm_position": "both"},
    "relative, capped": {"positions": "relative", "attention_soft_cap": 1.5, "n_kv_heads": 1},
}


def _changes(kind: str, form: str) -> dict[str, object]:
    changes = KINDS[kind] | FORMS[form]
    if kind != "decoder-only":
        changes.pop("parallel_residual", None)
    if kind == "encoder-only":
        changes.pop("position_bases", None)
    return changes


_ONE_STACK = {
    "encoder-only": ("the paper's", "shared layers, narrow embeddings"),
    "decoder-only": ("the paper's", "parallel, partly rotated"),
}
"""Forms of single-stack models in the usual run: an encoder-decoder has both kinds of layer."""


def any_model(*kinds: str) -> pytest.MarkDecorator:
    """Every form for encoder-decoders, two for single-stack models; the rest of the cross is marked full."""
    cases = []
    for kind in kinds:
        for form in FORMS:
            is_usual = form in _ONE_STACK.get(kind, FORMS)
            marks = () if is_usual else pytest.mark.full
            cases.append(pytest.param(_changes(kind, form), id=f"{kind}, {form}", marks=marks))
    return pytest.mark.parametrize("changes", cases)
