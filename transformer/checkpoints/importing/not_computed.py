"""Model types that Headlight's model does not cover, and what each one has in addition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.errors import shown

_EXPERTS = "a mixture of experts of another kind than Mixtral's, with another router or other experts"
_IMAGES = "images in addition to the text"
_LATENT = "multi-head latent attention"
_LINEAR = "linear attention"
_RECURRENT = "recurrent layers in place of attention"
_SPARSE = "block-sparse attention"
_STATE_SPACE = "state-space layers in place of attention"
_TWO_MODELS = "two models in one, each with a configuration of its own: save the one you want separately"
_VARIED = "layers of several kinds or widths in one stack"
_WINDOW = "attention over a window around each token, and a few tokens that see all"

_NANOCHAT = "transformer.h.0.attn.c_q.weight"
_OF_NANOCHAT = {
    "resid_lambdas": "a learned factor of each layer's input (resid_lambdas)",
    "x0_lambdas": "a learned share of the embedding in each layer (x0_lambdas)",
    "value_embeds": "embeddings that are added to the values (value_embeds)",
    "smear_gate": "a gated share of the previous token's embedding (smear_gate)",
    "backout_lambda": "a share of a middle layer's output that is subtracted at the end (backout_lambda)",
}
"""Part of a tensor's name -> what later versions of nanochat have with such tensors."""

MISSING: Mapping[str, str] = {
    "bamba": _STATE_SPACE,
    "big_bird": _SPARSE,
    "bigbird_pegasus": _SPARSE,
    "canine": "characters, of which several are pooled into one position",
    "clip": _IMAGES,
    "convbert": "convolutions in addition to attention",
    "dbrx": _EXPERTS,
    "deberta": "disentangled attention, with scores of words and of distances apart",
    "deberta-v2": "disentangled attention, with scores of words and of distances apart",
    "deepseek": _EXPERTS,
    "deepseek_v2": f"{_LATENT} and {_EXPERTS}",
    "deepseek_v3": f"{_LATENT} and {_EXPERTS}",
    "deepseek_v32": f"{_LATENT} and {_EXPERTS}",
    "encoder-decoder": _TWO_MODELS,
    "ernie4_5_moe": _EXPERTS,
    "falcon_h1": _STATE_SPACE,
    "falcon_mamba": _STATE_SPACE,
    "fnet": "Fourier transforms instead of attention",
    "funnel": "layers that pool neighbouring tokens into one",
    "gemma3": f"{_IMAGES} (its text model alone, gemma3_text, opens)",
    "gemma3n": f"{_IMAGES} and embeddings for each layer",
    "gemma4": _IMAGES,
    "glm4_moe": _EXPERTS,
    "gpt_oss": f"learned attention sinks and {_EXPERTS}",
    "granitemoe": _EXPERTS,
    "granitemoehybrid": _STATE_SPACE,
    "ibert": "arithmetic with whole numbers",
    "jamba": _STATE_SPACE,
    "kimi_k2": f"{_LATENT} and {_EXPERTS}",
    "layoutlm": "embeddings of the place of each word on a page",
    "led": _WINDOW,
    "lfm2": "convolutions in place of attention in some layers",
    "llama4": f"chunked attention and {_EXPERTS}",
    "llama4_text": f"chunked attention and {_EXPERTS}",
    "llava": _IMAGES,
    "longt5": _WINDOW,
    "luke": "entities in addition to words, with their own queries",
    "mamba": _STATE_SPACE,
    "mamba2": _STATE_SPACE,
    "minimax": f"{_LINEAR} and {_EXPERTS}",
    "mllama": _IMAGES,
    "mobilebert": "layers that are narrower inside, with several feed-forwards each",
    "mpnet": "learned positions and a relative bias at once",
    "mra": "attention in several resolutions",
    "nemotron_h": _STATE_SPACE,
    "nezha": "vectors of distances inside each attention",
    "nllb-moe": _EXPERTS,
    "nystromformer": "attention approximated by a few landmarks (the Nyström method)",
    "olmoe": _EXPERTS,
    "openelm": _VARIED,
    "paligemma": _IMAGES,
    "pegasus_x": _WINDOW,
    "perceiver": "latent vectors that read the tokens and take their place in the layers",
    "phimoe": _EXPERTS,
    "prophetnet": "a stream of attention for each of several future tokens",
    "qwen2_5_vl": _IMAGES,
    "qwen2_moe": _EXPERTS,
    "qwen2_vl": _IMAGES,
    "qwen3_5": _LINEAR,
    "qwen3_next": f"{_LINEAR} and {_EXPERTS}",
    "qwen3_vl": _IMAGES,
    "recurrent_gemma": _RECURRENT,
    "reformer": "attention among tokens with the same hash, and reversible layers",
    "roc_bert": "shapes and sounds of characters in addition to words",
    "rwkv": _RECURRENT,
    "speech-encoder-decoder": _TWO_MODELS,
    "squeezebert": "grouped convolutions instead of matrices",
    "switch_transformers": _EXPERTS,
    "tapas": "embeddings of a table's rows and columns",
    "transfo-xl": "a memory of earlier segments and relative positions inside each attention",
    "vision-encoder-decoder": _TWO_MODELS,
    "vit": _IMAGES,
    "wav2vec2": "sound in place of text",
    "xlm-prophetnet": "a stream of attention for each of several future tokens",
    "xlnet": "two streams of attention and relative positions inside each",
    "xlstm": _RECURRENT,
    "yoso": "attention sampled by hashing",
    "zamba": _STATE_SPACE,
    "zamba2": _STATE_SPACE,
}
"""model_type in config.json -> what models of that type have in addition, in words."""


def refusal(raw: RawCheckpoint) -> str:
    """Why a checkpoint of this type is not opened; empty for other types."""
    kind = str(raw.json("config.json").get("model_type") or missing_by_name(raw.tensors))
    if kind in MISSING:
        described = f"The model is of type {shown(kind)}, which has {MISSING[kind]}."
    elif later := _in_later_nanochat(raw.tensors):
        described = (
            f"The names are those of a later version of nanochat (karpathy/nanochat), which has {later}."
        )
    else:
        return ""
    return f"{described} Headlight's model does not compute that: choose a model of another kind."


def _in_later_nanochat(names: Iterable[str]) -> str:
    """What a later version of nanochat has that ours doesn't compute; empty for other models."""
    names = list(names)
    if not any(name.endswith(_NANOCHAT) for name in names):
        return ""
    return "; ".join(what for part, what in _OF_NANOCHAT.items() if any(part in name for name in names))


def missing_by_name(names: Iterable[str]) -> str:
    """The type in MISSING that begins more than half of the tensors' names; empty if none does.

    Args:
        names: the tensors', as stored in the files.
    """
    counts = Counter(name.partition(".")[0] for name in names)
    first, times = counts.most_common(1)[0] if counts else ("", 0)
    return first if first in MISSING and 2 * times > counts.total() else ""
