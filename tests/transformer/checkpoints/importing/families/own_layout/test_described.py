"""Layouts described by a mapping file compute the same numbers here, including the documented example."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import headlight
from tests.transformer.checkpoints.importing.families.foreign import (
    close,
    imported,
    random_ids,
    randomized,
    raw_of,
)
from tests.transformer.model.core import tiny_config, trace_of
from transformer.checkpoints.importing.layout.shipped import described_by_user
from transformer.checkpoints.importing.recognition import plan_import, with_mapping
from transformer.checkpoints.opening import open_checkpoint
from transformer.checkpoints.reading.folder_files import MAPPING
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.errors import CheckpointError
from transformer.model.positions import sinusoidal_encoding

DOCUMENT = Path("docs/checkpoints.md")
D, HEADS, D_FF, VOCAB, LENGTH, DEPTH = 44, 4, 37, 61, 19, 3


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.weights = torch.empty(0)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        scores = (q @ k.transpose(-2, -1) / math.sqrt(D // HEADS)).masked_fill(mask == 0, -math.inf)
        self.weights = scores.softmax(dim=-1)
        return self.out((self.weights @ v).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.ln1, self.attn, self.ln2 = nn.LayerNorm(D), Attention(), nn.LayerNorm(D)
        self.mlp = nn.ModuleDict({"up": nn.Linear(D, D_FF), "down": nn.Linear(D_FF, D)})

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = x + self.attn(self.ln1(x), mask)
        return x + self.mlp["down"](functional.gelu(self.mlp["up"](self.ln2(x))))


class OutputNormed(Block):
    """Norms of the sublayers' outputs, under the same names."""

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = x + self.ln1(self.attn(x, mask))
        return x + self.ln2(self.mlp["down"](functional.gelu(self.mlp["up"](x))))


class Gpt(nn.Module):
    """The module of docs/checkpoints.md."""

    mask: Tensor

    def __init__(self, block: type[Block] = Block) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(VOCAB, D), nn.Embedding(LENGTH, D)
        self.blocks = nn.ModuleList(block() for _ in range(DEPTH))
        self.ln_out, self.unembed = nn.LayerNorm(D), nn.Linear(D, VOCAB, bias=False)
        self.register_buffer("mask", torch.ones(LENGTH, LENGTH).tril())

    def forward(self, ids: Tensor) -> Tensor:
        n = ids.shape[1]
        x = self.words(ids) + self.places.weight[:n]
        for block in self.blocks:
            x = block(x, self.mask[:n, :n])
        return self.unembed(self.ln_out(x))


def documented() -> str:
    return examples()[0]


