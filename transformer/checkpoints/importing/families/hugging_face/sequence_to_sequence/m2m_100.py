"""M2M-100 (Fan et al. 2020) and NLLB (NLLB Team 2022) as Hugging Face's transformers saves them.

Norms before the sublayers and at the end of both stacks; sinusoids as in tensor2tensor, computed and not
stored, whose first position is the one after the padding token's id.
"""

from __future__ import annotations

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families._questions import SINUSOIDS
from transformer.checkpoints.importing.families.hugging_face.sequence_to_sequence._fairseq_layout import (
    KIN,
    LAYERS_AND_WORDS,
    TABLE,
    UNUSED,
    arrange,
    has_both_stacks,
    has_embedding_norm,
    is_pre_norm,
    read_embedding_scale,
    read_shifted_sinusoids,
    read_stacks,
    read_words,
    refuse_other_computations,
)
from transformer.checkpoints.importing.family import Family, may_be
from transformer.checkpoints.reading.raw import RawCheckpoint

_OLD_TABLES = ("encoder.embed_positions.weights", "decoder.embed_positions.weights")


def matches(raw: RawCheckpoint) -> bool:
    """Whether both stacks end with a norm, none follows the embeddings, and there is nothing of Pegasus."""
    alike = has_both_stacks(raw) and is_pre_norm(raw) and not has_embedding_norm(raw)
    others = {TABLE, "final_logits_bias"} & raw.tensors.keys()
    return alike and not others and may_be(raw, "m2m_100")


def read_config(draft: ConfigDraft) -> None:
    """From config.json, or from the shapes and answers."""
    read_stacks(draft, activation="relu")
    read_words(draft)
    read_shifted_sinusoids(draft)
    read_embedding_scale(draft, likely=True, default=True)
    refuse_other_computations(draft)


FAMILY = Family(
    name="m2m_100",
    label="M2M-100 or NLLB",
    matches=matches,
    read_config=read_config,
    renames=LAYERS_AND_WORDS,
    ignored={**UNUSED, **dict.fromkeys(_OLD_TABLES, SINUSOIDS)},
    arrange=arrange,
    kin=KIN,
    trait="positions are counted from the one after the padding token's id",
)
