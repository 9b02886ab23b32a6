"""Warnings about a run: unknown words, parts left out, and a translation that is probably wrong."""

from __future__ import annotations

import streamlit as st

from transformer.analysis.confidence import run_confidence
from transformer.loaded import LoadedModel
from transformer.run import Run
from viz.markdown import quoted
from viz.session import RunKey, untranslated_of

WARNING = ":material/warning:"
_MOST_NAMED = 8


def warn_of_unknown(run: Run, loaded: LoadedModel) -> None:
    """Name the words of a run's source that are not in the model's vocabulary; for sub-words draw nothing."""
    source = run.source
    is_unknown = zip(source.word_of, source.unknown, strict=True)
    words = list(dict.fromkeys(source.words[word] for word, is_so in is_unknown if is_so))
    unk = loaded.source.special_tokens.unk
    if not words or unk is None:
        return
    named = ", ".join(quoted(word) for word in words[:_MOST_NAMED])
    more = f" and {len(words) - _MOST_NAMED:,} more" if len(words) > _MOST_NAMED else ""
    token = quoted(loaded.source.token(unk))
    st.warning(
        f"Not in this model's vocabulary: {named}{more}. It reads {token} instead and can only guess there.",
        icon=WARNING,
    )


def warn_of_lost(key: RunKey) -> None:
    """Name the parts of the source that the translation probably leaves out."""
    if lost := untranslated_of(key):
        named = "; ".join(quoted(part) for part in lost)
        st.warning(
            f"These words are probably not translated: {named}. Without them the model finds its translation "
            "no less probable.",
            icon=WARNING,
        )


def warn_if_wrong(run: Run, loaded: LoadedModel, more: str = "") -> None:
    """Warn of an output that is probably wrong, as measured; `more` follows (our own Markdown)."""
    found = run_confidence(loaded, run)
    if found is not None and found.is_usually_wrong:
        st.warning(f"{found.warning} {more}".strip(), icon=WARNING)
