"""Transformers of published repositories, each compared with the computation that its code describes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.transformer.checkpoints.importing.families.foreign import raw_of
from tests.transformer.checkpoints.importing.families.reference import D_MODEL, Sample, Weights, compared
from tests.transformer.checkpoints.importing.families.tutorials.repositories import (
    SAMPLES,
    devjwsong,
    dreamgonfly,
    former,
    joeynmt,
    sooftware,
    tunz,
)
from transformer.checkpoints.importing.recognition import plan_import
from transformer.checkpoints.opening import open_checkpoint
from transformer.checkpoints.reading.folder_files import MAPPING
from transformer.errors import CheckpointError

ASKED = {
    "brandokoch": "n_heads, pad_id",
    "dreamgonfly": "n_heads, norm_eps, pad_id",
    "dreamgonfly, untied": "n_heads, row_of_source, norm_eps, pad_id",
    "tunz": "n_heads, decoder_begins_with, pad_id",
    "devjwsong": "n_heads, exponents, pad_id",
    "devjwsong, as in the paper": "n_heads, exponents, pad_id",
    "sooftware": "n_heads, row_of_pe, pad_id",
    "sooftware, convolutions": "n_heads, row_of_pe, pad_id",
    "codertimo": "n_heads",
    "codertimo, post-norm": "n_heads, norm_position",
    "joeynmt": "n_heads, activation, embedding_scale, pad_id",
    "joeynmt, post-norm": "n_heads, activation, embedding_scale, pad_id",
    "former": "n_heads, scores_divided_by",
    "former, wide": "",
    "former, narrow": "scores_divided_by",
    "former, normed": "scores_divided_by",
}


@pytest.mark.parametrize("name", SAMPLES)
def test_parity(tmp_path: Path, name: str) -> None:
    assert set(compared(tmp_path, SAMPLES[name]()).asked) == set(ASKED[name].split(", ")) - {""}


def test_a_checkpoint_of_joeynmts_trainer(tmp_path: Path) -> None:
    saved = {"model_state": joeynmt().state_dict, "train_iter_state": torch.ones(5, dtype=torch.uint8)}
    torch.save(saved | {"steps": 3, "optimizer_state": {"state": {0: torch.ones(2)}}}, tmp_path / "best.ckpt")
    opened = open_checkpoint(tmp_path / "best.ckpt")
    assert opened.report.family == "joeynmt"
    assert opened.loaded is not None
    assert not opened.report.keys.unexpected


def with_zeros(sample: Sample, *names: str) -> Weights:
    return sample.state_dict | {name: torch.zeros(D_MODEL, D_MODEL) for name in names}


REFUSED: dict[str, tuple[Callable[[], Weights], str]] = {
    "zeros before the first word": (lambda: tunz().state_dict, "vector of zeros"),
    "the length's row": (lambda: dreamgonfly(is_tied=False).state_dict, "knows no order"),
    "the sentence's row": (lambda: sooftware().state_dict, "knows no order"),
    "norms in two places": (
        lambda: with_zeros(sooftware(), "decoder.layers.0.self_attention_prenorm.weight"),
        "the decoder's before them",
    ),
    "a norm after one stack": (
        lambda: with_zeros(joeynmt(norm_first=False), "decoder.layer_norm.weight"),
        "Only one of the stacks",
    ),
    "attention of a projection": (
        lambda: with_zeros(former(), "tblocks.0.attention.downproj.weight"),
        "'alt'",
    ),
    "relative attention": (
        lambda: with_zeros(former(), "tblocks.0.attention.tokeys_pos.weight"),
        "'relative'",
    ),
    "nothing after the heads": (
        lambda: {name: weight for name, weight in former().state_dict.items() if "unify" not in name},
        "'narrow'",
    ),
    "classes": (lambda: former().state_dict | {"toprobs.weight": torch.zeros(2, D_MODEL)}, "CTransformer"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(tmp_path: Path, name: str) -> None:
    weights, why = REFUSED[name]
    with pytest.raises(CheckpointError, match=why):
        plan_import(raw_of(tmp_path, weights()), {})


def test_only_positions_can_be_computed_sinusoids(tmp_path: Path) -> None:
    text = "like: devjwsong\nstand_ins: {norm.gamma: doubled_sinusoids}"
    raw = replace(raw_of(tmp_path, devjwsong().state_dict), texts={MAPPING: text})
    with pytest.raises(CheckpointError, match=r"line 2: 'norm\.gamma' is no table of positions"):
        plan_import(raw, {})
