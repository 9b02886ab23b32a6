"""torch.nn.TransformerEncoder and TransformerDecoder alone, and language models made of encoder layers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.support.torch_attention import torch_attention
from tests.transformer.checkpoints.importing.families.foreign import (
    close,
    imported,
    padded,
    random_ids,
    randomized,
    raw_of,
)
from tests.transformer.model.core import trace_of
from transformer.checkpoints.importing.recognition import plan_import
from transformer.errors import CheckpointError
from transformer.model.masks import causal_mask
from transformer.model.trace import Recorder, Trace

D_MODEL, HEADS, D_FF, VOCAB, LENGTH, PAD = 21, 3, 37, 29, 17, 0
LAYER: dict[str, Any] = {"d_model": D_MODEL, "nhead": HEADS, "dim_feedforward": D_FF, "batch_first": True}
POST: dict[str, Any] = {"n_heads": HEADS, "norm_position": "post", "positions": "none"}


class LanguageModel(nn.Module):
    """Encoder layers under a causal mask, learned positions, one matrix for embedding and generator."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(**LAYER, norm_first=True, activation="gelu")
        self.blocks = nn.TransformerEncoder(layer, 3, nn.LayerNorm(D_MODEL), enable_nested_tensor=False)
        self.token_embedding = nn.Embedding(VOCAB, D_MODEL)
        self.position_embedding = nn.Embedding(LENGTH, D_MODEL)
        self.lm_head = nn.Linear(D_MODEL, VOCAB, bias=False)
        self.lm_head.weight = self.token_embedding.weight

    def forward(self, ids: Tensor) -> Tensor:
        x = self.token_embedding(ids) + self.position_embedding.weight[: ids.shape[1]]
        later = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).triu(1)
        return self.lm_head(self.blocks(x, mask=later, src_key_padding_mask=ids == PAD))


def test_parity_of_a_language_model_of_encoder_layers(tmp_path: Path) -> None:
    theirs = randomized(LanguageModel())
    answers = {"n_heads": HEADS, "norm_position": "pre", "activation": "gelu", "causal": True, "pad_id": PAD}
    ours, report = imported(raw_of(tmp_path, theirs.state_dict()), answers)
    assert ours.config.kind == "decoder-only"
    assert ours.config.positions == "learned"
    assert ours.config.tie_generator
    assert [(key.name, key.to) for key in report.keys.tied] == [("lm_head.weight", "token_embedding.weight")]
    ids = padded(random_ids(VOCAB, 2, 7), PAD, 4)
    with torch.no_grad(), torch_attention(theirs) as seen:
        logits = theirs(ids)
    trace = trace_of(ours, None, ids)
    assert close(trace["logits"], logits)
    for i in range(3):
        assert close(trace.attention("decoder", i, "self_attn").weights, seen[f"blocks.layers.{i}.self_attn"])
        assert close(trace[f"decoder.layers.{i}.resid_post"], seen[f"blocks.layers.{i}"])


def test_whether_encoder_layers_are_causal_is_asked(tmp_path: Path) -> None:
    with_head = plan_import(raw_of(tmp_path, LanguageModel().state_dict()), {}).report
    assert with_head.config.kind == "decoder-only"
    bare = nn.TransformerEncoder(nn.TransformerEncoderLayer(**LAYER), 2)
    without = plan_import(raw_of(tmp_path, bare.state_dict()), {}).report
    assert without.config.kind == "encoder-only"
    for report in (with_head, without):
        assert "causal" in {question.name for question in report.questions if not question.answered}


@pytest.mark.parametrize("bias", [True, False])
def test_a_bare_encoder_runs_on_stand_in_embeddings_and_says_so(tmp_path: Path, bias: bool) -> None:
    layer = nn.TransformerEncoderLayer(**LAYER, bias=bias)
    theirs = randomized(nn.TransformerEncoder(layer, 3, enable_nested_tensor=False))
    raw = raw_of(tmp_path, theirs.state_dict())
    ours, report = imported(raw, POST | {"pad_id": PAD})
    assert not ours.config.has_generator
    assert any("src_embedding.weight" in note and "drawn at random" in note for note in report.notes)
    assert any("predicts none" in note for note in report.notes)
    ids = padded(random_ids(VOCAB, 2, 7), PAD, 4)
    trace = trace_of(ours, ids, None)
    with torch.no_grad(), torch_attention(theirs) as seen:
        theirs(trace["encoder.layers.0.resid_pre"], src_key_padding_mask=ids == PAD)
    for i in range(3):
        assert close(trace.attention("encoder", i, "self_attn").weights, seen[f"layers.{i}.self_attn"])
        assert close(trace[f"encoder.layers.{i}.resid_post"], seen[f"layers.{i}"])
    again, _ = imported(raw, POST | {"pad_id": PAD})
    assert torch.equal(again.src_embedding.weight, ours.src_embedding.weight)


