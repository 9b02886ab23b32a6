"""What goes in and what comes out: tokens and ids, then step by step the tokens with the best others."""

from __future__ import annotations

import numpy as np
import streamlit as st

from transformer.checkpoints.folder import LoadedModel
from transformer.decoding.greedy import DecodingStep
from transformer.decoding.request import NOT_FINITE
from transformer.model_input import Input
from transformer.run import Run
from transformer.text.coder import Coder, Unit
from transformer.text.subwords import SubwordCoder
from viz.components.decoding_steps import Candidate, OutputStep, decoding_steps
from viz.components.token_strip import StripToken, token_strip
from viz.figures.labels import visible
from viz.figures.probabilities import step_probabilities
from viz.pages._figure import save_menu
from viz.pages._kinds import mask_token, target_noun
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
    "numbers, for another model to go on with. Below is how it comes by them."
)


def in_and_out(run: Run) -> None:
    """Draw both halves of a run."""
    loaded = current_model()
    config = loaded.model.config
    st.header("What goes in")
    token_strip(
        source_tokens(run),
        colors=current_theme(),
        key="source_strip",
        title=STRIP_TITLES[config.kind],
        words=list(map(visible, run.source.words)),
        note=_subwords_note(loaded.source),
        unknown_name=_unknown_name(loaded.source),
    )
    st.header("What comes out")
    if not run.steps:
        st.markdown(WORDLESS.format(d_model=config.d_model))
        return
    if not run.has_numbers:
        st.warning(NOT_FINITE)
        return
    _translation(run, loaded)
    decoding_steps(
        [output_step(loaded.target, step) for step in run.steps],
        colors=current_theme(),
        key="steps",
        start=first_tokens(run),
        positions=[step.position for step in run.steps] if run.decoder_input is None else None,
        forced=not run.generated,
        unit=loaded.target.unit,
        title="The tokens, position by position" if run.decoder_input is None else "The target, step by step",
    )
    save_menu(lambda: _steps_figure(run, loaded), name=f"next-{loaded.target.unit}s", key="save_steps")


def source_tokens(run: Run) -> list[StripToken]:
    """The tokens of the source or prompt, each with its word, and the special ones around them."""
    read, sentence = run.encoder_input or run.decoder_input, run.source
    assert read is not None
    special = _special_tokens(read)
    stop = read.first + len(sentence.ids)
    tokens = [
        StripToken(visible(token), token_id, unknown=unknown, word=word)
        for token, token_id, unknown, word in zip(
            sentence.tokens, sentence.ids, sentence.unknown, sentence.word_of, strict=True
        )
    ]
    behind = special[stop:] if run.encoder_input else []
    return [*special[: read.first], *tokens, *behind]


def output_step(coder: Coder, step: DecodingStep) -> OutputStep:
    """A step with the names of its tokens."""
    return OutputStep(
        text=visible(coder.token(step.token_id)),
        probability=step.probability,
        rank=step.rank,
        best=[
            Candidate(visible(coder.token(token)), probability)
            for token, probability in zip(step.top_ids, step.top_probabilities, strict=True)
        ],
    )


def first_tokens(run: Run) -> list[str]:
    """What the decoder reads before the target; nothing without a decoder."""
    if run.decoder_input is None:
        return []
    tokens = run.decoder_input.tokens
    return list(map(visible, tokens[: len(tokens) - len(run.target.ids)]))


def _special_tokens(read: Input) -> list[StripToken]:
    """All tokens of an input, as special ones."""
    pairs = zip(read.tokens, read.ids, strict=True)
    return [StripToken(visible(token), token_id, special=True) for token, token_id in pairs]


def _subwords_note(coder: Coder) -> str:
    if isinstance(coder, SubwordCoder):
        return OWN_SUBWORDS_NOTE
    return SUBWORDS_NOTE if coder.unit == "sub-word" else ""


def _unknown_name(coder: Coder) -> str:
    unknown = coder.specials.unk
    return "0" if unknown is None else visible(coder.token(unknown))


def _translation(run: Run, loaded: LoadedModel) -> None:
    st.markdown(_what_came_out(run, loaded))
    if run.decoder_input is None and not run.generated:
        return
    with st.container(border=True):
        st.text(visible(run.translation, limit=len(run.translation)) if run.translation else "(nothing)")
    if run.generated and not run.finished:
        st.caption(
            "It did not come to an end by itself and was stopped at the most tokens that are generated."
        )


def _what_came_out(run: Run, loaded: LoadedModel) -> str:
    unit: Unit = loaded.target.unit
    if run.decoder_input is None:
        return _of_masks(run, unit, knows_masks=mask_token(loaded) is not None)
    if not run.generated:
        return f"You gave the target; the model was shown its {unit}s so far at each step (teacher forcing):"
    return f"The model chose the most probable {unit} at each step (greedy decoding). {_result(run, loaded)}:"


def _result(run: Run, loaded: LoadedModel) -> str:
    if run.encoder_input is None:
        return "The prompt, and how it goes on"
    return f"Its {target_noun(loaded)}"


def _of_masks(run: Run, unit: Unit, *, knows_masks: bool) -> str:
    if run.generated:
        return f"In the place of each mask the model put the {unit} that it holds most probable there:"
    offer = f" Mask a {unit}, and it has to find it." if knows_masks else ""
    return (
        f"For each position the model says how probable every {unit} is there. No {unit} is masked, so it "
        f"sees the one that it is asked about.{offer}"
    )


def _steps_figure(run: Run, loaded: LoadedModel) -> object:
    return step_probabilities(
        [[loaded.target.token(token) for token in step.top_ids] for step in run.steps],
        np.array([step.top_probabilities for step in run.steps]),
        [loaded.target.token(step.token_id) for step in run.steps],
        theme=current_theme(),
        title=f"Best next {loaded.target.unit}s at each step",
    )
