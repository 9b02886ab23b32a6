"""The first OLMo (Groeneveld et al. 2024, arXiv:2402.00838) as Hugging Face's transformers saves it.

Llama with layer norms that have neither gamma nor beta.
"""

from __future__ import annotations

from collections.abc import Mapping

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.hugging_face.decoders._plain_norms import PLAIN_NORMS
from transformer.checkpoints.importing.families.hugging_face.decoders.llama_like import (
    _llama_layout as llama_layout,
)
from transformer.checkpoints.importing.family import Family, StandIn, may_be
from transformer.checkpoints.importing.layout.hugging_face import read_activation
from transformer.checkpoints.reading.raw import RawCheckpoint

_USUAL = llama_layout.Usual(of="every OLMo", bare=("OlmoModel",), norm_eps=(1e-5,), lengths=(2048, 4096))
_NAMES = {"embed_tokens.weight", "layers.0.self_attn.q_proj.weight", "layers.0.mlp.gate_proj.weight"}


def matches(raw: RawCheckpoint) -> bool:
    """True if there are Llama's names without any norm."""
    has_norms = any("norm" in name for name in raw.tensors)
    return raw.tensors.keys() >= _NAMES and not has_norms and may_be(raw, "olmo")


def read_config(draft: ConfigDraft) -> None:
    """Read config.json, or the shapes and answers."""
    read_activation(draft, "hidden_act", "silu")
    llama_layout.read_layers(draft, _USUAL)
    draft.layout(_USUAL.of, norm="layer", norm_eps=1e-5)
    if draft.config is not None:
        draft.config.only("clip_qkv", None, why="queries, keys and values that are cut off at a number")
        llama_layout.refuse_other_computations(draft.config)


def stand_ins(raw: RawCheckpoint) -> Mapping[str, StandIn]:
    """Norms that only normalise, and Llama's."""
    return {**PLAIN_NORMS, **llama_layout.stand_ins(raw)}


FAMILY = Family(
    name="olmo",
    label="OLMo",
    matches=matches,
    read_config=read_config,
    renames=llama_layout.RENAMES,
    ignored=llama_layout.IGNORED,
    prefixes=("model.",),
    stand_ins=stand_ins,
)
