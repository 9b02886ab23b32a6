"""From files to a running model: trainers' dictionaries, folders, our own; no temporary file remains."""

from __future__ import annotations

import gc
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from tests.transformer.checkpoints.importing.families.foreign import randomized, raw_of
from tests.transformer.checkpoints.importing.families.hugging_face.small_models import saved, tiny
from transformer.analysis.doctor.examine import examine
from transformer.checkpoints.importing.recognition import plan_import
from transformer.checkpoints.opening import import_raw, open_checkpoint, open_model
from transformer.checkpoints.places import place_of
from transformer.errors import CheckpointError
from transformer.run import run_sentence

GPT2: dict[str, Any] = {
    "vocab_size": 41,
    "n_embd": 33,
    "n_layer": 3,
    "n_head": 3,
    "n_positions": 29,
    "bos_token_id": 0,
    "eos_token_id": 1,
}


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the numbers of opened checkpoints are stored."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def gpt2() -> Any:
    return tiny(transformers.GPT2LMHeadModel, GPT2)


@pytest.mark.parametrize("key", ["state_dict", "model_state_dict", None])
def test_a_trainers_file_with_its_optimizer(tmp_path: Path, key: str | None) -> None:
    theirs = nn.Transformer(22, 2, 2, 3, 37, batch_first=True)
    optimizer = torch.optim.Adam(theirs.parameters())
    torch.cat([parameter.flatten() for parameter in theirs.parameters()]).sum().backward()
    optimizer.step()
    state_dict = {f"module.{name}": weight for name, weight in theirs.state_dict().items()}
    whole = (
        {key: state_dict, "optimizer_state_dict": optimizer.state_dict(), "epoch": 3} if key else state_dict
    )
    torch.save(whole, tmp_path / "checkpoint.pt")
    imported = open_checkpoint(tmp_path / "checkpoint.pt", answers={"n_heads": 2, "norm_position": "post"})
    assert imported.loaded is not None
    ours = imported.loaded.model.get_parameter("decoder.layers.2.cross_attn.w_o.weight")
    assert torch.equal(ours, theirs.decoder.layers[2].multihead_attn.out_proj.weight)
    assert imported.report.keys.fits
    assert not imported.report.keys.unexpected
    assert not any(parameter.requires_grad for parameter in imported.loaded.model.parameters())


def test_a_configuration_that_was_left_out_is_named(tmp_path: Path) -> None:
    gpt2().save_pretrained(tmp_path)
    (note,) = (
        note for note in open_checkpoint(tmp_path / "model.safetensors").report.notes if "config.json" in note
    )
    assert "open the folder" in note
    assert not any("was not read" in note for note in open_checkpoint(tmp_path).report.notes)


def test_a_missing_home_is_named() -> None:
    with pytest.raises(CheckpointError, match=r"'~nobody-at-all/x' names a home folder that does not exist"):
        open_checkpoint("~nobody-at-all/x")


@pytest.mark.parametrize("vocab_size", [1, 3])
def test_the_smallest_vocabularies_run(tmp_path: Path, vocab_size: int) -> None:
    """The usual ids for begin and end are outside the vocabulary."""
    model = nn.ModuleDict({
        "src_embedding": nn.Embedding(vocab_size, 8),
        "tgt_embedding": nn.Embedding(vocab_size, 8),
        "transformer": nn.Transformer(8, 2, 1, 1, 5),
        "generator": nn.Linear(8, vocab_size),
    })  # fmt: skip
    torch.save(randomized(model).state_dict(), tmp_path / "small.pt")
    imported = open_checkpoint(tmp_path / "small.pt")
    assert imported.loaded is not None
    assert run_sentence(imported.loaded, "0").trace
    assert examine(imported).checks


def test_a_model_whose_every_word_ends_it_is_examined(tmp_path: Path) -> None:
    config = {
        "vocab_size": 7, "d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "eos_token_id": 2,
        "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 9,
        "decoder_ffn_dim": 9, "max_position_embeddings": 29, "forced_eos_token_id": None,
    }  # fmt: skip
    theirs = tiny(transformers.BartForConditionalGeneration, config)
    theirs.save_pretrained(tmp_path)
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": list(range(7))}))
    assert "later tokens" in examine(open_checkpoint(tmp_path)).checks


