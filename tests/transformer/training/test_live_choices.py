"""The choices of a live training run: refused in words if they can't be met, saved exactly."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch

from transformer.data.tasks import TASKS
from transformer.training.live.choices import live_plan
from transformer.training.plan import PlanError, TrainingPlan
from transformer.training.prepare import new_model, task_coders


@pytest.mark.parametrize(
    "choice, message",
    [
        ({"task": "chess"}, "task is 'chess': choose one of toy-en-it, copy, reverse, sort"),
        ({"norm_position": "middle"}, "norm_position is 'middle'"),
        ({"schedule": "falling"}, "schedule is 'falling'"),
        ({"steps": 0}, "steps is 0: it must be a whole number from 1 to 20,000"),
        ({"steps": 20_001}, "steps is 20001"),
        ({"n_layers": True}, "n_layers is True"),
        ({"seed": -1}, "seed is -1"),
        ({"d_model": 64.0}, "d_model is 64.0"),
        ({"peak": 0.0}, "peak is 0.0: it must be above 0 and at most 1"),
        ({"peak": float("nan")}, "peak is nan"),
        ({"peak": "high"}, "peak is 'high'"),
        ({"d_model": 30, "n_heads": 4}, "d_model 30 can't be split into 4 equal heads"),
        ({"d_model": 15, "n_heads": 3}, "is odd"),
        ({"leak": "base-1000"}, "leak is 'base-1000': choose one of .*no-causal-mask.*, or none"),
        ({"leak": "../<b>"}, "leak is '../<b>'"),
    ],
    ids=str,
)
def test_choices_that_cannot_be_met_are_refused_in_words(choice: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        live_plan(**choice)


def test_a_plan_comes_back_from_json() -> None:
    plan = live_plan("sort", n_layers=1, norm_position="post", steps=7, schedule="cosine", seed=5)
    values = json.loads(json.dumps(plan.to_dict()))
    assert TrainingPlan.from_dict(values) == plan
    values["model"]["mistake"] = values["model"].pop("leak")  # as an earlier version wrote it
    assert TrainingPlan.from_dict(values) == plan


@pytest.mark.parametrize("name", ["copy", "reverse", "sort"])
def test_typed_symbols_are_read_one_by_one(name: str) -> None:
    task = TASKS[name]
    assert task.spell("dacb") == task.spell(" d a  c\tb ") == "d a c b"
    encoded = task_coders(task)[0].encode(task.spell("DaC7É"))
    assert encoded.tokens == ["d", "a", "c", "7", "É"]
    assert encoded.unknown == [False, False, False, False, True]


def test_sentences_of_words_stay_as_they_are_typed() -> None:
    assert TASKS["toy-en-it"].spell(" The  cat sees. ") == "The cat sees."


@pytest.mark.parametrize("norm_position", ["pre", "post"])
def test_the_model_has_the_sizes_of_the_plan(norm_position: Any) -> None:
    plan = live_plan(d_model=12, n_heads=3, n_layers=4, norm_position=norm_position)
    coders = task_coders(TASKS["reverse"])
    config = new_model(plan, "reverse", coders, torch.Generator().manual_seed(0)).model.config
    assert (config.d_model, config.n_heads, config.d_ff) == (12, 3, 48)
    assert config.n_encoder_layers == config.n_decoder_layers == 4
    assert (config.norm_position, config.final_norm) == (norm_position, norm_position == "pre")


@pytest.mark.parametrize("schedule", ["linear", "cosine", "inverse-root"])
def test_the_rate_rises_to_its_peak_in_a_tenth_of_the_steps_and_falls(schedule: Any) -> None:
    rate = live_plan(steps=50, peak=0.01, schedule=schedule).updates.rate(64)
    rates = [rate(step) for step in range(1, 51)]
    assert rates[:5] == sorted(rates[:5])
    assert rates[4] == max(rates) == pytest.approx(0.01)
    assert rates[4:] == sorted(rates[4:], reverse=True)
