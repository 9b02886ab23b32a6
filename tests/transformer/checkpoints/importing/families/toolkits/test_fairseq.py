"""fairseq's Transformers: translators and language models, old files, and the trainer's arguments."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.transformer.checkpoints.importing.families.foreign import imported, raw_of
from tests.transformer.checkpoints.importing.families.reference import (
    D_FF,
    D_MODEL,
    HEADS,
    MAX_LEN,
    Program,
    Reference,
    Sample,
    Weights,
    assert_same,
    compared,
    drawn,
    drawn_as,
    fused,
    published,
    sinusoids,
    with_positions,
)
from transformer.checkpoints.importing.recognition import plan_import, recognise
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.errors import CheckpointError

PAD = 1
RULES = {
    "^src_embedding.norm": "encoder.layernorm_embedding",
    "^tgt_embedding.norm": "decoder.layernorm_embedding",
    "^src_embedding": "encoder.embed_tokens",
    "^tgt_embedding": "decoder.embed_tokens",
    "^generator": "decoder.output_projection",
    "self_attn_norm": "self_attn_layer_norm",
    "cross_attn_norm": "encoder_attn_layer_norm",
    "feed_forward_norm": "final_layer_norm",
    "final_norm": "layer_norm",
    r"cross_attn\.": "encoder_attn.",
    "w_([qkv])": r"\1_proj",
    "w_o": "out_proj",
    r"feed_forward\.w_": "fc",
    "gamma$": "weight",
    "beta$": "bias",
}
OLD_NORMS = {
    "self_attn_norm": "layer_norms.0",
    "cross_attn_norm": "layer_norms.1",
    "^encoder(.*)feed_forward_norm": r"encoder\1layer_norms.1",
    "^decoder(.*)feed_forward_norm": r"decoder\1layer_norms.2",
}


def sample(
    *,
    norm_first: bool = False,
    learned: bool = False,
    tied: bool = False,
    lone: bool = False,
    old: bool = False,
) -> Sample:
    """A translator, or a lone decoder; if `old`, with fused attentions, numbered norms and embed_out."""
    depths = (0, 3) if lone else (2, 3)
    weights = drawn(depths=depths, final_norm=norm_first, without=("generator.bias",))
    if learned:  # and a norm after the embeddings
        table = drawn_as({"table": (MAX_LEN, D_MODEL)})["table"]
        norms = {
            f"{side}_embedding.norm.{part}": (D_MODEL,)
            for side in ("src", "tgt")
            for part in ("gamma", "beta")
        }
        weights |= drawn_as(norms)
    else:
        table = sinusoids(PAD + 1 + MAX_LEN, halves=True)[PAD + 1 :]
    if tied:
        weights["generator.weight"] = weights["tgt_embedding.weight"]
    weights = with_positions(weights, table)
    stored, rules = weights, RULES
    if old:
        stored = fused(weights, "in_proj", "qkv")
        stored = {re.sub(r"in_proj\.", "in_proj_", name): weight for name, weight in stored.items()}
        rules = OLD_NORMS | {"generator.weight": "decoder.embed_out"} | RULES
    state_dict = published(stored, rules, without=("*_positions",))
    for stack in ("encoder", "decoder")[2 - sum(map(bool, depths)) :]:
        if learned:
            state_dict[f"{stack}.embed_positions.weight"] = torch.cat((torch.ones(PAD + 1, D_MODEL), table))
        else:
            state_dict[f"{stack}.embed_positions._float_tensor"] = torch.zeros(1)
        if not old:
            state_dict[f"{stack}.version"] = torch.tensor([3.0])
    program = Program(norm_first=norm_first, embedding_scale=math.sqrt(D_MODEL), pad_id=PAD)
    return Sample("fairseq", Reference(weights, program), state_dict, {"n_heads": HEADS})


SAMPLES = {
    "fairseq": sample,
    "fairseq, norms first": lambda: sample(norm_first=True, learned=True),
    "fairseq, a language model": lambda: sample(lone=True, norm_first=True),
    "fairseq, old": lambda: sample(old=True),
}


@pytest.mark.parametrize(
    "norm_first, learned, tied",
    [(False, False, False), (True, False, True), (False, True, True), (True, True, False)],
)
def test_parity(tmp_path: Path, norm_first: bool, learned: bool, tied: bool) -> None:
    found = compared(tmp_path, sample(norm_first=norm_first, learned=learned, tied=tied), tie_generator=tied)
    assert found.asked == {"n_heads": HEADS, "activation": "relu", "embedding_scale": True}


def test_a_language_model(tmp_path: Path) -> None:
    compared(tmp_path, sample(lone=True, norm_first=True), kind="decoder-only")


def test_old_files(tmp_path: Path) -> None:
    theirs = sample(old=True)
    assert {"decoder.embed_out", "encoder.layers.1.layer_norms.1.bias"} <= theirs.state_dict.keys()
    assert "norm_position" in compared(tmp_path, theirs).asked


STACK = {"embed_dim": D_MODEL, "ffn_embed_dim": D_FF, "attention_heads": HEADS, "normalize_before": False}
SHARED = {"activation_fn": "relu", "max_source_positions": 512, "max_target_positions": 300}
ARGS = SHARED | {
    "arch": "transformer_iwslt_de_en", "no_scale_embedding": False, "share_all_embeddings": False,
    "no_token_positional_embeddings": False,
    **{
        f"{stack}_{name}": value
        for stack in ("encoder", "decoder")
        for name, value in (STACK | {"layers": 2, "learned_pos": False}).items()
    },
}  # fmt: skip
IN_LEVELS = SHARED | {"_name": "transformer", "encoder": STACK, "decoder": STACK}


def raw_with(folder: Path, state_dict: Weights, **extras: Any) -> RawCheckpoint:
    return replace(raw_of(folder, state_dict), extras=extras)


@pytest.mark.parametrize(
    "extras", [{"args": ARGS}, {"args": None, "cfg": {"model": ARGS}}, {"cfg": {"model": IN_LEVELS}}]
)
def test_the_trainers_arguments_leave_nothing_to_ask(tmp_path: Path, extras: dict[str, Any]) -> None:
    theirs = sample()
    ours, report = imported(raw_with(tmp_path, theirs.state_dict, **extras))
    assert not report.questions
    assert (ours.config.n_heads, ours.config.max_len) == (HEADS, 300)
    assert_same(ours, theirs.theirs)


@pytest.mark.parametrize(
    "changed, said",
    [
        ({"decoder_attention_heads": 4}, "args says decoder_attention_heads 4: another number of heads"),
        ({"encoder_normalize_before": True}, "args says encoder_normalize_before True"),
        ({"cross_self_attention": True}, "source and target at once"),
        ({"activation_fn": "linear"}, "activation_fn 'linear'"),
    ],
)
def test_what_the_arguments_refuse(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    with pytest.raises(CheckpointError, match=said):
        plan_import(raw_with(tmp_path, sample().state_dict, args=ARGS | changed), {})


def test_adaptive_embeddings_are_refused_by_name(tmp_path: Path) -> None:
    weights = sample(lone=True, norm_first=True).state_dict
    weights["decoder.embed_tokens.embeddings.0.0.weight"] = weights.pop("decoder.embed_tokens.weight")
    with pytest.raises(CheckpointError, match="adaptive embeddings"):
        plan_import(raw_of(tmp_path, weights), {})


def test_files_of_hugging_face_stay_theirs(tmp_path: Path) -> None:
    weights = sample().state_dict
    theirs = {
        name: weight
        for name, weight in weights.items()
        if not name.endswith(("version", "_float_tensor", "output_projection.weight"))
    }
    assert "fairseq" not in [family.name for family, _ in recognise(raw_of(tmp_path, theirs))]
