"""What a new sentence changed: the words that differ from the sentence before, and those of its output."""

from __future__ import annotations

from difflib import SequenceMatcher

import streamlit as st

from viz.pages.shared.changed_words import WORD, differences
from viz.pages.shared.model_words import target_noun
from viz.pages.shared.sentence import SentenceRun

_TEXTS = "last two sentences"
_SIMILAR = 0.6
"""Least share of common words at which two sentences are compared."""


def changed_words(sentence: SentenceRun) -> str:
    """Name the words that differ from the sentence before, as Markdown; "" if the two are hardly alike."""
    before, now = st.session_state.get(_TEXTS, (None, None))
    texts = sentence.choice, sentence.text, sentence.run.translation
    if texts != now:
        before, now = now, texts
        st.session_state[_TEXTS] = before, now
    if before is None or before[0] != sentence.choice or not sentence.run.generated:
        return ""
    typed, written = (differences(old, new) for old, new in zip(before[1:], texts[1:], strict=True))
    alike = SequenceMatcher(a=WORD.findall(before[1]), b=WORD.findall(sentence.text), autojunk=False)
    if not typed or alike.ratio() < _SIMILAR:
        return ""
    outcome = f": {written}" if written else " nothing changed"
    return f"Changed since the last sentence: {typed}. In the {target_noun(sentence.loaded)}{outcome}."