def test_a_bare_decoder_gets_a_stand_in_encoder_and_says_so(tmp_path: Path) -> None:
    layer = nn.TransformerDecoderLayer(**LAYER)
    theirs = randomized(nn.TransformerDecoder(layer, 3, nn.LayerNorm(D_MODEL)))
    ours, report = imported(raw_of(tmp_path, theirs.state_dict()), POST | {"pad_id": PAD})
    assert ours.config.n_encoder_layers == 1
    assert any("no encoder" in note for note in report.notes)
    memory, x = torch.randn(2, 5, D_MODEL), torch.randn(2, 7, D_MODEL)
    open_memory = torch.ones(2, 5, dtype=torch.bool)
    open_memory[1, 3:] = False
    recorder = Recorder()
    out = ours.decoder(x, causal_mask(7), memory, open_memory[:, None, None], recorder.at("decoder"))
    with torch.no_grad(), torch_attention(theirs) as seen:
        expected = theirs(x, memory, tgt_mask=~causal_mask(7)[0, 0], memory_key_padding_mask=~open_memory)
    assert close(out, expected)
    trace = Trace(recorder.records)
    for i in range(3):
        assert close(trace[f"decoder.layers.{i}.self_attn.weights"], seen[f"layers.{i}.self_attn"])
        assert close(trace[f"decoder.layers.{i}.cross_attn.weights"], seen[f"layers.{i}.multihead_attn"])


def test_an_incomplete_encoder_is_not_made_up(tmp_path: Path) -> None:
    state_dict = nn.Transformer(D_MODEL, HEADS, 2, 2, D_FF, batch_first=True).state_dict()
    del state_dict["encoder.layers.1.linear1.weight"], state_dict["encoder.layers.0.norm1.bias"]
    keys = plan_import(raw_of(tmp_path, state_dict), {"positions": "none"}).report.keys
    names = [problem.name for problem in keys.missing]
    assert names == ["encoder.layers.0.norm1.bias", "encoder.layers.1.linear1.weight"]


def test_two_encoders_are_no_known_layout(tmp_path: Path) -> None:
    layer = nn.TransformerEncoderLayer(**LAYER)
    both = nn.ModuleDict({"a": nn.TransformerEncoder(layer, 1), "b": nn.TransformerEncoder(layer, 1)})
    with pytest.raises(CheckpointError, match="No known layout"):
        plan_import(raw_of(tmp_path, both.state_dict()), {})


@pytest.mark.parametrize("shape", [(LENGTH, D_MODEL), (1, LENGTH, D_MODEL), (LENGTH, 1, D_MODEL)])
def test_tables_of_positions_of_any_shape_are_found(tmp_path: Path, shape: tuple[int, ...]) -> None:
    state_dict = LanguageModel().state_dict()
    table = state_dict.pop("position_embedding.weight")
    state_dict["pos_enc.pe"] = table.reshape(shape)
    ours, _ = imported(raw_of(tmp_path, state_dict), {"causal": True})
    assert ours.config.positions == "learned"
    assert torch.equal(ours.get_parameter("tgt_embedding.positions.weight"), table)


def test_parts_are_told_apart_by_name(tmp_path: Path) -> None:
    fc_out = nn.Linear(D_MODEL, 31, bias=False)
    parts = {
        "model": nn.Transformer(D_MODEL, HEADS, 1, 1, D_FF),
        "decoder_embedding": nn.Embedding(31, D_MODEL),
        "encoder_embedding": nn.Embedding(29, D_MODEL),
        "fc_out": fc_out,
    }
    ours, _ = imported(raw_of(tmp_path, nn.ModuleDict(parts).state_dict()), {"positions": "none"})
    assert (ours.config.src_vocab_size, ours.config.tgt_vocab_size) == (29, 31)
    assert torch.equal(ours.generator.weight, fc_out.weight)
    assert not ours.config.generator_bias


