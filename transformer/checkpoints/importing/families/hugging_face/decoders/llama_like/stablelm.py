"""StableLM (Stability AI 2023) as Hugging Face's transformers saves it.

Llama with layer norms instead of RMS norms, and partly rotated heads. In some models attention and
feed-forward run in parallel on one norm's output.
"""

from __future__ import annotations

from dataclasses import replace

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.hugging_face.decoders.llama_like import (
    _llama_layout as llama_layout,
)
from transformer.checkpoints.importing.family import Family, Renames, may_be
from transformer.checkpoints.importing.layout.hugging_face import read_activation
from transformer.checkpoints.reading.raw import RawCheckpoint

_BETAS: Renames = {
    "layers.{}.input_layernorm.bias": "decoder.layers.{}.self_attn_norm.beta",
    "layers.{}.post_attention_layernorm.bias": "decoder.layers.{}.feed_forward_norm.beta",
    "norm.bias": "decoder.final_norm.beta",
}
RENAMES: Renames = {**llama_layout.RENAMES, **_BETAS}

_USUAL = llama_layout.Usual(
    of="every StableLM",
    bare=("StableLmModel",),
    norm_eps=(1e-5,),
    lengths=(4096,),
    rotated_part=0.25,
)
_NAMES = {
    "embed_tokens.weight",
    "layers.0.self_attn.q_proj.weight",
    "layers.0.mlp.gate_proj.weight",
    "layers.0.input_layernorm.bias",
}
_ONE_NORM, _SECOND_NORM = ".input_layernorm.", ".post_attention_layernorm."


def matches(raw: RawCheckpoint) -> bool:
    """True if there are Llama's names, and norms with a beta."""
    return raw.tensors.keys() >= _NAMES and may_be(raw, "stablelm")


def arrange(raw: RawCheckpoint) -> RawCheckpoint:
    """If layers have one norm for both sublayers, store it under both names."""
    if any(_SECOND_NORM in name for name in raw.tensors):
        return raw
    shared = {
        name.replace(_ONE_NORM, _SECOND_NORM): stored
        for name, stored in raw.tensors.items()
        if _ONE_NORM in name
    }
    return replace(raw, tensors={**raw.tensors, **shared})


def read_config(draft: ConfigDraft) -> None:
    """Read config.json, or the shapes and answers."""
    raw, config = draft.raw, draft.config
    read_activation(draft, "hidden_act", "silu")
    llama_layout.read_layers(draft, _USUAL)
    draft.layout(_USUAL.of, norm="layer")
    one, other = (f"layers.0{part}weight" for part in (_ONE_NORM, _SECOND_NORM))
    parallel = raw.same_numbers(one, other)
    draft.put("parallel_residual", parallel, "shapes", "whether a layer has one norm for both sublayers")
    if config is not None:
        draft.configured("norm_eps", config.number("layer_norm_eps", 1e-5), "layer_norm_eps")
        config.only("qk_layernorm", False, why="a layer norm of its own for each head of queries and keys")
        config.only("use_parallel_residual", parallel, why="another number of norms than the files have")
        config.get("use_qkv_bias")  # visible in the names
        config.get("hidden_dropout")  # training only
        llama_layout.refuse_other_computations(config)


FAMILY = Family(
    name="stablelm",
    label="StableLM",
    matches=matches,
    read_config=read_config,
    renames=RENAMES,
    ignored=llama_layout.IGNORED,
    prefixes=("model.",),
    arrange=arrange,
    stand_ins=llama_layout.stand_ins,
)
