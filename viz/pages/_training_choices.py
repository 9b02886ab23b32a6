"""What is to be trained: the choices of a live training, each with what it means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from transformer.training.live.choices import live_plan
from transformer.training.plan import TaskName, TrainingPlan
from viz.arrays import Attention
from viz.pages._attention_words import look_for
from viz.session import clamp_choice, follow_default

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
NORMS = {"pre": "Pre-norm", "post": "Post-norm, as in the paper"}
SCHEDULES = {
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
    task: TaskName = st.segmented_control(
        "Task",
        list(TASKS),
        default="reverse",
        required=True,
        format_func=TASKS.__getitem__,
        key="task",
        bind="query-params",
    )
    st.caption(NOTES[task])
    return task


def pick_plan(task: TaskName) -> TrainingPlan:
    """Draw the pickers of everything else."""
    plain = live_plan(task)
    sizes = plain.model
    columns = iter(st.columns(5))
    with next(columns):
        layers = _pick(
            "Layers",
            LAYERS,
            plain.model.n_encoder_layers,
            "train_layers",
            "Of the encoder, and of the decoder.",
        )
    with next(columns):
        heads = _pick(
            "Heads",
            HEADS,
            sizes.n_heads,
            "train_heads",
            "In each layer. They share the width between them.",
        )
    with next(columns):
        d_model = _pick(
            "d_model",
            D_MODELS,
            sizes.d_model,
            "train_width",
            "Width: how many numbers stand for a token.",
        )
    with next(columns):
        steps = _pick(
            "Updates",
            STEPS,
            1_000 if task != "toy-en-it" else 5_000,
            "train_steps",
            "How often the weights are moved. The learning rate falls to almost 0 at the last one.",
        )
    with next(columns):
        rate = _pick(
            "Learning rate",
            RATES,
            plain.updates.peak,
            "train_rate",
            "The highest one: how far an update moves the weights. Too low learns slowly, too high "
            "wanders about or breaks down. Try both: that is what this page is for.",
        )
    with st.expander("More choices"):
        left, middle, right = st.columns(3)
        with left:
            norm = _pick(
                "Layer norm", list(NORMS), sizes.norm_position, "train_norm",
                "Before each sublayer, or behind it. Post-norm is harder to train.", NORMS.__getitem__,
            )  # fmt: skip
        with middle:
            schedule = _pick(
                "Learning rate, after its rise", list(SCHEDULES), plain.updates.schedule, "train_schedule",
                "It rises during the first tenth of the updates.", SCHEDULES.__getitem__,
            )  # fmt: skip
        seed = right.number_input(
            "Seed", 0, 2**31 - 1, plain.updates.seed, key="train_seed", bind="query-params",
            help="Of the first weights and the sentences: the same seed trains the same model.",
        )  # fmt: skip
    return live_plan(
        task,
        n_layers=layers,
        n_heads=heads,
        d_model=d_model,
        norm_position=norm,
        steps=steps,
        peak=rate,
        schedule=schedule,
        seed=seed,
    )


def _pick(
    label: str, options: Sequence[Any], default: Any, key: str, note: str, name: Any = "{:,}".format
) -> Any:
    clamp_choice(key, options)
    follow_default(key, default)
    return st.selectbox(
        label,
        options,
        index=options.index(default),
        format_func=name,
        key=key,
        bind="query-params",
        help=note,
    )
