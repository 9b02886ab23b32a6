"""Input and output of a run: what was written, tokens and ids, and step by step the best next tokens."""

from __future__ import annotations

from operator import attrgetter

import streamlit as st

from transformer.analysis.confidence import run_confidence
from transformer.decoding.request import NOT_FINITE
from transformer.loaded import LoadedModel
from transformer.model_input import why_stopped
from transformer.run import Run
from transformer.text.coder import Coder, Unit
from transformer.text.subwords import SubwordCoder
from viz.figures.labels import visible_in_full
from viz.pages.shared.figure import save_menu
from viz.pages.shared.model_words import mask_token, target_noun
from viz.pages.shared.tokens import show_source, show_steps
from viz.run_figures.decoding import steps_figure
from viz.session import current_model, current_theme

SUBWORDS_NOTE = "The sub-words of one word are framed together."
OWN_SUBWORDS_NOTE = (
    "The sub-words of one word are framed together; ▁ is the space before a word. Nothing typed is unknown "
    "to this model: a character that it has no piece for is spelled by its bytes, such as <0xE2>."
)
STRIP_TITLES = {
    "encoder-decoder": "The source as the model gets it",
    "decoder-only": "The prompt as the model gets it",
    "encoder-only": "The sentence as the model gets it",
}
WORDLESS = (
    "Nothing, in words: this model has no generator. What its last layer makes of each token are {d_model} "
    "numbers, for another model to continue with. Here is how they are computed."
)


def output_line(run: Run) -> None:
    """Draw what the model wrote: what everything else on the page is about."""
    loaded = current_model()
    if not run.steps:
        st.markdown(WORDLESS.format(d_model=loaded.model.config.d_model))
    elif not run.has_numbers:
        st.warning(NOT_FINITE)
    else:
        _translation(run, loaded)


def input_section(run: Run) -> None:
    """Draw what the model reads: tokens and ids."""
    loaded = current_model()
    st.header("Input")
    title = STRIP_TITLES[loaded.model.config.kind]
    show_source(run, loaded.source, key="source_strip", title=title, note=_note(loaded.source))


def output_section(run: Run) -> None:
    """Draw step by step the tokens with the best others."""
    if not run.steps or not run.has_numbers:
        return
    coder = current_model().target
    st.header("Output")
    in_place = run.decoder_input is None
    show_steps(
        run,
        coder,
        key="steps",
        title="The tokens, position by position" if in_place else "The target, step by step",
        forced=not run.generated,
    )
    save_menu(
        lambda: steps_figure(run.steps, coder, theme=current_theme()),
        name=f"next-{coder.unit}s",
        key="save_steps",
    )


def _note(coder: Coder) -> str:
    if isinstance(coder, SubwordCoder):
        return OWN_SUBWORDS_NOTE
    return SUBWORDS_NOTE if coder.unit == "sub-word" else ""


def _translation(run: Run, loaded: LoadedModel) -> None:
    how = _what_came_out(run, loaded)
    if run.decoder_input is None and not run.generated:
        st.caption(how)
        return
    how = " ".join(filter(None, (how, _passed_over(run, loaded), _stopped(run, loaded))))
    with st.container(horizontal=True, vertical_alignment="bottom", key="output"):
        st.text(visible_in_full(run.translation) if run.translation else "(nothing)", width="content")
        st.caption(how, width="stretch")
    found = run_confidence(loaded, run)
    if found is not None and found.is_usually_wrong:
        st.warning(f"{found.warning} Decode shows which words.", icon=":material/warning:")


def _stopped(run: Run, loaded: LoadedModel) -> str:
    return why_stopped(loaded, run.ending, len(run.steps))


def _passed_over(run: Run, loaded: LoadedModel) -> str:
    """Where the most probable token could not be chosen, and why."""
    unit = loaded.target.unit
    reasons = (
        (attrgetter("repeating"), f"with it {unit}s in a row would have come again"),
        (
            attrgetter("misspelling"),
            "a name or a number of the source would have been spelled otherwise, or lost",
        ),
    )
    said = []
    for closed_at, reason in reasons:
        places = [str(step.position) for step in run.steps if {*step.top_ids[:1]} & closed_at(step)]
        if places:
            listed = (
                f"step {places[0]}"
                if len(places) == 1
                else f"steps {', '.join(places[:-1])} and {places[-1]}"
            )
            said.append(f"At {listed} the most probable {unit} was passed over: {reason}.")
    return " ".join(said)


def _what_came_out(run: Run, loaded: LoadedModel) -> str:
    unit: Unit = loaded.target.unit
    if run.decoder_input is None:
        return _of_masks(run, unit, knows_masks=mask_token(loaded) is not None)
    if not run.generated:
        return f"The target, as given: the model was shown its {unit}s so far at each step (teacher forcing)."
    is_prompt = run.encoder_input is None
    result = "The prompt, and how it continues" if is_prompt else f"Its {target_noun(loaded)}"
    return f"{result}: the most probable {unit} at each step (greedy decoding)."


def _of_masks(run: Run, unit: Unit, *, knows_masks: bool) -> str:
    if run.generated:
        return f"In the place of each mask the model put the {unit} that it holds most probable there."
    offer = f" Mask a {unit}, and it has to find it." if knows_masks else ""
    return (
        f"For each position the model says how probable every {unit} is there. No {unit} is masked, so it "
        f"sees the one that it is asked about.{offer}"
    )
