"""Whole models against Hugging Face's BLOOM, MPT, OLMo 2, Stable LM 2 and umT5, whose choices ours name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import (
    BloomConfig,
    BloomForCausalLM,
    MptConfig,
    MptForCausalLM,
    Olmo2Config,
    Olmo2ForCausalLM,
    StableLmConfig,
    StableLmForCausalLM,
    UMT5Config,
    UMT5ForConditionalGeneration,
)
from transformers.models.bloom.modeling_bloom import build_alibi_tensor

from tests.transformer.model.core import deviation, random_ids, trace_of
from transformer.model.config import TransformerConfig
from transformer.model.positions import alibi_slopes
from transformer.model.trace import Trace
from transformer.model.transformer import Transformer

TOLERANCE = 1e-5
LENGTH, VOCABULARY = 11, 37
DECODER: dict[str, Any] = {
    "src_vocab_size": 0,
    "tgt_vocab_size": VOCABULARY,
    "n_encoder_layers": 0,
    "n_decoder_layers": 3,
    "max_len": 32,
    "dropout": 0.0,
    "norm_position": "pre",
    "final_norm": True,
    "embedding_scale": False,
    "bias": False,
    "pad_id": -1,
}
GATED: dict[str, Any] = {"activation": "silu", "gated": True, "positions": "rotary", "tie_generator": False}
IN_A_GATED_LAYER = {
    "self_attn.w_q.weight": "self_attn.q_proj.weight",
    "self_attn.w_k.weight": "self_attn.k_proj.weight",
    "self_attn.w_v.weight": "self_attn.v_proj.weight",
    "self_attn.w_o.weight": "self_attn.o_proj.weight",
    "feed_forward.w_1.weight": "mlp.gate_proj.weight",
    "feed_forward.w_3.weight": "mlp.up_proj.weight",
    "feed_forward.w_2.weight": "mlp.down_proj.weight",
}
UMT5_SUBLAYERS = {
    "SelfAttention": "self_attn",
    "EncDecAttention": "cross_attn",
    "DenseReluDense": "feed_forward",
}
UMT5_WEIGHTS = {
    "w_q": "q",
    "w_k": "k",
    "w_v": "v",
    "w_o": "o",
    "relative_bias": "relative_attention_bias",
    "w_1": "wi_0",
    "w_3": "wi_1",
    "w_2": "wo",
}


def random_model(make: type, config: Any) -> Any:
    """A model of theirs with random weights, none of them 0 or 1."""
    config._attn_implementation = "eager"
    model = make(config).eval()
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.15 * torch.randn(parameter.shape, generator=generator) + (parameter.dim() == 1))
    return model


def ours(weights: dict[str, Tensor], **choices: Any) -> Transformer:
    """Our model with weights under our names; betas that theirs don't have are 0."""
    model = Transformer(TransformerConfig(**choices)).eval()
    zeros = {name: torch.zeros_like(own) for name, own in model.state_dict().items() if name.endswith("beta")}
    model.load_state_dict(zeros | weights)
    return model


def in_layers(theirs: Mapping[str, Tensor], layers: str, names: Mapping[str, str]) -> dict[str, Tensor]:
    return {
        f"decoder.layers.{i}.{own}": theirs[f"{layers}.{i}.{other}"]
        for i in range(3)
        for own, other in names.items()
    }


def side_by_side(weight: Tensor, d_head: int, n_rotated: int) -> Tensor:
    """Move the two numbers of a rotated pair, half a head apart in theirs, next to each other."""
    order = torch.arange(d_head)
    order[:n_rotated] = order[:n_rotated].view(2, -1).T.flatten()
    return weight.unflatten(0, (-1, d_head))[:, order].flatten(0, 1)


def causal(ids: Tensor, model: Transformer, theirs: Any) -> Trace:
    """Compare logits, weights and the logits of stepwise decoding; returns our trace."""
    with torch.no_grad():
        expected = theirs(ids, output_attentions=True)
        trace = trace_of(model, None, ids)
        state = model.start(None, len(ids))
        steps = torch.cat([model.step(part, state) for part in ids.split([4, 1, 1, LENGTH - 6], 1)], 1)
        assert deviation(trace["logits"], expected.logits) < TOLERANCE
        assert deviation(steps, expected.logits) < TOLERANCE
        assert deviation(model(None, ids), expected.logits) < TOLERANCE
    for i, weights in enumerate(expected.attentions):
        assert deviation(trace[f"decoder.layers.{i}.self_attn.weights"], weights) < TOLERANCE
    assert len(expected.attentions) == 3
    return trace


