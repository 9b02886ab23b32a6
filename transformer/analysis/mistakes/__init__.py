"""Mistakes that published implementations of the Transformer make, each on a model and a sentence."""

from __future__ import annotations

from collections.abc import Mapping

from transformer.analysis.mistakes.attention import ATTENTION_MISTAKES
from transformer.analysis.mistakes.decoder import DECODER_MISTAKES
from transformer.analysis.mistakes.dropping import DROPOUT_MISTAKES
from transformer.analysis.mistakes.embeddings import EMBEDDING_MISTAKES
from transformer.analysis.mistakes.hiding import HIDING_MISTAKES
from transformer.analysis.mistakes.masks import MASK_MISTAKES
from transformer.analysis.mistakes.mistake import GROUPS as GROUPS
from transformer.analysis.mistakes.mistake import Broken as Broken
from transformer.analysis.mistakes.mistake import Case as Case
from transformer.analysis.mistakes.mistake import Level as Level
from transformer.analysis.mistakes.mistake import Mistake as Mistake
from transformer.analysis.mistakes.mistake import Picture as Picture
from transformer.analysis.mistakes.mistake import Reading as Reading
from transformer.analysis.mistakes.mistake import Seen as Seen
from transformer.analysis.mistakes.mistake import Symptom as Symptom
from transformer.analysis.mistakes.norms import NORM_MISTAKES
from transformer.analysis.mistakes.positions import POSITION_MISTAKES
from transformer.analysis.mistakes.reading import READING_MISTAKES

MISTAKES: Mapping[str, Mistake] = {
    mistake.name: mistake
    for mistake in (
        *ATTENTION_MISTAKES,
        *MASK_MISTAKES,
        *HIDING_MISTAKES,
        *EMBEDDING_MISTAKES,
        *POSITION_MISTAKES,
        *NORM_MISTAKES,
        *DROPOUT_MISTAKES,
        *DECODER_MISTAKES,
        *READING_MISTAKES,
    )
}
"""All of them by name, in the order of their groups."""
