"""What is to be trained: the choices of a live training run, each with what it means."""

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
    "the one after the last that it wrote. `<eos>` has no symbol left and may look anywhere.",
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
LAYERS_NOTE = "Of the encoder, and of the decoder."
HEADS_NOTE = "In each layer. They share the width between them."
WIDTH_NOTE = "Width: how many numbers stand for a token."
STEPS_NOTE = "How often the weights are moved. The learning rate falls to almost 0 at the last one."
RATE_NOTE = (
    "The highest one: how far an update moves the weights. Too low learns slowly, too high wanders about or "
    "breaks down. Try both: that is what this page is for."
)
NORM_NOTE = "Before each sublayer, or after it. Post-norm is harder to train."
SCHEDULE_NOTE = "It rises during the first tenth of the updates."
SEED_NOTE = "Of the first weights and the sentences: the same seed trains the same model."
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
    task = pick_button(st.segmented_control, "Task", TASKS, key="task")
    st.caption(NOTES[task])
    return task


def pick_plan(task: TaskName) -> TrainingPlan:
    """Draw the pickers of everything else."""
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
    """Draw a list that goes along with the task's default until the user chooses something else.

    Of a mapping, the values are what is shown.
    """
    key, choices = f"train_{name}", list(options)
    follow_default(key, default)
    in_words = options.__getitem__ if isinstance(options, Mapping) else "{:,}".format
    index = choices.index(default)
    return pick(where.selectbox, label, choices, key=key, index=index, format_func=in_words, help=note)
