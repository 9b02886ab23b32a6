"""Tiny decoders of every family, named by what is special about them."""

from __future__ import annotations

from typing import Any

from transformers import (
    BloomForCausalLM,
    Cohere2ForCausalLM,
    CohereForCausalLM,
    Exaone4ForCausalLM,
    FalconForCausalLM,
    Gemma2ForCausalLM,
    Gemma3ForCausalLM,
    GemmaForCausalLM,
    Glm4ForCausalLM,
    GlmForCausalLM,
    GPT2LMHeadModel,
    GPTBigCodeForCausalLM,
    GPTJForCausalLM,
    GPTNeoForCausalLM,
    GPTNeoXForCausalLM,
    GraniteForCausalLM,
    LlamaForCausalLM,
    MistralForCausalLM,
    MixtralForCausalLM,
    MptForCausalLM,
    NanoChatForCausalLM,
    Olmo2ForCausalLM,
    Olmo3ForCausalLM,
    OlmoForCausalLM,
    OPTForCausalLM,
    Phi3ForCausalLM,
    PhiForCausalLM,
    Qwen2ForCausalLM,
    Qwen3ForCausalLM,
    Qwen3MoeForCausalLM,
    SmolLM3ForCausalLM,
    StableLmForCausalLM,
    Starcoder2ForCausalLM,
    XGLMForCausalLM,
)

from tests.transformer.checkpoints.importing.families.hugging_face.small_models import tiny

VOCAB, LAYERS, LENGTH, PAD = 41, 3, 29, 2
GPT2 = {
    "vocab_size": VOCAB,
    "n_embd": 33,
    "n_layer": LAYERS,
    "n_head": 3,
    "n_positions": LENGTH,
    "pad_token_id": PAD,
    "bos_token_id": 0,
    "eos_token_id": 1,
}
LLAMA = {
    "vocab_size": VOCAB,
    "hidden_size": 60,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "intermediate_size": 37,
    "max_position_embeddings": LENGTH,
    "pad_token_id": PAD,
    "bos_token_id": 0,
    "eos_token_id": 1,
}
STRETCHED = {
    "rope_type": "llama3",
    "rope_theta": 500.0,
    "factor": 3.0,
    "low_freq_factor": 0.5,
    "high_freq_factor": 2.0,
    "original_max_position_embeddings": 17,
}
OLD_WORDS = {"type": "linear", "factor": 2.5}


def rope(kind: str, **told: float) -> dict[str, Any]:
    return {"rope_parameters": {"rope_type": kind, "rope_theta": 500.0, **told}}


CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "gpt2": (GPT2LMHeadModel, GPT2),
    "gpt2, another width": (GPT2LMHeadModel, GPT2 | {"n_inner": 23, "activation_function": "gelu"}),
    "gpt2, untied": (GPT2LMHeadModel, GPT2 | {"tie_word_embeddings": False}),
    "gpt2, unscaled": (GPT2LMHeadModel, GPT2 | {"scale_attn_weights": False}),
    "llama": (LlamaForCausalLM, LLAMA),
    "llama, tied": (LlamaForCausalLM, LLAMA | {"tie_word_embeddings": True}),
    "llama, one head of keys": (LlamaForCausalLM, LLAMA | {"num_key_value_heads": 1}),
    "llama, wide heads": (LlamaForCausalLM, LLAMA | {"head_dim": 14}),
    "llama, biases": (LlamaForCausalLM, LLAMA | {"attention_bias": True}),
    "llama, biases of the feed-forward": (LlamaForCausalLM, LLAMA | {"mlp_bias": True}),
    "llama, base": (LlamaForCausalLM, LLAMA | rope("default")),
    "llama, stretched": (LlamaForCausalLM, LLAMA | rope("linear", factor=2.5)),
    "llama 3": (LlamaForCausalLM, LLAMA | {"rope_parameters": STRETCHED}),
    "llama, dynamic": (LlamaForCausalLM, LLAMA | rope("dynamic", factor=2.0)),
    "qwen2": (Qwen2ForCausalLM, LLAMA | {"use_sliding_window": False}),
    "qwen3": (Qwen3ForCausalLM, LLAMA | {"head_dim": 14}),
    "qwen3, stretched": (Qwen3ForCausalLM, LLAMA | {"head_dim": 10, "rope_parameters": STRETCHED}),
    "mistral": (MistralForCausalLM, LLAMA | {"sliding_window": None, "head_dim": 10}),
    "mistral, a window": (MistralForCausalLM, LLAMA | {"sliding_window": 5}),
    "qwen2, windows from a layer on": (
        Qwen2ForCausalLM,
        LLAMA | {"use_sliding_window": True, "sliding_window": 7, "max_window_layers": 1},
    ),
    "gemma": (GemmaForCausalLM, LLAMA | {"head_dim": 14}),
    "gemma, one head of keys": (GemmaForCausalLM, LLAMA | {"head_dim": 10, "num_key_value_heads": 1}),
}


