"""An unknown layout: what the error says, and the mapping file written as a starting point."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tests.transformer.checkpoints.importing.families.foreign import (
    close,
    imported,
    random_ids,
    randomized,
    raw_of,
)
from tests.transformer.checkpoints.importing.families.own_layout.test_described import VOCAB, Gpt
from transformer.checkpoints.importing.families.own_layout.template import template
from transformer.checkpoints.importing.families.own_layout.unknown import look
from transformer.checkpoints.importing.recognition import plan_import, with_mapping
from transformer.checkpoints.opening import open_checkpoint
from transformer.checkpoints.reading.folder_files import MAPPING
from transformer.errors import CheckpointError


def said(folder: Path, state_dict: dict[str, Tensor]) -> str:
    with pytest.raises(CheckpointError, match="No known layout") as refused:
        plan_import(raw_of(folder, state_dict), {})
    return str(refused.value)


def test_stacks_sizes_norms_and_attention_are_named(tmp_path: Path) -> None:
    lines = said(tmp_path, Gpt().state_dict()).splitlines()
    (stack,) = (line for line in lines if "layers, 'blocks.{}'" in line)
    assert "3 layers" in stack
    assert "attention attn.qkv.weight (132 × 44), attn.out.weight (44 × 44)" in stack
    assert "norms ln1.weight (44), ln2.weight (44)" in stack
    assert "mlp.up.weight (37 × 44)" in stack
    assert any("likely 44" in line for line in lines)
    (outside,) = (line for line in lines if "outside of the layers" in line)
    assert all(name in outside for name in ("words.weight (61 × 44)", "places.weight", "unembed.weight"))
    assert "--write-map own.yaml" in lines[-1]
    assert len(lines) <= 8


def test_the_nearest_layout_is_named_with_what_differs(tmp_path: Path) -> None:
    block = {
        "ln_1.weight": (8,),
        "attn.c_attn.weight": (24, 8),
        "attn.c_proj.weight": (8, 8),
        "ln_2.weight": (8,),
    }
    block |= {"mlp.c_fc.weight": (32, 8), "mlp.c_proj.weight": (8, 32)}
    state = {f"h.{i}.{name}": torch.zeros(shape) for i in range(2) for name, shape in block.items()}
    state |= {
        "embed.weight": torch.zeros(11, 8),
        "wpe.weight": torch.zeros(5, 8),
        "ln_f.weight": torch.zeros(8),
    }
    message = said(tmp_path, state)
    assert re.search("The nearest layout is (nanoGPT|GPT-2)", message), message
    assert "It does not have 'embed.weight' (but 'wte.weight')." in message


def test_files_without_layers_and_hostile_names_are_described_in_few_lines(tmp_path: Path) -> None:
    message = said(tmp_path, nn.LSTM(7, 9, 2).state_dict())
    assert "outside of numbered layers: weight_ih_l0 (36 × 7)" in message
    state = {
        f"{'x' * 300}\x1b[31m.{i}.{part}.weight": torch.zeros(2, 2) for i in range(3) for part in ("q", "k")
    }
    state |= {f"{name}.0.{part}.w": torch.zeros(3) for name in "abcdefgh" for part in ("fc", "out")}
    message = said(tmp_path, state)
    assert "\x1b" not in message
    assert "more groups of layers" in message
    assert len(message) < 3_000


def test_layers_are_sorted_by_their_prefix(tmp_path: Path) -> None:
    found = look(raw_of(tmp_path, Gpt().state_dict()).tensors)
    assert [(stack.prefix, stack.depth, len(stack.names)) for stack in found.stacks] == [("blocks.", 3, 12)]
    assert found.d_model == 44
    assert set(found.outside) == {"words.weight", "places.weight", "ln_out.weight", "ln_out.bias"} | {
        "unembed.weight",
        "mask",
    }


def test_a_list_of_unlike_entries_is_no_stack_of_layers(tmp_path: Path) -> None:
    """nn.Sequential numbers its activations and dropouts too, so that its numbers have gaps."""

    def block() -> nn.Module:
        ff = nn.Sequential(nn.Linear(12, 20), nn.Dropout(), nn.ReLU(), nn.Linear(20, 12))
        return nn.ModuleDict({"qkv": nn.Linear(12, 36), "net": ff, "norm": nn.LayerNorm(12)})

    top = nn.Sequential(nn.Linear(12, 12), nn.LayerNorm(12), nn.ReLU(), nn.Dropout(), nn.Linear(12, 7))
    model = nn.ModuleDict({"body": nn.Sequential(*(block() for _ in range(3))), "top": top})
    found = look(raw_of(tmp_path, model.state_dict()).tensors)
    assert [(stack.prefix, stack.depth) for stack in found.stacks] == [("body.", 3)]
    assert {"net.0.weight", "net.3.weight"} <= found.stacks[0].names.keys()
    assert {name.rpartition(".")[0] for name in found.outside} == {"top.0", "top.1", "top.4"}
    numbered = nn.Sequential(nn.Embedding(9, 12), nn.Sequential(*(block() for _ in range(2))))
    found = look(raw_of(tmp_path, numbered.state_dict()).tensors)
    assert [(stack.prefix, stack.depth) for stack in found.stacks] == [("1.", 2)]


def test_a_later_nanochat_is_refused_by_what_it_has_more(tmp_path: Path) -> None:
    names = [f"attn.c_{part}" for part in ("q", "k", "v", "proj")] + ["mlp.c_fc", "mlp.c_proj"]
    first = {f"transformer.h.{i}.{name}.weight": torch.zeros(12, 12) for i in range(2) for name in names}
    first |= {f"{name}.weight": torch.zeros(17, 12) for name in ("transformer.wte", "lm_head")}
    more = {
        "resid_lambdas": torch.zeros(2),
        "x0_lambdas": torch.zeros(2),
        "value_embeds.1.weight": torch.zeros(17, 12),
        "smear_gate.weight": torch.zeros(1, 7),
        "backout_lambda": torch.zeros(1),
    }
    for name, tensor in more.items():
        told = refused(tmp_path, first | {name: tensor})
        assert re.findall(r"\((\w+)\)", told) == [name.partition(".")[0]]
    assert re.findall(r"\((\w+)\)", refused(tmp_path, first | more)) == [
        name.partition(".")[0] for name in more
    ]
    normed = {f"transformer.h.{i}.ln_1.weight": torch.zeros(12) for i in range(2)}
    assert "version of nanochat" not in refused(tmp_path, first | normed)


GATED_MLP = ("gate_proj", "up_proj", "down_proj")


@pytest.mark.parametrize(
    "mlp, told",
    [
        (GATED_MLP, "have the names of the layout Llama-like, but another type may compute something else"),
        (("fc_in", "fc_out"), "It does not have 'layers.0.mlp.fc_in.weight'"),
    ],
)
@pytest.mark.parametrize("model_type", ["another", ["another"]])
def test_an_unlisted_type_is_told_the_nearest_layout_and_the_way(
    tmp_path: Path, mlp: tuple[str, ...], told: str, model_type: object
) -> None:
    parts = [*(f"self_attn.{part}_proj" for part in "qkvo"), *(f"mlp.{part}" for part in mlp)]
    state = {f"model.layers.{i}.{part}.weight": torch.zeros(12, 12) for i in range(2) for part in parts}
    for norm in ("input_layernorm", "post_attention_layernorm"):
        state |= {f"model.layers.{i}.{norm}.weight": torch.zeros(12) for i in range(2)}
    state |= {"model.embed_tokens.weight": torch.zeros(17, 12), "model.norm.weight": torch.zeros(12)}
    message = refused(tmp_path, state, {"model_type": model_type})
    assert told in message
    assert "--write-map own.yaml" in message
    assert len(message) < 500


def refused(folder: Path, state: dict[str, Tensor], config: dict[str, object] | None = None) -> str:
    with pytest.raises(CheckpointError) as refusal:
        plan_import(raw_of(folder, state, config), {})
    return str(refusal.value)


def test_a_file_beside_a_mapping_file_is_led_to_it(tmp_path: Path) -> None:
    torch.save(Gpt().state_dict(), tmp_path / "model.pt")
    with pytest.raises(CheckpointError, match=r"Give the whole folder if there is a config\.json\.$"):
        open_checkpoint(tmp_path / "model.pt")
    (tmp_path / MAPPING).write_text("names: {}", encoding="utf-8")
    with pytest.raises(CheckpointError, match=f"folder has a {MAPPING}: give the folder, or that file"):
        open_checkpoint(tmp_path / "model.pt")


@pytest.mark.parametrize("first", [0, 1])
def test_the_mapping_file_that_is_written_opens_the_model(tmp_path: Path, first: int) -> None:
    theirs = randomized(Gpt())
    raw = raw_of(tmp_path, counted_from(first, theirs.state_dict()))
    text = template(raw)
    assert "  mask: a mask, which Headlight makes itself" in text.partition("ignored:")[2]
    text = text.replace("config:\n", "config:\n  pad_id: -1\n")
    answers = {"n_heads": 4, "activation": "gelu", "norm_position": "pre", "embedding_scale": "no"}
    ours, _ = imported(with_mapping(raw, text), answers)
    ids = random_ids(VOCAB, 2, 7)
    with torch.no_grad():
        assert close(ours(None, ids), theirs(ids))


def counted_from(first: int, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors with their layers counted from another number than 0."""
    return {
        re.sub(r"(?<=\.)\d+(?=\.)", lambda n: str(int(n[0]) + first), name, count=1): tensor
        for name, tensor in state.items()
    }