@pytest.mark.parametrize("n_heads", [*range(1, 18), 112])
def test_slopes_are_blooms_for_any_number_of_heads(n_heads: int) -> None:
    expected = build_alibi_tensor(torch.ones(1, 2), n_heads, torch.float32)[:, 0, 1]
    assert deviation(alibi_slopes(n_heads), expected) < 1e-7


def test_bloom() -> None:
    config = BloomConfig(vocab_size=VOCABULARY, hidden_size=66, n_layer=3, n_head=6, bos_token_id=1)
    theirs = random_model(BloomForCausalLM, config)
    state = {name.removeprefix("transformer."): tensor for name, tensor in theirs.state_dict().items()}
    names = {
        "self_attn_norm.gamma": "input_layernorm.weight",
        "self_attn_norm.beta": "input_layernorm.bias",
        "feed_forward_norm.gamma": "post_attention_layernorm.weight",
        "feed_forward_norm.beta": "post_attention_layernorm.bias",
        **{f"self_attn.w_o.{part}": f"self_attention.dense.{part}" for part in ("weight", "bias")},
        **{f"feed_forward.w_1.{part}": f"mlp.dense_h_to_4h.{part}" for part in ("weight", "bias")},
        **{f"feed_forward.w_2.{part}": f"mlp.dense_4h_to_h.{part}" for part in ("weight", "bias")},
    }
    weights = in_layers(state, "h", names) | {
        "tgt_embedding.weight": state["word_embeddings.weight"],
        "tgt_embedding.norm.gamma": state["word_embeddings_layernorm.weight"],
        "tgt_embedding.norm.beta": state["word_embeddings_layernorm.bias"],
        "decoder.final_norm.gamma": state["ln_f.weight"],
        "decoder.final_norm.beta": state["ln_f.bias"],
        "generator.weight": state["word_embeddings.weight"],
    }
    for i in range(3):
        for part in ("weight", "bias"):
            fused = state[f"h.{i}.self_attention.query_key_value.{part}"].unflatten(0, (6, 3, 11))
            for letter, own in zip("qkv", fused.unbind(1), strict=True):
                weights[f"decoder.layers.{i}.self_attn.w_{letter}.{part}"] = own.flatten(0, 1)
    sizes = {"d_model": 66, "n_heads": 6, "d_ff": 264, "activation": "gelu_tanh", "embedding_norm": True}
    biases = {"bias": True, "generator_bias": False}
    model = ours(weights, **DECODER | sizes | biases, positions="alibi")
    trace = causal(random_ids(VOCABULARY, 2, LENGTH), model, theirs)
    record = trace.attention("decoder", 2, "self_attn")
    bias = trace[f"{record.path}.position_bias"]
    assert deviation(record.scores, record.q @ record.k.mT / 11**0.5 + bias) < TOLERANCE
    assert bias[0, :, 7, 4].tolist() == pytest.approx((-3 * alibi_slopes(6)).tolist())


def test_mpt() -> None:
    config = MptConfig(vocab_size=VOCABULARY, d_model=33, n_layers=3, n_heads=3, max_seq_len=64)
    theirs = random_model(MptForCausalLM, config)
    state = {name.removeprefix("transformer."): tensor for name, tensor in theirs.state_dict().items()}
    names = {
        "self_attn_norm.gamma": "norm_1.weight",
        "feed_forward_norm.gamma": "norm_2.weight",
        "self_attn.w_o.weight": "attn.out_proj.weight",
        "feed_forward.w_1.weight": "ffn.up_proj.weight",
        "feed_forward.w_2.weight": "ffn.down_proj.weight",
    }
    weights = in_layers(state, "blocks", names) | {
        "tgt_embedding.weight": state["wte.weight"],
        "decoder.final_norm.gamma": state["norm_f.weight"],
        "generator.weight": state["wte.weight"],
    }
    for i in range(3):
        for letter, own in zip("qkv", state[f"blocks.{i}.attn.Wqkv.weight"].chunk(3), strict=True):
            weights[f"decoder.layers.{i}.self_attn.w_{letter}.weight"] = own
    sizes = {"d_model": 33, "n_heads": 3, "d_ff": 132, "activation": "gelu"}
    causal(random_ids(VOCABULARY, 2, LENGTH), ours(weights, **DECODER | sizes, positions="alibi"), theirs)


