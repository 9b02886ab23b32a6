"""OpenNMT-py's Transformers, versions 2 and 3: translators, language models, and the trainer's files."""

from __future__ import annotations

import argparse
import math
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
    sinusoids,
    with_positions,
)
from transformer.checkpoints.importing.recognition import plan_import
from transformer.checkpoints.opening import open_checkpoint
from transformer.errors import CheckpointError

D_MODEL, HEADS, PAD = 24, 6, 1
RULES = {
    "^src_": "encoder.embeddings.make_embedding.",
    "^tgt_": "decoder.embeddings.make_embedding.",
    r"make_embedding\.embedding": "make_embedding.emb_luts.0",
    r"make_embedding\.positions": "make_embedding.pe.pe",
    "^encoder(.*)self_attn_norm": r"encoder\1layer_norm",
    "^decoder(.*)self_attn_norm": r"decoder\1layer_norm_1",
    "cross_attn_norm": "layer_norm_2",
    "feed_forward_norm": "feed_forward.layer_norm",
    "final_norm": "layer_norm",
    r"^encoder\.layers": "encoder.transformer",
    r"^decoder\.layers": "decoder.transformer_layers",
    r"cross_attn\.": "context_attn.",
    "w_q": "linear_query",
    "w_k": "linear_keys",
    "w_v": "linear_values",
    "w_o": "final_linear",
    "gamma$": "weight",
    "beta$": "bias",
}


def sample(
    *, second: bool = True, lone: bool = False, halves: bool = False, positions: bool = True
) -> Sample:
    """Version 2, or version 3 with gates, RMS norms, shared key and value heads, and no attention biases."""
    weights = drawn(
        d_model=D_MODEL,
        widths=(D_MODEL, D_MODEL if second else 2 * D_MODEL // HEADS),
        depths=(0, 3) if lone else (2, 3),
        final_norm=True,
        gated=not second,
        without=() if second else ("*attn.w_?.bias", "*.beta"),
    )
    if positions:
        weights = with_positions(weights, sinusoids(d_model=D_MODEL, halves=halves))
    program = Program(
        heads=HEADS,
        norm_first=True,
        norm="layer" if second else "rms",
        eps=1e-6,
        embedding_scale=math.sqrt(D_MODEL) if positions else 1.0,
        activation=torch.relu if second else functional.silu,
        pad_id=PAD,
    )
    state_dict = published(weights, RULES | ({"^generator": "generator.0"} if second else {}))
    state_dict |= {name: table[:, None] for name, table in state_dict.items() if name.endswith(".pe")}
    return Sample("open_nmt", Reference(weights, program), state_dict, {"n_heads": HEADS})


def language_model() -> Sample:
    return sample(lone=True, positions=False)


SAMPLES = {
    "open_nmt": sample,
    "open_nmt, version 3": lambda: sample(second=False),
    "open_nmt, a language model": language_model,
}


@pytest.mark.parametrize("second, halves", [(True, False), (True, True), (False, False)])
def test_parity(tmp_path: Path, second: bool, halves: bool) -> None:
    norm = "layer" if second else "rms"
    found = compared(tmp_path, sample(second=second, halves=halves), norm=norm, gated=not second)
    activation = "relu" if second else "silu"
    assert found.asked == {"n_heads": HEADS, "norm_eps": 1e-6, "activation": activation, "pad_id": PAD}


def test_a_language_model_without_positions(tmp_path: Path) -> None:
    compared(tmp_path, language_model(), kind="decoder-only")


def saved(path: Path, weights: Weights, opt: dict[str, Any]) -> Path:
    """Save as the trainer does: the generator apart, without its name prefix."""
    optimizer = torch.optim.Adam([torch.nn.Parameter(torch.ones(2))])
    generator = "generator."
    torch.save(
        {
            "model": {name: weight for name, weight in weights.items() if not name.startswith(generator)},
            "generator": {
                name.removeprefix(generator): weight
                for name, weight in weights.items()
                if name.startswith(generator)
            },
            "vocab": {"src": ["<unk>", "<blank>", "<s>", "</s>"]},
            "opt": argparse.Namespace(**opt),
            "optim": {"training_step": 7, "optimizer": optimizer.state_dict()},
        },
        path,
    )
    return path


OPT = {"heads": HEADS, "pos_ffn_activation_fn": "relu", "max_relative_positions": 0, "layers": 2}


@pytest.mark.parametrize("second", [False, True])
def test_the_trainers_file(tmp_path: Path, second: bool) -> None:
    theirs = sample(second=second)
    opt = OPT if second else OPT | {"pos_ffn_activation_fn": "silu", "norm_eps": 1e-6}
    opened = open_checkpoint(saved(tmp_path / "model_step_7.pt", theirs.state_dict, opt))
    assert opened.loaded is not None
    assert not opened.report.questions
    assert opened.report.config.pad_id == PAD
    assert not opened.report.keys.unexpected
    assert_same(opened.loaded.model, theirs.theirs)


@pytest.mark.parametrize(
    "changed, said",
    [
        ({"max_relative_positions": -1}, "opt says max_relative_positions -1: relative or rotary"),
        ({"parallel_residual": True}, "parallel sublayers"),
        ({"heads": 5}, "5 heads are impossible"),
        ({"sliding_window": 4}, "sliding_window 4"),
    ],
)
def test_what_the_options_refuse(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    with pytest.raises(CheckpointError, match=said):
        open_checkpoint(saved(tmp_path / "model.pt", sample().state_dict, OPT | changed))


@pytest.mark.parametrize(
    "name, said",
    [
        ("decoder.transformer_layers.0.self_attn.relative_positions_embeddings.weight", "relative positions"),
        ("encoder.embeddings.make_embedding.emb_luts.1.weight", "features"),
        ("decoder.copy_attn.linear_in.weight", "copies words"),
    ],
)
def test_what_is_refused_by_name(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(CheckpointError, match=said):
        plan_import(raw_of(tmp_path, sample().state_dict | {name: torch.zeros(3, 4)}), {})
