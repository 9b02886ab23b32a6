"""Whole models against Hugging Face's GPT-Neo, ModernBERT and Mixtral, on texts longer than their windows."""

from __future__ import annotations

import torch
from torch import Tensor
from transformers import (
    GPTNeoConfig,
    GPTNeoForCausalLM,
    MixtralConfig,
    MixtralForCausalLM,
    ModernBertConfig,
    ModernBertForMaskedLM,
)

from tests.transformer.model.core import deviation, random_ids, trace_of
from tests.transformer.model.test_published import (
    DECODER,
    GATED,
    IN_A_GATED_LAYER,
    LENGTH,
    TOLERANCE,
    VOCABULARY,
    causal,
    in_layers,
    ours,
    random_model,
    side_by_side,
)

WINDOW = 4


def closes(mask: Tensor, distance: int) -> bool:
    """True if a mask leaves open keys just nearer than a distance, and none that far."""
    near, far = (mask[0, 0].diagonal(-one) for one in (distance - 1, distance))
    return bool(near.all()) and not far.any()


def test_gpt_neo() -> None:
    config = GPTNeoConfig(
        vocab_size=VOCABULARY,
        hidden_size=66,
        num_layers=3,
        num_heads=3,
        attention_types=[[["global", "local"], 1], [["local"], 1]],
        window_size=WINDOW,
        max_position_embeddings=32,
        bos_token_id=1,
        eos_token_id=2,
    )
    theirs = random_model(GPTNeoForCausalLM, config)
    state = {name.removeprefix("transformer."): tensor for name, tensor in theirs.state_dict().items()}
    names = {f"self_attn.w_{letter}.weight": f"attn.attention.{letter}_proj.weight" for letter in "qkv"}
    for own, other in (("self_attn", "ln_1"), ("feed_forward", "ln_2")):
        names |= {f"{own}_norm.gamma": f"{other}.weight", f"{own}_norm.beta": f"{other}.bias"}
    for part in ("weight", "bias"):
        names |= {
            f"self_attn.w_o.{part}": f"attn.attention.out_proj.{part}",
            f"feed_forward.w_1.{part}": f"mlp.c_fc.{part}",
            f"feed_forward.w_2.{part}": f"mlp.c_proj.{part}",
        }
    weights = in_layers(state, "h", names) | {
        "tgt_embedding.weight": state["wte.weight"],
        "tgt_embedding.positions.weight": state["wpe.weight"],
        "decoder.final_norm.gamma": state["ln_f.weight"],
        "decoder.final_norm.beta": state["ln_f.bias"],
        "generator.weight": state["wte.weight"],
    }
    no_biases = {
        f"decoder.layers.{i}.self_attn.w_{letter}.bias": torch.zeros(66) for i in range(3) for letter in "qkv"
    }
    model = ours(
        weights | no_biases,
        **DECODER | {"d_model": 66, "n_heads": 3, "d_ff": 264, "bias": True, "generator_bias": False},
        activation="gelu_tanh",
        positions="learned",
        attention_scale=False,
        attention_windows=(0, WINDOW, WINDOW),
    )
    trace = causal(random_ids(VOCABULARY, 2, LENGTH), model, theirs)
    assert trace["decoder.layers.0.self_attn.mask"].sum() == LENGTH * (LENGTH + 1)
    assert all(closes(trace[f"decoder.layers.{i}.self_attn.mask"], WINDOW) for i in (1, 2))


