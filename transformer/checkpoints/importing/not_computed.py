"""Kinds of models that Headlight's does not compute, and what each has that it lacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.errors import shown

_WINDOW = "attention over a window around each token, and a few tokens that see all"
_SPARSE = "block-sparse attention"
_EXPERTS = "experts: several feed-forwards, of which a router chooses for each token"
_TWO_MODELS = "two models in one, each with a configuration of its own: save the one you want by itself"

MISSING: Mapping[str, str] = {
    "big_bird": _SPARSE,
    "bigbird_pegasus": _SPARSE,
    "canine": "characters, of which several are pooled into one position",
    "convbert": "convolutions beside the attention",
    "deberta": "disentangled attention, with scores of words and of distances apart",
    "deberta-v2": "disentangled attention, with scores of words and of distances apart",
    "encoder-decoder": _TWO_MODELS,
    "fnet": "Fourier transforms in the place of attention",
    "funnel": "layers that pool neighbouring tokens into one",
    "ibert": "arithmetic with whole numbers",
    "layoutlm": "embeddings of the place of each word on a page",
    "led": _WINDOW,
    "longformer": _WINDOW,
    "longt5": _WINDOW,
    "luke": "entities beside the words, with queries of their own",
    "mobilebert": "layers that are narrower inside, with several feed-forwards each",
    "modernbert": "attention over a window in most layers of an encoder",
    "mpnet": "learned positions and a relative bias at once",
    "mra": "attention in several resolutions",
    "nezha": "vectors of distances inside each attention",
    "nllb-moe": _EXPERTS,
    "nystromformer": "attention approximated by a few landmarks (the Nyström method)",
    "pegasus_x": _WINDOW,
    "perceiver": "latent vectors that read the tokens in their stead",
    "prophetnet": "a stream of attention for each of several future tokens",
    "reformer": "attention among tokens that are hashed alike, and reversible layers",
    "roc_bert": "shapes and sounds of characters beside the words",
    "roformer": "rotary positions in an encoder with BERT's names",
    "speech-encoder-decoder": _TWO_MODELS,
    "squeezebert": "convolutions in groups in the place of matrices",
    "switch_transformers": _EXPERTS,
    "tapas": "embeddings of a table's rows and columns",
    "transfo-xl": "a memory of earlier segments and relative positions inside each attention",
    "umt5": "a relative bias of each layer's own",
    "vision-encoder-decoder": _TWO_MODELS,
    "xlm-prophetnet": "a stream of attention for each of several future tokens",
    "xlnet": "two streams of attention and relative positions inside each",
    "yoso": "attention sampled by hashing",
}
"""model_type of a config.json -> what a model of that type has, in words."""


def refusal(raw: RawCheckpoint) -> str:
    """Why a checkpoint of such a type is not opened, in words; empty for one of another type."""
    kind = str(raw.json("config.json").get("model_type") or missing_by_name(raw.tensors))
    if kind not in MISSING:
        return ""
    return (
        f"The model is of type {shown(kind)}, which has {MISSING[kind]}. Headlight's model does not compute "
        "that: choose a model of another kind."
    )


def missing_by_name(names: Iterable[str]) -> str:
    """The type in MISSING that most names of tensors begin with, as transformers calls its models.

    Args:
        names: as the files have them.

    Returns:
        Empty where they begin with none.
    """
    counts = Counter(name.partition(".")[0] for name in names)
    first, times = counts.most_common(1)[0] if counts else ("", 0)
    return first if first in MISSING and 2 * times > counts.total() else ""
