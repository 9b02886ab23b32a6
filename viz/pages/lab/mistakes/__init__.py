"""Mistakes of published implementations of the Transformer, each applied to a model and a sentence."""

from __future__ import annotations

from collections.abc import Mapping

from viz.pages.lab.mistakes.attention import ATTENTION_MISTAKES
from viz.pages.lab.mistakes.decoder import DECODER_MISTAKES
from viz.pages.lab.mistakes.dropping import DROPOUT_MISTAKES
from viz.pages.lab.mistakes.embeddings import EMBEDDING_MISTAKES
from viz.pages.lab.mistakes.hiding import HIDING_MISTAKES
from viz.pages.lab.mistakes.masks import MASK_MISTAKES
from viz.pages.lab.mistakes.mistake import GROUPS as GROUPS
from viz.pages.lab.mistakes.mistake import Broken as Broken
from viz.pages.lab.mistakes.mistake import Case as Case
from viz.pages.lab.mistakes.mistake import Level as Level
from viz.pages.lab.mistakes.mistake import Mistake as Mistake
from viz.pages.lab.mistakes.mistake import Picture as Picture
from viz.pages.lab.mistakes.mistake import Reading as Reading
from viz.pages.lab.mistakes.mistake import Seen as Seen
from viz.pages.lab.mistakes.mistake import Symptom as Symptom
from viz.pages.lab.mistakes.norms import NORM_MISTAKES
from viz.pages.lab.mistakes.positions import POSITION_MISTAKES
from viz.pages.lab.mistakes.reading import READING_MISTAKES

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
"""All mistakes by name, ordered by group."""
