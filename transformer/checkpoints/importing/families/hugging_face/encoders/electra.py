"""ELECTRA (Clark et al. 2020) as Hugging Face's transformers saves it: the discriminator and the generator.

BERT's encoder. Small models have narrow embeddings that are projected to the model's width; the generator's
head projects back to the embedding width.
"""

from __future__ import annotations

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.hugging_face.encoders import _bert_layout as bert_layout
from transformer.checkpoints.importing.family import Family, Renames, may_be, module_renames
from transformer.checkpoints.importing.layout.hugging_face import classifiers
from transformer.checkpoints.reading.raw import RawCheckpoint

RENAMES: Renames = {
    **bert_layout.EMBEDDINGS,
    bert_layout.POSITIONS: "src_embedding.positions.weight",
    **module_renames(
        {
            **bert_layout.ENCODER,
            "embeddings_project": "src_embedding.projection",
            "generator_predictions.dense": "generator_transform.dense",
            "generator_predictions.LayerNorm": "generator_transform.norm",
            "generator_lm_head": "generator",
        }
    ),
}
_DISCRIMINATOR = "The head that predicts which words were replaced; it predicts no words."
_MODULES = {"electra", "embeddings_project", "generator_predictions", "discriminator_predictions"}


def matches(raw: RawCheckpoint) -> bool:
    """True if config.json says so, or, if it names no type, a module's name."""
    if not bert_layout.has_encoder(raw) or not may_be(raw, "electra"):
        return False
    modules = {part for stored in raw.tensors.values() for part in stored.name.split(".")[:-1]}
    return "model_type" in raw.json("config.json") or bool(modules & _MODULES)


def read_config(draft: ConfigDraft) -> None:
    """Read config.json, or the shapes and answers."""
    bert_layout.read_encoder(draft)
    bert_layout.read_layers(draft)
    bert_layout.read_d_embedding(draft)
    bert_layout.read_head(draft, "generator_predictions.dense", activation="gelu")
    draft.pad_id(usual=0)
    bert_layout.refuse_other_computations(draft, "summary_last_dropout")


FAMILY = Family(
    name="electra",
    label="ELECTRA",
    matches=matches,
    read_config=read_config,
    renames=RENAMES,
    ignored={
        **bert_layout.IGNORED,
        **classifiers("sequence_summary.summary"),
        **dict.fromkeys(
            classifiers("discriminator_predictions.dense", "discriminator_predictions.dense_prediction"),
            _DISCRIMINATOR,
        ),
    },
    prefixes=("electra.",),
    arrange=bert_layout.arrange,
)