def test_olmo_2() -> None:
    config = Olmo2Config(
        vocab_size=VOCABULARY,
        hidden_size=60,
        intermediate_size=41,
        num_hidden_layers=3,
        num_attention_heads=6,
        num_key_value_heads=2,
        max_position_embeddings=32,
        rms_norm_eps=1e-6,
    )
    theirs = random_model(Olmo2ForCausalLM, config)
    state = {name.removeprefix("model."): tensor for name, tensor in theirs.state_dict().items()}
    names = IN_A_GATED_LAYER | {
        "self_attn.q_norm.gamma": "self_attn.q_norm.weight",
        "self_attn.k_norm.gamma": "self_attn.k_norm.weight",
        "self_attn_post_norm.gamma": "post_attention_layernorm.weight",
        "feed_forward_post_norm.gamma": "post_feedforward_layernorm.weight",
    }
    weights = in_layers(state, "layers", names)
    for name in weights:
        if name.endswith(("w_q.weight", "w_k.weight", "q_norm.gamma", "k_norm.gamma")):
            weights[name] = side_by_side(weights[name], 10, 10)
    weights |= {
        "tgt_embedding.weight": state["embed_tokens.weight"],
        "decoder.final_norm.gamma": state["norm.weight"],
        "generator.weight": state["lm_head.weight"],
    }
    sizes = {"d_model": 60, "n_heads": 6, "n_kv_heads": 2, "d_ff": 41}
    own = {"norm": "rms", "norm_eps": 1e-6, "norm_position": "output", "query_key_norm": "across_heads"}
    model = ours(weights, **DECODER | GATED | sizes | own)
    trace = causal(random_ids(VOCABULARY, 2, LENGTH), model, theirs)
    assert trace["decoder.layers.1.self_attn.q_norm.result"].shape == (2, LENGTH, 60)
    assert trace["decoder.layers.1.self_attn.k_norm.result"].shape == (2, LENGTH, 20)
    before = trace["decoder.layers.1.resid_pre"]
    added = trace["decoder.layers.1.self_attn_post_norm.result"]
    assert deviation(trace["decoder.layers.1.resid_mid"], before + added) == 0


def test_stable_lm_with_a_norm_of_each_heads_own_and_one_norm_for_parallel_sublayers() -> None:
    config = StableLmConfig(
        vocab_size=VOCABULARY,
        hidden_size=60,
        intermediate_size=41,
        num_hidden_layers=3,
        num_attention_heads=6,
        num_key_value_heads=3,
        max_position_embeddings=32,
        rope_parameters={"rope_type": "default", "rope_theta": 10_000.0, "partial_rotary_factor": 0.4},
        qk_layernorm=True,
        use_parallel_residual=True,
    )
    theirs = random_model(StableLmForCausalLM, config)
    state = {name.removeprefix("model."): tensor for name, tensor in theirs.state_dict().items()}
    norms = {
        f"{sublayer}_norm.{own}": f"input_layernorm.{part}"
        for sublayer in ("self_attn", "feed_forward")
        for own, part in (("gamma", "weight"), ("beta", "bias"))
    }
    weights = in_layers(state, "layers", IN_A_GATED_LAYER | norms)
    for name in weights:
        if name.endswith(("w_q.weight", "w_k.weight")):
            weights[name] = side_by_side(weights[name], 10, 4)
    for i in range(3):
        for letter, n_heads in (("q", 6), ("k", 3)):
            norm = f"layers.{i}.self_attn.{letter}_layernorm.norms"
            gammas = [side_by_side(state[f"{norm}.{head}.weight"], 10, 4) for head in range(n_heads)]
            weights[f"decoder.layers.{i}.self_attn.{letter}_norm.gamma"] = torch.stack(gammas)
    weights |= {
        "tgt_embedding.weight": state["embed_tokens.weight"],
        "decoder.final_norm.gamma": state["norm.weight"],
        "decoder.final_norm.beta": state["norm.bias"],
        "generator.weight": state["lm_head.weight"],
    }
    sizes = {"d_model": 60, "n_heads": 6, "n_kv_heads": 3, "d_ff": 41, "rotary_dims": 4}
    own = {"query_key_norm": "each_head", "parallel_residual": True}
    model = ours(weights, **DECODER | GATED | sizes | own)
    causal(random_ids(VOCABULARY, 2, LENGTH), model, theirs)


