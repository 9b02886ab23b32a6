"""BART (Lewis et al. 2019) and mBART (Liu et al. 2020) as Hugging Face's transformers saves them.

Learned positions, which begin at row 2 of their table, and a norm after the embeddings. BART's norms stand
after the sublayers; mBART's before them, with one more after each stack.
"""

from __future__ import annotations

from dataclasses import replace

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families._questions import ask_embedding_scale
from transformer.checkpoints.importing.families.hugging_face.common import note_on_lookalikes
from transformer.checkpoints.importing.families.hugging_face.sequence_to_sequence._fairseq_layout import (
    LAYERS_AND_WORDS,
    UNUSED,
    arrange,
    has_both_stacks,
    read_stacks,
    read_words,
    refuse_other_computations,
)
from transformer.checkpoints.importing.family import (
    Family,
    Into,
    Renames,
    may_be,
    of_modules,
    without_first_rows,
)
from transformer.checkpoints.reading.raw import RawCheckpoint

UNUSED_ROWS = 2
"""Rows at the beginning of the table of positions, which stand for none."""

RENAMES: Renames = {
    **LAYERS_AND_WORDS,
    "encoder.embed_positions.weight": Into(without_first_rows(UNUSED_ROWS), "src_embedding.positions.weight"),
    "decoder.embed_positions.weight": Into(without_first_rows(UNUSED_ROWS), "tgt_embedding.positions.weight"),
    **of_modules(
        {
            "encoder.layernorm_embedding": "src_embedding.norm",
            "encoder.layer_norm": "encoder.final_norm",
            "decoder.layernorm_embedding": "tgt_embedding.norm",
            "decoder.layer_norm": "decoder.final_norm",
        }
    ),
}

PAD_ID = 1


def is_bart(raw: RawCheckpoint) -> bool:
    """Whether there are both stacks, a norm after the embeddings, and none after the encoder."""
    return _has_embedding_norm(raw) and not _is_pre_norm(raw) and may_be(raw, "bart")


def is_mbart(raw: RawCheckpoint) -> bool:
    """Whether there are both stacks, a norm after the embeddings, and one after the encoder."""
    return _has_embedding_norm(raw) and _is_pre_norm(raw) and may_be(raw, "bart", "mbart")


def _has_embedding_norm(raw: RawCheckpoint) -> bool:
    return has_both_stacks(raw) and "encoder.layernorm_embedding.weight" in raw.tensors


def _is_pre_norm(raw: RawCheckpoint) -> bool:
    return "encoder.layer_norm.weight" in raw.tensors


def read_config(draft: ConfigDraft) -> None:
    """From config.json, or from the shapes and answers."""
    pre_norm = _is_pre_norm(draft.raw)
    read_stacks(draft, activation="gelu")
    why = "whether there is a norm after the encoder"
    draft.put("norm_position", "pre" if pre_norm else "post", "shapes", why)
    draft.put("final_norm", pre_norm, "shapes", why)
    draft.layout("every BART", positions="learned", embedding_norm=True)
    read_words(draft, one_vocabulary=True)
    draft.pad_id(usual=PAD_ID)
    config = draft.config
    if config is None:
        rows = draft.length("encoder.embed_positions.weight", 0)
        why = f"rows of the table of positions, without the first {UNUSED_ROWS}, which stand for none"
        draft.put("max_len", rows - UNUSED_ROWS, "shapes", why)
        ask_embedding_scale(draft, likely=pre_norm)
        note_on_lookalikes(draft, "Models like Blenderbot, whose positions begin at row 0,")
        return
    draft.size("max_len", "max_position_embeddings", "encoder.embed_positions.weight", 0)
    scaled = config.flag("scale_embedding", False)
    draft.told("embedding_scale", scaled, "scale_embedding")
    config.only("extra_pos_embeddings", UNUSED_ROWS, why="positions that begin at another row")
    refuse_other_computations(config, pre_norm=pre_norm, embedding_norm=True, sinusoids=False)


BART = Family(
    name="bart",
    label="BART",
    matches=is_bart,
    read_config=read_config,
    renames=RENAMES,
    ignored=UNUSED,
    arrange=arrange,
)

MBART = replace(BART, name="mbart", label="mBART", matches=is_mbart)