OPT = {
    "vocab_size": VOCAB,
    "hidden_size": 33,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 3,
    "ffn_dim": 23,
    "max_position_embeddings": LENGTH,
    "pad_token_id": PAD,
    "bos_token_id": 0,
    "eos_token_id": 1,
}
WIDE = LLAMA | {"hidden_size": 48, "num_attention_heads": 3, "num_key_value_heads": 3}
NEOX = {name: value for name, value in WIDE.items() if name != "num_key_value_heads"}


GEMMA = LLAMA | {
    "num_hidden_layers": 4,
    "head_dim": 14,
    "query_pre_attn_scalar": 11,
    "sliding_window": LENGTH,
}
SMALL_SCORES = {"attention_multiplier": 0.25, "mlp_bias": True}
NO_CAPS = {"attn_logit_softcapping": None, "final_logit_softcapping": None}
TWO_ROTATIONS = {
    "sliding_attention": {"rope_type": "default", "rope_theta": 50.0},
    "full_attention": {"rope_type": "linear", "rope_theta": 500.0, "factor": 3.0},
}


MULTIPLIERS = {
    "embedding_multiplier": 1.7,
    "attention_multiplier": 0.23,
    "residual_multiplier": 0.4,
    "logits_scaling": 3.0,
}


def part(share: float) -> dict[str, Any]:
    return rope("default", partial_rotary_factor=share)


PLAIN = {"layer_norm_elementwise_affine": False, "enable_bias": False, "activation_function": "gelu"}
CASES |= {
    "opt": (OPTForCausalLM, OPT),
    "opt, norms after": (OPTForCausalLM, OPT | {"do_layer_norm_before": False}),
    "opt, without a final norm": (OPTForCausalLM, OPT | {"_remove_final_layer_norm": True}),
    "opt, untied": (OPTForCausalLM, OPT | {"tie_word_embeddings": False}),
    "galactica": (OPTForCausalLM, OPT | PLAIN),
    "gemma2": (Gemma2ForCausalLM, GEMMA | {"attn_logit_softcapping": 1.5, "final_logit_softcapping": 2.0}),
    "gemma2, no caps": (Gemma2ForCausalLM, GEMMA | NO_CAPS),
    "gemma2, biases": (Gemma2ForCausalLM, GEMMA | {"attention_bias": True}),
    "gemma3": (Gemma3ForCausalLM, GEMMA | {"layer_types": ["sliding_attention", "full_attention"] * 2}),
    "gemma2, windows": (Gemma2ForCausalLM, GEMMA | {"sliding_window": 5}),
    "gemma3, windows": (Gemma3ForCausalLM, GEMMA | {"sliding_window": 5, "sliding_window_pattern": 3}),
    "gemma3, stretched": (Gemma3ForCausalLM, GEMMA | {"rope_parameters": TWO_ROTATIONS}),
    "gemma3, capped": (Gemma3ForCausalLM, GEMMA | {"final_logit_softcapping": 2.0}),
    "granite": (GraniteForCausalLM, LLAMA | MULTIPLIERS),
    "granite, tied": (GraniteForCausalLM, LLAMA | SMALL_SCORES | {"tie_word_embeddings": True}),
    "smollm3": (SmolLM3ForCausalLM, LLAMA | {"no_rope_layer_interval": 2}),
    "smollm3, a list": (SmolLM3ForCausalLM, LLAMA | {"no_rope_layers": [0, 1, 0]}),
    "stablelm": (StableLmForCausalLM, WIDE | {"num_key_value_heads": 1}),
    "stablelm, at once": (StableLmForCausalLM, WIDE | {"use_parallel_residual": True, "use_qkv_bias": True}),
    "olmo": (OlmoForCausalLM, LLAMA),
    "phi3": (Phi3ForCausalLM, LLAMA),
    "phi3, one head of keys": (Phi3ForCausalLM, LLAMA | {"num_key_value_heads": 1}),
    "phi3, partly rotated": (Phi3ForCausalLM, WIDE | part(0.5)),
    "gpt-neox": (GPTNeoXForCausalLM, NEOX),
    "gpt-neox, whole heads": (GPTNeoXForCausalLM, NEOX | part(1.0)),
    "gpt-neox, one after the other": (GPTNeoXForCausalLM, NEOX | {"use_parallel_residual": False}),
    "gpt-neox, no biases": (GPTNeoXForCausalLM, NEOX | part(0.5) | {"attention_bias": False}),
    "gpt-neox, tied": (GPTNeoXForCausalLM, NEOX | {"tie_word_embeddings": True}),
    "phi": (PhiForCausalLM, WIDE),
    "phi, fewer keys": (PhiForCausalLM, WIDE | part(0.75) | {"num_key_value_heads": 1}),
    "gpt-j": (GPTJForCausalLM, GPT2 | {"n_embd": 24, "rotary_dim": 4}),
    "gpt-j, tied": (GPTJForCausalLM, GPT2 | {"n_embd": 24, "rotary_dim": 8, "tie_word_embeddings": True}),
    "phi3, tied": (Phi3ForCausalLM, LLAMA | {"tie_word_embeddings": True}),
}


