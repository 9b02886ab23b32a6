"""BART (Lewis et al. 2019) and mBART (Liu et al. 2020) as Hugging Face's transformers saves them.

Learned positions, which begin at row 2 of their table, and a norm after the embeddings. BART is post-norm;
mBART is pre-norm, with a final norm after each stack.
"""

from __future__ import annotations

from dataclasses import replace

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.hugging_face.sequence_to_sequence import (
    _fairseq_layout as fairseq_layout,
)
from transformer.checkpoints.importing.family import (
    Family,
    Into,
    Renames,
    may_be,
    module_renames,
    without_first_rows,
)
from transformer.checkpoints.reading.raw import RawCheckpoint

UNUSED_ROWS = 2
"""Unused rows at the beginning of the position table."""

EMBEDDING_NORMS: Renames = module_renames(
    {
        "encoder.layernorm_embedding": "src_embedding.norm",
        "decoder.layernorm_embedding": "tgt_embedding.norm",
    }
)
RENAMES: Renames = {
    **fairseq_layout.LAYERS_AND_WORDS,
    **EMBEDDING_NORMS,
    "encoder.embed_positions.weight": Into(without_first_rows(UNUSED_ROWS), "src_embedding.positions.weight"),
    "decoder.embed_positions.weight": Into(without_first_rows(UNUSED_ROWS), "tgt_embedding.positions.weight"),
}

PAD_ID = 1


def is_bart(raw: RawCheckpoint) -> bool:
    """True if there are both stacks, a norm after the embeddings, and none after the encoder."""
    found = fairseq_layout.has_stacks(raw, embedding_norm=True, pre_norm=False)
    return found and may_be(raw, "bart", "plbart")


def is_mbart(raw: RawCheckpoint) -> bool:
    """True if there are both stacks, a norm after the embeddings, and one after the encoder."""
    found = fairseq_layout.has_stacks(raw, embedding_norm=True, pre_norm=True)
    return found and may_be(raw, "bart", "mbart")


def read_config(draft: ConfigDraft) -> None:
    """Read config.json, or the shapes and answers."""
    fairseq_layout.read_stacks(draft, activation="gelu")
    fairseq_layout.read_words(draft)
    draft.pad_id(usual=PAD_ID)
    fairseq_layout.read_learned_positions(draft, unused_rows=UNUSED_ROWS)
    scaled = draft["norm_position"] == "pre"
    fairseq_layout.read_embedding_scale(draft, likely=scaled)
    if draft.config is not None:
        draft.config.only("extra_pos_embeddings", UNUSED_ROWS, why="positions that begin at another row")
    fairseq_layout.refuse_other_computations(draft)


BART = Family(
    name="bart",
    label="BART",
    matches=is_bart,
    read_config=read_config,
    renames=RENAMES,
    ignored=fairseq_layout.UNUSED,
    arrange=fairseq_layout.arrange,
    kin=fairseq_layout.KIN,
    trait=f"positions begin at row {UNUSED_ROWS} of their table",
)

MBART = replace(BART, name="mbart", label="mBART", matches=is_mbart)
