"""Marian's own npz files, compared with a reimplementation of what Marian computes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from tests.transformer.checkpoints.importing.families.figures import FIGURES
from tests.transformer.checkpoints.importing.families.foreign import close, padded, random_ids
from tests.transformer.checkpoints.importing.families.reference import (
    Program,
    Reference,
    Rules,
    Weights,
    drawn,
    drawn_as,
    published,
    sinusoids,
    with_positions,
)
from tests.transformer.model.core import trace_of
from transformer.checkpoints.importing.report import Imported
from transformer.checkpoints.opening import open_checkpoint
from transformer.checkpoints.reading.limits import LOCAL_LIMITS
from transformer.checkpoints.reading.process import read_checkpoint
from transformer.errors import CheckpointError

D_MODEL, HEADS, D_FF, V, S, T = 24, 3, 37, 29, 7, 5
CONFIG = """\
type: transformer
dim-vocabs:
  - 29
  - 29
dim-emb: 24
transformer-heads: 3
transformer-ffn-activation: swish
transformer-postprocess: dan
transformer-preprocess: ""
transformer-decoder-autoreg: self-attention
transformer-tied-layers:
  []
transformer-no-projection: false
transformer-ffn-depth: 2
tied-embeddings-all: true
version: v1.11.0 f00d
"""


def marian(
    *, pre: bool = False, tied: bool = True, learned: bool = False, target: int = V
) -> tuple[Reference, Weights]:
    """What Marian computes, and its parameters by its names.

    Its decoder begins with a vector of zeros, which is here the embedding of one more id.
    """
    weights = drawn(d_model=D_MODEL, d_ff=D_FF, vocabularies=(V, target), final_norm=pre)
    if tied:
        weights |= dict.fromkeys(
            ("tgt_embedding.weight", "generator.weight"), weights["src_embedding.weight"]
        )
    table = (
        drawn_as({"table": (19, D_MODEL)})["table"] if learned else sinusoids(d_model=D_MODEL, halves=True)
    )
    weights = with_positions(weights, table)
    end = "_pre" if pre else ""
    rules: Rules = {
        r"^(encoder|decoder)\.layers\.(\d+)\.": lambda found: f"{found[1]}_l{int(found[2]) + 1}_",
        r"\.final_norm\.gamma": "_top_ln_scale",
        r"\.final_norm\.beta": "_top_ln_bias",
        r"self_attn_norm\.": "self_Wo_ln_",
        r"cross_attn_norm\.": "context_Wo_ln_",
        r"feed_forward_norm\.": "ffn_ffn_ln_",
        "gamma$": f"scale{end}",
        "beta$": f"bias{end}",
        r"self_attn\.w_": "self_",
        r"cross_attn\.w_": "context_",
        r"feed_forward\.w_": "ffn_",
        r"_(.)\.weight$": r"_W\1",
        r"_(.)\.bias$": r"_b\1",
        r"^generator\.weight": "decoder_ff_logit_out_W",
        r"^generator\.bias": "decoder_ff_logit_out_b",
        "^src_embedding.weight": "Wemb" if tied else "encoder_Wemb",
        "^tgt_embedding.weight": "decoder_Wemb",
        "^src_positions": "Wpos",
    }
    without = ["tgt_positions"] if learned else ["???_positions"]
    without += ["tgt_embedding*", "generator.weight"] if tied else []
    stored = {
        name: weight if name.endswith(("Wemb", "Wpos")) else weight[None] if weight.dim() == 1 else weight.T
        for name, weight in published(weights, rules, without=tuple(without)).items()
    }
    for side in ("src", "tgt"):
        words = weights[f"{side}_embedding.weight"]
        weights[f"{side}_embedding.weight"] = torch.cat((words, torch.zeros(1, D_MODEL)))
    program = Program(
        norm_first=pre,
        eps=1e-6,
        embedding_scale=1.0 if learned else D_MODEL**0.5,
        activation=functional.silu,
        pad_id=V if target == V else -1,
    )
    return Reference(weights, program), stored


def saved(path: Path, stored: Weights, config: str | None = CONFIG) -> Path:
    arrays: dict[str, Any] = {name: weight.contiguous().numpy() for name, weight in stored.items()}
    if config is not None:
        arrays["special:model.yml"] = np.frombuffer(config.encode() + b"\0", dtype=np.int8)
    np.savez(path, **arrays)
    return path


def opened_from(path: Path) -> Imported:
    opened = open_checkpoint(path)
    FIGURES.note_import(opened.report)
    return opened


@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("pre", [False, True])
def test_parity(tmp_path: Path, pre: bool, tied: bool, learned: bool) -> None:
    theirs, stored = marian(pre=pre, tied=tied, learned=learned)
    opened = opened_from(saved(tmp_path / "model.npz", stored))
    assert opened.loaded is not None, opened.report.keys
    assert (opened.report.family, opened.report.questions) == ("marian_npz", ())
    assert not opened.report.keys.unexpected
    assert opened.report.config.pad_id == V
    src = padded(random_ids(V, 2, S, first=0), V, 4)
    tgt = torch.cat((torch.full((2, 1), V), random_ids(V, 2, T - 1, first=0, seed=1)), 1)
    expected, trace = theirs(src, tgt), trace_of(opened.loaded.model, src, tgt)
    for path, value in theirs.seen.items():
        rows = src != V if path.startswith("encoder") else torch.ones_like(tgt).bool()
        by_row = (1, 2) if path.endswith("weights") else (1, 1)
        assert close(trace[path].transpose(*by_row)[rows], value.transpose(*by_row)[rows])
    assert close(trace["logits"][..., :V], expected)
    assert (trace["logits"].softmax(-1)[..., V] < 1e-6).all()


def test_vocabularies_of_two_sizes(tmp_path: Path) -> None:
    theirs, stored = marian(tied=False, target=31)
    opened = opened_from(saved(tmp_path / "model.npz", stored))
    assert opened.loaded is not None
    config = opened.report.config
    assert (config.src_vocab_size, config.tgt_vocab_size, config.pad_id) == (V + 1, 32, -1)
    src, tgt = random_ids(V, 2, S, first=0), random_ids(31, 2, T - 1, first=0, seed=1)
    tgt = torch.cat((torch.full((2, 1), 31), tgt), 1)
    with torch.no_grad():
        assert close(opened.loaded.model(src, tgt)[..., :31], theirs(src, tgt))


def test_without_its_configuration_heads_and_activation_are_asked(tmp_path: Path) -> None:
    report = opened_from(saved(tmp_path / "model.npz", marian()[1], None)).report
    assert {question.name for question in report.questions} == {"n_heads", "activation"}


@pytest.mark.parametrize(
    "old, new, said",
    [
        ("type: transformer", "type: s2s", "type 's2s'"),
        ("activation: swish", "activation: gelu", "activation 'gelu'"),
        ("autoreg: self-attention", "autoreg: average-attention", "without self-attention"),
        ("tied-layers:\n  []", "tied-layers:\n  - 1\n  - 1", "layers that are shared"),
        ("no-projection: false", "no-projection: true", "heads without a matrix"),
        ("heads: 3", "heads: many", "transformer-heads 'many'"),
    ],
)
def test_what_the_configuration_refuses(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in CONFIG
    with pytest.raises(CheckpointError, match=said):
        open_checkpoint(saved(tmp_path / "model.npz", marian()[1], CONFIG.replace(old, new)))


@pytest.mark.parametrize("name", ["decoder_l1_rnn_W", "decoder_l2_aan_W1", "encoder_l1_ffn_W3"])
def test_other_parts_are_refused_by_name(tmp_path: Path, name: str) -> None:
    stored = marian()[1] | {name: torch.zeros(2, 3)}
    with pytest.raises(CheckpointError, match=name):
        open_checkpoint(saved(tmp_path / "model.npz", stored))


def test_the_configuration_is_an_extra(tmp_path: Path) -> None:
    raw = read_checkpoint(saved(tmp_path / "model.npz", marian()[1]), LOCAL_LIMITS)
    assert raw.extras == {"special:model.yml": CONFIG}
