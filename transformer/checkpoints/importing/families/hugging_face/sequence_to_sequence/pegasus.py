"""Pegasus (Zhang et al. 2019) as Hugging Face's transformers saves it.

The paper's Transformer, pre-norm, with sinusoidal positions, sines before cosines. Old files store the table
of positions, though it is not learned.
"""

from __future__ import annotations

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.hugging_face.sequence_to_sequence import (
    _fairseq_layout as fairseq_layout,
)
from transformer.checkpoints.importing.family import Family, may_be
from transformer.checkpoints.importing.layout.questions import sinusoid_layout
from transformer.checkpoints.reading.raw import RawCheckpoint


def matches(raw: RawCheckpoint) -> bool:
    """True if both stacks end with a norm, none follows the embeddings, and positions are not learned."""
    if not fairseq_layout.has_stacks(raw, embedding_norm=False, pre_norm=True):
        return False
    if "model_type" in raw.json("config.json"):
        return may_be(raw, "pegasus")
    return (
        fairseq_layout.TABLE not in raw.tensors
        or sinusoid_layout(raw.tensors[fairseq_layout.TABLE]) == "halves"
    )


def read_config(draft: ConfigDraft) -> None:
    """Read config.json, or the shapes and answers."""
    fairseq_layout.read_stacks(draft, activation="relu" if draft.config is None else "gelu")
    fairseq_layout.read_words(draft)
    draft.pad_id(usual=0)
    fairseq_layout.read_sinusoids(draft, "halves")
    fairseq_layout.read_embedding_scale(draft, likely=True)
    fairseq_layout.refuse_other_computations(draft, "extra_pos_embeddings")


FAMILY = Family(
    name="pegasus",
    label="Pegasus",
    matches=matches,
    read_config=read_config,
    renames=fairseq_layout.LAYERS_AND_WORDS,
    ignored={**fairseq_layout.UNUSED, **fairseq_layout.TABLES_OF_SINUSOIDS},
    arrange=fairseq_layout.arrange,
    kin=fairseq_layout.KIN,
    trait="positions are counted from 0",
)
