"""The choices of a live training run, each with an explanation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from transformer.analysis.attention_maps import Attention
from transformer.model.config import NormPosition
from transformer.training.live.choices import D_MODEL, N_HEADS, N_LAYERS, live_plan
from transformer.training.plan import Schedule, TaskName, TrainingPlan
from viz.pages.shared.attention_words import look_for
from viz.widgets import Option, follow_default, pick, pick_button, pick_seed

TASKS: dict[TaskName, str] = {"reverse": "Reverse", "copy": "Copy", "sort": "Sort", "toy-en-it": "Translate"}
NOTES: dict[TaskName, str] = {
    "reverse": "The output is the input in reverse. The right cross-attention is known: "
    "a path from the upper right to the lower left. A few hundred updates are enough to see it.",
    "copy": "The output is the input itself. The right cross-attention is known: a path from the "
    "upper left to the lower right. The quickest to learn.",
    "sort": "The output is the digits in order, then the letters in order. No fixed path is right: the model "
    "must find the next symbol wherever it is.",
    "toy-en-it": "Simple English sentences are translated to Italian, as by the shipped toy-en-it. The "
    "vocabulary is large and the grammar is real, so it takes several thousand updates.",
}
CROSS: dict[str, str] = {
    "reverse": "a path from the upper right to the lower left: to write the next symbol, the model looks at "
    "the one before the symbol that it wrote last. `<eos>` has no symbol left and may look anywhere.",
    "copy": "a path from the upper left to the lower right: to write the next symbol, the model looks at "
    "the one after the symbol that it wrote last. `<eos>` has no symbol left and may look anywhere.",
    "sort": "rows with one strong cell each and no fixed path: the next symbol in order, wherever it is. "
    "Change the order of your symbols, and the path changes with it.",
}
"""What to look for in the cross-attention, for the tasks with digits and letters."""
SELF_ATTENTION: dict[Attention, str] = {
    "encoder": "stripes next to the diagonal, from which a symbol learns its position; or columns that all "
    "rows share. A task of one symbol at a time needs little of this: compare it with the start of training.",
    "decoder": "the diagonal and the stripe below it: the last symbol written determines the next one. In "
    "sort, a row may look at several, to see what has been written already.",
}

LAYERS, HEADS, D_MODELS = (1, 2, 3, 4), (1, 2, 4, 8), (32, 64, 128)
STEPS = (200, 500, 1_000, 2_000, 5_000, 10_000)
RATES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
NORMS: dict[NormPosition, str] = {"pre": "Pre-norm", "post": "Post-norm, as in the paper"}
LAYERS_NOTE = "In the encoder and in the decoder."
HEADS_NOTE = "In each layer. They divide the width among them."
WIDTH_NOTE = "Width: the number of dimensions of a token's vector."
STEPS_NOTE = "How often the weights are updated. The learning rate falls to almost 0 by the last update."
RATE_NOTE = (
    "At its peak: how far an update moves the weights. Too low learns slowly, too high oscillates or "
    "diverges. Try both: that is what this page is for."
)
NORM_NOTE = "Before each sublayer or after it. Post-norm is harder to train."
SCHEDULE_NOTE = "It rises during the first tenth of the updates."
SEED_NOTE = "For the initial weights and the sentences: the same seed trains the same model."
SCHEDULES: dict[Schedule, str] = {
    "linear": "Falls in a straight line",
    "cosine": "Falls along half a cosine",
    "inverse-root": "Falls with the root of the step, as in the paper",
}


def what_to_look_for(task: TaskName, attention: Attention) -> str:
    """Say what to look for in an attention of a model that learns a task."""
    if task == "toy-en-it":
        return look_for(attention, "word")
    return CROSS[task] if attention == "cross" else SELF_ATTENTION[attention]


def pick_task() -> TaskName:
    """Draw the picker of the task."""
    task = pick_button(st.segmented_control, "Task", TASKS, key="task")
    st.caption(NOTES[task])
    return task


def pick_plan(task: TaskName) -> TrainingPlan:
    """Draw the pickers of all other choices."""
    plain = live_plan(task)
    norm, updates = plain.model.norm_position, plain.updates
    usual_steps = 5_000 if task == "toy-en-it" else 1_000
    one, two, three, four, five = st.columns(5)
    with st.expander("More choices"):
        left, middle, right = st.columns(3)
    return live_plan(
        task,
        n_layers=_pick(one, "Layers", LAYERS, N_LAYERS, "layers", LAYERS_NOTE),
        n_heads=_pick(two, "Heads", HEADS, N_HEADS, "heads", HEADS_NOTE),
        d_model=_pick(three, "d_model", D_MODELS, D_MODEL, "width", WIDTH_NOTE),
        steps=_pick(four, "Updates", STEPS, usual_steps, "steps", STEPS_NOTE),
        peak=_pick(five, "Learning rate", RATES, updates.peak, "rate", RATE_NOTE),
        norm_position=_pick(left, "Layer norm", NORMS, norm, "norm", NORM_NOTE),
        schedule=_pick(
            middle, "Learning rate, after its rise", SCHEDULES, updates.schedule, "schedule", SCHEDULE_NOTE
        ),
        seed=pick_seed(right.number_input, "Seed", key="train_seed", value=updates.seed, help=SEED_NOTE),
    )


def _pick(
    where: DeltaGenerator,
    label: str,
    options: Sequence[Option] | Mapping[Option, str],
    default: Option,
    name: str,
    note: str,
) -> Option:
    """Draw a list that follows the task's default until the user chooses another option.

    If the options are a mapping, its values are the labels.
    """
    key, choices = f"train_{name}", list(options)
    follow_default(key, default)
    in_words = options.__getitem__ if isinstance(options, Mapping) else "{:,}".format
    index = choices.index(default)
    return pick(where.selectbox, label, choices, key=key, index=index, format_func=in_words, help=note)
