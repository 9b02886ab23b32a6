"""Marian's translators (Junczys-Dowmunt et al. 2018) as Hugging Face's transformers saves them: opus-mt.

The paper's Transformer with norms after the sublayers and sinusoidal positions, sines before cosines. The
vocabularies of both sides are usually one, and usually targets begin with the padding token.
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
"""Of a config.json that leaves it out, as far as the vocabulary goes."""


def matches(raw: RawCheckpoint) -> bool:
    """True if there are both stacks, and norms in the layers alone."""
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
    # decoder_vocab_size repeats vocab_size where there is one vocabulary; the other is of learned positions
    fairseq_layout.refuse_other_computations(draft, "decoder_vocab_size", "extra_pos_embeddings")


def _read_pad_id(draft: ConfigDraft) -> None:
    """Padding is the last word, which transformers takes for 58,100 where nothing is said."""
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
