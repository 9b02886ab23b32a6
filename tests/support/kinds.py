"""Small models of every kind, whose special ids, frames, positions and norms differ from our own models'."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from tests.support.models import ENGLISH, ITALIAN
from tests.support.renumbered import BOS_ID, EOS_ID, LANGUAGE_ID, PAD_ID, RenumberedCoder
from transformer.loaded import LoadedModel, freeze
from transformer.model.config import TransformerConfig
from transformer.model.transformer import Transformer

SIZES: dict[str, Any] = {
    "d_model": 30,
    "n_heads": 3,
    "d_ff": 23,
    "max_len": 41,
    "pad_id": PAD_ID,
    "positions": "learned",
}


def _loaded(
    name: str,
    source: RenumberedCoder | None,
    target: RenumberedCoder | None,
    layers: tuple[int, int],
    start_ids: tuple[int, ...] = (BOS_ID,),
    end_ids: tuple[int, ...] = (EOS_ID,),
    **changes: Any,
) -> LoadedModel:
    config = TransformerConfig(
        src_vocab_size=len(source.vocabulary) if source else 0,
        tgt_vocab_size=len(target.vocabulary) if target else 0,
        n_encoder_layers=layers[0],
        n_decoder_layers=layers[1],
        **SIZES | changes,
    )
    model = Transformer(config, torch.Generator().manual_seed(7))
    first, second = source or target, target or source
    assert first is not None
    assert second is not None
    return LoadedModel(name, freeze(model), first, second, card="", start_ids=start_ids, end_ids=end_ids)


def prompted() -> LoadedModel:
    """Decoder-only like GPT-2: no padding, nothing before the prompt."""
    return _loaded(
        "prompted",
        None,
        RenumberedCoder(ENGLISH),
        (0, 3),
        norm_position="pre",
        final_norm=True,
        activation="gelu_tanh",
        embedding_scale=False,
        pad_id=-1,
    )


LIKE_LLAMA: dict[str, Any] = {
    "positions": "rotary",
    "norm": "rms",
    "norm_position": "pre",
    "final_norm": True,
    "activation": "silu",
    "gated": True,
    "bias": False,
    "embedding_scale": False,
    "tie_generator": False,
}
# Choices in capitals are tested without words too, in tests/transformer/model/forms.py.
ROTARY: dict[str, Any] = LIKE_LLAMA | {
    "n_heads": 6,
    "n_kv_heads": 2,
    "d_head": 14,
    "rotary_stretch": 4.0,
    "stretch_start": 50.0,
    "stretch_full": 400.0,
    "query_key_norm": True,
    "pad_id": -1,
}


def rotary() -> LoadedModel:
    """Decoder-only like Llama 3 and Qwen 3.

    Stretched rotary positions, grouped keys, RMS norms (of queries and keys too), SwiGLU, two end tokens.
    """
    return _loaded(
        "rotary", None, RenumberedCoder(ENGLISH, before=[BOS_ID]), (0, 2), end_ids=(EOS_ID, 11), **ROTARY
    )


MASKED: dict[str, Any] = {
    "activation": "gelu",
    "embedding_scale": False,
    "embedding_norm": True,
    "n_segments": 2,
    "generator_transform": True,
}


def masked() -> LoadedModel:
    """Encoder-only like BERT: it predicts masked words."""
    return _loaded(
        "masked", RenumberedCoder(ENGLISH, before=[BOS_ID], after=[EOS_ID]), None, (3, 0), **MASKED
    )


def reader() -> LoadedModel:
    """Encoder-only without a generator: sines before cosines, and the norm with the unbiased deviation."""
    return _loaded(
        "reader",
        RenumberedCoder(ENGLISH, after=[EOS_ID]),
        None,
        (2, 0),
        positions="sinusoidal",
        sinusoid_layout="halves",
        norm="layer_unbiased",
        has_generator=False,
    )


RELATIVE: dict[str, Any] = {
    "positions": "relative",
    "n_position_buckets": 8,
    "max_position_distance": 16,
    "attention_scale": False,
    "norm": "rms",
    "norm_position": "pre",
    "final_norm": True,
    "activation": "gelu_tanh",
    "gated": True,
    "bias": False,
    "embedding_scale": False,
    "share_embeddings": True,
    "logits_scale": True,
}


def relative() -> LoadedModel:
    """Encoder-decoder like T5: relative bias, unscaled scores, a target that begins with <pad>."""
    coder = RenumberedCoder(ENGLISH, after=[EOS_ID])
    return _loaded("relative", coder, coder, (2, 3), start_ids=(PAD_ID,), **RELATIVE)


def languages() -> LoadedModel:
    """Encoder-decoder like mBART: a source ends with its language, a target begins with two tokens."""
    source = RenumberedCoder(ENGLISH, after=[EOS_ID, LANGUAGE_ID])
    target = RenumberedCoder(ITALIAN)
    return _loaded(
        "languages",
        source,
        target,
        (2, 3),
        start_ids=(EOS_ID, LANGUAGE_ID),
        norm_position="pre",
        final_norm=True,
        embedding_norm=True,
        query_key_norm=True,
        activation="gelu",
    )


def stacks() -> LoadedModel:
    """Bare encoder and decoder stacks, without a generator, positions or final norms."""
    source, target = RenumberedCoder(ENGLISH, after=[EOS_ID]), RenumberedCoder(ITALIAN)
    return _loaded(
        "stacks", source, target, (2, 3), positions="none", norm_position="pre", has_generator=False
    )


CAPPED: dict[str, Any] = {
    "n_kv_heads": 1,
    "d_head": 14,
    "positions": "rotary",
    "position_base": 500.0,
    "position_bases": (9.0, 0.0, 500.0),
    "rotary_stretch": 4.0,
    "query_key_norm": True,
    "attention_scale": 0.3,
    "attention_soft_cap": 2.5,
    "attention_windows": (3, 0, 2),
    "logits_soft_cap": 1.5,
    "norm": "rms",
    "norm_position": "both",
    "final_norm": True,
    "activation": "gelu_tanh",
    "gated": True,
    "bias": False,
}


def capped() -> LoadedModel:
    """Decoder-only like Gemma 2 and 3.

    Norms before and after sublayers, soft caps, a window and a rotary base per layer (one has neither).
    """
    return _loaded("capped", None, RenumberedCoder(ENGLISH, before=[BOS_ID]), (0, 3), **CAPPED)


PARALLEL: dict[str, Any] = {
    "positions": "rotary",
    "rotary_dims": 4,
    "parallel_residual": True,
    "norm_position": "pre",
    "final_norm": True,
    "activation": "gelu",
    "embedding_scale": False,
    "tie_generator": False,
    "generator_bias": False,
    "pad_id": -1,
}


def parallel() -> LoadedModel:
    """Decoder-only like GPT-NeoX: parallel sublayers, partly rotated heads, an untied generator."""
    return _loaded("parallel", None, RenumberedCoder(ENGLISH), (0, 2), **PARALLEL)


SHARED: dict[str, Any] = {
    "shared_layers": True,
    "d_embedding": 14,
    "activation": "gelu_tanh",
    "embedding_scale": False,
    "embedding_norm": True,
    "n_segments": 2,
    "generator_transform": True,
}


def shared() -> LoadedModel:
    """Encoder-only like ALBERT: one layer repeated, narrow embeddings."""
    return _loaded(
        "shared", RenumberedCoder(ENGLISH, before=[BOS_ID], after=[EOS_ID]), None, (3, 0), **SHARED
    )


FACTORS: dict[str, Any] = {
    "positions": "rotary",
    "norm": "rms",
    "norm_position": "pre",
    "final_norm": True,
    "activation": "silu",
    "gated": True,
    "bias": False,
    "embedding_scale": 6.0,
    "attention_scale": 0.2,
    "residual_scale": 0.4,
    "logits_scale": 0.25,
}


def factors() -> LoadedModel:
    """Decoder-only like Granite: factors for the embeddings, scores, sublayers and logits."""
    return _loaded("factors", None, RenumberedCoder(ENGLISH), (0, 2), **FACTORS)


SHIFTED: dict[str, Any] = {
    "positions": "sinusoidal",
    "sinusoid_layout": "halves_to_base",
    "position_offset": 2,
    "memory_padding_mask": False,
    "residual_scale": 0.5,
    "activation": "relu_squared",
}


def shifted() -> LoadedModel:
    """Encoder-decoder like fairseq's: sinusoids up to the base, counted from an offset; post-norm.

    Cross-attention sees the source's padding, and sublayer outputs are scaled down.
    """
    source, target = RenumberedCoder(ENGLISH, after=[EOS_ID]), RenumberedCoder(ITALIAN)
    return _loaded("shifted", source, target, (2, 3), start_ids=(EOS_ID,), **SHIFTED)


def alibi() -> LoadedModel:
    """Decoder-only like BLOOM: linear biases, normed embeddings."""
    return _loaded(
        "alibi",
        None,
        RenumberedCoder(ENGLISH),
        (0, 2),
        positions="alibi",
        norm_position="pre",
        final_norm=True,
        activation="gelu_tanh",
        embedding_scale=False,
        embedding_norm=True,
    )


OUTPUT_NORMS: dict[str, Any] = LIKE_LLAMA | {
    "n_kv_heads": 1,
    "query_key_norm": "across_heads",
    "norm_position": "output",
}


def output_norms() -> LoadedModel:
    """Decoder-only like OLMo 2: norms of sublayer outputs, and across the heads of queries and keys."""
    return _loaded("output_norms", None, RenumberedCoder(ENGLISH), (0, 2), **OUTPUT_NORMS)


def own_biases() -> LoadedModel:
    """Encoder-decoder like umT5, with a relative bias for each layer and a norm for each head."""
    coder = RenumberedCoder(ENGLISH, after=[EOS_ID])
    own = {"relative_bias_per_layer": True, "query_key_norm": "each_head", "norm": "layer"}
    return _loaded("own_biases", coder, coder, (2, 3), start_ids=(PAD_ID,), **RELATIVE | own)


EXPERTS: dict[str, Any] = LIKE_LLAMA | {
    "n_experts": 5,
    "n_active_experts": 2,
    "attention_windows": (4, 4),
    "n_kv_heads": 1,
}


def experts() -> LoadedModel:
    """Decoder-only like Mixtral: two of five experts for each token, the same window in all layers."""
    return _loaded("experts", None, RenumberedCoder(ENGLISH, before=[BOS_ID]), (0, 2), **EXPERTS)


LOCAL: dict[str, Any] = {
    "attention_windows": (0, 3, 2),
    "positions": "rotary",
    "position_bases": (500.0, 9.0, 9.0),
    "norm_position": "pre",
    "first_norm": False,
    "final_norm": True,
    "embedding_norm": True,
    "embedding_scale": False,
    "activation": "gelu",
    "gated": True,
    "bias": False,
    "generator_bias": True,
    "generator_transform": True,
}


def local() -> LoadedModel:
    """Encoder-only like ModernBERT: windows and rotary bases by layer, no norm before the first attention."""
    return _loaded("local", RenumberedCoder(ENGLISH, before=[BOS_ID], after=[EOS_ID]), None, (3, 0), **LOCAL)


KINDS: dict[str, Callable[[], LoadedModel]] = {
    make.__name__: make
    for make in (
        *(prompted, rotary, masked, reader, relative, languages, stacks),
        *(capped, parallel, shared, factors, shifted),
        *(alibi, output_norms, own_biases),
        *(experts, local),
    )
}


@cache
def config_of(make: Callable[[], LoadedModel]) -> TransformerConfig:
    """The configuration of a model that tests choose their parameters by: it is made once per process."""
    return make().model.config
