"""Tensors without a part in the model are asked about, unless they can only be heads for other tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM

from tests.transformer.checkpoints.importing.families.foreign import raw_of
from tests.transformer.checkpoints.importing.families.hugging_face.small_models import tiny
from transformer.checkpoints.importing.left_out import task_heads
from transformer.checkpoints.importing.recognition import plan_import
from transformer.checkpoints.importing.report import ImportReport
from transformer.checkpoints.opening import open_model
from transformer.errors import CheckpointError

SIZES: dict[str, Any] = {
    "vocab_size": 37,
    "hidden_size": 20,
    "intermediate_size": 26,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
}
GAIN = "model.layers.{}.self_attn.q_gain.weight"


def state_dict() -> dict[str, Tensor]:
    return dict(tiny(LlamaForCausalLM, SIZES).state_dict())


def with_gains() -> dict[str, Tensor]:
    """A norm of the queries in each layer, under a name that no layout has."""
    return state_dict() | {GAIN.format(layer): torch.ones(10) for layer in range(3)}


def report_of(folder: Path, tensors: dict[str, Tensor], **answers: object) -> ImportReport:
    return plan_import(raw_of(folder, tensors, LlamaConfig(**SIZES).to_dict()), answers).report


def test_a_tensor_of_the_layers_is_asked_about(tmp_path: Path) -> None:
    report = report_of(tmp_path, with_gains())
    (question,) = report.assumed
    assert question.name == "left_out"
    assert question.value == "ignore"
    assert f"Llama-like has no part for {GAIN!r} (3 times)." in question.text
    assert len(report.cautions) == 1


def test_a_user_who_knows_is_not_warned(tmp_path: Path) -> None:
    report = report_of(tmp_path, with_gains(), left_out="ignore")
    assert not report.assumed
    assert not report.cautions


def test_a_user_may_refuse(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"no part for: .*q_gain.*left_out=ignore"):
        report_of(tmp_path, with_gains(), left_out="no")


def test_nothing_left_out_is_nothing_to_answer(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no question 'left_out'"):
        report_of(tmp_path, state_dict(), left_out="ignore")


def test_layers_beyond_the_configurations_are_asked_about(tmp_path: Path) -> None:
    longer = dict(tiny(LlamaForCausalLM, SIZES | {"num_hidden_layers": 4}).state_dict())
    (question,) = report_of(tmp_path, longer).assumed
    assert "model.layers.{}.mlp.up_proj.weight" in question.text


def test_opening_warns(tmp_path: Path) -> None:
    save_file({name: one.clone() for name, one in with_gains().items()}, tmp_path / "w.safetensors")
    with pytest.warns(UserWarning, match="q_gain.*its numbers are wrong") as warned:
        open_model(tmp_path / "w.safetensors")
    assert warned[-1].filename == __file__


def test_a_tied_matrix_with_other_numbers_is_named(tmp_path: Path) -> None:
    """The configuration ties the two, and the files hold two."""
    model = tiny(LlamaForCausalLM, SIZES)
    model.config.tie_word_embeddings = True
    model.config.save_pretrained(tmp_path)
    save_file({name: one.clone() for name, one in state_dict().items()}, tmp_path / "model.safetensors")
    with pytest.warns(UserWarning, match=r"'lm_head\.weight' was left out.*'model\.embed_tokens\.weight'"):
        open_model(tmp_path)


WIDTH, WORDS, INNER = 22, 37, 26
USED = ["model.layers.0.mlp.up.weight", "model.norm.weight"]


@pytest.mark.parametrize(
    "spare, heads",
    [
        ({"fc.weight": (5, WIDTH), "fc.bias": (5,)}, {"fc.weight", "fc.bias"}),
        (
            {
                "a.0.weight": (7, WIDTH),
                "a.0.bias": (7,),
                "a.1.weight": (7,),
                "a.2.weight": (2, 7),
                "a.2.bias": (2,),
            },
            {"a.0.weight", "a.0.bias", "a.1.weight", "a.2.weight", "a.2.bias"},
        ),
        ({"segments.weight": (2, WIDTH)}, set()),
        ({"gain.weight": (WIDTH,), "gain.bias": (WIDTH,)}, set()),
        ({"dense.weight": (WIDTH, WIDTH), "dense.bias": (WIDTH,)}, set()),
        ({"out.weight": (WORDS, WIDTH), "out.bias": (WORDS,)}, set()),
        ({"down.weight": (7, WIDTH), "down.bias": (7,), "up.weight": (WIDTH, 7), "up.bias": (WIDTH,)}, set()),
        ({"model.layers.1.gate.weight": (5, WIDTH), "model.layers.1.gate.bias": (5,)}, set()),
    ],
    ids=["classifier", "deep classifier", "table", "norm", "square", "of words", "bottleneck", "in a layer"],
)
def test_what_can_only_be_a_head_is_told_by_shapes(
    spare: dict[str, tuple[int, ...]], heads: set[str]
) -> None:
    assert task_heads(spare, USED, WIDTH, (WORDS, INNER)) == heads
