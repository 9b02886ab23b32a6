"""The doctor on foreign checkpoints, opened as users open them: sound ones, and one broken in each way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import BertForMaskedLM, GPT2LMHeadModel, LlamaForCausalLM

from transformer.analysis.doctor.examine import examine
from transformer.analysis.doctor.findings import Diagnosis
from transformer.checkpoints.opening import open_checkpoint

SPREAD = 0.3
"""Standard deviation of the weights; at the libraries' 0.02, heads of so small a model attend uniformly."""


def save(model_class: Any, folder: Path, **sizes: int) -> Path:
    """Save a random model, with the same weights each time."""
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model_class(model_class.config_class(**sizes, initializer_range=SPREAD)).save_pretrained(folder)
    return folder


def gpt2(folder: Path) -> Path:
    return save(GPT2LMHeadModel, folder, vocab_size=97, n_embd=30, n_layer=2, n_head=3, n_positions=41)


def bert(folder: Path) -> Path:
    return save(
        BertForMaskedLM, folder, vocab_size=89, hidden_size=30, num_hidden_layers=2, num_attention_heads=3,
        intermediate_size=23, max_position_embeddings=43,
    )  # fmt: skip


def llama(folder: Path) -> Path:
    return save(
        LlamaForCausalLM, folder, vocab_size=83, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, intermediate_size=23, max_position_embeddings=43,
    )  # fmt: skip


def diagnosis(folder: Path) -> Diagnosis:
    return examine(open_checkpoint(folder))


@pytest.mark.parametrize("make", [gpt2, bert, llama])
def test_a_whole_checkpoint_gets_a_clean_bill(make: Callable[[Path], Path], tmp_path: Path) -> None:
    found = diagnosis(make(tmp_path))
    assert found.clean, found.of("problem", "warning")
    assert [finding.title for finding in found.of("note")] == [
        f"There is no {'source' if make is bert else 'target'} tokenizer"
    ]


def renamed(tensors: dict[str, Tensor]) -> None:
    tensors["transformer.h.1.ln_1.wieght"] = tensors.pop("transformer.h.1.ln_1.weight")


def cut(tensors: dict[str, Tensor]) -> None:
    tensors["transformer.wpe.weight"] = tensors["transformer.wpe.weight"][:40].clone()


def unexpected(tensors: dict[str, Tensor]) -> None:
    tensors["transformer.h.0.attn.extra.weight"] = torch.ones(3, 5)


def untied(tensors: dict[str, Tensor]) -> None:
    tensors["lm_head.weight"] = tensors["transformer.wte.weight"] + 0.5


def spoilt(tensors: dict[str, Tensor]) -> None:
    tensors["transformer.h.0.mlp.c_fc.weight"][3, 4] = float("nan")


@pytest.mark.parametrize(
    "damage, expected",
    [
        (renamed, [("keys", "problem", "ln_1.weight"), ("keys", "warning", "ln_1.wieght")]),
        (cut, [("keys", "problem", "wpe.weight")]),
        (unexpected, [("keys", "warning", "attn.extra.weight")]),
        (untied, [("tied weights", "warning", "lm_head.weight")]),
        (spoilt, [("finite", "problem", "feed_forward.w_1.weight")]),
    ],
)
def test_a_broken_checkpoint_is_told_from_a_whole_one(
    damage: Callable[[dict[str, Tensor]], None], expected: list[tuple[str, str, str]], tmp_path: Path
) -> None:
    path = gpt2(tmp_path) / "model.safetensors"
    tensors = load_file(path)
    damage(tensors)
    save_file(tensors, path, {"format": "pt"})
    found = diagnosis(tmp_path).of("problem", "warning")
    assert [(finding.check, finding.severity) for finding in found] == [entry[:2] for entry in expected]
    assert all(name in finding.where for finding, (*_, name) in zip(found, expected, strict=True))


def test_the_nearest_name_of_a_missing_tensor_is_told(tmp_path: Path) -> None:
    path = gpt2(tmp_path) / "model.safetensors"
    tensors = load_file(path)
    renamed(tensors)
    save_file(tensors, path, {"format": "pt"})
    (missing,) = diagnosis(tmp_path).of("problem")
    assert "nearest: transformer.h.1.ln_1.wieght" in missing.where
