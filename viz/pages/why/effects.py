"""What each head costs the answer, next to other replacements, and the head opened here or on Explore."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from transformer.analysis.attention_maps import attention_record
from transformer.analysis.interventions.heads import (
    Ablation,
    HeadPlace,
    Switch,
    head_effects,
    head_places,
)
from transformer.analysis.interventions.outcomes import OnProgress
from transformer.analysis.interventions.questions import Question
from transformer.analysis.ranks import rank_correlation
from transformer.run import Run
from viz.address import remember, remembered, whole_numbers
from viz.figures.numbers import number
from viz.glossary import linked
from viz.pages.shared.attention_view import key_of
from viz.pages.shared.waiting import with_progress
from viz.pages.why.asked import Asked
from viz.session import run_of
from viz.text_session import examples_of
from viz.widgets import HEAD

MOST_REFERENCES = 6
"""Most example sentences from which mean and resampled outputs are taken."""
OPENED = "opened_head"
"""Name of the opened head in the address."""


def reference_texts(asked: Asked) -> list[str]:
    """Example sentences other than the one asked about."""
    examples = examples_of(asked.sentence.choice.name)
    return [one for one in examples if one != asked.sentence.text][:MOST_REFERENCES]


def reference_runs(asked: Asked) -> list[Run]:
    """Runs of `reference_texts`; without any, the run that is asked about."""
    texts = reference_texts(asked)

    def compute(report: OnProgress) -> list[Run]:
        runs = []
        for done, text in enumerate(texts):
            report(done, len(texts))
            runs.append(run_of(asked.sentence.choice, text))
        return runs

    return with_progress("Running the example sentences", compute) or [asked.run]


def effects_of(asked: Asked, how: Ablation, reference: Sequence[Run]) -> NDArray[np.float64]:
    """(heads, 1 + words): the effect on the question, then on each word's log-probability."""

    def compute(report: OnProgress) -> NDArray[np.float64]:
        questions: list[Question] = [asked.question, *asked.questions]
        switch = Switch(asked.loaded, how, reference)
        return head_effects(asked.loaded, asked.run, questions, switch, report).numpy()

    return asked.answer(("heads", asked.question, how), "Switching off the heads, one by one", compute)


def order_by_kind(
    replaced: str,
    effects: NDArray[np.float64],
    others: Mapping[str, NDArray[np.float64]],
    names: Sequence[str],
) -> None:
    """Say how much the order of the parts depends on what replaces them.

    Args:
        replaced: what is replaced, in our own words.
        effects: (parts,) what each costs in the order above.
        others: the same for other replacements, by their names.
        names: of the parts, in Markdown.
    """
    parts = [
        f"{number(rank_correlation(effects, other), 2)} for “{kind}” "
        f"({names[int(other.argmax())]} costs most there, {number(float(other.max()), 2)})"
        for kind, other in others.items()
    ]
    asks = linked(
        f"**Does the order depend on what replaces {replaced}?** Spearman's rank correlation with the "
        "order above"
    )
    st.markdown(f"{asks}: {'; '.join(parts)}. 1 is the same order, 0 an unrelated one.")


def costliest_head(asked: Asked) -> HeadPlace:
    """The head without which the answer falls most, in the order that the table of heads begins with."""
    effects = effects_of(asked, "mean", reference_runs(asked))[:, 0]
    return head_places(asked.loaded.model.config)[int(effects.argmax())]


def head_in_table(asked: Asked) -> HeadPlace | None:
    """The head that the user has opened in the table of heads, unless Explore has shown another since."""
    return _named(asked).get(remembered(OPENED, "", _owner(asked)))


def open_in_table(asked: Asked, place: HeadPlace) -> None:
    """Open a head in the table of heads. To be called from a callback."""
    remember(OPENED, str(place), _owner(asked))


def opened_head(asked: Asked) -> HeadPlace | None:
    """The head that the user has opened last, here or on Explore; None if there is none."""
    return head_in_table(asked) or _named(asked).get(_on_explore())


def cell_on_explore(asked: Asked, place: HeadPlace) -> tuple[int, int] | None:
    """The query and key chosen on Explore if this head is shown there and has them, else None."""
    cell = whole_numbers(str(st.session_state.get(key_of("", "cell"), "")))
    if str(place) != _on_explore() or len(cell) != 2:
        return None
    n_queries, n_keys = attention_record(asked.run.trace, place.attention, place.layer).weights.shape[-2:]
    return (cell[0], cell[1]) if cell[0] < n_queries and cell[1] < n_keys else None


def _named(asked: Asked) -> dict[str, HeadPlace]:
    return {str(place): place for place in head_places(asked.loaded.model.config)}


def _owner(asked: Asked) -> Hashable:
    """What the opened head belongs to: for another sentence, the costliest head is opened."""
    return asked.sentence.choice, asked.sentence.text, asked.sentence.target, _on_explore()


def _on_explore() -> str:
    """The name of the head chosen on Explore, perhaps in another model; that of no head if there is none."""
    HEAD.forget_unused()
    attention, layer, head = (
        st.session_state.get(key_of("", part), "") for part in ("attention", "layer", "head")
    )
    return f"{attention} {layer}.{head}"