def examples() -> list[str]:
    """The mapping files, and parts of some, in the documentation."""
    return re.findall(r"```yaml\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)


def mapped(folder: Path, text: str, **state_dict: Tensor) -> RawCheckpoint:
    return with_mapping(raw_of(folder, state_dict or Gpt().state_dict()), text)


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(CheckpointError) as refused:
        plan_import(mapped(folder, text), {})
    return str(refused.value)


@pytest.mark.parametrize("as_json", [False, True])
def test_the_documented_example_computes_the_same_numbers(tmp_path: Path, as_json: bool) -> None:
    theirs, text = randomized(Gpt()), documented()
    if as_json:  # with tabs, as some programs write YAML
        text = json.dumps(as_plain(text), indent="\t")
    ours, report = imported(mapped(tmp_path, text, **theirs.state_dict()), {"pad_id": -1})
    unsaid = {"norm", "norm_eps", "pad_id", "attention_scale", "parallel_residual"}
    assert {question.name for question in report.questions} == unsaid
    assert [key.name for key in report.keys.unused] == ["mask"]
    ids = random_ids(VOCAB, 2, 7)
    with torch.no_grad():
        logits = theirs(ids)
    trace = trace_of(ours, None, ids)
    assert close(trace["logits"], logits)
    blocks: Any = theirs.blocks
    for layer, block in enumerate(blocks):
        assert close(trace.attention("decoder", layer, "self_attn").weights, block.attn.weights)


def as_plain(text: str) -> Any:
    """The example's YAML without a YAML parser: three levels of names, and lists."""
    plain: dict[str, Any] = {}
    section: dict[str, Any] = {}
    entry: dict[str, Any] = {}
    for line in text.splitlines():
        key, _, value = line.strip().partition(": ")
        key, indent = key.rstrip(":"), len(line) - len(line.lstrip())
        if indent == 0:
            section = plain[key] = {}
        elif line.strip().startswith("- "):
            entry.setdefault("to", []).append(line.strip()[2:])
        elif indent == 2 and not value:
            entry = section[key] = {}
        elif indent == 2:
            section[key] = {"4": 4, "false": False}.get(value, value)
        elif value:
            entry[key] = value
    return plain


def test_a_wrapped_model_and_a_file_in_the_folder_need_nothing_else(tmp_path: Path) -> None:
    state = {f"module.{name}": tensor for name, tensor in randomized(Gpt()).state_dict().items()}
    torch.save(state, tmp_path / "pytorch_model.bin")
    (tmp_path / MAPPING).write_text(documented(), encoding="utf-8")
    opened = open_checkpoint(tmp_path)
    assert opened.report.family == "described"
    assert opened.loaded is not None
    again = plan_import(opened.raw, {"activation": "gelu"} if "activation" in questions(opened) else {})
    assert again.report.config == opened.report.config


def questions(opened: Any) -> set[str]:
    return {question.name for question in opened.report.questions}


def test_tensors_stored_by_columns_and_tables_with_more_rows(tmp_path: Path) -> None:
    theirs = randomized(Gpt())
    state = dict(theirs.state_dict())
    for name in list(state):
        if name.startswith("blocks.") and name.endswith(".weight") and state[name].dim() == 2:
            state[name] = state[name].T.contiguous()
    state["places.weight"] = torch.cat((torch.ones(2, D), state["places.weight"]))
    text = documented().replace("by: blocks", "by: [transposed, blocks]")
    for module in ("attn.out", "mlp.up", "mlp.down"):
        text = re.sub(rf"(  blocks.{{}}.{module}): (.*)", r"\1: {to: '\2', by: transposed}", text)
    table = "{to: tgt_embedding.positions.weight, by: without_first_rows, rows: 2}"
    text = text.replace("places.weight: tgt_embedding.positions.weight", f"places.weight: {table}")
    text = text.replace("config:\n", f"config:\n  max_len: {LENGTH}\n")
    ours, _ = imported(mapped(tmp_path, text, **state), {"pad_id": -1})
    ids = random_ids(VOCAB, 2, 7)
    with torch.no_grad():
        assert close(ours(None, ids), theirs(ids))


def test_what_the_file_does_not_tell_is_asked(tmp_path: Path) -> None:
    text = documented().partition("config:")[0]
    report = plan_import(mapped(tmp_path, text), {}).report
    asked = {question.name for question in report.questions}
    assert asked == {
        "n_heads",
        "norm",
        "norm_position",
        "norm_eps",
        "activation",
        "embedding_scale",
        "attention_scale",
        "pad_id",
    }
    assert (report.config.n_heads, report.config.d_model, report.config.max_len) == (4, D, LENGTH)
    without = re.sub(r"  unembed.*\n", "", text)
    report = plan_import(mapped(tmp_path, without), {"tie_generator": "no"}).report
    assert not report.config.has_generator


def test_the_places_of_norms_that_have_as_many_are_offered(tmp_path: Path) -> None:
    text = documented().replace("  norm_position: pre\n", "")
    second = "  blocks.{}.ln2: decoder.layers.{}.self_attn_post_norm\nignored:"
    for written, offered, taken in (
        (text, ["post", "pre", "output"], "post"),
        (re.sub("  .*_norm\n", "", text), ["post", "pre", "output", "both", "none"], "post"),
        (re.sub(r"(attn|forward)_norm", r"\1_post_norm", text), [], "output"),
        (re.sub("  .*forward_norm\n", "", text).replace("ignored:", second), [], "both"),
    ):
        report = plan_import(mapped(tmp_path, written), {}).report
        asked = [one for one in report.questions if one.name == "norm_position"]
        assert [option.value for one in asked for option in one.options] == offered
        assert report.config.norm_position == taken


@pytest.mark.parametrize("is_answer", [True, False])
def test_norms_of_outputs_need_no_names_of_their_own(tmp_path: Path, is_answer: bool) -> None:
    theirs, answers = randomized(Gpt(OutputNormed)), {"norm_position": "output"} if is_answer else {}
    told = "" if is_answer else "  norm_position: output\n"
    text = documented().replace("  norm_position: pre\n", told)
    ours, _ = imported(mapped(tmp_path, text, **theirs.state_dict()), {"pad_id": -1, **answers})
    ids = random_ids(VOCAB, 2, 7)
    with torch.no_grad():
        assert close(ours(None, ids), theirs(ids))


@pytest.mark.parametrize(
    "old, new, line, said",
    [
        ("decoder.final_norm", "decoder.fnal_norm", 15, "the nearest is decoder.final_norm"),
        ("w_1\n", "w_1.wieght\n", 13, "our model has no"),
        ("n_heads: 4", "n_head: 4", 20, "the nearest is n_heads"),
        ("by: blocks", "by: bloks", 6, "the nearest is blocks"),
        (
            "by: blocks",
            "by: interleaved",
            6,
            "no by: 'interleaved'; the nearest is interleaved_by_head; known",
        ),
        ("n_heads: 4", "merge_heads: true", 20, "it must be one of transposed, untransposed"),
        ("n_heads: 4", "query_key_norm: 3", 20, "it must be true or false or one of each_head, across_heads"),
        ("norm_position: pre", "norm_position: 1", 21, "it must be one of pre, post, both, output, none"),
        ("ignored:", "ignore:", 18, "the nearest is ignored"),
        ("blocks.{}.ln1", "blocks.{0.__class__}.ln1", 4, "is not a pattern"),
        ("blocks.{}.ln1", "blocks.ln1", 4, "fewer {}"),
        ("words.weight: tgt_embedding.weight", "words.weight: {to: 5}", 2, "give a name of ours"),
        ("words.weight: tgt", "places.weight: tgt", 3, "is there twice"),
        ("n_heads: 4", "n_heads: {a: 4}", 20, "no n_heads entry 'a'"),
        ("n_heads: 4", "n_heads: *four", 20, "not read"),
        ("n_heads: 4", "n_heads: !!python/object:os.system 4", 20, "not read"),
        ("n_heads: 4", "n_heads: [4", 21, "not YAML"),
    ],
)
def test_a_mistake_is_refused_with_its_line(tmp_path: Path, old: str, new: str, line: int, said: str) -> None:
    message = refusal(tmp_path, documented().replace(old, new, 1))
    assert said in message
    assert f"line {line}" in message


def test_only_documented_operations_are_offered(tmp_path: Path) -> None:
    message = refusal(tmp_path, documented().replace("by: blocks", "by: interleaved"))
    offered = message.partition("known: ")[2].rstrip(".").split(", ")
    assert "take_rows" in offered
    assert not [name for name in offered if f"`{name}`" not in DOCUMENT.read_text(encoding="utf-8")]


@pytest.mark.parametrize(
    "ignored, said",
    [
        ("mask", []),
        ("blocks.{}.scale", ["the nearest: 'blocks.{}.ln1.bias', 'blocks.{}.ln1.weight'."]),
        ("ask", ["line 18: 'ask' under ignored matches no tensor of the files."]),
        ("bias", ["the nearest: 'blocks.{}.attn.out.bias', 'blocks.{}.attn.qkv.bias'."]),
        ("module.blocks.0.up.bias", ["the nearest: 'blocks.{}.mlp.up.bias', "]),
    ],
)
def test_an_ignored_name_without_a_tensor_is_noted(tmp_path: Path, ignored: str, said: list[str]) -> None:
    text = documented().replace("  mask:", f"  {ignored}:")
    notes = [note for note in plan_import(mapped(tmp_path, text), {}).report.notes if "ignored" in note]
    assert len(notes) == len(said)
    assert all(one in note for one, note in zip(said, notes, strict=True))


def test_the_documented_comparison_tells_a_right_mapping_from_a_wrong_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, right = randomized(Gpt()), f"{documented()}  pad_id: -1\n"
    torch.save(mine.state_dict(), tmp_path / "model.pt")
    python = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)[1]
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"headlight": headlight, "torch": torch, "mine": mine}
    swapped = right.replace("w_q", "w_x").replace("w_v", "w_q").replace("w_x", "w_v")
    errors = []
    for text in (right, swapped):
        Path("own.yaml").write_text(text, encoding="utf-8")
        with pytest.warns(UserWarning, match="leaves questions open"):
            exec(python, names)  # noqa: S102 -- our own document
        errors.append(names["error"])
    assert errors[0] < 1e-5
    assert errors[1] > 0.1, "values taken for queries have the right shape"


