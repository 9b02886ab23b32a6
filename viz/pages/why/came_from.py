"""Where the word came from: words taken away, and pictures judged by that."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from transformer.analysis.attribution.integrated_gradients import N_STEPS, Baseline
from transformer.analysis.attribution.pictures import CameFrom, Picture, PictureName, came_from, judged_words
from transformer.analysis.attribution.removal import MOST_SEARCHED
from transformer.analysis.interventions.knock_outs import KnockOut, word_effects
from viz.figures.bars import token_bars
from viz.figures.numbers import number
from viz.markdown import quoted
from viz.pages.shared.explain import computed_by, prose
from viz.pages.shared.figure import show, wide
from viz.pages.why.asked import Asked, asked_in_words
from viz.pages.why.effects import order_by_kind
from viz.pages.why.receipt import save_receipt
from viz.pages.why.source_or_prefix import source_or_prefix_part
from viz.run_figures.came_from import KNOCK_OUTS, NAMES, pictures_figure
from viz.widgets import pick_button

KNOCKED_OUT: dict[KnockOut, str] = {
    "unknown": "the unknown word",
    "mean": "the mean word",
    "masked": "nothing",
}
MEANINGS: dict[KnockOut, str] = {
    "unknown": "replaced by the embedding of `<unk>`",
    "mean": "replaced by the mean of all embeddings",
    "masked": "hidden from every attention",
}
BASELINES: dict[Baseline, str] = {"unknown": "unknown words", "zero": "zeros", "mean": "the mean word"}


@st.fragment
def came_from_section(asked: Asked) -> None:
    """Draw the section; a choice in it redraws only this section."""
    st.header("Where did it come from?")
    with st.container(horizontal=True):
        how = pick_button(
            st.container(width="content").segmented_control, "Replace a word by", KNOCKED_OUT, key="knock_out"
        )
        baseline = pick_button(
            st.container(width="content").segmented_control,
            "Integrated gradients begin with",
            BASELINES,
            key="baseline",
        )
    found: CameFrom = asked.answer(
        ("came from", asked.question, how, baseline),
        "Taking words away",
        lambda report: came_from(
            asked.loaded, asked.run, asked.question, how=how, baseline=baseline, on_progress=report
        ),
    )
    _knock_outs(asked, found, how)
    _pictures(asked, found)
    source_or_prefix_part(asked)


def _side(asked: Asked) -> str:
    return "source" if asked.run.encoder_input is not None and asked.run.decoder_input is not None else "text"


def _knock_outs(asked: Asked, found: CameFrom, how: KnockOut) -> None:
    words, effects = found.words[found.stack], found.effects[found.stack]
    best = int(np.argmax(effects))
    prose(
        f"Each word of the {_side(asked)} is taken away alone ({MEANINGS[how]}), and the model reads the "
        "rest again, with the output so far as it is. The bar is **how much the answer falls**: "
        f"{asked_in_words(asked)}, which is {number(asked.own_value, 2)} {asked.question.unit} in this run. "
        "This needs no theory of how the model works, so the pictures below are judged by it."
    )
    cost = f"{number(float(effects[best]), 2)} {asked.question.unit}"
    costliest = (
        f"{quoted(words.labels[best])} costs most: when it is {MEANINGS[how]}, the answer falls by {cost}."
        if effects[best] > 0
        else f"No word speaks for the answer: whichever is {MEANINGS[how]}, the answer doesn't fall."
    )
    st.markdown(costliest + _written(asked, found, max(float(effects[best]), 0.0)))
    with wide("why_words_taken", words.labels):
        show(
            token_bars(
                effects,
                words.labels,
                theme=asked.theme,
                quantity=f"fall of the answer ({asked.question.unit})",
                axis=f"word of the {_side(asked)} that is taken away",
            ),
            name="knock-outs",
            caption="Below 0: without the word, the answer would be higher.",
            key="why_knock_outs",
        )
    _prefix(asked, found)
    _by_kind(asked, found, how)
    computed_by(word_effects)
    save_receipt(asked, "words", how)


def _written(asked: Asked, found: CameFrom, cost: float) -> str:
    """Name the words already written that cost at least as much as the costliest word of the source."""
    if found.stack == "decoder" or "decoder" not in found.effects:
        return ""
    effects, labels = found.effects["decoder"], found.words["decoder"].labels
    words = judged_words(asked.run, asked.question, "decoder")
    dear = [word for word in words if effects[word] > 0 and effects[word] >= cost]
    dear.sort(key=lambda word: -effects[word])
    if not dear:
        return ""
    named = ", ".join(f"{quoted(labels[word])} ({number(float(effects[word]), 2)})" for word in dear)
    return f" Already written, and as costly or more: {named}."


def _by_kind(asked: Asked, found: CameFrom, how: KnockOut) -> None:
    """Say how much the order of the words depends on what replaces them."""
    words = found.words[found.stack]
    # In a decoder, words after the question's row can't have an effect, whatever replaces them.
    seen = slice(int(words.word_of[asked.question.rows[0]]) + 1 if found.stack == "decoder" else None)

    def effects(kind: KnockOut) -> NDArray[np.float64]:
        return asked.answer(
            ("words", asked.question, kind),
            "Taking words away",
            lambda report: word_effects(
                asked.loaded, asked.run, [asked.question], kind, stack=found.stack, on_progress=report
            )[:, 0].numpy(),
        )[seen]

    others = {name: effects(kind) for kind, name in KNOCKED_OUT.items() if kind != how}
    names = [quoted(one) for one in words.labels[seen]]
    order_by_kind("the word", found.effects[found.stack][seen], others, names)


def _prefix(asked: Asked, found: CameFrom) -> None:
    """Draw what the words cost that the model has already written, next to those of a source."""
    if found.stack == "decoder" or "decoder" not in found.effects:
        return
    row = asked.question.rows[0]
    labels = found.words["decoder"].labels[: int(found.words["decoder"].word_of[row]) + 1]
    with wide("why_prefix_taken", labels):
        show(
            token_bars(
                found.effects["decoder"][: len(labels)],
                labels,
                theme=asked.theme,
                quantity=f"fall of the answer ({asked.question.unit})",
                axis="word already written that is taken away",
            ),
            name="knock-outs-prefix",
            caption="The same for the words that the model has already written, which it reads as well.",
            key="why_prefix_knock_outs",
        )


def _pictures(asked: Asked, found: CameFrom) -> None:
    st.subheader("Which picture lies?")
    prose(
        "**Norms** are the lengths of the vectors that attention moves to this place (Kobayashi et al. 2020 "
        "and 2021). **ALTI+** follows them through all layers, by how near each one is to the block's output "
        "(Ferrando et al. 2022). **Integrated gradients** add up the answer's slope on the way from an "
        "empty sentence to this one (Sundararajan et al. 2017). **Rollout** multiplies attention weights "
        "(Abnar and Zuidema 2020). Only knock-outs and gradients can be negative, where a word works against "
        "the answer."
    )
    if "alti" not in found.pictures:
        st.info(
            "This model does not transpose its heads back before W_O, so no part of a sublayer's output "
            "belongs to one token: norms, ALTI+ and rollout don't apply."
        )
    with wide("why_pictures_of_words", found.words[found.stack].labels, [KNOCK_OUTS]):
        show(
            pictures_figure(found, theme=asked.theme),
            name="pictures",
            caption="Each row is coloured up to its own largest score, because the units differ: nats or "
            "logits, shares, and shares of a layer.",
            key="why_pictures",
        )
    st.markdown(verdict(found.pictures, found.naopc_band[1]))
    st.dataframe(_table(found), key="why_judged", hide_index=True, height="content")
    st.caption(_how_judged(found))
    error = found.gradients.completeness_error
    st.caption(
        f"Integrated gradients: source and prefix together sum to the answer minus the empty sentence's "
        f"({number(found.gradients.baseline_answer, 2)}), with an error of {number(error, 3)} after "
        f"{N_STEPS} steps, most of them where the slope changes abruptly: where a ReLU switches or attention "
        "turns from one word to another."
        + (
            " Where a router changes its choice of experts, the answer jumps, which no gradient shows."
            if asked.loaded.model.config.n_experts
            else ""
        )
    )
    computed_by(came_from)


def _table(found: CameFrom) -> pd.DataFrame:
    """One row per picture: how far its order agrees with the knock-outs, and how fast the answer falls."""
    rows = [(KNOCK_OUTS, "", "", "", _number(found.naopc))]
    for name, one in found.pictures.items():
        own = one.agreement
        rows.append(
            (
                NAMES[name],
                _number(own.kendall),
                f"{_number(own.band[0])} to {_number(own.band[1])}",
                _number(own.spearman),
                _number(one.naopc),
            )
        )
    columns = ["picture", "Kendall's τ", "τ of random orders", "Spearman's ρ", "NAOPC"]
    return pd.DataFrame(rows, columns=columns)


def _number(value: float) -> str:
    return "–" if math.isnan(value) else number(value, 2)


def verdict(pictures: dict[PictureName, Picture], random: float) -> str:
    """Say which pictures agree best and least with the knock-outs, and whether chance would do as well.

    Args:
        pictures: by name.
        random: the NAOPC that 95 % of random orders don't exceed; NaN if unknown.
    """
    known = {name: one for name, one in pictures.items() if not math.isnan(one.agreement.kendall)}
    if not known:
        return "The words can't be ranked: there are too few, or all count the same."
    better = [NAMES[name] for name, one in known.items() if one.agreement.kendall > one.agreement.band[1]]
    best = max(known, key=lambda name: (known[name].agreement.kendall, known[name].naopc))
    further = _least(known) + _by_naopc(known, best, random)
    told = f"Most like the knock-outs: **{NAMES[best]}** (τ {_number(known[best].agreement.kendall)})"
    if not better:
        return f"{told}, but no picture orders the words better than chance could.{further}"
    return f"{told}. Better than chance: {', '.join(better)}.{further}"


def _least(known: dict[PictureName, Picture]) -> str:
    """Name the picture that agrees least with the knock-outs, and compare it with random orders."""
    if len(known) < 2:
        return ""
    worst = min(known, key=lambda name: known[name].agreement.kendall)
    own = known[worst].agreement
    said = f" Least like them: **{NAMES[worst]}** (τ {_number(own.kendall)})"
    if own.kendall > own.band[1]:
        return f"{said}."
    tells = (
        "below the range of random orders, so on this sentence it tells less than chance"
        if own.kendall < own.band[0]
        else "within the range of random orders, so on this sentence it tells no more than chance"
    )
    return f"{said}, {tells}."


def _by_naopc(known: dict[PictureName, Picture], best: PictureName, random: float) -> str:
    """Say so if NAOPC prefers another picture than τ does."""
    first = max(known, key=lambda name: known[name].naopc)
    if not known[first].naopc > known[best].naopc:
        return ""
    chance = ", which random orders reach too" if known[first].naopc <= random else ""
    return (
        f" NAOPC disagrees: by it **{NAMES[first]}** is best ({_number(known[first].naopc)}{chance}), not "
        f"{NAMES[best]} ({_number(known[best].naopc)}). τ is about words taken away alone, NAOPC about words "
        "taken away one after the other."
    )


def _how_judged(found: CameFrom) -> str:
    low, high = found.naopc_band
    searched = "of all orders" if found.is_exact else "that a beam search finds"
    random = f"95 % of random orders: {_number(low)} to {_number(high)}."
    if math.isnan(low):
        random = f"It is not computed for more than {MOST_SEARCHED} words, or if all orders do the same."
    return (
        f"Judged on the {len(found.judged)} words of the sentence. τ and ρ: 1 if the picture orders the "
        "words as the knock-outs do, 0 if the orders are unrelated, −1 if one is the reverse of the other; "
        "95 % of random orders have a τ in the range given. NAOPC (Edin et al. 2024): words are taken away "
        "one after the other, the picture's highest first; 1 if the answer falls as fast as in the best "
        f"order {searched}, 0 if it falls as slowly as in the worst. {random} All this is about one sentence "
        "and one question; with few words, chance alone may agree well."
    )
