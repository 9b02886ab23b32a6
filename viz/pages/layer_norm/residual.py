"""The residual stream through the layers of a run, and of two untrained models that differ in their norms."""

from __future__ import annotations

import streamlit as st

from transformer.analysis.attention_maps import stacks
from transformer.analysis.residual import stream_lengths
from transformer.model.config import TransformerConfig
from transformer.model.layers import DecoderLayer, EncoderLayer
from viz.figures.norms import growth
from viz.pages.layer_norm.words import NORMS
from viz.pages.shared.explain import explain
from viz.pages.shared.figure import show
from viz.pages.shared.sentence import SentenceRun
from viz.run_figures.norms import residual_figure
from viz.session import twin_run
from viz.widgets import pick_seed

MOST_PARAMETERS = 100_000_000
"""Up to this size, two more models with random weights are made; larger ones would fill memory."""


def _norm_position(config: TransformerConfig) -> tuple[str, str]:
    """Explain the position of the norms, and give the formula of one sublayer (section 3.1)."""
    words = NORMS[config.norm]
    weakened = "" if config.residual_scale == 1 else rf"{config.residual_scale:g} \cdot "
    if config.norm_position == "post":
        learned, at_first = ("γ", "γ is 1") if config.norm == "rms" else ("γ and β", "γ is 1 and β is 0")
        return (
            "This model is **post-norm**, as in the paper: the norm follows the sum, so after each "
            f"sublayer {learned} alone set the length of a token's vector (√d_model while {at_first}).",
            rf"x \leftarrow \text{{{words.name}}}(x + {weakened}\text{{Sublayer}}(x))",
        )
    if isinstance(config.final_norm, str):
        end = f"only the {config.final_norm} has a final norm that brings it back"
    else:
        end = "the final norm brings it back" if config.final_norm else "no final norm brings it back"
    if config.norm_position == "none":
        return (
            "This model has **no norms around its sublayers**: each reads the sum as it is, and the sum may "
            f"grow from layer to layer; {end}.",
            rf"x \leftarrow x + {weakened}\text{{Sublayer}}(x)",
        )
    if config.norm_position == "output":
        return (
            "This model norms the **output** of each sublayer before it is added. So γ sets the length of "
            "what is added; the sublayers read the sum as it is, and the sum itself is never "
            f"normalized; {end}.",
            rf"x \leftarrow x + {weakened}\text{{{words.name}}}(\text{{Sublayer}}(x))",
        )
    inner = rf"\text{{Sublayer}}(\text{{{words.name}}}(x))"
    if config.norm_position == "both":
        return (
            "This model has a norm **before and after** each sublayer: one of its input, one of its output. "
            "So γ sets the length of what is added, and the sum itself is never "
            f"normalized; {end}.",
            rf"x \leftarrow x + {weakened}\text{{{words.name}}}'({inner})",
        )
    if config.parallel_residual:
        return (
            "This model is **pre-norm**, with its sublayers in **parallel**: attention and feed-forward read "
            f"the same x, each through its own norm, and the sum itself is never normalized; {end}.",
            rf"x \leftarrow x + {weakened}\text{{Attention}}(\text{{{words.name}}}_1(x)) + "
            rf"{weakened}\text{{FFN}}(\text{{{words.name}}}_2(x))",
        )
    return (
        "This model is **pre-norm**: the norm stands before each sublayer and the sum itself is never "
        f"normalized, so the stream may grow from layer to layer; {end}.",
        rf"x \leftarrow x + {weakened}{inner}",
    )


@st.fragment
def residual_section(sentence: SentenceRun) -> None:
    """Draw how the stream of this run grows through each stack."""
    st.header("The residual stream along the layers")
    what, formula = _norm_position(sentence.config)
    trace = sentence.run.trace
    present = stacks(trace)
    _, lengths = stream_lengths(trace, present[0])
    explain(
        what=what,
        formula=rf"\begin{{gathered}} {formula} \\ \text{{{present[0]}, mean length of }} x: \; "
        rf"{lengths[0].mean():.2f} \to {lengths[-1].mean():.2f} \end{{gathered}}",
        look="which sublayers lengthen the stream most, and whether one token's vector outgrows the others.",
        computed=EncoderLayer.forward if present[0] == "encoder" else DecoderLayer.forward,
        path=", ".join(f"{stack}.layers.0.resid_pre, …" for stack in present),
    )
    each = st.toggle("Draw a line for each token", key="norm_tokens", bind="query-params")
    for stack in present:
        st.markdown(f"**{stack.capitalize()}**")
        show(
            residual_figure(trace, stack, each_token=each, theme=sentence.theme),
            name=f"residual-{stack}",
            caption=f"Euclidean length of the tokens' vectors in the {stack}, from its input to its "
            "last layer.",
            key=f"residual_{stack}",
        )


@st.fragment
def pre_and_post_section(sentence: SentenceRun) -> None:
    """Draw the stream of two untrained models of the same sizes, one pre-norm and one post-norm."""
    st.header("Pre-norm and post-norm before training")
    n_parameters = sum(weights.numel() for weights in sentence.loaded.model.parameters())
    if n_parameters > MOST_PARAMETERS:
        st.markdown(
            f"This model has {n_parameters / 1e6:.0f} million parameters: two random ones of its sizes would "
            "take too much of the server's memory. Choose a smaller model to compare them."
        )
        return
    present = stacks(sentence.run.trace)
    seed = pick_seed(st.number_input, "Seed of the random weights", key="norm_seed")
    with st.spinner("Running two random models …", show_time=True):
        twins = {f"{place}-norm": twin_run(*sentence.key, seed, place) for place in ("pre", "post")}
    streams = {name: stream_lengths(twin.trace, present[-1])[1] for name, twin in twins.items()}
    is_parallel = sentence.config.parallel_residual
    in_turn = " Unlike in the chosen model, their sublayers run in sequence." if is_parallel else ""
    explain(
        what="Two models of the chosen model's sizes, with the same random weights and the same "
        "sentence; they differ only in the position of their norms (pre-norm has a final norm after "
        f"its last layer).{in_turn} That one choice decides how deep a stack can be trained without a warmup "
        "(Xiong et al. 2020). For more layers, choose a random model in the sidebar.",
        formula=rf"\begin{{gathered}} \text{{{present[-1]}, mean length from input to last layer}} \\ "
        + r" \\ ".join(
            rf"\text{{{name}: }} {lengths[0].mean():.2f} \to {lengths[-1].mean():.2f} "
            rf"= {lengths[0].mean():.2f} \cdot {lengths[-1].mean() / lengths[0].mean():.2f}"
            for name, lengths in streams.items()
        )
        + r"\end{gathered}",
        look="the pre-norm stream, which every sublayer lengthens, and the post-norm one, which each norm "
        "brings back to the same length.",
        computed=DecoderLayer.residual,
    )
    for stack in present:
        points = stream_lengths(twins["pre-norm"].trace, stack)[0]
        lengths_of = {name: stream_lengths(twin.trace, stack)[1] for name, twin in twins.items()}
        st.markdown(f"**{stack.capitalize()}**")
        show(
            growth(points, lengths_of, theme=sentence.theme),
            name=f"pre-and-post-norm-{stack}",
            caption=f"Euclidean length of the tokens' vectors in the {stack} of both untrained models.",
            key=f"pre_post_{stack}",
        )
