"""Biases by distance, learned or linear, that each head of the chosen model adds to its scores."""

from __future__ import annotations

import streamlit as st

from transformer.analysis.attention_maps import stacks
from transformer.analysis.positions import position_bias
from transformer.model.positions import LinearBias, RelativeBias, distance_buckets
from transformer.model.trace import Stack
from viz.figures.numbers import number, span
from viz.pages.shared.explain import explain
from viz.pages.shared.figure import show
from viz.pages.shared.sentence import SentenceRun
from viz.run_figures.positions import bias_figure
from viz.widgets import HEAD, pick, pick_button

WEIGHTS = (
    "A difference of 1 between two keys makes the weight of one of them e = 2.72 times that of the other."
)


@st.fragment
def bias_section(sentence: SentenceRun) -> None:
    """Draw the biases of one stack or layer; a choice in the section redraws only this section."""
    st.header("Positions in the chosen model")
    trace, model = sentence.run.trace, sentence.loaded.model
    stack, layer, head = _pick(sentence)
    bias = position_bias(model, stack, layer)
    distance = _pick_distance(len(trace.tokens(stack)[0]), both_ways=stack == "encoder")
    path = f"{stack}.layers.{layer}.self_attn.position_bias"
    query, key = (0, distance) if distance > 0 else (-distance, 0)
    added = number(float(trace[path][0, head, query, key]), 4)
    place = rf"i = {query}, \; j = {key}: \quad"
    if isinstance(bias, RelativeBias):
        own = sentence.config.relative_bias_per_layer
        reach = bias.max_distance
        bucket = int(bias.buckets[max(-reach, min(distance, reach)) + reach])
        of_layer = ", and each layer has its own" if own else " and is the same in all layers"
        explain(
            what=f"Each head of the {stack} adds a relative bias to the score of a query and a key: a "
            f"learned number that depends only on their distance{of_layer}. A head has "
            f"{len(bias.weight)} of them: short distances have one each, longer ones share theirs in ever "
            f"wider buckets, and all from {reach} on share the last (Raffel et al. 2020, section 2.1).",
            formula=r"\begin{gathered} \text{score}_{ij} = q_i \cdot k_j + b_{\text{bucket}(j - i)} \\ "
            rf"{place} j - i = {distance}, \quad \text{{bucket }} {bucket}, \quad "
            rf"b = {added} \text{{ (head {head})}} \end{{gathered}}",
            look="heads with a peak at a distance of one or two, which find neighbours by position alone; "
            f"and flat ones, which ignore distance. {WEIGHTS}",
            computed=distance_buckets,
            path=path,
        )
    else:
        slopes = bias.slopes.float().cpu().numpy()
        explain(
            what=f"From the score of a query and a key each head of the {stack} subtracts their distance "
            f"times its slope, {span(slopes, 4)} in these heads: numbers that are not learned, the same in "
            "all layers. So near keys count more, and the model can read texts longer than those it was "
            "trained on (ALiBi, Press et al. 2022, section 3).",
            formula=r"\begin{gathered} \text{score}_{ij} \mathrel{-}= m_h \, |i - j| \\ "
            rf"{place} |i - j| = {abs(distance)}, \quad m_{{{head}}} = {number(float(slopes[head]), 4)}, "
            rf"\quad \text{{added: }} {added} \end{{gathered}}",
            look="steep heads, which see little more than the last few tokens, and flat ones, which can look "
            f"far back. {WEIGHTS}",
            computed=LinearBias.forward,
            path=path,
        )
    show(
        bias_figure(model, stack, layer, theme=sentence.theme, marked=distance),
        name=f"position-bias-{stack}",
        caption=f"One line per head of the {stack}; on the left the key comes before the query. The dotted "
        f"line marks the distance in the formula, {distance}.",
        key="position_bias",
    )


def _pick(sentence: SentenceRun) -> tuple[Stack, int, int]:
    trace, config = sentence.run.trace, sentence.config
    left, middle, right = st.columns(3)
    labels = {stack: stack.capitalize() for stack in stacks(trace)}
    stack = pick_button(left.segmented_control, "Which stack", labels, key="bias_stack")
    own = config.relative_bias_per_layer
    layer = HEAD.pick_layer(middle.selectbox, trace.n_layers(stack)) if own else 0
    head = HEAD.pick_head((right if own else middle).selectbox, config.n_heads, "Head in the formula")
    return stack, layer, head


def _pick_distance(n_tokens: int, *, both_ways: bool) -> int:
    if n_tokens == 1:
        return 0
    distances = range(1 - n_tokens, n_tokens if both_ways else 1)
    label = "Distance in the formula: the key's position minus the query's"
    nearest = max(-1, distances[0])
    return pick(st.select_slider, label, distances, value=nearest, key="bias_distance")
