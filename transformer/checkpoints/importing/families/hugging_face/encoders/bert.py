"""BERT (Devlin et al. 2018) and RoBERTa (Liu et al. 2019) as Hugging Face's transformers saves them.

RoBERTa's positions begin at row 2 of their table, and its head has other names.
"""

from __future__ import annotations

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.hugging_face.encoders import _bert_layout as bert_layout
from transformer.checkpoints.importing.family import (
    Family,
    Into,
    Renames,
    may_be,
    module_renames,
    without_first_rows,
)
from transformer.checkpoints.reading.raw import RawCheckpoint

UNUSED_ROBERTA_ROWS = 2
"""RoBERTa's positions begin at pad_token_id + 1."""
_KIN = "bert"
_USUAL_LENGTH = 512

ROBERTA_RENAMES: Renames = {
    **bert_layout.EMBEDDINGS,
    bert_layout.POSITIONS: Into(without_first_rows(UNUSED_ROBERTA_ROWS), "src_embedding.positions.weight"),
    **module_renames(bert_layout.ENCODER),
    **module_renames(bert_layout.ENCODER, gamma="gamma", beta="beta"),
    **module_renames(
        {
            "lm_head.dense": "generator_transform.dense",
            "lm_head.layer_norm": "generator_transform.norm",
            "lm_head.decoder": "generator",
        }
    ),
    "lm_head.bias": "generator.bias",
}


def is_bert(raw: RawCheckpoint) -> bool:
    """True if the names are BERT's, and nothing indicates a RoBERTa."""
    return bert_layout.has_encoder(raw) and may_be(raw, "bert") and not _parts(raw) & {"lm_head", "roberta"}


def is_roberta(raw: RawCheckpoint) -> bool:
    """True if the names are BERT's, and nothing indicates a BERT."""
    may = may_be(raw, "roberta", "camembert", "xlm-roberta")
    return bert_layout.has_encoder(raw) and may and not _parts(raw) & {"bert", "cls"}


def has_sizes_of_roberta(raw: RawCheckpoint) -> bool:
    """True if there is one kind of segment, or the position table has two rows more than the usual length."""
    segments = raw.tensors.get(bert_layout.SEGMENTS)
    one_segment = segments is not None and segments.shape[:1] == (1,)
    return one_segment or raw.tensors[bert_layout.POSITIONS].shape[:1] == (
        _USUAL_LENGTH + UNUSED_ROBERTA_ROWS,
    )


def _parts(raw: RawCheckpoint) -> set[str]:
    """The parts of module names, used to tell the models apart; empty if config.json names the type."""
    if "model_type" in raw.json("config.json"):
        return set()
    return {part for stored in raw.tensors.values() for part in stored.name.split(".")[:-1]}


def read_bert(draft: ConfigDraft) -> None:
    """Read config.json, or the shapes and answers."""
    bert_layout.read_encoder(draft)
    bert_layout.read_layers(draft)
    bert_layout.read_head(draft, "cls.predictions.transform.dense")
    draft.pad_id(usual=0)
    bert_layout.refuse_other_computations(draft)


def read_roberta(draft: ConfigDraft) -> None:
    """Read config.json, or the shapes and answers."""
    bert_layout.read_encoder(draft, likely_eps=(1e-5, 1e-12))
    bert_layout.read_layers(draft)
    if draft.config is not None:
        pad_id = UNUSED_ROBERTA_ROWS - 1
        draft.config.only("pad_token_id", pad_id, why="positions that begin at another row")
    why = f"rows of the table of positions, without the first {UNUSED_ROBERTA_ROWS}, which are unused"
    draft.put("max_len", draft["max_len"] - UNUSED_ROBERTA_ROWS, draft.settings["max_len"].source, why)
    bert_layout.read_head(draft, "lm_head.dense", activation="gelu")
    draft.pad_id(usual=UNUSED_ROBERTA_ROWS - 1)
    bert_layout.refuse_other_computations(draft)


BERT = Family(
    name="bert",
    label="BERT",
    matches=is_bert,
    read_config=read_bert,
    renames=bert_layout.RENAMES,
    ignored=bert_layout.IGNORED,
    prefixes=("bert.",),
    arrange=bert_layout.arrange,
    kin=_KIN,
    trait="positions begin at the first row of their table",
)

ROBERTA = Family(
    name="roberta",
    label="RoBERTa",
    matches=is_roberta,
    read_config=read_roberta,
    renames=ROBERTA_RENAMES,
    ignored=bert_layout.IGNORED,
    prefixes=("roberta.",),
    arrange=bert_layout.arrange,
    kin=_KIN,
    trait=f"positions begin at row {UNUSED_ROBERTA_ROWS} of their table",
    likely=has_sizes_of_roberta,
)
