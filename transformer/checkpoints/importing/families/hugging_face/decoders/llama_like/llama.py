"""Llama (Touvron et al. 2023), Mistral, Qwen 2 and Qwen 3 as Hugging Face's transformers saves them.

They differ in biases, norms of queries and keys, and sizes, all visible in the tensors.
"""

from __future__ import annotations

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.hugging_face.common import read_activation
from transformer.checkpoints.importing.families.hugging_face.decoders.llama_like import (
    _llama_layout as llama_layout,
)
from transformer.checkpoints.importing.family import Family, may_be
from transformer.checkpoints.reading.raw import RawCheckpoint

_USUAL = llama_layout.Usual(
    of="every model built like Llama",
    bare=("LlamaModel", "MistralModel", "Qwen2Model", "Qwen3Model"),
    bases={10_000.0: "10,000 (Llama 2, Mistral)", 500_000.0: "500,000 (Llama 3)", 1e6: "1,000,000 (Qwen)"},
)


def matches(raw: RawCheckpoint) -> bool:
    """True if there are Llama's names, and no further norms in each layer."""
    return llama_layout.has_names(raw) and may_be(raw, "llama", "mistral", "qwen2", "qwen3")


def read_config(draft: ConfigDraft) -> None:
    """Read config.json, or the shapes and answers."""
    read_activation(draft, "hidden_act", "silu")
    llama_layout.read_layers(draft, _USUAL)
    if draft.config is not None:
        llama_layout.refuse_other_computations(draft.config)


FAMILY = Family(
    name="llama",
    label="Llama-like",
    matches=matches,
    read_config=read_config,
    renames=llama_layout.RENAMES,
    ignored=llama_layout.IGNORED,
    prefixes=("model.",),
    stand_ins=llama_layout.stand_ins,
    kin=llama_layout.KIN,
    trait="Llama, Mistral, Qwen 2 or Qwen 3",
)
