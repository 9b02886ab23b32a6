"""M2M-100 (Fan et al. 2020) and NLLB (NLLB Team 2022) as Hugging Face's transformers saves them.

Pre-norm, with a final norm after each stack. Sinusoids are tensor2tensor's, computed and not stored, and the
first position is the padding id + 1.
"""

from __future__ import annotations

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.hugging_face.sequence_to_sequence import (
    _fairseq_layout as fairseq_layout,
)
from transformer.checkpoints.importing.family import Family, may_be
from transformer.checkpoints.importing.layout.questions import SINUSOIDS
from transformer.checkpoints.reading.raw import RawCheckpoint

_OLD_TABLES = ("encoder.embed_positions.weights", "decoder.embed_positions.weights")


def matches(raw: RawCheckpoint) -> bool:
    """True if both stacks end with a norm, none follows the embeddings, and nothing indicates Pegasus."""
    alike = fairseq_layout.has_stacks(raw, embedding_norm=False, pre_norm=True)
    others = {fairseq_layout.TABLE, "final_logits_bias"} & raw.tensors.keys()
    return alike and not others and may_be(raw, "m2m_100")


def read_config(draft: ConfigDraft) -> None:
    """Read config.json, or the shapes and answers."""
    fairseq_layout.read_stacks(draft, activation="relu")
    fairseq_layout.read_words(draft)
    fairseq_layout.read_shifted_sinusoids(draft)
    fairseq_layout.read_embedding_scale(draft, likely=True, default=True)
    fairseq_layout.refuse_other_computations(draft)


FAMILY = Family(
    name="m2m_100",
    label="M2M-100 or NLLB",
    matches=matches,
    read_config=read_config,
    renames=fairseq_layout.LAYERS_AND_WORDS,
    ignored={**fairseq_layout.UNUSED, **dict.fromkeys(_OLD_TABLES, SINUSOIDS)},
    arrange=fairseq_layout.arrange,
    kin=fairseq_layout.KIN,
    trait="positions are counted from the one after the padding token's id",
)
