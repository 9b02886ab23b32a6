"""ALBERT (Lan et al. 2019) as Hugging Face's transformers saves it.

BERT with one layer that is applied repeatedly, and narrow embeddings that are projected to the model's width.
"""

from __future__ import annotations

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.hugging_face.encoders import _bert_layout as bert_layout
from transformer.checkpoints.importing.family import Family, Renames, may_be, module_renames, prefixed
from transformer.checkpoints.importing.foreign_config import ForeignConfig
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.errors import CheckpointError

_LAYER: Renames = {
    "attention.query": "self_attn.w_q",
    "attention.key": "self_attn.w_k",
    "attention.value": "self_attn.w_v",
    "attention.dense": "self_attn.w_o",
    "attention.LayerNorm": "self_attn_norm",
    "ffn": "feed_forward.w_1",
    "ffn_output": "feed_forward.w_2",
    "full_layer_layer_norm": "feed_forward_norm",
}
_GROUPS = "encoder.albert_layer_groups."
_ONLY_LAYER = f"{_GROUPS}0.albert_layers.0."
RENAMES: Renames = {
    **bert_layout.EMBEDDINGS,
    bert_layout.POSITIONS: "src_embedding.positions.weight",
    **module_renames(
        {
            "embeddings.LayerNorm": "src_embedding.norm",
            "encoder.embedding_hidden_mapping_in": "src_embedding.projection",
            **prefixed(_LAYER, _ONLY_LAYER, "encoder.layers.0."),
            "predictions.dense": "generator_transform.dense",
            "predictions.LayerNorm": "generator_transform.norm",
            "predictions.decoder": "generator",
        }
    ),
    "predictions.bias": "generator.bias",
}
_ORDER = "The head that predicts whether two sentences are in order."
_LIKELY_DEPTHS = (12, 24, 6)
_DEPTHS = {1024: 24, 2048: 24}
"""Width -> layers, for published models without the usual 12."""


def matches(raw: RawCheckpoint) -> bool:
    """True if there is a group of ALBERT's layers."""
    return f"{_ONLY_LAYER}ffn.weight" in raw.tensors and may_be(raw, "albert")


def read_config(draft: ConfigDraft) -> None:
    """Read config.json, or the shapes and answers."""
    _refuse_several_layers(draft.raw)
    bert_layout.read_encoder(
        draft, activation="gelu_new", likely_eps=(1e-12,), first_layer=f"{_ONLY_LAYER}ffn.weight"
    )
    draft.layout("every ALBERT", shared_layers=True)
    if draft.config is None:
        depths = sorted(_LIKELY_DEPTHS, key=lambda depth: depth != _DEPTHS.get(draft["d_model"], 12))
        draft.ask(
            "n_encoder_layers",
            "How many layers does the encoder have?",
            "One set of weights serves all layers, so the files don't say how often it is applied.",
            {depth: str(depth) for depth in depths},
        )
    else:
        told = draft.config.integer("num_hidden_layers")
        draft.configured("n_encoder_layers", told, "num_hidden_layers")
        _refuse_other_sharing(draft.config)
    bert_layout.read_d_embedding(draft)
    bert_layout.read_head(draft, "predictions.dense")
    draft.pad_id(usual=0)
    bert_layout.refuse_other_computations(
        draft, "down_scale_factor", "gap_size", "net_structure_type", "num_memory_blocks"
    )


def _refuse_several_layers(raw: RawCheckpoint) -> None:
    if any(name.startswith(_GROUPS) and not name.startswith(_ONLY_LAYER) for name in raw.tensors):
        raise CheckpointError(
            "The files have several groups of layers, or several layers in a group, and Headlight's model "
            "runs one layer again and again: open an ALBERT with one, as all published ones are."
        )


def _refuse_other_sharing(config: ForeignConfig) -> None:
    config.only("num_hidden_groups", 1, why="several groups of shared layers")
    config.only("inner_group_num", 1, why="several layers in a group")


FAMILY = Family(
    name="albert",
    label="ALBERT",
    matches=matches,
    read_config=read_config,
    renames=RENAMES,
    ignored={
        **bert_layout.IGNORED,
        "pooler.weight": bert_layout.POOLER,
        "pooler.bias": bert_layout.POOLER,
        "sop_classifier.classifier.weight": _ORDER,
        "sop_classifier.classifier.bias": _ORDER,
    },
    prefixes=("albert.",),
    arrange=bert_layout.arrange,
)
