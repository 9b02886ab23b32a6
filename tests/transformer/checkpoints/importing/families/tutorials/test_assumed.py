"""What is assumed of published Transformers until it is answered, and what is seen in their files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.transformer.checkpoints.importing.families.foreign import imported, raw_of
from tests.transformer.checkpoints.importing.families.reference import D_MODEL, HEADS, Weights, sinusoids
from tests.transformer.checkpoints.importing.families.tutorials.post_norm import (
    EXAMPLE,
    aladdinpersson,
    d2l,
    fused_tutorial,
    graykode,
    hyunwoongko,
    jadore801120,
    jadore801120_of_2018,
)
from tests.transformer.checkpoints.importing.families.tutorials.pre_norm import annotated, hkproj
from tests.transformer.checkpoints.importing.families.tutorials.repositories import joeynmt
from tests.transformer.checkpoints.importing.families.tutorials.test_refused import by_the_word
from transformer.checkpoints.importing.recognition import plan_import
from transformer.checkpoints.opening import open_checkpoint


def of_example() -> Weights:
    """graykode's code with sinusoids, as for its example of five words."""
    return graykode().state_dict | {f"{stack}.pos_emb.weight": sinusoids(6) for stack in EXAMPLE}


SCALED = {"scale_emb_or_prj": "prj", "norm_position": "post", "place_of_layer_norm": "embeddings"}
ASSUMED: dict[str, tuple[Callable[[], Weights], dict[str, Any], dict[str, Any]]] = {
    "aladdinpersson": (
        lambda: aladdinpersson().state_dict,
        {"scores_divided_by": "model"},
        {"attention_scale": pytest.approx(D_MODEL**-0.5)},
    ),
    "annotated": (lambda: annotated().state_dict, {"norm_position": "pre"}, {"norm_position": "pre"}),
    "d2l": (lambda: d2l(d_model=32).state_dict, {"n_heads": 4}, {"n_heads": 4}),
    "fused_tutorial": (
        lambda: fused_tutorial(norm_first=True, eps=0.1).state_dict,
        {"merge_heads": "transposed", "norm_position": "post", "norm_eps": 1e-5},
        {"norm_position": "post", "norm_eps": 1e-5},
    ),
    "graykode, rows of the example": (of_example, {"rows_of_pos_emb": "of_example", "pad_id": 0}, {}),
    "graykode, rows of words": (by_the_word, {"rows_of_pos_emb": "from_0"}, {}),
    "hyunwoongko": (
        lambda: hyunwoongko().state_dict,
        {"split_heads": "transposed", "norm": "layer", "pad_id": 1},
        {"norm": "layer"},
    ),
    "jadore801120": (
        lambda: jadore801120(scaled="prj").state_dict,
        SCALED,
        {"logits_scale": True, "embedding_norm": True, "pad_id": 1},
    ),
}


@pytest.mark.parametrize("name", ASSUMED)
def test_assumed(tmp_path: Path, name: str) -> None:
    weights, questions, config = ASSUMED[name]
    report = plan_import(raw_of(tmp_path, weights()), {}).report
    assumed = {question.name: question.value for question in report.questions if not question.answered}
    assert assumed == assumed | questions
    assert {setting: getattr(report.config, setting) for setting in config} == config
    sources = {setting.name: setting.source for setting in report.settings}
    assert {sources[setting] for setting in config} <= {"assumed"}


def test_rows_of_graykodes_tables(tmp_path: Path) -> None:
    assert plan_import(raw_of(tmp_path, of_example()), {}).report.config.max_len == 5
    questions = plan_import(raw_of(tmp_path, by_the_word()), {}).report.questions
    (why,) = (question.why for question in questions if question.name == "rows_of_pos_emb")
    assert "one row per word" in why


def test_row_0_for_padding_makes_0_the_first_option(tmp_path: Path) -> None:
    report = plan_import(raw_of(tmp_path, jadore801120_of_2018().state_dict), {}).report
    (options,) = (question.options for question in report.questions if question.name == "pad_id")
    assert options[0].value == 0


def test_a_layer_that_was_never_stored_is_drawn(tmp_path: Path) -> None:
    state_dict = graykode(stores_norms=False).state_dict
    stored = {name: weight for name, weight in state_dict.items() if ".linear." not in name}
    planned = plan_import(raw_of(tmp_path, stored), {"n_heads": HEADS})
    assert planned.report.keys.fits
    assert planned.weights.stand_ins["encoder.layers.0.self_attn.w_o.weight"] == "drawn"
    assert any("drawn at random" in note for note in planned.report.notes)


def test_one_matrix_for_all_words_is_seen(tmp_path: Path) -> None:
    state_dict = annotated().state_dict
    for name in ("src_embed.0.lut.weight", "generator.proj.weight"):
        state_dict[name] = state_dict["tgt_embed.0.lut.weight"]
    ours, _ = imported(raw_of(tmp_path, state_dict))
    assert ours.config.share_embeddings
    assert ours.generator.weight is ours.tgt_embedding.weight is ours.src_embedding.weight


def test_a_norm_after_one_stack_alone_stays_alone(tmp_path: Path) -> None:
    state_dict = annotated().state_dict
    del state_dict["encoder.norm.a_2"], state_dict["encoder.norm.b_2"]
    ours, _ = imported(raw_of(tmp_path, state_dict))
    assert ours.config.final_norm == "decoder"
    assert (ours.encoder.final_norm, ours.decoder.final_norm is None) == (None, False)


OPTIMIZER = torch.optim.Adam([torch.nn.Parameter(torch.ones(3))]).state_dict()
SAVED: dict[str, Callable[[], dict[str, Any]]] = {
    "hkproj": lambda: {
        "epoch": 3,
        "model_state_dict": hkproj().state_dict,
        "optimizer_state_dict": OPTIMIZER,
        "global_step": 1200,
    },
    "joeynmt": lambda: {
        "steps": 3,
        "model_state": joeynmt().state_dict,
        "optimizer_state": {"state": {0: torch.ones(2)}},
        "train_iter_state": torch.ones(5, dtype=torch.uint8),
    },
}


@pytest.mark.parametrize("family", SAVED)
def test_the_trainers_file_opens(tmp_path: Path, family: str) -> None:
    torch.save(SAVED[family](), tmp_path / "saved.ckpt")
    opened = open_checkpoint(tmp_path / "saved.ckpt")
    assert opened.report.family == family
    assert opened.loaded is not None
    assert not opened.report.keys.unexpected
