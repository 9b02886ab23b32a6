"""The lab's results, each computed once: a user's broken runs, and the doctor's findings for all users."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import streamlit as st

from transformer.analysis.changes import Change, changes, head_changes
from transformer.analysis.doctor.examine import examine_model
from transformer.analysis.doctor.findings import Finding
from transformer.loaded import LoadedModel
from viz.opened_checkpoint import is_opened
from viz.pages.lab.mistakes.drawing import fitting
from viz.pages.lab.mistakes.mistake import Broken, Case, Mistake, Symptom
from viz.pages.shared.sentence import SentenceRun
from viz.session import ModelChoice, RunKey, load_model, run_of

Result = TypeVar("Result")
_BROKEN, _COMPLAINTS, _GUESSES = "broken in the lab", "complaints in the lab", "guesses in the lab"
MOST_BROKEN = 3
"""Broken runs cached per user: the current one, the guessed one, the previous one."""
MOST_SHARED = 8
"""Broken runs of shipped models cached for all users; their models share the parameters of the sound one."""
MOST_COMPLAINTS = 200
"""Models whose complaints are cached for all users, and for each: small, but a second's work."""


@dataclass(frozen=True)
class Broke:
    """A mistake applied to a model and a sentence.

    Attributes:
        mistake: the mistake.
        choice: the sound model, as a cache key.
        case: the sound model and its run.
        broken: the effect of the mistake.
        symptom: the number that reveals it.
    """

    mistake: Mistake
    choice: ModelChoice
    case: Case
    broken: Broken
    symptom: Symptom

    @cached_property
    def changes(self) -> list[Change]:
        """The distance of each stage from the sound run."""
        return changes(self.broken.sound.trace, self.broken.run.trace)

    @cached_property
    def head_changes(self) -> list[Change]:
        """The distance of each head's weights from the sound run."""
        return head_changes(self.broken.sound.trace, self.broken.run.trace)


def break_it(mistake: Mistake, sentence: SentenceRun) -> Broke:
    """Apply a mistake to a model, and run the sentence with it; cached.

    The result for an opened checkpoint is cached for its user alone.

    Args:
        mistake: one that fits the model.
        sentence: the sound model with its run.

    Raises:
        SentenceError: if the broken model can't run the sentence.
    """
    key, case = sentence.key, Case(sentence.loaded, sentence.run)
    if not is_opened(key.choice.name):
        return shared_break(key, mistake.name, mistake, case)
    return _kept(_BROKEN, MOST_BROKEN, (key, mistake.name), lambda: _broke(key, mistake, case))


@st.cache_resource(max_entries=MOST_SHARED, show_spinner=False)
def shared_break(key: RunKey, name: str, _mistake: Mistake, _case: Case) -> Broke:
    """The mistake with this name, applied to a run that all users share."""
    return _broke(key, _mistake, _case)


def _broke(key: RunKey, mistake: Mistake, case: Case) -> Broke:
    broken = mistake.broken(case)
    return Broke(mistake, key.choice, case, broken, mistake.symptom(case, broken))


def prepare_first_mistake(key: RunKey) -> None:
    """Compute what the page shows first, if the run is a shipped model's.

    Raises:
        SentenceError: the sentence can't be run, by the model or with its first mistake.
    """
    case = Case(load_model(key.choice), run_of(*key))
    first = next(iter(fitting(case.loaded.model.config)), None)
    if first is not None:
        new_findings(shared_break(key, first.name, first, case))


def new_findings(broke: Broke) -> list[Finding]:
    """The doctor's findings on the broken model that the sound one doesn't have, worst first.

    Empty if the model itself is sound.
    """
    loaded = broke.broken.loaded
    if loaded is None:
        return []
    usual = {(f.check, f.title) for f in _complaints(broke.choice, "", broke.case.loaded)}
    found = _complaints(broke.choice, broke.mistake.name, loaded)
    return [finding for finding in found if (finding.check, finding.title) not in usual]


def _complaints(choice: ModelChoice, name: str, loaded: LoadedModel) -> tuple[Finding, ...]:
    """Problems and warnings of a model, cached under the mistake's name, or "" for the sound model.

    Those of an opened checkpoint are cached for its user alone.
    """
    if not is_opened(choice.name):
        return shared_complaints(choice, name, loaded)
    return _kept(_COMPLAINTS, MOST_COMPLAINTS, (choice, name), lambda: _examined(loaded))


@st.cache_resource(max_entries=MOST_COMPLAINTS, show_spinner=False)
def shared_complaints(choice: ModelChoice, name: str, _loaded: LoadedModel) -> tuple[Finding, ...]:
    """The complaints of a model that all users have; parameters as for `_complaints`."""
    return _examined(_loaded)


def _examined(loaded: LoadedModel) -> tuple[Finding, ...]:
    return examine_model(loaded).of("problem", "warning")


def _kept(shelf: str, most: int, key: Hashable, compute: Callable[[], Result]) -> Result:
    """Get one of a user's results from its cache, or compute it; the cache keeps the `most` last used."""
    kept: dict[Any, Any] = st.session_state.setdefault(shelf, {})
    found: Result = kept.pop(key) if key in kept else compute()
    kept[key] = found
    while len(kept) > most:
        del kept[next(iter(kept))]
    return found


def guess_of(about: Hashable) -> str | None:
    """The name of the mistake that this user guessed for a patient; None before the guess."""
    found: str | None = st.session_state.get(_GUESSES, {}).get(about)
    return found


def keep_guess(about: Hashable, name: str) -> None:
    """Store a guess. To be called from a callback."""
    st.session_state.setdefault(_GUESSES, {})[about] = name
