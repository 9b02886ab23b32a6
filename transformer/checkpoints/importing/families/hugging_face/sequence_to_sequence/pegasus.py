"""Pegasus (Zhang et al. 2019) as Hugging Face's transformers saves it.

The paper's Transformer with norms before the sublayers and sinusoidal positions, sines before cosines. Old
files store the table of positions; nothing learned it.
"""

from __future__ import annotations

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families._questions import sinusoid_layout
from transformer.checkpoints.importing.families.hugging_face.sequence_to_sequence._fairseq_layout import (
    KIN,
    LAYERS_AND_WORDS,
    TABLE,
    TABLES_OF_SINUSOIDS,
    UNUSED,
    arrange,
    has_both_stacks,
    has_embedding_norm,
    is_pre_norm,
    read_embedding_scale,
    read_sinusoids,
    read_stacks,
    read_words,
    refuse_other_computations,
)
from transformer.checkpoints.importing.family import Family, may_be
from transformer.checkpoints.reading.raw import RawCheckpoint


def matches(raw: RawCheckpoint) -> bool:
    """Whether both stacks end with a norm, none follows the embeddings, and no positions were learned."""
    if not has_both_stacks(raw) or has_embedding_norm(raw) or not is_pre_norm(raw):
        return False
    if "model_type" in raw.json("config.json"):
        return may_be(raw, "pegasus")
    return TABLE not in raw.tensors or sinusoid_layout(raw.tensors[TABLE]) == "halves"


def read_config(draft: ConfigDraft) -> None:
    """From config.json, or from the shapes and answers."""
    read_stacks(draft, activation="relu" if draft.config is None else "gelu")
    read_words(draft)
    draft.pad_id(usual=0)
    read_sinusoids(draft, "halves")
    read_embedding_scale(draft, likely=True)
    refuse_other_computations(draft, "extra_pos_embeddings")


FAMILY = Family(
    name="pegasus",
    label="Pegasus",
    matches=matches,
    read_config=read_config,
    renames=LAYERS_AND_WORDS,
    ignored={**UNUSED, **TABLES_OF_SINUSOIDS},
    arrange=arrange,
    kin=KIN,
    trait="positions are counted from 0",
)
