"""Llama under Meta's names: weights alone, Meta's folders, and llama2.c's files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional

from tests.transformer.checkpoints.importing.families.foreign import raw_of
from tests.transformer.checkpoints.importing.families.reference import (
    Program,
    Reference,
    Sample,
    Weights,
    assert_same,
    compared,
    drawn,
    published,
)
from transformer.checkpoints.importing.recognition import plan_import
from transformer.checkpoints.importing.report import Imported
from transformer.checkpoints.opening import open_checkpoint
from transformer.errors import CheckpointError

VOCAB, DIM, HEADS, KV_HEADS, LAYERS = 59, 36, 6, 2, 3
RULES = {
    "^tgt_embedding": "tok_embeddings",
    "^generator": "output",
    r"^decoder\.layers": "layers",
    r"^decoder\.final_norm": "norm",
    "self_attn_norm": "attention_norm",
    "feed_forward_norm": "ffn_norm",
    "self_attn": "attention",
    r"\.w_([qkvo123])": r".w\1",
    "gamma$": "weight",
}


def sample(kv_heads: int = KV_HEADS, *, base: float = 10_000.0, tied: bool = False) -> Sample:
    weights = drawn(
        d_model=DIM,
        widths=(DIM, kv_heads * DIM // HEADS),
        vocabularies=(0, VOCAB),
        depths=(0, LAYERS),
        final_norm=True,
        gated=True,
        without=("*.bias", "*.beta"),
    )
    if tied:
        weights["tgt_embedding.weight"] = weights["generator.weight"]
    program = Program(
        heads=HEADS, norm_first=True, norm="rms", activation=functional.silu, rotary="pairs", base=base
    )
    answers = {"n_heads": HEADS, "position_base": base}
    return Sample("meta_llama", Reference(weights, program), published(weights, RULES), answers)


SAMPLES = {"meta_llama": sample}


@pytest.mark.parametrize("kv_heads", [HEADS, KV_HEADS])
def test_weights_alone(tmp_path: Path, kv_heads: int) -> None:
    theirs = sample(kv_heads)
    theirs.state_dict["rope.freqs"] = torch.ones(3)
    found = compared(tmp_path, theirs, n_kv_heads=kv_heads)
    likely = {question.name: question.options[0].value for question in found.report.questions}
    assert likely.keys() == {"n_heads", "norm_eps", "position_base", "max_len"}
    assert likely["position_base"] == (10_000.0 if kv_heads == HEADS else 500_000.0)


ARGS = {
    "dim": DIM, "n_layers": LAYERS, "n_heads": HEADS, "n_kv_heads": KV_HEADS, "vocab_size": VOCAB,
    "multiple_of": 32, "max_seq_len": 23, "dropout": 0.0,
}  # fmt: skip


def test_llama2_c_asks_nothing(tmp_path: Path) -> None:
    theirs = sample(tied=True)
    saved = {
        "model": {f"_orig_mod.{name}": weight for name, weight in theirs.state_dict.items()},
        "optimizer": torch.optim.AdamW([torch.nn.Parameter(torch.ones(2))]).state_dict(),
        "model_args": ARGS,
        "iter_num": 7,
        "best_val_loss": 1.25,
        "config": {"dataset": "tinystories", "dim": DIM},
    }
    torch.save(saved, tmp_path / "ckpt.pt")
    opened = open_checkpoint(tmp_path / "ckpt.pt")
    assert opened.loaded is not None
    assert not opened.report.questions
    assert not opened.report.keys.unexpected
    config = opened.report.config
    assert (config.tie_generator, config.max_len, config.norm_eps) == (True, 23, 1e-5)
    assert_same(opened.loaded.model, theirs.theirs)


def meta_folder(folder: Path, state_dict: Weights, **params: Any) -> Imported:
    torch.save(state_dict, folder / "consolidated.00.pth")
    told = {"dim": DIM, "n_layers": LAYERS, "n_heads": HEADS, "norm_eps": 1e-5, "vocab_size": -1}
    (folder / "params.json").write_text(json.dumps(told | params))
    return open_checkpoint(folder)


def test_metas_folder(tmp_path: Path) -> None:
    theirs = sample(base=500_000.0)
    opened = meta_folder(tmp_path, theirs.state_dict, n_kv_heads=KV_HEADS, rope_theta=500_000.0)
    assert opened.loaded is not None
    assert [question.name for question in opened.report.questions] == ["max_len"]
    whys = {setting.name: setting.why for setting in opened.report.settings}
    assert whys["n_heads"] == "params.json: n_heads"
    assert_same(opened.loaded.model, theirs.theirs)


def test_the_stretch_of_llama_3_is_asked_unless_it_is_told(tmp_path: Path) -> None:
    state_dict = sample().state_dict
    report = meta_folder(tmp_path, state_dict, use_scaled_rope=True).report
    assert [question.name for question in report.questions] == ["rotary_stretch", "max_len"]
    config = meta_folder(tmp_path, state_dict, use_scaled_rope=True, rope_scaling_factor=32).report.config
    assert (config.rotary_stretch, config.stretch_start, config.stretch_full) == (32, 2048, 8192)


@pytest.mark.parametrize(
    "params, said",
    [
        ({"n_heads": 5}, "heads are impossible"),
        ({"n_heads": "6"}, "params.json says n_heads '6'"),
        ({"quantization_args": {"spinquant": True}}, "quantised"),
        ({"moe": {"num_experts": 8}}, "experts"),
    ],
)
def test_what_is_refused(tmp_path: Path, params: dict[str, Any], said: str) -> None:
    with pytest.raises(CheckpointError, match=said):
        meta_folder(tmp_path, sample().state_dict, **params)


def test_parts_for_several_accelerators_are_refused_by_name(tmp_path: Path) -> None:
    for number in (0, 1):
        torch.save(sample().state_dict, tmp_path / f"consolidated.0{number}.pth")
    with pytest.raises(CheckpointError, match=r"convert_llama_weights_to_hf"):
        open_checkpoint(tmp_path)


def test_a_plain_feed_forward_is_another_model(tmp_path: Path) -> None:
    weights = {name: weight for name, weight in sample().state_dict.items() if ".w1." not in name}
    with pytest.raises(CheckpointError, match="No known layout"):
        plan_import(raw_of(tmp_path, weights), {})
