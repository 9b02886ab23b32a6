"""Granite (IBM 2024) as Hugging Face's transformers saves it.

Llama with four constant factors, for embeddings, scores, sublayer outputs and logits.
"""

from __future__ import annotations

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.hugging_face.common import read_activation
from transformer.checkpoints.importing.families.hugging_face.decoders.llama_like import (
    _llama_layout as llama_layout,
)
from transformer.checkpoints.importing.family import Family, may_be
from transformer.checkpoints.importing.foreign_config import ForeignConfig
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.errors import CheckpointError, shown

_USUAL = llama_layout.Usual(
    of="every Granite",
    bare=("GraniteModel",),
    norm_eps=(1e-6, 1e-5),
    bases={10_000.0: "10,000 (Granite 3.0)", 5e6: "5,000,000", 1e7: "10,000,000 (Granite 3.1 and later)"},
    lengths=(2048, 4096, 131_072),
)
_VOCABULARIES = ((49_155,), (49_159,), (100_352,))
"""Rows of embeddings published by IBM, and by hardly anyone else."""

_QUESTIONS = {
    "embedding_scale": ("What are embeddings multiplied by?", "embedding_multiplier", (12.0,)),
    "attention_scale": (
        "What are products of queries and keys multiplied by?",
        "attention_multiplier",
        (0.015625, 0.0078125),
    ),
    "residual_scale": (
        "What is a sublayer's output multiplied by before it is added to the stream?",
        "residual_multiplier",
        (0.22,),
    ),
    "logits_scale": (
        "What are the last states multiplied by before the generator (1 / logits_scaling)?",
        "logits_scaling",
        (1 / 8, 1 / 16),
    ),
}
"""Setting -> the question, the attribute in config.json, and values in published models."""


def matches(raw: RawCheckpoint) -> bool:
    """True if there are Llama's names and no norms of queries and keys."""
    has_norms = "layers.0.self_attn.q_norm.weight" in raw.tensors
    return llama_layout.has_names(raw) and not has_norms and may_be(raw, "granite")


def is_likely(raw: RawCheckpoint) -> bool:
    """True if the vocabulary is Granite's."""
    return raw.tensors["embed_tokens.weight"].shape[:1] in _VOCABULARIES


def read_config(draft: ConfigDraft) -> None:
    """Read config.json, or the shapes and answers."""
    read_activation(draft, "hidden_act", "silu")
    llama_layout.read_layers(draft, _USUAL)
    if draft.config is None:
        for name, (text, attribute, likely) in _QUESTIONS.items():
            why = f"It is in config.json ({attribute}) and not stored with the weights."
            draft.ask(
                name, text, why, {value: f"{value:g}" for value in likely} | {1.0: "1, which changes nothing"}
            )
    else:
        _take(draft, draft.config)


def _take(draft: ConfigDraft, config: ForeignConfig) -> None:
    for name, (_, attribute, _) in _QUESTIONS.items():
        told = config.number(attribute, 1.0)
        if told <= 0:
            raise CheckpointError(f"config.json says {attribute} {shown(told)}: it must be above 0.")
        draft.configured(name, 1 / told if name == "logits_scale" else told, attribute)
    llama_layout.refuse_other_computations(config)


FAMILY = Family(
    name="granite",
    label="Granite",
    matches=matches,
    read_config=read_config,
    renames=llama_layout.RENAMES,
    ignored=llama_layout.IGNORED,
    prefixes=("model.",),
    stand_ins=llama_layout.stand_ins,
    kin=llama_layout.KIN,
    trait="embeddings, scores, sublayers' outputs and logits are multiplied by numbers of its own",
    likely=is_likely,
)
