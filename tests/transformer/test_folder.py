"""Saving and opening: the same bits come back, and a broken folder is refused with a plain sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.models import tiny_model
from transformer.checkpoints.folder import (
    CheckpointError,
    model_folder,
    open_model,
    save_model,
    shipped_models,
)

Break = Callable[[Path], object]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_model(tmp_path / "tiny", tiny_model())
    return tmp_path / "tiny"


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"tie_generator": False, "positions": "learned"},
        {"norm_position": "pre", "final_norm": True, "bias": False},
    ],
    ids=["tied", "untied, learned positions", "pre-norm without biases"],
)
def test_opening_gives_the_same_bits(tmp_path: Path, changes: dict[str, Any]) -> None:
    saved = tiny_model(**changes)
    save_model(tmp_path / "tiny", saved)
    opened = open_model(str(tmp_path / "tiny"))
    assert opened.model.config == saved.model.config
    state, expected = opened.model.state_dict(), saved.model.state_dict()
    assert state.keys() == expected.keys()
    assert all(torch.equal(state[name], expected[name]) for name in expected)
    src, tgt = torch.tensor([[4, 5, 2]]), torch.tensor([[1, 7]])
    assert torch.equal(opened.model(src, tgt), saved.model(src, tgt))


def test_words_card_and_name_come_back(folder: Path) -> None:
    opened, saved = open_model(str(folder)), tiny_model()
    assert opened.name == "tiny"
    assert opened.card == "# tiny"
    for side in ("source", "target"):
        coder, expected = getattr(opened, side), getattr(saved, side)
        assert coder.vocabulary.to_list() == expected.vocabulary.to_list()
        assert coder.tokenizer.language == expected.tokenizer.language
        assert coder.tokenizer.lowercase == expected.tokenizer.lowercase


def test_opened_model_is_frozen_and_in_eval_mode(folder: Path) -> None:
    model = open_model(str(folder)).model
    assert not model.training
    assert not any(parameter.requires_grad for parameter in model.parameters())


def test_no_part_files_stay_behind(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == {
        "model.safetensors",
        "config.json",
        "vocabulary.json",
        "README.md",
    }


def test_unknown_name_lists_what_there_is() -> None:
    with pytest.raises(CheckpointError, match="There is no model 'none-such'"):
        model_folder("none-such")
    assert all(model_folder(name).is_dir() for name in shipped_models())


def without(name: str) -> Break:
    return lambda folder: (folder / name).unlink()


def with_text(name: str, text: str) -> Break:
    return lambda folder: (folder / name).write_text(text)


def with_config(**changes: object) -> Break:
    def change(folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text()) | changes
        (folder / "config.json").write_text(json.dumps(config))

    return change


def with_weights(change: Callable[[dict[str, torch.Tensor]], object]) -> Break:
    def rewrite(folder: Path) -> None:
        weights = load_file(folder / "model.safetensors")
        change(weights)
        save_file(weights, folder / "model.safetensors")

    return rewrite


@pytest.mark.parametrize(
    "break_it,sentence",
    [
        (without("config.json"), "has no config.json"),
        (without("vocabulary.json"), "has no vocabulary.json"),
        (without("model.safetensors"), "has no model.safetensors"),
        (with_text("config.json", "{"), "can't be read"),
        (with_text("config.json", "[]"), "holds no JSON object"),
        (with_text("vocabulary.json", "{}"), "source side is not valid"),
        (with_text("model.safetensors", "version https://git-lfs.github.com/spec/v1"), "can't be read"),
        (with_config(d_modle=3), "d_modle"),
        (with_config(n_heads=7), "choose n_heads that divides it"),
        (with_config(d_ff=29), "feed_forward.w_1"),
        (with_config(src_vocab_size=99), "two different models"),
        (with_weights(lambda weights: weights.pop("generator.bias")), "generator.bias is missing"),
        (with_weights(lambda weights: weights.update(extra=torch.ones(1))), "extra is not part of it"),
    ],
)
def test_broken_folder_is_refused_with_a_sentence(folder: Path, break_it: Break, sentence: str) -> None:
    break_it(folder)
    with pytest.raises(CheckpointError, match=sentence):
        open_model(str(folder))