def test_modernbert() -> None:
    config = ModernBertConfig(
        vocab_size=VOCABULARY,
        hidden_size=66,
        num_hidden_layers=3,
        num_attention_heads=3,
        intermediate_size=37,
        local_attention=2 * (WINDOW - 1),
        layer_types=["full_attention", "sliding_attention", "sliding_attention"],
        max_position_embeddings=32,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        cls_token_id=1,
        sep_token_id=2,
        rope_parameters={
            "full_attention": {"rope_type": "default", "rope_theta": 300.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 20.0},
        },
    )
    theirs = random_model(ModernBertForMaskedLM, config)
    state = theirs.state_dict()
    weights = {
        "src_embedding.weight": state["model.embeddings.tok_embeddings.weight"],
        "src_embedding.norm.gamma": state["model.embeddings.norm.weight"],
        "encoder.final_norm.gamma": state["model.final_norm.weight"],
        "generator_transform.dense.weight": state["head.dense.weight"],
        "generator_transform.norm.gamma": state["head.norm.weight"],
        "generator.weight": state["decoder.weight"],
        "generator.bias": state["decoder.bias"],
    }
    for i in range(3):
        other, own = f"model.layers.{i}", f"encoder.layers.{i}"
        q, k, v = state[f"{other}.attn.Wqkv.weight"].chunk(3)
        first, second = state[f"{other}.mlp.Wi.weight"].chunk(2)
        weights |= {
            f"{own}.self_attn.w_q.weight": side_by_side(q, 22, 22),
            f"{own}.self_attn.w_k.weight": side_by_side(k, 22, 22),
            f"{own}.self_attn.w_v.weight": v,
            f"{own}.self_attn.w_o.weight": state[f"{other}.attn.Wo.weight"],
            f"{own}.feed_forward.w_1.weight": first,
            f"{own}.feed_forward.w_3.weight": second,
            f"{own}.feed_forward.w_2.weight": state[f"{other}.mlp.Wo.weight"],
            f"{own}.feed_forward_norm.gamma": state[f"{other}.mlp_norm.weight"],
        }
        if i:
            weights[f"{own}.self_attn_norm.gamma"] = state[f"{other}.attn_norm.weight"]
    model = ours(
        weights,
        **DECODER
        | {"src_vocab_size": VOCABULARY, "tgt_vocab_size": 0, "n_encoder_layers": 3, "n_decoder_layers": 0}
        | {"d_model": 66, "n_heads": 3, "d_ff": 37, "pad_id": 0},
        activation="gelu",
        gated=True,
        positions="rotary",
        position_bases=(300.0, 20.0, 20.0),
        attention_windows=(0, WINDOW, WINDOW),
        embedding_norm=True,
        first_norm=False,
        generator_transform=True,
        generator_bias=True,
    )
    ids = random_ids(VOCABULARY, 2, LENGTH)
    ids[1, 6:] = 0
    with torch.no_grad():
        expected = theirs(ids, attention_mask=(ids != 0).long(), output_attentions=True)
        trace, out = trace_of(model, ids, None), model(ids)
    for row, length in enumerate((LENGTH, 6)):
        logits = expected.logits[row, :length]
        assert deviation(trace["logits"][row, :length], logits) < TOLERANCE
        assert deviation(out[row, :length], logits) < TOLERANCE
        for i, attention in enumerate(expected.attentions):
            found = trace[f"encoder.layers.{i}.self_attn.weights"][row, :, :length]
            assert deviation(found, attention[row, :, :length]) < TOLERANCE
    for i in (1, 2):
        mask = trace[f"encoder.layers.{i}.self_attn.mask"]
        assert closes(mask, WINDOW)
        assert closes(mask.mT, WINDOW)
    assert trace["encoder.layers.0.self_attn.mask"].shape[2] == 1


def test_mixtral() -> None:
    config = MixtralConfig(
        vocab_size=VOCABULARY,
        hidden_size=66,
        num_hidden_layers=3,
        num_attention_heads=3,
        num_key_value_heads=1,
        intermediate_size=37,
        num_local_experts=5,
        num_experts_per_tok=2,
        sliding_window=WINDOW,
        max_position_embeddings=32,
        rope_parameters={"rope_type": "default", "rope_theta": 500.0},
    )
    config._experts_implementation = "eager"
    theirs = random_model(MixtralForCausalLM, config)
    state = theirs.state_dict()
    names = {name: other for name, other in IN_A_GATED_LAYER.items() if name.startswith("self_attn")} | {
        "self_attn_norm.gamma": "input_layernorm.weight",
        "feed_forward_norm.gamma": "post_attention_layernorm.weight",
        "feed_forward.router.weight": "mlp.gate.weight",
    }
    weights = in_layers(state, "model.layers", names) | {
        "tgt_embedding.weight": state["model.embed_tokens.weight"],
        "decoder.final_norm.gamma": state["model.norm.weight"],
        "generator.weight": state["lm_head.weight"],
    }
    for i in range(3):
        for letter in "qk":
            name = f"decoder.layers.{i}.self_attn.w_{letter}.weight"
            weights[name] = side_by_side(weights[name], 22, 22)
        experts = f"model.layers.{i}.mlp.experts"
        for e in range(5):
            own = f"decoder.layers.{i}.feed_forward.experts.{e}"
            first, second = state[f"{experts}.gate_up_proj"][e].chunk(2)
            weights |= {f"{own}.w_1.weight": first, f"{own}.w_3.weight": second}
            weights[f"{own}.w_2.weight"] = state[f"{experts}.down_proj"][e]
    model = ours(
        weights,
        **DECODER | GATED | {"d_model": 66, "n_heads": 3, "n_kv_heads": 1, "d_ff": 37},
        norm="rms",
        position_base=500.0,
        attention_windows=(WINDOW,) * 3,
        n_experts=5,
        n_active_experts=2,
    )
    ids = random_ids(VOCABULARY, 2, LENGTH)
    trace = causal(ids, model, theirs)
    with torch.no_grad():
        expected = theirs(ids, output_router_logits=True).router_logits
    for i, logits in enumerate(expected):
        path = f"decoder.layers.{i}.feed_forward"
        found = trace[f"{path}.router_logits"]
        assert deviation(found.flatten(0, 1), logits) < TOLERANCE
        routing = trace[f"{path}.routing"]
        assert ((routing > 0).sum(dim=-1) == 2).all()
        outs = torch.stack([trace[f"{path}.experts.{e}.out"] for e in range(5)], dim=-1)
        assert deviation((outs * routing[:, :, None]).sum(dim=-1), trace[f"{path}.out"]) < TOLERANCE
        assert trace[f"{path}.experts.3.hidden"].shape == (2, LENGTH, 37)
    assert closes(trace["decoder.layers.1.self_attn.mask"], WINDOW)