def test_umt5() -> None:
    config = UMT5Config(
        vocab_size=VOCABULARY,
        d_model=30,
        d_kv=11,
        d_ff=41,
        num_layers=2,
        num_decoder_layers=3,
        num_heads=3,
        relative_attention_num_buckets=8,
        relative_attention_max_distance=7,
    )
    theirs = random_model(UMT5ForConditionalGeneration, config)
    state = theirs.state_dict()
    weights = {"generator.weight": state["lm_head.weight"]}
    for stack, side, n_layers in (("encoder", "src", 2), ("decoder", "tgt", 3)):
        sublayers = ["SelfAttention", "EncDecAttention", "DenseReluDense"][:: 2 if stack == "encoder" else 1]
        weights[f"{side}_embedding.weight"] = state["shared.weight"]
        weights[f"{stack}.final_norm.gamma"] = state[f"{stack}.final_layer_norm.weight"]
        for i in range(n_layers):
            for at, sublayer in enumerate(sublayers):
                other = f"{stack}.block.{i}.layer.{at}"
                own = f"{stack}.layers.{i}.{UMT5_SUBLAYERS[sublayer]}"
                weights[f"{own}_norm.gamma"] = state[f"{other}.layer_norm.weight"]
                for mine, name in UMT5_WEIGHTS.items():
                    if f"{other}.{sublayer}.{name}.weight" in state:
                        weights[f"{own}.{mine}.weight"] = state[f"{other}.{sublayer}.{name}.weight"]
    model = ours(
        weights,
        src_vocab_size=VOCABULARY,
        tgt_vocab_size=VOCABULARY,
        n_encoder_layers=2,
        n_decoder_layers=3,
        d_model=30,
        n_heads=3,
        d_head=11,
        d_ff=41,
        max_len=32,
        norm="rms",
        norm_eps=1e-6,
        norm_position="pre",
        final_norm=True,
        bias=False,
        activation="gelu_tanh",
        gated=True,
        positions="relative",
        relative_bias_per_layer=True,
        n_position_buckets=8,
        max_position_distance=7,
        attention_scale=False,
        embedding_scale=False,
        logits_scale=True,
        share_embeddings=True,
    )
    src, tgt = random_ids(VOCABULARY, 2, LENGTH), random_ids(VOCABULARY, 2, 9, seed=1)
    src[1, 8:] = 0
    with torch.no_grad():
        expected = theirs(src, (src != 0).long(), decoder_input_ids=tgt, output_attentions=True)
        trace = trace_of(model, src, tgt)
        state = model.start(src)
        steps = torch.cat([model.step(part, state) for part in tgt.split([3, 1, 1, 4], 1)], 1)
    assert deviation(trace["logits"], expected.logits) < TOLERANCE
    assert deviation(steps, expected.logits) < TOLERANCE
    seen = {"encoder": expected.encoder_attentions, "decoder": expected.decoder_attentions}
    for stack, attentions in seen.items():
        for i, weights_of_layer in enumerate(attentions):
            ours_of_layer = trace[f"{stack}.layers.{i}.self_attn.weights"]
            assert deviation(ours_of_layer, weights_of_layer) < TOLERANCE
    biases = [trace[f"decoder.layers.{i}.self_attn.position_bias"] for i in range(3)]
    assert min(deviation(biases[0], other) for other in biases[1:]) > 0.01
    assert "decoder.layers.0.cross_attn.position_bias" not in trace