IDS = {"pad_token_id": PAD, "bos_token_id": 0, "eos_token_id": 1}
GPT_NEO = IDS | {
    "vocab_size": VOCAB,
    "hidden_size": 33,
    "num_layers": 4,
    "num_heads": 3,
    "intermediate_size": 23,
    "max_position_embeddings": LENGTH,
    "window_size": 5,
    "attention_types": [[["global", "local"], 2]],
}
BLOOM = IDS | {"vocab_size": VOCAB, "hidden_size": 33, "n_layer": LAYERS, "n_head": 3, "seq_length": LENGTH}
FALCON = {
    name: value for name, value in WIDE.items() if name not in ("num_key_value_heads", "intermediate_size")
}
GROUPED = {"num_attention_heads": 6, "num_kv_heads": 2, "new_decoder_architecture": True, "bias": True}
GLM = LLAMA | part(0.4) | {"head_dim": 10}
MPT = IDS | {"vocab_size": VOCAB, "d_model": 33, "n_layers": LAYERS, "n_heads": 3, "max_seq_len": LENGTH}
XGLM = IDS | {
    "vocab_size": VOCAB,
    "d_model": 34,
    "num_layers": LAYERS,
    "attention_heads": 2,
    "ffn_dim": 23,
    "max_position_embeddings": LENGTH,
    "pad_token_id": 1,
    "eos_token_id": 2,
}
NORMED = {"qk_layernorm": True}
KINDS = ["sliding_attention", "full_attention", "sliding_attention"]
CASES |= {
    "gpt-neo": (GPTNeoForCausalLM, GPT_NEO),
    "gpt-neo, runs of kinds": (
        GPTNeoForCausalLM,
        GPT_NEO | {"attention_types": [[["local"], 2], [["global", "local"], 1]]},
    ),
    "gpt-bigcode": (GPTBigCodeForCausalLM, GPT2),
    "gpt-bigcode, all heads": (GPTBigCodeForCausalLM, GPT2 | {"multi_query": False, "n_inner": 23}),
    "starcoder2": (Starcoder2ForCausalLM, LLAMA | {"sliding_window": 7, "norm_epsilon": 1e-3}),
    "starcoder2, no biases": (Starcoder2ForCausalLM, LLAMA | {"use_bias": False}),
    "bloom": (BloomForCausalLM, BLOOM),
    "falcon": (FalconForCausalLM, FALCON),
    "falcon, two norms": (FalconForCausalLM, FALCON | GROUPED),
    "falcon, grouped, one norm": (FalconForCausalLM, FALCON | GROUPED | {"num_ln_in_parallel_attn": 1}),
    "falcon, one after the other": (
        FalconForCausalLM,
        FALCON | {"parallel_attn": False, "multi_query": False, "bias": True},
    ),
    "cohere": (CohereForCausalLM, LLAMA | {"logit_scale": 0.3, "attention_bias": True}),
    "cohere, normed queries": (CohereForCausalLM, LLAMA | {"use_qk_norm": True}),
    "glm": (GlmForCausalLM, GLM),
    "glm4": (Glm4ForCausalLM, GLM | {"head_dim": 20}),
    "cohere2": (
        Cohere2ForCausalLM,
        LLAMA | {"logit_scale": 0.3, "sliding_window": 5, "layer_types": KINDS},
    ),
    "stablelm, normed queries": (StableLmForCausalLM, LLAMA | NORMED),
    "phi, normed queries": (PhiForCausalLM, WIDE | NORMED),
    "mixtral": (
        MixtralForCausalLM,
        LLAMA | {"intermediate_size": 36, "num_local_experts": 5, "num_experts_per_tok": 3},
    ),
    "qwen3-moe": (
        Qwen3MoeForCausalLM,
        LLAMA
        | {
            "head_dim": 14,
            "moe_intermediate_size": 12,
            "num_experts": 5,
            "num_experts_per_tok": 2,
            "norm_topk_prob": True,
        },
    ),
    "mpt": (MptForCausalLM, MPT),
    "xglm": (XGLMForCausalLM, XGLM),
    "nanochat": (NanoChatForCausalLM, LLAMA | {"rms_norm_eps": 1e-3, "final_logit_softcapping": 2.5}),
    "olmo2": (Olmo2ForCausalLM, LLAMA),
    "exaone4": (Exaone4ForCausalLM, LLAMA | {"sliding_window": 5, "layer_types": KINDS, "head_dim": 14}),
    "exaone4, without windows": (
        Exaone4ForCausalLM,
        LLAMA | {"sliding_window": None, "layer_types": ["full_attention"] * LAYERS},
    ),
    "olmo3": (Olmo3ForCausalLM, LLAMA | {"sliding_window": 5, "layer_types": KINDS}),
}


def model_of(case: str, **changes: Any) -> Any:
    model_class, config = CASES[case]
    return tiny(model_class, config | changes)
