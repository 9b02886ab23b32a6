"""Which weights to use when a trainer saved several sets: found, assembled, or asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.transformer.checkpoints.importing.families.foreign import randomized
from tests.transformer.checkpoints.reading.crafted import read_saved
from transformer.checkpoints.opening import open_checkpoint
from transformer.checkpoints.survey import survey_checkpoint
from transformer.errors import CheckpointError


def weights(value: float = 1.0) -> dict[str, Tensor]:
    return {"layer.weight": torch.full((2, 3), value), "layer.bias": torch.full((2,), value)}


def wrapped(**states: dict[str, Tensor]) -> dict[str, Any]:
    """The same weights under DataParallel's names, with what AveragedModel adds."""
    module = {f"module.{name}": weight for name, weight in weights().items()}
    return {**states, "ema": {"n_averaged": torch.tensor(3), **module}}


ASKED: dict[str, tuple[Any, tuple[str, ...]]] = {
    "ema beside": ({"model": weights(), "ema": weights()}, ("model", "ema")),
    "ema first": ({"model_ema": weights(), "state_dict": weights()}, ("state_dict", "model_ema")),
    "of timm": ({"state_dict": weights(), "state_dict_ema": weights()}, ("state_dict", "state_dict_ema")),
    "wrapped": (wrapped(model=weights()), ("model", "ema")),
    "three": (
        {"ema": weights(), "model": weights(), "swa_model": weights()}, ("model", "ema", "swa_model"),
    ),
    "teacher and student": ({"teacher": weights(), "student": weights()}, ("student", "teacher")),
    "best and last": ({"best": weights(), "last": weights()}, ("best", "last")),
    "by other names": ({"run_a": weights(), "run_b": weights(), "epoch": 3}, ("run_a", "run_b")),
    "in a list": ([weights(), weights()], ("0", "1")),
    "modules": ({"model": nn.Linear(2, 3), "ema": nn.Linear(2, 3)}, ("model", "ema")),
    "one inside": ({"model": {"state_dict": weights()}, "ema": weights()}, ("model", "ema")),
}  # fmt: skip


@pytest.mark.parametrize("name", ASKED)
def test_several_of_the_same_names_and_shapes(tmp_path: Path, name: str) -> None:
    value, choices = ASKED[name]
    assert read_saved(value, tmp_path).choices == choices
    for number, key in enumerate(choices):
        found = read_saved(value, tmp_path, wanted=key.lower())
        assert len(found.tensors) in (2, 3)
        assert key not in found.left_out
        assert {key for key in choices if key in found.left_out} == {
            *choices[:number],
            *choices[number + 1 :],
        }


TOGETHER: dict[str, tuple[Any, set[str]]] = {
    "parts of one model": (
        {"encoder": weights(), "decoder": weights()},
        {f"{part}.layer.{end}" for part in ("encoder", "decoder") for end in ("weight", "bias")},
    ),
    "two that are not alike": (
        {"generator": weights(), "discriminator": {"layer.weight": torch.ones(4)}},
        {"generator.layer.weight", "generator.layer.bias", "discriminator.layer.weight"},
    ),
    "layers": (
        {"lin1": {"weight": torch.ones(2)}, "lin2": {"weight": torch.ones(2)}},
        {"lin1.weight", "lin2.weight"},
    ),
    "an average alone": ({"ema": weights(), "epoch": 3}, set(weights())),
    "an average of another form": (
        {"model": weights(), "ema": {"decay": 0.9, "shadow": [torch.ones(2)]}}, set(weights()),
    ),
    "a tuple with an epoch": ((weights(), 3), set(weights())),
    "a list with an optimizer": (
        [{"model": weights()}, {"state": {0: torch.ones(1)}, "param_groups": []}], set(weights()),
    ),
    "a tuple with more to resume": ((weights(), {"kept": torch.ones(2), "epoch": 3}), set(weights())),
    "a state dict with such names": ({**weights(), "ema": torch.ones(1), "model": torch.ones(1)}, {
        *weights(), "ema", "model",
    }),
}  # fmt: skip


@pytest.mark.parametrize("name", TOGETHER)
def test_there_is_no_choice(tmp_path: Path, name: str) -> None:
    value, names = TOGETHER[name]
    found = read_saved(value, tmp_path)
    assert found.choices == ()
    assert found.tensors.keys() == names


def test_what_is_beside_in_a_tuple_is_kept(tmp_path: Path) -> None:
    assert read_saved((weights(), 3, {"lr": 0.1}), tmp_path).extras == {"1": 3, "2": {"lr": 0.1}}


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_the_answer_decides_whose_numbers_are_read(tmp_path: Path) -> None:
    """From the file to the model, by the question in the report."""
    trained, mean = (randomized(nn.Transformer(8, 2, 1, 2, 16), seed=seed) for seed in (0, 1))
    path = tmp_path / "last.pt"
    torch.save({"model": trained.state_dict(), "ema": mean.state_dict()}, path)
    survey = survey_checkpoint(path)
    question = survey.report.questions[0]
    assert (question.name, question.value, question.answered) == ("weights", "model", False)
    assert [option.value for option in question.options] == ["model", "ema"]
    for answer, theirs in ({}, trained), ({"weights": "EMA"}, mean), ({"weights": "model"}, trained):
        imported = open_checkpoint(path, answers={"n_heads": 2, **answer})
        assert imported.loaded is not None
        ours = imported.loaded.model.get_parameter("decoder.layers.1.feed_forward.w_1.weight")
        assert torch.equal(ours, theirs.decoder.layers[1].linear1.weight)  # type: ignore[union-attr,index]
    assert survey_checkpoint(path, answers={"weights": "ema"}).report.questions[0].value == "ema"
    for wrong in ("mean", 7, None):
        with pytest.raises(CheckpointError, match="is not an answer to weights: choose one of model, ema"):
            open_checkpoint(path, answers={"weights": wrong})


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_without_a_choice_nothing_is_asked(tmp_path: Path) -> None:
    torch.save(nn.Transformer(8, 2, 1, 2, 16).state_dict(), tmp_path / "w.pt")
    assert "weights" not in {
        question.name for question in survey_checkpoint(tmp_path / "w.pt").report.questions
    }
    with pytest.raises(CheckpointError, match="There is no question 'weights'"):
        survey_checkpoint(tmp_path / "w.pt", answers={"weights": "ema"})
