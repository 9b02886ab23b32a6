"""Relative positions: the bias by distance that each head of the chosen model adds to its scores."""

from __future__ import annotations

import streamlit as st

from transformer.analysis.attention_maps import stacks
from transformer.analysis.positions import biases_of, relative_bias
from transformer.model.positions import distance_buckets
from transformer.model.trace import Stack
from viz.figures.numbers import number
from viz.pages.shared.explain import explain
from viz.pages.shared.figure import show
from viz.pages.shared.sentence import SentenceRun
from viz.run_figures.positions import bias_figure
from viz.widgets import HEAD, pick, pick_button


@st.fragment
def bias_section(sentence: SentenceRun) -> None:
    """Draw the biases of one stack; a choice in the section redraws only this section."""
    st.header("Positions in the chosen model")
    trace, model = sentence.run.trace, sentence.loaded.model
    stack, head = _pick(stacks(trace), sentence.config.n_heads)
    table = relative_bias(model, stack)
    distances, buckets, _ = biases_of(model, stack)
    n_tokens = len(trace.tokens(stack)[0])
    distance = _pick_distance(n_tokens, both_ways=stack == "encoder")
    path = f"{stack}.layers.0.self_attn.position_bias"
    query, key = (0, distance) if distance > 0 else (-distance, 0)
    added = float(trace[path][0, head, query, key])
    farthest = table.max_distance
    bucket = int(buckets[distances.tolist().index(max(-farthest, min(distance, farthest)))])
    explain(
        what=f"Each head of the {stack} adds a relative bias to the score of a query and a key: a learned "
        "number that depends only on their distance and is the same in all layers. A head has "
        f"{len(table.weight)} of them: short distances have one each, longer ones share theirs in ever wider "
        f"buckets, and all from {table.max_distance} on share the last (Raffel et al. 2020, section 2.1).",
        formula=r"\begin{gathered} \text{score}_{ij} = q_i \cdot k_j + b_{\text{bucket}(j - i)} \\ "
        rf"i = {query}, \; j = {key}: \quad j - i = {distance}, \quad \text{{bucket }} {bucket}, \quad "
        rf"b = {number(added, 4)} \text{{ (head {head})}} \end{{gathered}}",
        look="heads with a peak at a distance of one or two, which find neighbours by position alone; and "
        "flat ones, which ignore distance. A difference of 1 between two keys makes the weight of "
        "one of them e = 2.72 times that of the other.",
        computed=distance_buckets,
        path=path,
    )
    show(
        bias_figure(model, stack, theme=sentence.theme, marked=distance),
        name=f"position-bias-{stack}",
        caption=f"One line per head of the {stack}; on the left the key comes before the query. The dotted "
        f"line marks the distance in the formula, {distance}.",
        key="position_bias",
    )


def _pick(present: list[Stack], n_heads: int) -> tuple[Stack, int]:
    left, right = st.columns(2)
    labels = {stack: stack.capitalize() for stack in present}
    stack = pick_button(left.segmented_control, "Which stack", labels, key="bias_stack")
    return stack, HEAD.pick_head(right.selectbox, n_heads, "Head in the formula")


def _pick_distance(n_tokens: int, *, both_ways: bool) -> int:
    if n_tokens == 1:
        return 0
    distances = range(1 - n_tokens, n_tokens if both_ways else 1)
    label = "Distance in the formula: the key's position minus the query's"
    nearest = max(-1, distances[0])
    return pick(st.select_slider, label, distances, value=nearest, key="bias_distance")
