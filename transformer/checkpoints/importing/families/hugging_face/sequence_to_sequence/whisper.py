"""The layers of Whisper (Radford et al. 2022) as Hugging Face's transformers saves it.

Pre-norm, with a final norm after each stack, learned positions in the decoder, and keys without a bias. The
encoder's input is made from audio by convolutions over a spectrogram, which our model lacks: random vectors
stand in for it.
"""

from __future__ import annotations

from collections.abc import Mapping

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.hugging_face.sequence_to_sequence import (
    _fairseq_layout as fairseq_layout,
)
from transformer.checkpoints.importing.family import (
    Family,
    Into,
    Renames,
    StandIn,
    may_be,
    module_renames,
    table_of_positions,
)
from transformer.checkpoints.reading.raw import RawCheckpoint

STAND_IN_SOUNDS = 128
"""Rows of the table that stands in for the encoder's audio input."""
_WORDS = "decoder.embed_tokens.weight"

RENAMES: Renames = {
    **fairseq_layout.LAYERS_AND_WORDS,
    "encoder.embed_positions.weight": Into(table_of_positions, "src_embedding.positions.weight"),
    "decoder.embed_positions.weight": "tgt_embedding.positions.weight",
    **module_renames({"proj_out": "generator"}),
}
_CONVOLUTION = "It turns sound into the encoder's input; Headlight does not read sound."
IGNORED = {
    **fairseq_layout.UNUSED,
    **{f"encoder.conv{n}.{part}": _CONVOLUTION for n in (1, 2) for part in ("weight", "bias")},
}


def matches(raw: RawCheckpoint) -> bool:
    """True if there are both stacks, and convolutions before the encoder."""
    return (
        fairseq_layout.has_both_stacks(raw)
        and "encoder.conv1.weight" in raw.tensors
        and may_be(raw, "whisper")
    )


def read_config(draft: ConfigDraft) -> None:
    """Read config.json, or the shapes and answers."""
    fairseq_layout.read_stacks(draft, activation="gelu")
    draft.layout("sounds, which are not words", src_vocab_size=STAND_IN_SOUNDS, share_embeddings=False)
    draft.size("tgt_vocab_size", "vocab_size", _WORDS, 0)
    draft.layout("every Whisper", positions="learned", embedding_scale=False)
    draft.layout("every Whisper", tie_generator=True, generator_bias=False)
    draft.size("max_len", "max_target_positions", "decoder.embed_positions.weight", 0)
    draft.layout("no sentence of sounds is padded", pad_id=-1)
    if draft.config is not None:
        draft.config.only("tie_word_embeddings", True, why="a generator of its own")
    draft.note(
        "Whisper's encoder hears sound, which Headlight does not read: each id of the source is a "
        "moment of it."
    )
    fairseq_layout.refuse_other_computations(draft, *_OF_SOUND)


_OF_SOUND = (
    "apply_spec_augment",
    "begin_suppress_tokens",
    "classifier_proj_size",
    "forced_decoder_ids",
    "mask_feature_length",
    "mask_feature_min_masks",
    "mask_feature_prob",
    "mask_time_length",
    "mask_time_min_masks",
    "mask_time_prob",
    "max_source_positions",
    "median_filter_width",
    "num_mel_bins",
    "scale_embedding",
    "use_weighted_layer_sum",
)
"""Attributes for convolutions, training and token selection, and a scale that transformers ignores."""


def stand_ins(raw: RawCheckpoint) -> Mapping[str, StandIn]:
    """The encoder's audio input, and the biases that keys lack."""
    keys = ("encoder.layers.{}.self_attn", "decoder.layers.{}.self_attn", "decoder.layers.{}.cross_attn")
    zeros: dict[str, StandIn] = {f"{attention}.w_k.bias": "zeros" for attention in keys}
    return zeros | {"src_embedding.weight": "drawn"}


FAMILY = Family(
    name="whisper",
    label="Whisper",
    matches=matches,
    read_config=read_config,
    renames=RENAMES,
    ignored=IGNORED,
    arrange=fairseq_layout.arrange,
    stand_ins=stand_ins,
)