def test_a_folder_of_hugging_face(tmp_path: Path) -> None:
    theirs = gpt2()
    theirs.save_pretrained(tmp_path / "mine", max_shard_size="30KB")
    imported = open_checkpoint(tmp_path / "mine")
    assert imported.loaded is not None
    assert imported.loaded.name == "mine"
    ids = torch.arange(3, 16)[None]
    with torch.no_grad():
        expected = theirs(ids).logits
    assert torch.allclose(imported.loaded.model(None, ids), expected, atol=1e-5)


def test_our_own_folders_open_as_ever() -> None:
    imported, shipped = open_checkpoint(place_of("toy-en-it")), open_model("toy-en-it")
    assert imported.loaded is not None
    assert imported.report.family == "headlight"
    weights = imported.loaded.model.state_dict()
    assert all(torch.equal(weights[name], weight) for name, weight in shipped.model.state_dict().items())
    assert imported.loaded.source.encode("the cat").ids == shipped.source.encode("the cat").ids


def test_a_model_with_a_missing_weight_is_reported_and_not_loaded(tmp_path: Path) -> None:
    gpt2().save_pretrained(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    del weights["transformer.h.1.mlp.c_fc.weight"]
    save_file(weights, tmp_path / "model.safetensors")
    imported = open_checkpoint(tmp_path)
    assert imported.loaded is None
    assert [problem.name for problem in imported.report.keys.missing] == ["transformer.h.1.mlp.c_fc.weight"]


def test_numbers_go_when_nobody_needs_them(tmp_path: Path, own_temporary_folder: Path) -> None:
    gpt2().save_pretrained(tmp_path / "mine")
    imported = open_checkpoint(tmp_path / "mine")
    assert list(own_temporary_folder.iterdir())
    loaded = imported.loaded
    assert loaded is not None
    del imported
    gc.collect()
    assert not list(own_temporary_folder.iterdir())
    assert loaded.model.tgt_embedding.weight.isfinite().all()  # mapped numbers remain


def test_a_refused_file_leaves_nothing_there(tmp_path: Path, own_temporary_folder: Path) -> None:
    save_file({"conv.weight": torch.zeros(3)}, tmp_path / "model.safetensors")
    with pytest.raises(CheckpointError, match="No known layout"):
        open_checkpoint(tmp_path / "model.safetensors")
    assert not list(own_temporary_folder.iterdir())


@pytest.mark.parametrize("equal", [True, False])
def test_copies_of_tied_weights_are_compared(tmp_path: Path, equal: bool) -> None:
    theirs = gpt2()
    state_dict: dict[str, Tensor] = dict(theirs.state_dict())
    state_dict["lm_head.weight"] = state_dict["lm_head.weight"].clone()
    if not equal:
        state_dict["lm_head.weight"][3, 5] += 1
    imported = import_raw(raw_of(tmp_path, state_dict, theirs.config.to_dict()))
    (tied,) = imported.report.keys.tied
    assert (tied.name, tied.to, tied.equal) == ("lm_head.weight", "transformer.wte.weight", equal)
    assert imported.loaded is not None
    assert torch.equal(imported.loaded.model.generator.weight, state_dict["transformer.wte.weight"])


def test_what_a_folder_holds_is_told_from_its_heads_alone(tmp_path: Path) -> None:
    raw = saved(tmp_path, gpt2())
    gone = {name: replace(stored, path=tmp_path / "gone") for name, stored in raw.tensors.items()}
    report = plan_import(replace(raw, tensors=gone), {}).report
    assert report.keys.fits
    assert report.config.n_decoder_layers == 3


def test_every_weight_is_read_and_none_is_invented(tmp_path: Path) -> None:
    """The model's parameters consist of exactly the file's numbers."""
    theirs = randomized(nn.Transformer(22, 2, 2, 3, 37, batch_first=True))
    raw = raw_of(tmp_path, theirs.state_dict())
    model = import_raw(raw).loaded
    assert model is not None
    stored = torch.cat([weight.flatten() for weight in theirs.state_dict().values()]).sort().values
    ours = [
        parameter.flatten() for name, parameter in model.model.named_parameters() if "embedding" not in name
    ]
    assert torch.equal(torch.cat(ours).sort().values, stored)
