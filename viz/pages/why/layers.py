"""What the model would have written at each layer: the logit lens, and DecoderLens for the encoder."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from transformer.analysis.lens import DecoderLensRow, LensRow, decoder_lens, logit_lens
from viz.figures.labels import visible
from viz.figures.numbers import number
from viz.figures.sums import term_bars
from viz.markdown import quoted
from viz.pages.shared.explain import computed_by, prose
from viz.pages.shared.figure import show
from viz.pages.why.asked import Asked

PLACES = ("most probable", "2nd", "3rd")


def layers_section(asked: Asked) -> None:
    """Draw the section."""
    _logit_lens(asked)
    _decoder_lens(asked)


def _logit_lens(asked: Asked) -> None:
    st.header("When does the word appear?")
    question = asked.question
    rows = logit_lens(asked.loaded, asked.run, question, top_k=len(PLACES))
    coder = asked.loaded.source if asked.run.decoder_input is None else asked.loaded.target
    token = visible(coder.token(question.ids[0]))
    rival = "" if question.rival_id is None else visible(coder.token(question.rival_id))
    prose(
        "The logit lens (nostalgebraist 2020) reads the residual stream after each sublayer as if it were "
        "the last: through the final norm, if any, and the generator. The last row is the model's "
        "own output. Earlier layers were not trained to be read like this: a word that is unlikely there may "
        "still be known."
    )
    st.markdown(_when(rows, token))
    if rival:
        _contest(asked, rows, token, rival)
    percent = st.column_config.ProgressColumn(format="percent", min_value=0.0, max_value=1.0)
    chances = {f"probability of {token}": [row.step.probability for row in rows]}
    if rival:
        chances[f"probability of {rival}"] = [row.rival.probability for row in rows if row.rival]
    table = pd.DataFrame(
        {
            "layer": ["–" if row.layer is None else str(row.layer) for row in rows],
            "after": [row.sublayer for row in rows],
            f"rank of {token}": [row.step.rank for row in rows],
            **chances,
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
        column_config=dict.fromkeys(chances, percent),
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


def _contest(asked: Asked, rows: list[LensRow], token: str, rival: str) -> None:
    """Draw which of the two words is ahead at each point, and by how much."""
    differences = np.array([row.difference for row in rows])
    ahead, other = (token, rival) if differences[-1] > 0 else (rival, token)
    since = rows[_settled(differences)]
    where = "the embeddings" if since.layer is None else f"the {since.sublayer} of layer **{since.layer}**"
    st.markdown(
        f"From {where} on, {quoted(ahead)} is ahead of {quoted(other)}. At the end the difference is "
        f"**{number(float(differences[-1]), 2)}** logits: the answer in this run."
    )
    show(
        term_bars(
            differences,
            [f"layer {row.layer} {row.sublayer}" if row.layer is not None else row.sublayer for row in rows],
            theme=asked.theme,
            quantity=asked.question.quantity,
            axis="read after",
        ),
        name="lens-difference",
        caption="The logit of the word minus that of its rival, as the logit lens reads them after each "
        "sublayer. To the right (orange): the word is ahead. To the left (blue): its rival is. From one bar "
        "to the next the final norm's scale changes too, so a step isn't the sublayer's term under Sums.",
        key="why_lens_difference",
    )


def _settled(differences: NDArray[np.float64]) -> int:
    """From where on the same of two words is ahead."""
    is_ahead = differences > 0
    others = np.flatnonzero(is_ahead != is_ahead[-1])
    return int(others[-1]) + 1 if len(others) else 0


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
        ("decoder lens", asked.question),
        "Reading the encoder layer by layer",
        lambda report: decoder_lens(asked.loaded, asked.run, asked.question, report),
    )
    own = asked.run.translation
    same = [row.layer for row in rows if row.text == own]
    question = asked.question
    answers = np.array([row.answer for row in rows])
    verdict = ""
    if question.rival_id is not None:
        words = (question.label, question.rival) if answers[-1] > 0 else (question.rival, question.label)
        preferred, other = map(quoted, words)
        verdict = f" From {_named(rows[_settled(answers)].layer)} on it prefers {preferred} to {other}."
    st.markdown(_same(same) + verdict)
    versus = f" minus {visible(question.rival)}" if question.rival_id is not None else ""
    st.dataframe(
        pd.DataFrame(
            {
                "encoder layer": ["embeddings" if row.layer is None else str(row.layer) for row in rows],
                "what the decoder writes": [visible(row.text, 300) for row in rows],
                f"{visible(question.label)}{versus} ({question.unit})": [
                    number(row.answer, 2) for row in rows
                ],
                "log-probability (nats)": [number(row.log_probability, 2) for row in rows],
            }
        ),
        key="why_decoder_lens",
        hide_index=True,
        height="content",
    )
    st.caption(
        "One row per encoder layer that the decoder reads. On the right, while it reads this run's output: "
        "the answer to the question above, and the log-probability of the whole output with its end."
    )
    computed_by(decoder_lens)


def _named(layer: int | None) -> str:
    return "the embeddings" if layer is None else f"layer {layer}"


def _same(layers: list[int | None]) -> str:
    if not layers:
        return "No layer makes the decoder write exactly the output above, which was not its own choice."
    named = ", ".join(map(_named, layers))
    return f"The decoder writes the same as in this run when it reads {named}."
