"""BERT (Devlin et al. 2018) and RoBERTa (Liu et al. 2019) as Hugging Face's transformers saves them.

RoBERTa's positions begin at row 2 of their table, and its head has other names.
"""

from __future__ import annotations

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.hugging_face.encoders._bert_layout import (
    EMBEDDINGS,
    ENCODER,
    IGNORED,
    POSITIONS,
    RENAMES,
    SEGMENTS,
    arrange,
    has_encoder,
    read_encoder,
    read_head,
    read_layers,
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

UNUSED_ROBERTA_ROWS = 2
"""RoBERTa numbers positions from its pad_token_id + 1 on."""
_KIN = "bert"
_USUAL_LENGTH = 512

ROBERTA_RENAMES: Renames = {
    **EMBEDDINGS,
    POSITIONS: Into(without_first_rows(UNUSED_ROBERTA_ROWS), "src_embedding.positions.weight"),
    **of_modules(ENCODER),
    **of_modules(ENCODER, gamma="gamma", beta="beta"),
    **of_modules(
        {
            "lm_head.dense": "generator_transform.dense",
            "lm_head.layer_norm": "generator_transform.norm",
            "lm_head.decoder": "generator",
        }
    ),
    "lm_head.bias": "generator.bias",
}


def is_bert(raw: RawCheckpoint) -> bool:
    """Whether the names are BERT's, and nothing says that it is a RoBERTa."""
    return has_encoder(raw) and may_be(raw, "bert") and not _parts(raw) & {"lm_head", "roberta"}


def is_roberta(raw: RawCheckpoint) -> bool:
    """Whether the names are BERT's, and nothing says that it is a BERT."""
    may = may_be(raw, "roberta", "camembert", "xlm-roberta")
    return has_encoder(raw) and may and not _parts(raw) & {"bert", "cls"}


def has_sizes_of_roberta(raw: RawCheckpoint) -> bool:
    """Whether there is one kind of segment, or two rows of positions more than texts have tokens."""
    segments = raw.tensors.get(SEGMENTS)
    one_segment = segments is not None and segments.shape[:1] == (1,)
    return one_segment or raw.tensors[POSITIONS].shape[:1] == (_USUAL_LENGTH + UNUSED_ROBERTA_ROWS,)


def _parts(raw: RawCheckpoint) -> set[str]:
    """What modules are called; with config.json's word for it nobody needs to guess by them."""
    if "model_type" in raw.json("config.json"):
        return set()
    return {part for stored in raw.tensors.values() for part in stored.name.split(".")[:-1]}


def read_bert(draft: ConfigDraft) -> None:
    """From config.json, or from the shapes and answers."""
    read_encoder(draft)
    read_layers(draft)
    read_head(draft, "cls.predictions.transform.dense")
    draft.pad_id(usual=0)
    refuse_other_computations(draft)


def read_roberta(draft: ConfigDraft) -> None:
    """From config.json, or from the shapes and answers."""
    read_encoder(draft, likely_eps=(1e-5, 1e-12))
    read_layers(draft)
    if draft.config is not None:
        pad_id = UNUSED_ROBERTA_ROWS - 1
        draft.config.only("pad_token_id", pad_id, why="positions that begin at another row")
    why = f"rows of the table of positions, without the first {UNUSED_ROBERTA_ROWS}, which stand for none"
    draft.put("max_len", draft["max_len"] - UNUSED_ROBERTA_ROWS, draft.settings["max_len"].source, why)
    read_head(draft, "lm_head.dense", activation="gelu")
    draft.pad_id(usual=UNUSED_ROBERTA_ROWS - 1)
    refuse_other_computations(draft)


BERT = Family(
    name="bert",
    label="BERT",
    matches=is_bert,
    read_config=read_bert,
    renames=RENAMES,
    ignored=IGNORED,
    prefixes=("bert.",),
    arrange=arrange,
    kin=_KIN,
    trait="positions begin at the first row of their table",
)

ROBERTA = Family(
    name="roberta",
    label="RoBERTa",
    matches=is_roberta,
    read_config=read_roberta,
    renames=ROBERTA_RENAMES,
    ignored=IGNORED,
    prefixes=("roberta.",),
    arrange=arrange,
    kin=_KIN,
    trait=f"positions begin at row {UNUSED_ROBERTA_ROWS} of their table",
    hinted=has_sizes_of_roberta,
)