def test_a_fused_gate_and_a_mixed_order_are_read_as_documented(tmp_path: Path) -> None:
    """Rows of the documented operations: a gate before the other matrix, heads of keys and values in turn."""
    table = DOCUMENT.read_text(encoding="utf-8")
    [gated] = re.findall(r"`by: blocks` to `(\[.*?\])`", table)
    [mixed] = re.findall(r"`by: (\[{take_rows: .*?}, blocks\])`", table)
    up = f"{{by: blocks, to: {gated}}}"
    qkv = f"{{by: {mixed}, to: [self_attn.w_q, self_attn.w_k, self_attn.w_v]}}"
    text = f"names:\n  b.{{}}:\n    at: decoder.layers.{{}}\n    up: {up}\n    qkv: {qkv}\n"
    family = described_by_user(mapped(tmp_path, text))
    assert family is not None
    assert family.renames is not None
    config = tiny_config(d_model=8, n_heads=2)
    rows = [
        [part[:, 0].tolist() for part in family.renames[name].by(torch.arange(n).unsqueeze(1), config)]
        for name, n in (("b.{}.up.weight", 6), ("b.{}.qkv.weight", 24))
    ]
    gate, other = family.renames["b.{}.up.weight"].names
    assert (gate[-10:], other[-10:]) == ("w_1.weight", "w_3.weight")
    assert rows[0] == [[0, 1, 2], [3, 4, 5]]
    assert rows[1] == [[*range(8)], [*range(8, 12), *range(16, 20)], [*range(12, 16), *range(20, 24)]]


