"""What a new sentence changed: the words that differ from the sentence before, and those of its output."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

import streamlit as st

from viz.figures.labels import visible
from viz.pages.shared.literal_text import escaped
from viz.pages.shared.model_words import target_noun
from viz.pages.shared.sentence import SentenceRun

_TEXTS = "last two sentences"
_WORD = re.compile(r"\w+|[^\w\s]")
_SIMILAR = 0.6
"""Least share of common words at which two sentences are compared."""
_MOST_NAMED = 3


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
    alike = SequenceMatcher(a=_WORD.findall(before[1]), b=_WORD.findall(sentence.text), autojunk=False)
    if not typed or alike.ratio() < _SIMILAR:
        return ""
    outcome = f": {written}" if written else " nothing changed"
    return f"Changed since the last sentence: {typed}. In the {target_noun(sentence.loaded)}{outcome}."


def differences(before: str, now: str) -> str:
    """The words that differ, as Markdown: "“tired” → “wide”"; "" if there are none."""
    old, new = _WORD.findall(before), _WORD.findall(now)
    found = [
        _difference(" ".join(old[i:j]), " ".join(new[k:m]))
        for what, i, j, k, m in SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes()
        if what != "equal"
    ]
    more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    return ", ".join(found[:_MOST_NAMED]) + more


def _difference(old: str, new: str) -> str:
    if not old:
        return f"{_quoted(new)} added"
    return f"{_quoted(old)} → {_quoted(new)}" if new else f"{_quoted(old)} left out"


def _quoted(words: str) -> str:
    return f"“\u2068{escaped(visible(words))}\u2069”"
