"""FSMT as Hugging Face's transformers saves it: fairseq's translators of WMT 19 (Ng et al. 2019).

The paper's Transformer with norms after the sublayers and vocabularies of its own for each side; sinusoids as
in tensor2tensor, whose first position is the one after the padding token's id.
"""

from __future__ import annotations

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.hugging_face.sequence_to_sequence._fairseq_layout import (
    LAYERS_AND_WORDS,
    TABLES_OF_SINUSOIDS,
    UNUSED,
    arrange,
    has_both_stacks,
    has_embedding_norm,
    is_pre_norm,
    read_embedding_scale,
    read_shifted_sinusoids,
    read_stacks,
    read_words,
    refuse_other_computations,
)
from transformer.checkpoints.importing.family import Family, Renames, may_be
from transformer.checkpoints.reading.raw import RawCheckpoint

_GENERATOR = "decoder.output_projection.weight"
RENAMES: Renames = {**LAYERS_AND_WORDS, _GENERATOR: "generator.weight"}


def matches(raw: RawCheckpoint) -> bool:
    """Whether norms stand in the layers alone, and the decoder holds the generator."""
    bare = has_both_stacks(raw) and not has_embedding_norm(raw) and not is_pre_norm(raw)
    return bare and _GENERATOR in raw.tensors and may_be(raw, "fsmt")


def read_config(draft: ConfigDraft) -> None:
    """From config.json, or from the shapes and answers."""
    read_stacks(draft, activation="relu")
    sizes = [draft.length(f"{side}.embed_tokens.weight", 0) for side in ("encoder", "decoder")]
    read_words(
        draft,
        one_vocabulary=sizes[0] == sizes[1],
        source_key="src_vocab_size",
        target_key="tgt_vocab_size",
        generator=_GENERATOR,
        usually_tied=False,
    )
    read_shifted_sinusoids(draft)
    read_embedding_scale(draft, likely=True, default=True)
    # "decoder" repeats the size of the target's vocabulary
    refuse_other_computations(draft, "langs", "decoder", "vocab_size")


FAMILY = Family(
    name="fsmt",
    label="FSMT",
    matches=matches,
    read_config=read_config,
    renames=RENAMES,
    ignored={**UNUSED, **TABLES_OF_SINUSOIDS},
    arrange=arrange,
)