@pytest.mark.parametrize(
    "text, said",
    [
        ("", "is empty"),
        ("[1, 2]", "must hold names"),
        ("config: {n_heads: 4}", "no section names|has no section"),
        ("a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n", "not read"),
        ("[" * 60_000, "nested|not YAML"),
        ("names: {}\n---\nnames: {}\n", "second document"),
        ("names: {a.weight: generator.weight}", "is one of the files'"),
        ("x" * 70_000, "at most"),
        ("names: {words.weight: tgt_embedding.weight}", "give it: add one"),
        ("names:\n  \x00: 1", "not YAML"),
    ],
)
def test_what_is_no_mapping_file_is_refused(tmp_path: Path, text: str, said: str) -> None:
    assert re.search(said, refusal(tmp_path, text))


def test_values_that_make_no_model_are_refused(tmp_path: Path) -> None:
    for new in (
        "n_heads: many",
        "n_heads: 0",
        "n_heads: 1e400",
        "n_heads: -3",
        "n_heads: [4, 4]",
        "d_model: x",
    ):
        assert refusal(tmp_path, documented().replace("n_heads: 4", new))
    many = {f"names.{i}": torch.zeros(1) for i in range(3)}
    assert "is one of the files'" in refusal_of(replace(mapped(tmp_path, documented(), **many)))


def refusal_of(raw: RawCheckpoint) -> str:
    with pytest.raises(CheckpointError) as refused:
        plan_import(raw, {})
    return str(refused.value)


@pytest.mark.parametrize("example", examples())
def test_every_example_of_the_documentation_is_valid(tmp_path: Path, example: str) -> None:
    text = example if "names:" in example else f"names: {{words.weight: tgt_embedding.weight}}\n{example}"
    assert described_by_user(mapped(tmp_path, text)) is not None


def test_a_table_whose_rows_are_moved_is_used_as_stored_though_it_holds_sinusoids(tmp_path: Path) -> None:
    """The rows that are added aren't the sinusoids of their positions."""
    theirs = Gpt()
    table = sinusoidal_encoding(LENGTH, D)
    theirs.load_state_dict(theirs.state_dict() | {"places.weight": table})
    moved = "{to: tgt_embedding.positions.weight, by: {take_rows: ['1:', 0]}}"
    text = documented().replace("places.weight: tgt_embedding.positions.weight", f"places.weight: {moved}")
    ours, report = imported(mapped(tmp_path, text, **theirs.state_dict()))
    assert report.config.positions == "learned"
    assert torch.equal(ours.state_dict()["tgt_embedding.positions.weight"], table.roll(-1, 0))


def test_the_base_of_a_rotation_and_its_pairs_are_asked_about(tmp_path: Path) -> None:
    text = re.sub("  places.*\n", "", documented()).replace("n_heads: 4", "positions: rotary\n  n_heads: 2")
    state_dict = Gpt().state_dict()
    del state_dict["places.weight"]
    report = plan_import(mapped(tmp_path, text, **state_dict), {}).report
    assert "position_base" in [question.name for question in report.questions]
    assert any("pairs_apart" in note for note in report.notes)
