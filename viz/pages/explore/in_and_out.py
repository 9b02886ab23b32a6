"""Input and output of a run: the written sentence, tokens and ids, and the best next tokens at each step."""

from __future__ import annotations

from operator import attrgetter

import streamlit as st

from transformer.decoding.request import NOT_FINITE
from transformer.loaded import LoadedModel
from transformer.model_input import why_stopped
from transformer.run import Run
from transformer.text.coder import Coder, Unit
from transformer.text.subwords import SubwordCoder
from viz.figures.labels import visible_in_full
from viz.pages.explore.changes import changed_words
from viz.pages.shared.caution import warn_if_wrong, warn_of_lost
from viz.pages.shared.figure import save_menu
from viz.pages.shared.model_words import mask_token, target_noun
from viz.pages.shared.sentence import SentenceRun
from viz.pages.shared.tokens import show_source, show_steps
from viz.run_figures.decoding import steps_figure

SUBWORDS_NOTE = "The sub-words of one word are framed together."
OWN_SUBWORDS_NOTE = (
    "The sub-words of one word are framed together; ▁ is the space before a word. Nothing typed is unknown "
    "to this model: a character without a piece of its own is spelled by its bytes, such as <0xE2>."
)
STRIP_TITLES = {
    "encoder-decoder": "The source as the model reads it",
    "decoder-only": "The prompt as the model reads it",
    "encoder-only": "The sentence as the model reads it",
}
WORDLESS = (
    "No words: this model has no generator. Its last layer turns each token into {d_model} numbers, for "
    "another model to use. Here is how they are computed."
)


def output_of(sentence: SentenceRun) -> dict[str, str] | None:
    """The output for the viewer, whose tokens can be chosen: the text before the first, and how it was found.

    None if no stack writes one token after another.
    """
    run, coder = sentence.run, sentence.loaded.target
    if not run.steps or run.decoder_input is None or not run.has_numbers:
        return None
    prompt = coder.decode(run.source.ids) if run.encoder_input is None else ""
    return {
        "before": visible_in_full(prompt) if prompt else "",
        "how": _how_written(run, sentence.loaded),
    }


def output_line(sentence: SentenceRun) -> None:
    """Draw what to know about the output, and the output itself if the viewer doesn't show it."""
    run = sentence.run
    if not run.steps:
        st.markdown(WORDLESS.format(d_model=sentence.config.d_model))
    elif not run.has_numbers:
        st.warning(NOT_FINITE)
    else:
        _translation(run, sentence.loaded)
        warn_of_lost(sentence.key)
        if changed := changed_words(sentence):
            st.caption(changed)


def input_section(sentence: SentenceRun) -> None:
    """Draw the tokens that the model reads, with their ids."""
    source = sentence.loaded.source
    st.header("Input")
    title = STRIP_TITLES[sentence.config.kind]
    show_source(sentence.run, source, key="source_strip", title=title, note=_note(source))


def output_section(sentence: SentenceRun) -> None:
    """Draw the tokens of the output step by step, each with the most probable alternatives."""
    run, coder = sentence.run, sentence.loaded.target
    if not run.steps or not run.has_numbers:
        return
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
        lambda: steps_figure(run.steps, coder, theme=sentence.theme),
        name=f"next-{coder.unit}s",
        key="save_steps",
    )


def _note(coder: Coder) -> str:
    if isinstance(coder, SubwordCoder):
        return OWN_SUBWORDS_NOTE
    return SUBWORDS_NOTE if coder.unit == "sub-word" else ""


def _translation(run: Run, loaded: LoadedModel) -> None:
    notes = " ".join(filter(None, (_passed_over(run, loaded), _stopped(run, loaded))))
    if run.decoder_input is None:
        if run.generated:
            with st.container(key="output"):
                st.text(visible_in_full(run.translation) if run.translation else "(nothing)")
        notes = " ".join(filter(None, (_how_written(run, loaded), notes)))
    if notes:
        st.caption(notes)
    warn_if_wrong(run, loaded, "Decode shows which words, under Confidence.")


def _stopped(run: Run, loaded: LoadedModel) -> str:
    return why_stopped(loaded, run.ending, len(run.steps))


def _passed_over(run: Run, loaded: LoadedModel) -> str:
    """Name the steps at which the most probable token was not allowed, and why."""
    unit = loaded.target.unit
    reasons = (
        (attrgetter("repeating"), f"it would have repeated a sequence of {unit}s"),
        (attrgetter("misspelling"), "it would have misspelled or dropped a name or number of the source"),
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


def _how_written(run: Run, loaded: LoadedModel) -> str:
    unit: Unit = loaded.target.unit
    if run.decoder_input is None:
        return _at_masks(run, unit, knows_masks=mask_token(loaded) is not None)
    if not run.generated:
        return f"The target as given: at each step the model reads its {unit}s so far (teacher forcing)."
    is_prompt = run.encoder_input is None
    result = "The prompt and its continuation" if is_prompt else f"Its {target_noun(loaded)}"
    return f"{result}: the most probable {unit} at each step (greedy decoding)."


def _at_masks(run: Run, unit: Unit, *, knows_masks: bool) -> str:
    if run.generated:
        return f"At each mask the model put the {unit} that it considers most probable."
    offer = f" Mask a {unit}, and the model must guess it." if knows_masks else ""
    return (
        f"The probability of every {unit} at each position. No {unit} is masked, so the model sees the one "
        f"that it predicts.{offer}"
    )
