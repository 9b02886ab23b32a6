"""Versions of published Transformers that cannot be computed, and weights of other shapes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.transformer.checkpoints.importing.families.foreign import raw_of
from tests.transformer.checkpoints.importing.families.reference import (
    D_FF,
    D_MODEL,
    HEADS,
    SRC_VOCAB,
    TGT_VOCAB,
    Sample,
    Weights,
    sinusoids,
)
from tests.transformer.checkpoints.importing.families.tutorials.post_norm import (
    aladdinpersson,
    bentrevett,
    graykode,
    hyunwoongko,
    jadore801120,
)
from tests.transformer.checkpoints.importing.families.tutorials.pre_norm import gordicaleksa, hkproj
from tests.transformer.checkpoints.importing.families.tutorials.repositories import (
    devjwsong,
    dreamgonfly,
    former,
    joeynmt,
    sooftware,
    tunz,
)
from transformer.checkpoints.importing.recognition import plan_import
from transformer.checkpoints.reading.folder_files import MAPPING
from transformer.errors import CheckpointError


def with_zeros(sample: Sample, name: str, *shape: int) -> Weights:
    return sample.state_dict | {name: torch.zeros(shape)}


def without(sample: Sample, part: str) -> Weights:
    return {name: weight for name, weight in sample.state_dict.items() if part not in name}


def by_the_word() -> Weights:
    """graykode's code with positions looked up by the word: one row per word."""
    tables = {"encoder": SRC_VOCAB, "decoder": TGT_VOCAB}
    return graykode().state_dict | {f"{at}.pos_emb.weight": sinusoids(rows) for at, rows in tables.items()}


POSITIONS = "src_pos_embedding.positional_encodings_table"
REFUSED: dict[str, tuple[Callable[[], Weights], dict[str, Any], str]] = {
    "zeros before the first word": (lambda: tunz().state_dict, {}, "vector of zeros"),
    "the length's row": (lambda: dreamgonfly(is_tied=False).state_dict, {}, "knows no order"),
    "the sentence's row": (lambda: sooftware().state_dict, {}, "knows no order"),
    "the word's row": (by_the_word, {"rows_of_pos_emb": "word"}, "looked up by the word"),
    "positions without rows": (lambda: with_zeros(gordicaleksa(), POSITIONS), {}, POSITIONS),
    "one vector of positions": (lambda: with_zeros(gordicaleksa(), POSITIONS, D_MODEL), {}, POSITIONS),
    "norms in two places": (
        lambda: with_zeros(sooftware(), "decoder.layers.0.self_attention_prenorm.weight", D_MODEL, D_MODEL),
        {},
        "the decoder's before them",
    ),
    "a norm after one stack": (
        lambda: with_zeros(joeynmt(norm_first=False), "decoder.layer_norm.weight", D_MODEL, D_MODEL),
        {},
        "Only one of the stacks",
    ),
    "attention of a projection": (
        lambda: with_zeros(former(), "tblocks.0.attention.downproj.weight", D_MODEL, D_MODEL),
        {},
        "'alt'",
    ),
    "relative attention": (
        lambda: with_zeros(former(), "tblocks.0.attention.tokeys_pos.weight", D_MODEL, D_MODEL),
        {},
        "'relative'",
    ),
    "former, nothing after the heads": (lambda: without(former(), "unify"), {}, "'narrow'"),
    "hyunwoongko, nothing after the heads": (
        lambda: without(hyunwoongko(), "w_concat"),
        {},
        "without transposing",
    ),
    "heads split without transposing": (
        lambda: hyunwoongko().state_dict,
        {"split_heads": "untransposed"},
        "without transposing",
    ),
    "classes": (lambda: with_zeros(former(), "toprobs.weight", 2, D_MODEL), {}, "CTransformer"),
    **{
        f"{n_heads} heads": (lambda: jadore801120(d_k=11).state_dict, {"n_heads": n_heads}, "heads")
        for n_heads in (0, -3, 2**62)
    },
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(tmp_path: Path, name: str) -> None:
    weights, answers, why = REFUSED[name]
    with pytest.raises(CheckpointError, match=why):
        plan_import(raw_of(tmp_path, weights()), answers)


def test_only_positions_can_be_computed_sinusoids(tmp_path: Path) -> None:
    text = "like: devjwsong\nstand_ins: {norm.gamma: doubled_sinusoids}"
    raw = replace(raw_of(tmp_path, devjwsong().state_dict), texts={MAPPING: text})
    with pytest.raises(CheckpointError, match=r"line 2: 'norm\.gamma' is no table of positions"):
        plan_import(raw, {})


D_HEAD = D_MODEL // HEADS
KEYS = "decoder.layers.1.attention.keys.weight"


@pytest.mark.parametrize(
    "make, name, shape",
    [
        *((aladdinpersson, KEYS, shape) for shape in ((), (5,), (5, 5), (D_HEAD, D_HEAD, 2))),
        (aladdinpersson, KEYS, (D_MODEL + 1, D_MODEL)),
        (hkproj, "encoder.layers.1.residual_connections.0.norm.alpha", (D_MODEL - 1,)),
        (partial(bentrevett, "first"), "encoder.layers.1.pf.fc_1.weight", (D_FF, D_MODEL, 3)),
    ],
)
def test_another_shape_does_not_fit(
    tmp_path: Path, make: Callable[[], Sample], name: str, shape: tuple[int, ...]
) -> None:
    planned = plan_import(raw_of(tmp_path, make().state_dict | {name: torch.ones(shape)}), {})
    assert [key.name for key in planned.report.keys.misshaped] == [name]
