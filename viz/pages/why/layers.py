"""What the model would have written at each layer: the logit lens, and DecoderLens for the encoder."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from transformer.analysis.lens import DecoderLensRow, LensRow, decoder_lens, logit_lens
from viz.figures.labels import visible
from viz.figures.numbers import number
from viz.markdown import quoted
from viz.pages.shared.explain import computed_by, prose
from viz.pages.why.asked import Asked

PLACES = ("most probable", "2nd", "3rd", "4th", "5th")


def layers_section(asked: Asked) -> None:
    """Draw the section."""
    _logit_lens(asked)
    _decoder_lens(asked)


def _logit_lens(asked: Asked) -> None:
    st.header("When does the word appear?")
    question = asked.question
    rows = logit_lens(asked.loaded, asked.run, question)
    coder = asked.loaded.source if asked.run.decoder_input is None else asked.loaded.target
    token = visible(coder.token(question.ids[0]))
    prose(
        "The logit lens (nostalgebraist 2020) reads the residual stream after each sublayer as if it were "
        "the last: through the final norm, if any, and the generator. The last row is the model's "
        "own output. Earlier layers were not trained to be read like this: a word that is unlikely there may "
        "still be known."
    )
    st.markdown(_when(rows, token))
    table = pd.DataFrame(
        {
            "layer": ["–" if row.layer is None else str(row.layer) for row in rows],
            "after": [row.sublayer for row in rows],
            f"rank of {token}": [row.step.rank for row in rows],
            f"probability of {token}": [row.step.probability for row in rows],
            **{
                name: [
                    f"{visible(coder.token(row.step.top_ids[k]))} {row.step.top_probabilities[k]:.0%}"
                    for row in rows
                ]
                for k, name in enumerate(PLACES[: len(rows[0].step.top_ids)])
            },
        }
    )
    st.dataframe(
        table,
        key="why_lens",
        hide_index=True,
        height="content",
        column_config={
            f"probability of {token}": st.column_config.ProgressColumn(
                format="percent", min_value=0.0, max_value=1.0
            )
        },
    )
    st.caption(
        "One row per sublayer. The rank counts from 1; on the right are the most probable tokens there."
    )
    computed_by(logit_lens)


def _when(rows: list[LensRow], token: str) -> str:
    """Say from which sublayer on the token is the most probable one."""
    if rows[-1].step.rank != 1:
        rank = rows[-1].step.rank
        return f"{quoted(token)} is not the most probable token even at the end: its rank is {rank}."
    first = max((place + 1 for place, row in enumerate(rows) if row.step.rank != 1), default=0)
    if rows[first].layer is None:
        return f"{quoted(token)} is the most probable token from the embeddings on."
    return (
        f"{quoted(token)} is the most probable token from the {rows[first].sublayer} of layer "
        f"**{rows[first].layer}** on."
    )


def _decoder_lens(asked: Asked) -> None:
    st.header("What does each encoder layer know?")
    if asked.loaded.model.config.kind != "encoder-decoder":
        st.caption("This needs a decoder that reads an encoder, which this model doesn't have.")
        return
    prose(
        "DecoderLens (Langedijk et al. 2023): the decoder reads an earlier layer of the encoder in place of "
        "the last, through the encoder's final norm if there is one, and writes. What it already gets right, "
        "the encoder knows by that layer."
    )
    rows: list[DecoderLensRow] = asked.answer(
        "decoder lens",
        "Reading the encoder layer by layer",
        lambda report: decoder_lens(asked.loaded, asked.run, report),
    )
    own = asked.run.translation
    same = [row.layer for row in rows if row.text == own]
    st.markdown(_same(same))
    st.dataframe(
        pd.DataFrame(
            {
                "encoder layer": ["embeddings" if row.layer is None else str(row.layer) for row in rows],
                "what the decoder writes": [visible(row.text, 300) for row in rows],
                "log-probability of this run's output (nats)": [
                    number(row.log_probability, 2) for row in rows
                ],
            }
        ),
        key="why_decoder_lens",
        hide_index=True,
        height="content",
    )
    st.caption(
        "One row per encoder layer that the decoder reads. On the right, how probable this run's output is "
        "from there: all its words and its end together."
    )
    computed_by(decoder_lens)


def _same(layers: list[int | None]) -> str:
    if not layers:
        return "No layer makes the decoder write exactly the output above, which was not its own choice."
    named = ", ".join("the embeddings" if layer is None else f"layer {layer}" for layer in layers)
    return f"The decoder writes the same as in this run when it reads {named}."
