"""The same numbers as torch.nn.Transformer, an independent implementation, with the same weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.support.torch_attention import torch_attention
from tests.transformer.model.core import KINDS, batch, deviation, pair_batch, tiny_transformer, trace_of
from transformer.model.attention import MultiHeadAttention
from transformer.model.config import TransformerConfig
from transformer.model.embedding import Embedding
from transformer.model.feed_forward import FeedForward
from transformer.model.layers import DecoderLayer, EncoderLayer
from transformer.model.normalization import LayerNorm, Norm
from transformer.model.stacks import Decoder, Encoder
from transformer.model.trace import Trace

TOLERANCES = {torch.float32: 1e-5, torch.float64: 1e-12}

FORMS: list[dict[str, object]] = [
    {"norm_position": "post", "activation": "relu"},
    {"norm_position": "post", "activation": "gelu", "final_norm": True},
    {"norm_position": "pre", "activation": "relu", "final_norm": True},
    {"norm_position": "pre", "activation": "gelu", "n_encoder_layers": 1, "n_decoder_layers": 2},
    {"norm_position": "pre", "activation": "relu", "final_norm": True, "bias": False, "norm_eps": 1e-3},
    {"norm_position": "post", "activation": "gelu", "n_encoder_layers": 3, "n_decoder_layers": 1},
    {"norm_position": "post", "activation": "relu", "positions": "learned", "tie_generator": False},
]
CASES = [*((form, torch.float64) for form in FORMS), *((form, torch.float32) for form in FORMS[:3])]
ANY_CASE = pytest.mark.parametrize("form, dtype", CASES, ids=str)


def copy_linear(ours: nn.Linear, theirs: nn.Linear) -> None:
    theirs.load_state_dict(ours.state_dict())


def copy_norm(ours: Norm | None, theirs: nn.LayerNorm) -> None:
    assert isinstance(ours, LayerNorm)
    theirs.weight.copy_(ours.gamma)
    if theirs.bias is None:
        ours.beta.zero_()  # torch drops beta together with the biases; we keep it
    else:
        theirs.bias.copy_(ours.beta)


def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    projections = (ours.w_q, ours.w_k, ours.w_v)
    theirs.in_proj_weight.copy_(torch.cat([projection.weight for projection in projections]))
    if theirs.in_proj_bias is not None:
        theirs.in_proj_bias.copy_(torch.cat([projection.bias for projection in projections]))
    copy_linear(ours.w_o, theirs.out_proj)


def copy_layer(ours: EncoderLayer | DecoderLayer, theirs: Any, cross: bool) -> None:
    """To torch, a decoder layer without cross-attention is an encoder layer with a causal mask."""
    copy_attention(ours.self_attn, theirs.self_attn)
    copy_norm(ours.self_attn_norm, theirs.norm1)
    if cross:
        assert isinstance(ours, DecoderLayer)
        copy_attention(ours.cross_attn, theirs.multihead_attn)
        copy_norm(ours.cross_attn_norm, theirs.norm2)
    assert isinstance(ours.feed_forward, FeedForward)
    copy_linear(ours.feed_forward.w_1, theirs.linear1)
    copy_linear(ours.feed_forward.w_2, theirs.linear2)
    copy_norm(ours.feed_forward_norm, theirs.norm3 if cross else theirs.norm2)


def layer_options(config: TransformerConfig) -> dict[str, object]:
    return {
        "d_model": config.d_model,
        "nhead": config.n_heads,
        "dim_feedforward": config.d_ff,
        "dropout": 0.0,
        "activation": config.activation,
        "norm_first": config.norm_position == "pre",
        "layer_norm_eps": config.norm_eps,
        "bias": config.bias,
        "batch_first": True,
    }


@torch.no_grad()
def torch_stack(ours: Encoder | Decoder, config: TransformerConfig, *, cross: bool = False) -> nn.Module:
    """torch's decoder, or its encoder for a stack without cross-attention, with our weights."""
    norm = nn.LayerNorm(config.d_model, config.norm_eps, bias=config.bias) if ours.final_norm else None
    layer_class: Any = nn.TransformerDecoderLayer if cross else nn.TransformerEncoderLayer
    stack_class: Any = nn.TransformerDecoder if cross else nn.TransformerEncoder
    options = {} if cross else {"enable_nested_tensor": False}
    theirs = stack_class(layer_class(**layer_options(config)), len(ours.layers), norm, **options)
    theirs.to(next(ours.parameters()).dtype)
    for mine, other in zip(ours.layers, theirs.layers, strict=True):
        assert isinstance(mine, EncoderLayer | DecoderLayer)
        copy_layer(mine, other, cross)
    if ours.final_norm is not None and norm is not None:
        copy_norm(ours.final_norm, norm)
    return theirs


