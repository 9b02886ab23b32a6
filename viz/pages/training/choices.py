"""What is to be trained: the choices of a live training run, each with what it means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from transformer.model.config import NormPosition
from transformer.training.live.plan import LivePlan, Schedule, TaskName
from viz.attention_maps import Attention
from viz.pages.shared.attention_words import look_for
from viz.widgets import (
    Option,
    clamp_choice,
    follow_default,
    pick_from_buttons,
    pick_from_list,
    pick_seed,
)

TASKS: dict[TaskName, str] = {
    "reverse": "Reverse",
    "copy": "Copy",
    "sort": "Sort",
    "toy-en-it": "Translate",
}
NOTES: dict[TaskName, str] = {
    "reverse": "Digits and letters come back from the last to the first. The right cross-attention is known: "
    "a path from the upper right to the lower left. Some hundred updates are enough to see it.",
    "copy": "Digits and letters come back as they are. The right cross-attention is known: a path from the "
    "upper left to the lower right. The quickest to learn.",
    "sort": "Digits come back in order, then letters in order. No fixed path is right: the model must look "
    "for the symbol that comes next, wherever it stands.",
    "toy-en-it": "Simple English sentences become Italian ones: the task of the shipped toy-en-it. The "
    "vocabulary is large and the grammar is real, so it takes several thousand updates.",
}
CROSS: dict[str, str] = {
    "reverse": "a path from the upper right to the lower left: to write the next symbol, the model looks at "
    "the one before the last that it wrote. `<eos>` has no symbol left and may look anywhere.",
    "copy": "a path from the upper left to the lower right: to write the next symbol, the model looks at "
    "the one behind the last that it wrote. `<eos>` has no symbol left and may look anywhere.",
    "sort": "rows with one strong cell each, in no fixed path: the next symbol in order, wherever it stands. "
    "Change the order of your symbols, and the path changes with it.",
}
"""What there is to be found in the cross-attention of the tasks of digits and letters."""
SELF_ATTENTION: dict[Attention, str] = {
    "encoder": "stripes beside the diagonal, which tell a symbol where it stands; or columns that all rows "
    "share. A task of one symbol at a time needs little of this: compare it with what it was at the start.",
    "decoder": "the diagonal and the stripe under it: the last symbol written says which one is next. In "
    "sort, a row may look at several, to know what has been written already.",
}

LAYERS, HEADS, D_MODELS = (1, 2, 3, 4), (1, 2, 4, 8), (32, 64, 128)
STEPS = (200, 500, 1_000, 2_000, 5_000, 10_000)
RATES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
NORMS: dict[NormPosition, str] = {"pre": "Pre-norm", "post": "Post-norm, as in the paper"}
SCHEDULES: dict[Schedule, str] = {
    "linear": "Falls in a straight line",
    "cosine": "Falls along half a cosine",
    "inverse-root": "Falls with the root of the step, as in the paper",
}


def what_to_look_for(task: TaskName, attention: Attention) -> str:
    """Say what there is to be found in an attention of a model that learns a task."""
    if task == "toy-en-it":
        return look_for(attention, "word")
    return CROSS[task] if attention == "cross" else SELF_ATTENTION[attention]


def pick_task() -> TaskName:
    """Draw the picker of the task."""
    task = pick_from_buttons("Task", TASKS, key="task")
    st.caption(NOTES[task])
    return task


def pick_plan(task: TaskName) -> LivePlan:
    """Draw the pickers of everything else."""
    plain = LivePlan(task=task)
    columns = iter(st.columns(5))
    layers = _pick(
        "Layers", LAYERS, plain.n_layers, "layers", next(columns), "Of the encoder, and of the decoder."
    )
    heads = _pick(
        "Heads", HEADS, plain.n_heads, "heads", next(columns),
        "In each layer. They share the width between them.",
    )  # fmt: skip
    d_model = _pick(
        "d_model", D_MODELS, plain.d_model, "width", next(columns),
        "Width: how many numbers stand for a token.",
    )  # fmt: skip
    steps = _pick(
        "Updates", STEPS, 5_000 if task == "toy-en-it" else 1_000, "steps", next(columns),
        "How often the weights are moved. The learning rate falls to almost 0 at the last one.",
    )  # fmt: skip
    rate = _pick(
        "Learning rate", RATES, plain.peak_rate, "rate", next(columns),
        "The highest one: how far an update moves the weights. Too low learns slowly, too high wanders about "
        "or breaks down. Try both: that is what this page is for.",
    )  # fmt: skip
    with st.expander("More choices"):
        left, middle, right = st.columns(3)
    norm = _pick(
        "Layer norm", list(NORMS), plain.norm_position, "norm", left,
        "Before each sublayer, or behind it. Post-norm is harder to train.", NORMS.__getitem__,
    )  # fmt: skip
    schedule = _pick(
        "Learning rate, after its rise", list(SCHEDULES), plain.schedule, "schedule", middle,
        "It rises during the first tenth of the updates.", SCHEDULES.__getitem__,
    )  # fmt: skip
    seed = pick_seed(
        "Seed",
        key="train_seed",
        where=right,
        value=plain.seed,
        help="Of the first weights and the sentences: the same seed trains the same model.",
    )
    return LivePlan(
        task=task,
        n_layers=layers,
        n_heads=heads,
        d_model=d_model,
        norm_position=norm,
        steps=steps,
        peak_rate=rate,
        schedule=schedule,
        seed=seed,
    )


def _pick(
    label: str,
    options: Sequence[Option],
    default: Option,
    name: str,
    where: DeltaGenerator,
    note: str,
    format_func: Callable[[Any], str] = "{:,}".format,
) -> Option:
    """Draw a list that goes along with the task's default until the user chooses something else."""
    key = f"train_{name}"
    clamp_choice(key, options)
    follow_default(key, default)
    return pick_from_list(
        label, options, key=key, default=default, where=where, help=note, format_func=format_func
    )
