"""Blenderbot (Roller et al. 2020) as Hugging Face's transformers saves it.

Pre-norm, with a final norm after each stack and none after the embeddings; learned positions.
"""

from __future__ import annotations

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.hugging_face.sequence_to_sequence import (
    _fairseq_layout as fairseq_layout,
)
from transformer.checkpoints.importing.family import Family, Renames, may_be
from transformer.checkpoints.importing.layout.questions import sinusoid_layout
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.errors import CheckpointError

RENAMES: Renames = {
    **fairseq_layout.LAYERS_AND_WORDS,
    "encoder.embed_positions.weight": "src_embedding.positions.weight",
    "decoder.embed_positions.weight": "tgt_embedding.positions.weight",
}


def matches(raw: RawCheckpoint) -> bool:
    """True if both stacks end with a norm, no norm follows the embeddings, and positions are learned."""
    if not fairseq_layout.has_stacks(raw, embedding_norm=False, pre_norm=True):
        return False
    if "model_type" in raw.json("config.json"):
        return may_be(raw, "blenderbot")
    return fairseq_layout.TABLE in raw.tensors and sinusoid_layout(raw.tensors[fairseq_layout.TABLE]) is None


def read_config(draft: ConfigDraft) -> None:
    """Read config.json, or the shapes and answers."""
    fairseq_layout.read_stacks(draft, activation="gelu")
    fairseq_layout.read_words(draft)
    draft.pad_id(usual=0)
    fairseq_layout.read_learned_positions(draft)
    fairseq_layout.read_embedding_scale(draft, likely=True)
    if draft.config is not None:
        draft.config.only(
            "layernorm_variant", "prelayernorm", why="norms in another place than the weights say"
        )
        draft.config.only("extra_layer_norm", False, why="one more norm")
        draft.config.only("extra_pos_embeddings", 0, why="positions that begin at another row")
    # The second concerns a norm after the embeddings, which this model lacks.
    fairseq_layout.refuse_other_computations(draft, "unk_token_id", "do_blenderbot_90_layernorm")


def is_small(raw: RawCheckpoint) -> bool:
    """True if there are BART's names, and config.json names Blenderbot-small or no type."""
    found = fairseq_layout.has_stacks(raw, embedding_norm=True, pre_norm=False)
    return found and may_be(raw, "blenderbot-small")


def refuse_small(draft: ConfigDraft) -> None:
    """Reject the model, saying why.

    Raises:
        CheckpointError: always.
    """
    raise CheckpointError(
        "Blenderbot-small's decoder normalises the embeddings before it adds the positions, and Headlight's "
        "model adds them first: open a larger Blenderbot, such as blenderbot-400M-distill."
    )


FAMILY = Family(
    name="blenderbot",
    label="Blenderbot",
    matches=matches,
    read_config=read_config,
    renames=RENAMES,
    ignored=fairseq_layout.UNUSED,
    arrange=fairseq_layout.arrange,
)

SMALL = Family(
    name="blenderbot-small",
    label="Blenderbot-small",
    matches=is_small,
    read_config=refuse_small,
    renames={},
    arrange=fairseq_layout.arrange,
    kin=fairseq_layout.KIN,
    trait="its decoder adds the positions after the norm, which Headlight does not compute",
)
"""BART's layout with a different decoder."""