def embed(ours: Embedding, ids: Tensor, config: TransformerConfig) -> Tensor:
    """Sections 3.4 and 3.5 recomputed number by number in Python."""
    d_model = config.d_model
    rows = []
    for position in range(ids.shape[1]):
        row = []
        for i in range(d_model // 2):
            angle = position / 10_000 ** (2 * i / d_model)
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row)
    positions = torch.tensor(rows).to(ours.weight.dtype)  # rounded to float32 first, as ours are
    if config.positions == "learned":
        positions = ours.get_parameter("positions.weight")[: ids.shape[1]]
    return nn.functional.embedding(ids, ours.weight) * math.sqrt(d_model) + positions


def stack_result(trace: Trace, stack: str, config: TransformerConfig) -> Tensor:
    if config.final_norm:
        return trace[f"{stack}.final_norm.result"]
    last = (config.n_encoder_layers if stack == "encoder" else config.n_decoder_layers) - 1
    return trace[f"{stack}.layers.{last}.resid_post"]


def assert_attentions_equal(trace: Trace, seen: Mapping[str, Tensor], tolerance: float) -> None:
    """Compare all attention weights: ours by path, torch's by module name among other records."""
    weights = {name: tensor for name, tensor in seen.items() if name.endswith("attn")}
    ours = {path.removesuffix(".weights") for path in trace if path.endswith(".weights")}
    names = {path: path.replace("cross_attn", "multihead_attn") for path in ours}
    assert set(names.values()) == set(weights)
    for path, name in names.items():
        assert deviation(trace[f"{path}.weights"], weights[name]) < tolerance, path


@ANY_CASE
def test_encoder_decoder_equals_torch(form: dict[str, object], dtype: torch.dtype) -> None:
    model, tolerance = tiny_transformer(**form).to(dtype), TOLERANCES[dtype]
    config = model.config
    src, tgt = pair_batch(config)
    encoder, decoder = torch_stack(model.encoder, config), torch_stack(model.decoder, config, cross=True)
    no_src, no_tgt = src == config.pad_id, tgt == config.pad_id
    future = torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool).triu(1)
    with torch_attention(nn.ModuleDict({"encoder": encoder, "decoder": decoder})) as seen:
        memory = encoder(embed(model.src_embedding, src, config), src_key_padding_mask=no_src)
        decoded = decoder(
            embed(model.tgt_embedding, tgt, config),
            memory,
            tgt_mask=future,
            tgt_key_padding_mask=no_tgt,
            memory_key_padding_mask=no_src,
        )
    logits = decoded @ model.generator.weight.T + (model.generator.bias if config.bias else 0)

    trace = trace_of(model, src, tgt)
    assert deviation(stack_result(trace, "encoder", config), memory) < tolerance
    assert deviation(stack_result(trace, "decoder", config), decoded) < tolerance
    assert deviation(trace["logits"], logits) < tolerance
    assert deviation(model(src, tgt), logits) < tolerance, "without a tap"
    n_attentions = config.n_encoder_layers + 2 * config.n_decoder_layers
    assert sum(path.endswith(".weights") for path in trace) == n_attentions
    assert_attentions_equal(trace, seen, tolerance)


@ANY_CASE
@pytest.mark.parametrize("kind", ["encoder-only", "decoder-only"])
def test_one_stack_equals_torch(kind: str, form: dict[str, object], dtype: torch.dtype) -> None:
    model, tolerance = tiny_transformer(**form | KINDS[kind]).to(dtype), TOLERANCES[dtype]
    config = model.config
    src, tgt = batch(config)
    causal = src is None
    ids = tgt if src is None else src
    assert ids is not None
    name, embedding = ("decoder", model.tgt_embedding) if causal else ("encoder", model.src_embedding)
    stack = model.decoder if causal else model.encoder
    theirs = torch_stack(stack, config)
    future = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).triu(1) if causal else None
    with torch_attention(nn.ModuleDict({name: theirs})) as seen:
        expected = theirs(
            embed(embedding, ids, config), mask=future, src_key_padding_mask=ids == config.pad_id
        )
    logits = expected @ model.generator.weight.T + (model.generator.bias if config.bias else 0)

    trace = trace_of(model, src, tgt)
    assert deviation(stack_result(trace, name, config), expected) < tolerance
    assert deviation(trace["logits"], logits) < tolerance
    assert deviation(model(src, tgt), logits) < tolerance, "without a tap"
    assert sum(path.endswith(".weights") for path in trace) == len(stack.layers)
    assert_attentions_equal(trace, seen, tolerance)


def test_another_weight_is_noticed() -> None:
    """The comparison detects one number of one matrix changed by a thousandth."""
    model = tiny_transformer(**KINDS["encoder-only"])
    src, _ = batch(model.config)
    assert src is not None
    theirs = torch_stack(model.encoder, model.config)
    with torch.no_grad():
        model.encoder.layers[0].get_parameter("self_attn.w_k.weight")[0, 0] += 1e-3
    expected = theirs(
        embed(model.src_embedding, src, model.config), src_key_padding_mask=src == model.config.pad_id
    )
    assert (
        deviation(trace_of(model, src, None)["encoder.layers.1.resid_post"], expected)
        > TOLERANCES[torch.float32]
    )
