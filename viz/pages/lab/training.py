"""A training run with a leak, next to one without it."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from transformer.training.live.choices import live_plan
from transformer.training.live.folder import LearningCurves
from transformer.training.live.run import LiveTraining
from transformer.training.plan import TrainingPlan
from viz.pages.lab.mistakes.mistake import Mistake
from viz.pages.training.live import watch
from viz.widgets import in_a_row, pick_button

WITH, WITHOUT = "with", "without"
TRAINED = {WITH: "With the mistake", WITHOUT: "As it should be"}
STEPS = 600
"""Enough to learn Reverse almost perfectly, in less than a minute on most machines."""
_COURSES = "courses in the lab"


def leak_section(mistake: Mistake) -> None:
    """Draw a live run with or without the mistake, along with the other one's curves."""
    st.subheader("Train with it")
    st.markdown(
        "A model that is trained with this mistake sees the answers: its loss falls to nearly 0, and nothing "
        "it writes by itself is right. Train it on the task Reverse, then train the model as it should be, "
        "and compare the curves: the loss, and how many of 100 sentences come out right."
    )
    chosen = pick_button(in_a_row(), "Train the model", TRAINED, key="leak_trained")
    plan = live_plan("reverse", steps=STEPS, leak=mistake.name if chosen == WITH else "")
    watch(plan, other_course)


def other_course(training: LiveTraining) -> tuple[str, LearningCurves] | None:
    """The name and curves of the latest run that differs only in the mistake; None if there is none.

    Also stores this run's curves for the other.
    """
    kept: dict[str, tuple[TrainingPlan, LearningCurves]] = st.session_state.setdefault(_COURSES, {})
    own = training.plan.model.leak
    kept[own] = training.plan, training.curves()
    for mistake, (plan, curves) in kept.items():
        if mistake != own and _sound(plan) == _sound(training.plan):
            name = "with the mistake" if mistake else "as it should be"
            return name, curves
    return None


def _sound(plan: TrainingPlan) -> TrainingPlan:
    return replace(plan, model=replace(plan.model, leak=""))
