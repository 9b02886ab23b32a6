"""Marian's translators (Junczys-Dowmunt et al. 2018) as Hugging Face's transformers saves them: opus-mt.

The paper's Transformer with norms after the sublayers and sinusoidal positions, sines before cosines. The
vocabularies of both sides are usually one, and usually targets begin with the padding token.
"""

from __future__ import annotations

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families._questions import SINUSOIDS, ask_embedding_scale
from transformer.checkpoints.importing.families.hugging_face.sequence_to_sequence._fairseq_layout import (
    LAYERS_AND_WORDS,
    UNUSED,
    arrange,
    has_both_stacks,
    read_stacks,
    read_words,
    refuse_other_computations,
)
from transformer.checkpoints.importing.family import Family, Renames, may_be
from transformer.checkpoints.reading.raw import RawCheckpoint

RENAMES: Renames = LAYERS_AND_WORDS

IGNORED = {
    **UNUSED,
    "encoder.embed_positions.weight": SINUSOIDS,
    "decoder.embed_positions.weight": SINUSOIDS,
}

USUAL_LENGTH = 512
DEFAULT_PAD_ID = 58_100
"""Of a config.json that leaves it out, as far as the vocabulary goes."""


def matches(raw: RawCheckpoint) -> bool:
    """Whether there are both stacks, and norms in the layers alone."""
    others = {"encoder.layernorm_embedding.weight", "encoder.layer_norm.weight"}
    return has_both_stacks(raw) and not others & raw.tensors.keys() and may_be(raw, "marian")


def read_config(draft: ConfigDraft) -> None:
    """From config.json, or from the shapes and answers."""
    read_stacks(draft, activation="swish")
    draft.layout("every Marian", norm_position="post", final_norm=False)
    draft.layout("every Marian", positions="sinusoidal", sinusoid_layout="halves")
    shared = draft.config is None or draft.config.flag("share_encoder_decoder_embeddings", True)
    read_words(draft, one_vocabulary=shared, target_key="vocab_size" if shared else "decoder_vocab_size")
    _read_pad_id(draft)
    _read_length(draft)
    config = draft.config
    if config is None:
        ask_embedding_scale(draft, likely=True)
    else:
        scaled = config.flag("scale_embedding", False)
        draft.told("embedding_scale", scaled, "scale_embedding")
        config.get("decoder_vocab_size")  # repeats vocab_size where there is one vocabulary
        config.get("extra_pos_embeddings")  # of learned positions, which Marian has not
        refuse_other_computations(config, pre_norm=False, embedding_norm=False, sinusoids=True)


def _read_pad_id(draft: ConfigDraft) -> None:
    """Padding is the last word, which transformers takes for 58,100 where nothing is said."""
    last = draft["src_vocab_size"] - 1
    draft.pad_id(usual=last if draft.config is None else min(last, DEFAULT_PAD_ID))


def _read_length(draft: ConfigDraft) -> None:
    if draft.config is not None or "encoder.embed_positions.weight" in draft.raw.tensors:
        draft.size("max_len", "max_position_embeddings", "encoder.embed_positions.weight", 0)
    else:
        draft.put("max_len", USUAL_LENGTH, "assumed", "the usual one of this family")


FAMILY = Family(
    name="marian",
    label="Marian",
    matches=matches,
    read_config=read_config,
    renames=RENAMES,
    ignored=IGNORED,
    arrange=arrange,
)
