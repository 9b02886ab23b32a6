"""The choices of a live training: refused in words when no training can be made of them, kept exactly."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch

from transformer.training.live.plan import LivePlan, LivePlanError


@pytest.mark.parametrize(
    "choice, message",
    [
        ({"task": "chess"}, "task is 'chess': choose one of toy-en-it, copy, reverse, sort"),
        ({"norm_position": "middle"}, "norm_position is 'middle'"),
        ({"schedule": "falling"}, "schedule is 'falling'"),
        ({"steps": 0}, "steps is 0: it is a whole number from 1 to 20,000"),
        ({"steps": 20_001}, "steps is 20001"),
        ({"n_layers": True}, "n_layers is True"),
        ({"seed": -1}, "seed is -1"),
        ({"d_model": 64.0}, "d_model is 64.0"),
        ({"peak_rate": 0.0}, "peak_rate is 0.0: it must be above 0 and at most 1"),
        ({"peak_rate": float("nan")}, "peak_rate is nan"),
        ({"peak_rate": "high"}, "peak_rate is 'high'"),
        ({"d_model": 30, "n_heads": 4}, "d_model 30 can't be split into 4 equal heads"),
        ({"d_model": 15, "n_heads": 3}, "is odd"),
    ],
    ids=str,
)
def test_what_makes_no_training_is_refused_in_words(choice: dict[str, Any], message: str) -> None:
    with pytest.raises(LivePlanError, match=message):
        LivePlan(**choice)


def test_a_plan_comes_back_from_json() -> None:
    plan = LivePlan(task="sort", n_layers=1, norm_position="post", steps=7, schedule="cosine", seed=5)
    assert LivePlan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan
    for broken in ({}, plan.to_dict() | {"colour": "red"}):
        with pytest.raises(LivePlanError, match="not the choices"):
            LivePlan.from_dict(broken)


@pytest.mark.parametrize("task", ["copy", "reverse", "sort"])
def test_typed_symbols_are_read_one_by_one(task: Any) -> None:
    plan = LivePlan(task=task)
    assert plan.spell("dacb") == plan.spell(" d a  c\tb ") == "d a c b"
    encoded = plan.coders()[0].encode(plan.spell("DaC7É"))
    assert encoded.tokens == ["d", "a", "c", "7", "É"]
    assert encoded.unknown == [False, False, False, False, True]


def test_sentences_of_words_stay_as_they_are_typed() -> None:
    assert LivePlan(task="toy-en-it").spell(" The  cat sees. ") == "The cat sees."


@pytest.mark.parametrize("norm_position", ["pre", "post"])
def test_the_model_has_the_sizes_of_the_plan(norm_position: Any) -> None:
    plan = LivePlan(d_model=12, n_heads=3, n_layers=4, norm_position=norm_position)
    config = plan.new_model(torch.Generator().manual_seed(0)).model.config
    assert (config.d_model, config.n_heads, config.d_ff) == (12, 3, 48)
    assert config.n_encoder_layers == config.n_decoder_layers == 4
    assert (config.norm_position, config.final_norm) == (norm_position, norm_position == "pre")


@pytest.mark.parametrize("schedule", ["linear", "cosine", "inverse-root"])
def test_the_rate_rises_to_its_peak_in_a_tenth_of_the_steps_and_falls(schedule: Any) -> None:
    rate = LivePlan(steps=50, peak_rate=0.01, schedule=schedule).rate()
    rates = [rate(step) for step in range(1, 51)]
    assert rates[:5] == sorted(rates[:5])
    assert rates[4] == max(rates) == pytest.approx(0.01)
    assert rates[4:] == sorted(rates[4:], reverse=True)
