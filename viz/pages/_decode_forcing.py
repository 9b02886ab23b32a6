"""Teacher forcing beside free running: the same source, the right target beside the model's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from transformer.errors import SentenceError
from transformer.run import Run
from viz.arrays import ATTENTION_LABELS, Attention, AttentionMaps, attention_maps, closed_cells
from viz.components.attention_matrix import attention_matrix
from viz.decoding_session import right_translations
from viz.figures.forcing import ScoredTokens, token_by_token
from viz.figures.labels import visible
from viz.figures.numbers import number
from viz.pages._decode_words import percent
from viz.pages._explain import computed_by
from viz.pages._figure import show
from viz.pages._kinds import target_label, target_noun
from viz.session import (
    clamp_choice,
    current_choice,
    current_model,
    current_theme,
    run_of,
    token_unit,
)
from viz.text_session import boxes_of, current_texts, texts_to_address
from viz.token_scores import TokenScores, parting, token_scores

FORCED, FREE = "given: the reference", "free: the model's own words"


@dataclass(frozen=True)
class Scored:
    """A run with its tokens, <eos> included where it has one, and their scores."""

    run: Run
    ids: tuple[int, ...]
    scores: TokenScores


@st.fragment
def forcing_section(free_run: Run) -> None:
    """Draw the section; what is chosen in it draws only this section again.

    Args:
        free_run: of the source, with the target that the model made itself.
    """
    st.header("Given words and its own words")
    st.markdown(
        "**Teacher forcing**: at each step the model reads the *right* words so far, as in training. **Free "
        "running**: it reads the words that it has chosen itself (greedy decoding). Up to the point where "
        "the two part, the model sees the same and thinks the same; behind it, it goes on from a sentence "
        "that it would not have written, or from one that is not the right one."
    )
    forced_run = _forced_run()
    if forced_run is None:
        return
    forced, free = _scored(forced_run), _scored(free_run)
    position = parting(forced.ids, free.ids)
    _where_they_part(forced, free, position)
    _totals(forced, free)
    show(
        token_by_token({FORCED: _drawn(forced), FREE: _drawn(free)}, parting=position, theme=current_theme()),
        name="forced-and-free",
        caption="Above: the log-probability of each token behind those before it, 0 is certain. Below: the "
        "entropy of the whole distribution that it was taken from, 0 is sure of one token.",
        key="forcing_scores",
    )
    computed_by(token_scores)
    _attentions(forced.run, free.run)


def _forced_run() -> Run | None:
    """The run of the typed reference, or else of the example's own; None, with a word, without one."""
    text, _ = current_texts()
    known = right_translations(text)
    noun = target_noun(current_model())
    st.text_input(
        target_label(current_model(), "reference"),
        key=boxes_of(current_model()).target,
        persist_state="session",
        placeholder=known[0] if known else f"Type the right {noun} and press Enter",
        help="The target that the model is given, token by token.",
    )
    texts_to_address()
    typed = current_texts()[1]
    reference = typed if typed.strip() else known[0] if known else ""
    if not reference:
        st.info(f"Type the right {noun}: the model is given it and compared with what it writes itself.")
        return None
    if not typed.strip():
        st.text(f"The example's own translation is taken: {visible(reference, len(reference))}")
    try:
        with st.spinner("Running the model …", show_time=True):
            return run_of(current_choice(), text, reference)
    except SentenceError as error:
        st.warning(str(error))
        return None


def _scored(run: Run) -> Scored:
    ids = tuple(step.token_id for step in run.steps)
    never = current_model().target.specials.never
    return Scored(run, ids, token_scores(run.target_logits[: len(ids)].numpy(), ids, never))


def _where_they_part(forced: Scored, free: Scored, position: int | None) -> None:
    if position is None:
        st.markdown("**They never part**: by itself the model writes the reference, token for token.")
        return
    if position >= min(len(forced.ids), len(free.ids)):
        st.markdown(f"**They part at step {position}**, where the shorter one has been cut off.")
        return
    given, own = (
        f"“{_token(one.ids[position])}” ({percent(np.exp(one.scores.log_probabilities[position]))}, "
        f"number {one.scores.ranks[position]:,} of all {token_unit()}s)"
        for one in (forced, free)
    )
    before = " Up to there both are the same." if position else ""
    st.markdown(f"**They part at step {position}.**{before}")
    st.text(f"The reference goes on with {given}; the model itself with {own}.")


def _totals(forced: Scored, free: Scored) -> None:
    for column, name, one in zip(st.columns(2), (FORCED, FREE), (forced, free), strict=True):
        scores = one.scores
        with column, st.container(border=True, height="stretch"):
            st.markdown(f"**{name[0].upper()}{name[1:]}**")
            text = one.run.translation
            st.text(visible(text, len(text)) if text else "(nothing)")
            st.caption(
                f"{len(one.ids)} tokens; log-probability {number(scores.total)}, perplexity "
                f"{scores.perplexity:.2f}: on average as unsure as among so many equal tokens."
            )


def _drawn(one: Scored) -> ScoredTokens:
    tokens = [_token(token) for token in one.ids]
    return ScoredTokens(tokens, one.scores.log_probabilities, one.scores.entropies)


def _token(index: int) -> str:
    return visible(current_model().target.token(index))


def _attentions(forced: Run, free: Run) -> None:
    """The same head in both runs: of the cross-attention, or of a decoder's own where there is no source."""
    attention: Attention = "decoder" if free.encoder_input is None else "cross"
    maps = [attention_maps(run.trace, attention, "weights") for run in (forced, free)]
    n_layers, n_heads = maps[0].values.shape[:2]
    name, where = ATTENTION_LABELS[attention], "source" if attention == "cross" else "text so far"
    st.markdown(f"**{name} of one head in both**: where it looks in the {where}, row by row")
    left, right = st.columns(2)
    layer = _pick(left, "Layer", n_layers, n_layers - 1, "forcing_layer")
    head = _pick(right, "Head", n_heads, 0, "forcing_head")
    columns = st.columns(2)
    for column, name, key, own in zip(columns, (FORCED, FREE), ("forced", "free"), maps, strict=True):
        with column:
            st.markdown(f"**{name[0].upper()}{name[1:]}**")
            _matrix(own, layer, head, f"forcing_{key}", ATTENTION_LABELS[attention], beside=maps)


def _pick(column: st.delta_generator.DeltaGenerator, label: str, n: int, default: int, key: str) -> int:
    clamp_choice(key, range(n))
    chosen: int = column.selectbox(label, range(n), index=default, key=key, bind="query-params")
    return chosen


def _matrix(
    maps: AttentionMaps, layer: int, head: int, key: str, name: str, *, beside: Sequence[AttentionMaps]
) -> None:
    reasons = closed_cells(maps)
    codes = sum((where * np.uint8(i) for i, where in enumerate(reasons.values(), start=1)), np.uint8(0))
    attention_matrix(
        maps.values[layer, head],
        query_tokens=list(map(visible, maps.query_tokens)),
        key_tokens=list(map(visible, maps.key_tokens)),
        colors=current_theme(),
        key=key,
        closed=np.asarray(codes, np.uint8),
        reasons=[f"masked: {reason}" for reason in reasons],
        title=f"{name}, layer {layer}, head {head}",
        value_range=(0.0, 1.0),
        beside=[
            (list(map(visible, other.query_tokens)), list(map(visible, other.key_tokens))) for other in beside
        ],
    )
