"""Published kinds of models that ours does not compute, each with the proper name of what it lacks."""

from __future__ import annotations

_EXPERTS = "mixtures of experts"
_LATENT = "multi-head latent attention"
_ALIBI = "ALiBi, a bias of the scores that grows with distance"
_STATE_SPACE = "state-space layers in place of attention"
_RECURRENT = "recurrent layers in place of attention"
_LINEAR = "linear attention"
_IMAGES = "images beside the text"
_NORM_AFTER = "norms after the sublayers inside the residual branch, without any before them"
_DISENTANGLED = "disentangled attention, of words and relative positions"
_SPARSE = "sparse attention patterns"
_ENCODER_WINDOW = "layers of an encoder that see a window only"
_VARIED = "layers of several kinds or widths in one stack"

LACKING: dict[str, str] = {
    "bamba": _STATE_SPACE,
    "big_bird": _SPARSE,
    "bigbird_pegasus": _SPARSE,
    "bloom": _ALIBI,
    "clip": _IMAGES,
    "dbrx": _EXPERTS,
    "deberta": _DISENTANGLED,
    "deberta-v2": _DISENTANGLED,
    "deepseek": _EXPERTS,
    "deepseek_v2": f"{_LATENT} and {_EXPERTS}",
    "deepseek_v3": f"{_LATENT} and {_EXPERTS}",
    "deepseek_v32": f"{_LATENT} and {_EXPERTS}",
    "ernie4_5_moe": _EXPERTS,
    "exaone4": _NORM_AFTER,
    "falcon": "one matrix of queries, keys and values in groups of heads, with ALiBi or parallel residuals",
    "falcon_h1": _STATE_SPACE,
    "falcon_mamba": _STATE_SPACE,
    "funnel": "layers that shorten the text",
    "gemma3": f"{_IMAGES}; its text model alone (gemma3_text) opens",
    "gemma3n": f"{_IMAGES} and embeddings for each layer",
    "gemma4": _IMAGES,
    "glm4_moe": _EXPERTS,
    "gpt_bigcode": "one head of keys and values in GPT-2's names",
    "gpt_neo": "windows in every second layer of GPT-2's kind",
    "gpt_oss": f"{_EXPERTS} and learned attention sinks",
    "granitemoe": _EXPERTS,
    "granitemoehybrid": _STATE_SPACE,
    "jamba": _STATE_SPACE,
    "kimi_k2": f"{_LATENT} and {_EXPERTS}",
    "led": _SPARSE,
    "lfm2": "convolutions in place of attention in some layers",
    "llama4": f"{_EXPERTS} and chunked attention",
    "llama4_text": f"{_EXPERTS} and chunked attention",
    "llava": _IMAGES,
    "longformer": _SPARSE,
    "longt5": _SPARSE,
    "mamba": _STATE_SPACE,
    "mamba2": _STATE_SPACE,
    "minimax": f"{_LINEAR} and {_EXPERTS}",
    "mixtral": _EXPERTS,
    "mllama": _IMAGES,
    "modernbert": _ENCODER_WINDOW,
    "mpnet": "relative biases of an encoder with norms after the sublayers",
    "mpt": _ALIBI,
    "nemotron_h": _STATE_SPACE,
    "nllb-moe": _EXPERTS,
    "olmo2": _NORM_AFTER,
    "olmo3": _NORM_AFTER,
    "olmoe": _EXPERTS,
    "openelm": _VARIED,
    "paligemma": _IMAGES,
    "phimoe": _EXPERTS,
    "prophetnet": "a decoder that predicts several tokens at once",
    "qwen2_5_vl": _IMAGES,
    "qwen2_moe": _EXPERTS,
    "qwen2_vl": _IMAGES,
    "qwen3_5": _LINEAR,
    "qwen3_moe": _EXPERTS,
    "qwen3_next": f"{_LINEAR} and {_EXPERTS}",
    "qwen3_vl": _IMAGES,
    "recurrent_gemma": _RECURRENT,
    "reformer": _SPARSE,
    "rwkv": _RECURRENT,
    "switch_transformers": _EXPERTS,
    "transfo-xl": "memories of earlier segments",
    "umt5": "a relative bias of each layer's own",
    "vision-encoder-decoder": _IMAGES,
    "vit": _IMAGES,
    "wav2vec2": "sound in place of text",
    "xlnet": "two streams of attention over permuted texts",
    "xlstm": _RECURRENT,
    "zamba": _STATE_SPACE,
    "zamba2": _STATE_SPACE,
}
"""model_type of a config.json -> what such a model computes that ours does not."""
