"""Relative positions: what each head of the loaded model adds to a score for the distance."""

from __future__ import annotations

import streamlit as st

from transformer.analysis.attention_maps import stacks
from transformer.analysis.positions import biases_of, relative_bias
from transformer.model.positions import distance_buckets
from transformer.model.trace import Stack
from transformer.run import Run
from viz.figures.numbers import number
from viz.pages.shared.explain import explain
from viz.pages.shared.figure import show
from viz.run_figures.positions import bias_figure
from viz.session import current_model, current_theme
from viz.widgets import HEAD, pick, pick_button


@st.fragment
def bias_section(run: Run) -> None:
    """Draw the biases of one stack; what is picked draws only this section again."""
    stack, head = _pick(stacks(run.trace))
    model = current_model().model
    table = relative_bias(model, stack)
    distances, buckets, _ = biases_of(model, stack)
    n_tokens = len(run.trace.tokens(stack)[0])
    distance = _pick_distance(n_tokens, both_ways=stack == "encoder")
    path = f"{stack}.layers.0.self_attn.position_bias"
    query, key = (0, distance) if distance > 0 else (-distance, 0)
    added = float(run.trace[path][0, head, query, key])
    farthest = table.max_distance
    bucket = int(buckets[distances.tolist().index(max(-farthest, min(distance, farthest)))])
    explain(
        what=f"To the score of a query and a key each head of the {stack} adds a relative bias: a number "
        "that depends on their distance alone, the same in all of its layers. It was learned: "
        f"{len(table.weight)} numbers a head. Near distances have one each; farther ones share theirs in "
        f"ever wider buckets, and all from {table.max_distance} on the last one (Raffel et al. 2020, section "
        "2.1).",
        formula=r"\begin{gathered} \text{score}_{ij} = q_i \cdot k_j + b_{\text{bucket}(j - i)} \\ "
        rf"i = {query}, \; j = {key}: \quad j - i = {distance}, \quad \text{{bucket }} {bucket}, \quad "
        rf"b = {number(added, 4)} \text{{ (head {head})}} \end{{gathered}}",
        look="heads with a peak at a distance of one or two, which look at neighbours by position alone; and "
        "flat ones, to which all distances are equal. A difference of 1 between two keys makes the weight of "
        "one of them e = 2.72 times that of the other.",
        computed=distance_buckets,
        path=path,
    )
    show(
        bias_figure(model, stack, theme=current_theme(), marked=distance),
        name=f"position-bias-{stack}",
        caption=f"A line is a head of the {stack}; to the left the key stands before the query. The dotted "
        f"line is the distance of the formula, {distance}.",
        key="position_bias",
    )


def _pick(sides: list[Stack]) -> tuple[Stack, int]:
    left, right = st.columns(2)
    labels = {stack: stack.capitalize() for stack in sides}
    stack = pick_button(left.segmented_control, "Which stack", labels, key="bias_stack")
    return stack, HEAD.pick_head(right.selectbox, current_model().model.config.n_heads, "Head of the formula")


def _pick_distance(n_tokens: int, *, both_ways: bool) -> int:
    if n_tokens == 1:
        return 0
    distances = range(1 - n_tokens, n_tokens if both_ways else 1)
    label = "Distance of the formula: key's position minus query's"
    nearest = max(-1, distances[0])
    return pick(st.select_slider, label, distances, value=nearest, key="bias_distance")
