"""Models with the choices of many families, for tests of properties that every model has."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.support.kinds import (
    CAPPED,
    EXPERTS,
    FACTORS,
    LOCAL,
    MASKED,
    PARALLEL,
    RELATIVE,
    ROTARY,
    SHARED,
    SHIFTED,
)
from tests.transformer.model.core import KINDS, SIZES
from transformer.model.config import PER_LAYER

FORMS: dict[str, dict[str, Any]] = {
    "the paper's": {},
    "pre-norm, learned": {
        "norm_position": "pre",
        "final_norm": True,
        "activation": "gelu",
        "positions": "learned",
    },
    "pre-norm, no biases": {"norm_position": "pre", "final_norm": True, "activation": "gelu", "bias": False},
    "untied": {"tie_generator": False, "positions": "learned"},
    "relative, unscaled, wide heads": RELATIVE | {"share_embeddings": False, "d_head": 14},
    "segments, embedding norm, transform": MASKED | {"positions": "learned"},
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
    "normed queries and keys": {"query_key_norm": True, "n_kv_heads": 1, "activation": "relu_squared"},
    "rotary, stretched, grouped, gated, rms, normed queries and keys": ROTARY,
    "rotary, with biases": {"positions": "rotary", "position_base": 100.0, "norm": "rms"},
    "hidden states": {"has_generator": False, "embedding_norm": True},
    "no padding": {"pad_id": -1},
    "norms before and after, caps, a base and a window for each layer": CAPPED,
    "parallel, partly rotated": PARALLEL,
    "shared layers, narrow embeddings": SHARED | {"positions": "learned"},
    "four factors": FACTORS,
    "wavelengths up to the base, a first position, a factor in post-norm": SHIFTED
    | {"memory_padding_mask": True},
    "narrow sinusoids, untied": {"d_embedding": 14, "tie_generator": False, "norm_position": "both"},
    "experts, the same window in all layers": EXPERTS | {"n_experts": 3},
    "windows, normed embeddings for the first attention": LOCAL,
    "relative, capped": {"positions": "relative", "attention_soft_cap": 1.5, "n_kv_heads": 1},
    "a relative bias per layer": {"positions": "relative", "relative_bias_per_layer": True},
    "linear biases": {"positions": "alibi", "n_kv_heads": 1, "embedding_norm": True},
    "normed outputs, norms across heads": {
        "norm_position": "output",
        "query_key_norm": "across_heads",
        "residual_scale": 0.5,
        "n_kv_heads": 1,
    },
    "normed outputs, a norm of each head's own": {
        "norm_position": "output",
        "query_key_norm": "each_head",
        "positions": "rotary",
        "norm": "layer_unbiased",
    },
}


def _changes(kind: str, form: str) -> dict[str, Any]:
    changes: dict[str, Any] = KINDS[kind] | FORMS[form]
    if kind != "decoder-only":
        changes.pop("parallel_residual", None)
    sizes = SIZES | changes
    for name in PER_LAYER:
        values = itertools.cycle(changes.get(name, ()))
        changes[name] = tuple(itertools.islice(values, sizes["n_encoder_layers"] + sizes["n_decoder_layers"]))
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