class Layer(nn.Module):
    def __init__(self, *, crosses: bool) -> None:
        super().__init__()
        self.self_attention = self._attention()
        self.norm1 = nn.LayerNorm(8)
        if crosses:
            self.cross = self._attention()
            self.norm2 = nn.LayerNorm(8)
        self.ff1, self.ff2, self.norm3 = nn.Linear(8, 30), nn.Linear(30, 8), nn.LayerNorm(8)

    @staticmethod
    def _attention() -> nn.ModuleDict:
        return nn.ModuleDict({name: nn.Linear(8, 8) for name in ("query", "key", "value", "fc")})


@pytest.mark.parametrize("first, depth", [(0, 3), (1, 17)])
def test_both_stacks_are_guessed(tmp_path: Path, first: int, depth: int) -> None:
    model = nn.ModuleDict(
        {
            "enc_layers": nn.ModuleList(Layer(crosses=False) for _ in range(depth)),
            "dec_layers": nn.ModuleList(Layer(crosses=True) for _ in range(2)),
            "src_emb": nn.Embedding(19, 8),
            "tgt_emb": nn.Embedding(23, 8),
            "head": nn.Linear(8, 23),
        }
    )
    raw = raw_of(tmp_path, counted_from(first, model.state_dict()))
    config = imported(with_mapping(raw, template(raw)), {})[1].config
    assert (config.n_encoder_layers, config.n_decoder_layers) == (depth, 2)
    assert (config.src_vocab_size, config.tgt_vocab_size, config.d_ff) == (19, 23, 30)
    assert config.has_generator


@pytest.mark.parametrize("bias", [True, False])
def test_the_generator_is_the_matrix_with_a_bias_or_else_the_second(tmp_path: Path, bias: bool) -> None:
    """Its name reveals nothing; an embedding has no bias and comes first."""
    model = nn.ModuleDict(
        {
            "blocks": nn.ModuleList(Layer(crosses=False) for _ in range(2)),
            "words": nn.Embedding(19, 8),
            "top": nn.Linear(8, 19, bias=bias),
        }
    )
    lines = template(raw_of(tmp_path, model.state_dict())).splitlines()
    assert "  words.weight: tgt_embedding.weight" in lines
    assert "  top: generator" in lines


def test_names_that_no_mapping_file_can_hold_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="rename them"):
        template(raw_of(tmp_path, {"a: b.weight": torch.zeros(2, 3)}))
    with pytest.raises(CheckpointError, match="can hold 1,500"):
        template(raw_of(tmp_path, {f"a{i}.weight": torch.zeros(1) for i in range(1_501)}))