def test_layers_in_a_list_of_another_name_are_found(tmp_path: Path) -> None:
    layer = nn.TransformerEncoderLayer(**LAYER)
    parts = {
        "blocks": nn.ModuleList([layer, layer]),
        "ln_f": nn.LayerNorm(D_MODEL),
        "wte": nn.Embedding(VOCAB, D_MODEL),
    }
    net = nn.ModuleDict({"gpt": nn.ModuleDict(parts)})
    ours, _ = imported(
        raw_of(tmp_path, {name: w.clone() for name, w in net.state_dict().items()}), {"positions": "none"}
    )
    assert (ours.config.n_encoder_layers, ours.config.final_norm) == (2, True)


def test_a_classifiers_head_is_no_generator(tmp_path: Path) -> None:
    parts = {
        "encoder": nn.TransformerEncoder(nn.TransformerEncoderLayer(**LAYER), 1),
        "embedding": nn.Embedding(VOCAB, D_MODEL),
        "classifier": nn.Linear(D_MODEL, 5),
    }
    raw = raw_of(tmp_path, nn.ModuleDict(parts).state_dict())
    report = plan_import(raw, {"positions": "none"}).report
    assert not report.config.has_generator
    assert [one.name for one in report.keys.unused] == ["classifier.weight", "classifier.bias"]


@pytest.mark.parametrize("ending", ["encoder", "decoder"])
def test_parity_where_one_stack_alone_ends_with_a_norm(tmp_path: Path, ending: str) -> None:
    """As in many custom modules; eps differs from torch's default and is asked for."""
    eps = 0.1
    layer = {**LAYER, "layer_norm_eps": eps, "norm_first": True}
    norms = {ending: nn.LayerNorm(D_MODEL, eps)}
    theirs = nn.Module()
    theirs.encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(**layer), 2, norms.get("encoder"), enable_nested_tensor=False
    )
    theirs.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**layer), 1, norms.get("decoder"))
    randomized(theirs)
    answers = POST | {"norm_position": "pre", "norm_eps": eps}
    ours, report = imported(raw_of(tmp_path, theirs.state_dict()), answers)
    assert ours.config.final_norm == ending
    assert f"Only the {ending} ends with a norm: the files have none after the other stack." in report.notes
    x, y = torch.randn(2, 5, D_MODEL), torch.randn(2, 7, D_MODEL)
    memory = ours.encoder(x, torch.ones(2, 1, 1, 5, dtype=torch.bool))
    out = ours.decoder(y, causal_mask(7), memory, torch.ones(2, 1, 1, 5, dtype=torch.bool))
    with torch.no_grad():
        expected = theirs.encoder(x)
        assert close(memory, expected)
        assert close(out, theirs.decoder(y, expected, tgt_mask=~causal_mask(7)[0, 0]))


def test_an_eps_that_was_saved_beside_the_weights_stands_first(tmp_path: Path) -> None:
    layer = nn.TransformerEncoderLayer(**LAYER)
    state_dict = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False).state_dict()
    extras = {"hyper_parameters": {"layer_norm_eps": 1e-3, "eps": 1e-8}}
    raw = replace(raw_of(tmp_path, state_dict), extras=extras)
    (question,) = (asked for asked in plan_import(raw, {}).report.questions if asked.name == "norm_eps")
    assert [option.value for option in question.options] == [1e-3, 1e-5, 1e-6]
    assert "'layer_norm_eps', makes the first answer likely" in question.why


def test_projections_of_their_own_for_keys_and_values_are_refused_by_name(tmp_path: Path) -> None:
    """kdim and vdim allow a memory whose width differs from the model's."""
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**LAYER), 1)
    decoder.layers[0].multihead_attn = nn.MultiheadAttention(D_MODEL, HEADS, kdim=7, vdim=7)
    with pytest.raises(CheckpointError, match=r"multihead_attn\.q_proj_weight.*kdim"):
        plan_import(raw_of(tmp_path, decoder.state_dict()), {})
