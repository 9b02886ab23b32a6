"""State of the Heads page: the result that it shows, computed now or from a file, and the chosen head."""

from __future__ import annotations

from typing import Any

import streamlit as st

from transformer.analysis.interventions.heads import HeadPlace, head_places
from transformer.analysis.interventions.outcomes import OnProgress
from transformer.analysis.roles.analysis import analyze
from transformer.analysis.roles.definitions import Role
from transformer.analysis.roles.report import LARGEST_FILE, HeadReport, HeadRoles, ReportError
from transformer.errors import SentenceError
from viz.address import remember, remembered
from viz.pages.shared.literal_text import refused
from viz.pages.shared.model_words import kind_examples
from viz.pages.shared.waiting import with_progress
from viz.session import ModelChoice, current_choice, current_model, load_model, run_cache
from viz.text_session import right_answers_of
from viz.widgets import in_a_row, pick_button, set_choice

EXAMPLES, FILE = "examples", "file"
COMMAND = "`headlight analyze --model MODEL --pairs FILE --out FOLDER`"
FORMAT = "FILE has one pair per line: source, tab, target. A model with one stack needs only the source."
"""The format of its file, which `read_pairs` reads."""
_PART = 1
"""Sentences in a part: the progress bar moves after each, and each is probed."""
_PLACE = "analysed_head"
ROLE = "heads_role"
"""The key of the picker of the role whose sentences are listed."""
_KEPT = "report in "


def choose_report() -> HeadReport | None:
    """Draw the choice of the result; None if there is none, and the page then says why."""
    labels = {EXAMPLES: "The chosen model, on its example sentences", FILE: "A result of headlight analyze"}
    if pick_button(in_a_row(), "What to look at", labels, key="heads_from") == FILE:
        st.caption(
            f"{COMMAND} measures a model on a file of sentences, and writes heads.json into the folder. "
            + FORMAT
        )
        return uploaded("The result: heads.json", key="heads_upload")
    return _of_examples()


def _of_examples() -> HeadReport | None:
    """The chosen model's result on its example sentences."""
    choice = current_choice()
    if not example_pairs(choice):
        st.info(
            "No sentences with translations come with this model, so it can't be measured here. Run "
            f"{COMMAND} with sentences of your own, and open the result. {FORMAT}"
        )
        return None

    def compute(report: OnProgress) -> Any:
        return analyze(load_model(choice), example_pairs(choice), part_size=_PART, on_progress=report)

    try:
        found: HeadReport = with_progress(
            "Measuring the heads, sentence by sentence",
            lambda report: run_cache().get_by_steps(("heads", choice), compute, report),
        )
    except SentenceError as error:
        refused("The heads can't be measured.", error)
        return None
    return found


def example_pairs(choice: ModelChoice) -> list[tuple[str, str]]:
    """The example sentences of a model, with their first translations where it needs them.

    Models that come with none get sentences of their kind; an encoder-decoder would need translations.
    """
    pairs = [(source, right[0]) for source, right in right_answers_of(choice.name).items() if right]
    return pairs or [(sentence, "") for sentence in kind_examples(load_model(choice))]


def uploaded(label: str, *, key: str) -> HeadReport | None:
    """Draw the upload of a result; it is kept for this user until another is uploaded."""
    file = st.file_uploader(label, type="json", max_upload_size=LARGEST_FILE // 2**20, key=key)
    kept = _KEPT + key
    if file is not None:
        try:
            st.session_state[kept] = HeadReport.from_json(file.getvalue())
        except ReportError as error:
            refused("This file can't be opened.", error)
            st.session_state.pop(kept, None)
    found: HeadReport | None = st.session_state.get(kept)
    return found


def fits_chosen_model(report: HeadReport) -> bool:
    """True if the model chosen in the sidebar has the heads of a result."""
    return {place_of(one) for one in report.heads} == set(head_places(current_model().model.config))


def place_of(head: HeadRoles) -> HeadPlace:
    """Where a head is."""
    return HeadPlace(head.attention, head.layer, head.head)


def choose_head(head: HeadRoles) -> None:
    """Choose a head, and its main role. To be called from a callback."""
    remember(_PLACE, str(place_of(head)))
    roles = roles_with_examples(head)
    if roles:
        set_choice(ROLE, roles[0])


def roles_with_examples(head: HeadRoles) -> list[Role]:
    """A head's roles, the learned ones first, that sentences show."""
    roles = [*head.learned, *(role for role in head.scores if role not in head.learned)]
    return [role for role in roles if role in head.scores and head.scores[role].examples]


def chosen_head(report: HeadReport, default: HeadRoles) -> HeadRoles:
    """The head that this user or the address has chosen."""
    name = remembered(_PLACE, "")
    return next((one for one in report.heads if str(place_of(one)) == name), default)
