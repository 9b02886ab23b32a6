"""Marian's translators (Junczys-Dowmunt et al. 2018) as Hugging Face's transformers saves them: opus-mt.

The paper's post-norm Transformer with sinusoidal positions, sines before cosines. Both sides usually share a
vocabulary, and targets usually begin with the padding token.
"""

from __future__ import annotations

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.hugging_face.sequence_to_sequence import (
    _fairseq_layout as fairseq_layout,
)
from transformer.checkpoints.importing.family import Family, may_be
from transformer.checkpoints.reading.raw import RawCheckpoint

IGNORED = {**fairseq_layout.UNUSED, **fairseq_layout.TABLES_OF_SINUSOIDS}

USUAL_LENGTH = 512
DEFAULT_PAD_ID = 58_100
"""Padding id if config.json lacks it, capped by the vocabulary."""


def matches(raw: RawCheckpoint) -> bool:
    """True if there are both stacks, and norms only in the layers."""
    bare = fairseq_layout.has_stacks(raw, embedding_norm=False, pre_norm=False)
    return bare and may_be(raw, "marian")


def read_config(draft: ConfigDraft) -> None:
    """Read config.json, or the shapes and answers."""
    fairseq_layout.read_stacks(draft, activation="swish")
    shared = draft.config is None or draft.config.flag("share_encoder_decoder_embeddings", True)
    fairseq_layout.read_words(
        draft, one_vocabulary=shared, target_key="vocab_size" if shared else "decoder_vocab_size"
    )
    _read_pad_id(draft)
    fairseq_layout.read_sinusoids(draft, "halves", usual=USUAL_LENGTH)
    fairseq_layout.read_embedding_scale(draft, likely=True)
    # decoder_vocab_size repeats vocab_size for a shared vocabulary; the other is for learned positions
    fairseq_layout.refuse_other_computations(draft, "decoder_vocab_size", "extra_pos_embeddings")


def _read_pad_id(draft: ConfigDraft) -> None:
    """Padding is the last id, for which transformers assumes 58,100 if config.json doesn't say."""
    last = draft["src_vocab_size"] - 1
    draft.pad_id(usual=last if draft.config is None else min(last, DEFAULT_PAD_ID))


FAMILY = Family(
    name="marian",
    label="Marian",
    matches=matches,
    read_config=read_config,
    renames=fairseq_layout.LAYERS_AND_WORDS,
    ignored=IGNORED,
    arrange=fairseq_layout.arrange,
)
