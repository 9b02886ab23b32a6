"""Saving and opening: the same bits are read back, and a broken folder is refused with a plain sentence."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from tests.support.models import tiny_model, tiny_subword_model
from transformer.checkpoints.folder import open_saved, save_model, summarize
from transformer.checkpoints.places import MODELS, default_model, place_of, shipped_models
from transformer.checkpoints.weights import ties
from transformer.errors import CheckpointError
from transformer.files import save_tensors

Break = Callable[[Path], object]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_model(tmp_path / "tiny", tiny_model())
    return tmp_path / "tiny"


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"tie_generator": False, "positions": "learned"},
        {"norm_position": "pre", "final_norm": True, "bias": False},
        {"norm_position": "both", "positions": "rotary", "position_bases": (9.0, 0.0, 50.0, 9.0, 7.0)},
        {"attention_windows": (2, 0, 3, 0, 1)},
        {"shared_layers": True, "d_embedding": 14, "generator_transform": True},
    ],
    ids=[
        "tied",
        "untied, learned positions",
        "pre-norm without biases",
        "norms on both sides",
        "windows",
        "shared",
    ],
)
def test_opening_gives_the_same_bits(tmp_path: Path, changes: dict[str, Any]) -> None:
    saved = tiny_model(**changes)
    save_model(tmp_path / "tiny", saved)
    opened = open_saved(str(tmp_path / "tiny"))
    assert opened.model.config == saved.model.config
    state, expected = opened.model.state_dict(), saved.model.state_dict()
    assert state.keys() == expected.keys()
    assert all(torch.equal(state[name], expected[name]) for name in expected)
    src, tgt = torch.tensor([[4, 5, 2]]), torch.tensor([[1, 7]])
    assert torch.equal(opened.model(src, tgt), saved.model(src, tgt))


def test_layers_that_are_one_layer_are_stored_once(tmp_path: Path) -> None:
    saved = tiny_model(shared_layers=True)
    save_model(tmp_path / "tiny", saved)
    names = load_file(tmp_path / "tiny" / "model.safetensors").keys()
    assert {name.split(".")[2] for name in names if ".layers." in name} == {"0"}
    tied = ties(saved.model)
    assert tied["decoder.layers.2.cross_attn.w_q.weight"] == "decoder.layers.0.cross_attn.w_q.weight"
    assert names == saved.model.state_dict().keys() - tied.keys()
    opened = open_saved(str(tmp_path / "tiny")).model
    assert opened.encoder.layers[1] is opened.encoder.layers[0]
    assert summarize(str(tmp_path / "tiny")).n_parameters == sum(p.numel() for p in saved.model.parameters())


def test_words_card_and_name_come_back(folder: Path) -> None:
    opened, saved = open_saved(str(folder)), tiny_model()
    assert opened.name == "tiny"
    assert opened.card == "# tiny"
    for side in ("source", "target"):
        coder, expected = getattr(opened, side), getattr(saved, side)
        assert coder.vocabulary.to_list() == expected.vocabulary.to_list()
        assert coder.tokenizer.language == expected.tokenizer.language
        assert coder.tokenizer.lowercase == expected.tokenizer.lowercase


def test_sub_words_come_back(tmp_path: Path) -> None:
    saved = tiny_subword_model()
    save_model(tmp_path / "tiny", saved)
    opened = open_saved(str(tmp_path / "tiny"))
    for side in ("source", "target"):
        coder, expected = getattr(opened, side), getattr(saved, side)
        assert coder.unit == "sub-word"
        assert coder.vocabulary.to_lists() == expected.vocabulary.to_lists()
        for text in ("The dog's 🦝", "l’amica <bos> ▁x"):
            assert coder.encode(text) == expected.encode(text)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_takes_half_the_space_and_opens_as_float32(tmp_path: Path, dtype: torch.dtype) -> None:
    saved = tiny_model()
    save_model(tmp_path / "half", saved, dtype=dtype)
    save_model(tmp_path / "whole", saved)
    sizes = [(tmp_path / name / "model.safetensors").stat().st_size for name in ("half", "whole")]
    assert sizes[0] < 0.6 * sizes[1]
    state, expected = (
        model.state_dict() for model in (open_saved(str(tmp_path / "half")).model, saved.model)
    )
    for name, weights in expected.items():
        assert state[name].dtype == torch.float32
        assert torch.equal(state[name], weights.to(dtype).float())


def test_weights_too_large_for_half_precision_are_refused(tmp_path: Path) -> None:
    saved = tiny_model()
    saved.model.generator.bias.data[0] = 1e5
    with pytest.raises(
        ValueError, match=r"generator\.bias has weights that are too large for torch\.float16"
    ):
        save_model(tmp_path / "half", saved, dtype=torch.float16)
    assert not (tmp_path / "half").exists()


LIMIT = 30_000
"""File size in bytes at which the tiny model needs several files."""


@pytest.fixture
def sharded(tmp_path: Path) -> Path:
    save_model(tmp_path / "sharded", tiny_model(), max_file_bytes=LIMIT)
    return tmp_path / "sharded"


def index_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "model.safetensors.index.json").read_text())


def shards_of(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("model-*"))


def test_large_weights_are_shared_out_among_files_as_hugging_face_does(sharded: Path) -> None:
    names = shards_of(sharded)
    n = len(names)
    assert n > 2
    assert names == [f"model-{i:05}-of-{n:05}.safetensors" for i in range(1, n + 1)]
    assert all((sharded / name).stat().st_size <= LIMIT for name in names)
    assert not (sharded / "model.safetensors").exists()
    index = index_of(sharded)
    weights = {name: load_file(sharded / name) for name in names}
    assert index["weight_map"] == {weight: name for name in names for weight in weights[name]}
    assert index["metadata"] == {
        "total_size": sum(w.nbytes for file in weights.values() for w in file.values())
    }


def test_several_files_open_as_one_model(sharded: Path) -> None:
    opened, saved = open_saved(str(sharded)).model.state_dict(), tiny_model().model.state_dict()
    assert all(torch.equal(opened[name], saved[name]) for name in saved)


def test_a_tensor_larger_than_a_file_may_be_has_its_own(tmp_path: Path) -> None:
    save_model(tmp_path / "tiny", tiny_model(), max_file_bytes=1)
    assert {len(load_file(tmp_path / "tiny" / name)) for name in shards_of(tmp_path / "tiny")} == {1}
    open_saved(str(tmp_path / "tiny"))


def test_saving_again_leaves_no_file_of_the_model_before(folder: Path) -> None:
    for limit in (LIMIT, 2 * LIMIT, None, LIMIT, None):
        save_model(folder, tiny_model(seed=7), max_file_bytes=limit)
        assert (folder / "model.safetensors").exists() == (limit is None)
        named = set() if limit is None else set(index_of(folder)["weight_map"].values())
        assert set(shards_of(folder)) == named
        opened = open_saved(str(folder)).model.state_dict()
        assert torch.equal(opened["generator.bias"], tiny_model(seed=7).model.state_dict()["generator.bias"])


def test_a_disk_that_is_full_leaves_the_model_before(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(part: Path, *, tensors: Mapping[str, Tensor], metadata: dict[str, str] | None) -> None:
        if "00002" in part.name:
            part.write_bytes(b"the beg")
            raise OSError(errno.ENOSPC, "No space left on device")
        save_tensors(part, tensors=tensors, metadata=metadata)

    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    monkeypatch.setattr("transformer.checkpoints.weights.save_tensors", full)
    with pytest.raises(OSError, match="No space left"):
        save_model(folder, tiny_model(seed=7), max_file_bytes=LIMIT)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_opened_model_is_frozen_and_in_eval_mode(folder: Path) -> None:
    model = open_saved(str(folder)).model
    assert not model.training
    assert not any(parameter.requires_grad for parameter in model.parameters())


def test_no_part_files_stay(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == {
        "model.safetensors",
        "config.json",
        "vocabulary.json",
        "README.md",
    }


def test_whoever_may_read_one_file_may_read_all(folder: Path) -> None:
    assert len({path.stat().st_mode for path in folder.iterdir()}) == 1


def test_unknown_name_lists_what_there_is() -> None:
    with pytest.raises(CheckpointError, match="There is no model 'none-such': name a shipped one"):
        place_of("none-such")
    with pytest.raises(CheckpointError, match="The path is empty"):
        place_of("")
    assert all(place_of(name).is_dir() for name in shipped_models())


def test_people_begin_with_the_real_translator_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transformer.checkpoints.places.MODELS", tmp_path)
    for name, expected in (
        ("zebra", "zebra"),
        ("toy-en-it", "toy-en-it"),
        ("a", "toy-en-it"),
        ("en-it", "en-it"),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").touch()
        assert default_model() == shipped_models()[0] == expected
    assert shipped_models() == ["en-it", "toy-en-it", "a", "zebra"]


def test_shipped_files_are_small_enough_to_ship() -> None:
    sizes = [path.stat().st_size for path in MODELS.rglob("*.safetensors")]
    assert sizes
    assert max(sizes) <= 16 * 2**20


def test_another_programs_folder_is_not_told_to_be_changed(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert", "hidden_size": 48}))
    with pytest.raises(CheckpointError, match="not a folder that Headlight saved: it has no vocabulary"):
        open_saved(str(tmp_path))


def without(name: str) -> Break:
    return lambda folder: (folder / name).unlink()


def with_text(name: str, text: str) -> Break:
    return lambda folder: (folder / name).write_text(text)


def with_config(**changes: object) -> Break:
    def change(folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text()) | changes
        (folder / "config.json").write_text(json.dumps(config))

    return change


def with_weights(change: Callable[[dict[str, torch.Tensor]], object]) -> Break:
    def rewrite(folder: Path) -> None:
        weights = load_file(folder / "model.safetensors")
        change(weights)
        save_file(weights, folder / "model.safetensors")

    return rewrite


@pytest.mark.parametrize(
    "break_it,sentence",
    [
        (without("config.json"), "has no config.json"),
        (without("vocabulary.json"), "has no vocabulary.json"),
        (without("model.safetensors"), "has no model.safetensors"),
        (with_text("config.json", "{"), "can't be read"),
        (with_text("config.json", "[]"), "holds no JSON object"),
        (with_text("vocabulary.json", "{}"), "source side is not valid"),
        (with_text("model.safetensors", "version https://git-lfs.github.com/spec/v1"), "can't be read"),
        (with_config(d_modle=3), "d_modle"),
        (with_config(n_heads=7), "choose n_heads that divides it"),
        (with_config(d_ff=29), "feed_forward.w_1"),
        (with_config(src_vocab_size=99), "two different models"),
        (with_weights(lambda weights: weights.pop("generator.bias")), "generator.bias is missing"),
        (with_weights(lambda weights: weights.update(extra=torch.ones(1))), "extra is not part of it"),
    ],
)
def test_broken_folder_is_refused_with_a_sentence(folder: Path, break_it: Break, sentence: str) -> None:
    break_it(folder)
    with pytest.raises(CheckpointError, match=sentence):
        open_saved(str(folder))


def with_index(change: Callable[[dict[str, Any]], object]) -> Break:
    def rewrite(folder: Path) -> None:
        index = index_of(folder)
        change(index)
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))

    return rewrite


def naming(name: object) -> Break:
    return with_index(lambda index: index["weight_map"].update({"generator.bias": name}))


def empty_first(folder: Path) -> None:
    (folder / shards_of(folder)[0]).write_bytes(b"")


def doubled(folder: Path) -> None:
    first, second = shards_of(folder)[:2]
    save_file(load_file(folder / first) | load_file(folder / second), folder / second)


def of_whole_numbers(folder: Path) -> None:
    first = folder / shards_of(folder)[0]
    save_file({name: weights.long() for name, weights in load_file(first).items()}, first)


@pytest.mark.parametrize(
    "break_it,sentence",
    [
        (without("model-00002-of-00007.safetensors"), "has no model-00002-of-00007.safetensors"),
        (without("model.safetensors.index.json"), "has no model.safetensors"),
        (with_text("model.safetensors.index.json", "{"), "can't be read"),
        (with_text("model.safetensors.index.json", "[]"), "holds no JSON object"),
        (with_text("model.safetensors.index.json", "[" * 100_000), "can't be read"),
        (with_index(lambda index: index.pop("weight_map")), "has no weight_map"),
        (with_index(lambda index: index.update(weight_map={})), "has no weight_map"),
        (with_index(lambda index: index["weight_map"].pop("generator.bias")), "does not fit the files"),
        (
            with_index(lambda index: index["weight_map"].update(extra="model-00001-of-00007.safetensors")),
            "fit",
        ),
        (naming("model-00001-of-00009.safetensors"), "has no model-00001-of-00009.safetensors"),
        (naming("../tiny/model-00001-of-00007.safetensors"), "which is no file name"),
        (naming("/etc/passwd"), "which is no file name"),
        (naming("model-00001-of-00007.safetensors\n"), "which is no file name"),
        (naming(3), "which is no file name"),
        (empty_first, "can't be read"),
        (doubled, "does not fit the files"),
        (of_whole_numbers, "holds I64"),
        (with_config(d_ff=29), "feed_forward.w_1"),
    ],
)
def test_broken_shards_are_refused_with_a_sentence(sharded: Path, break_it: Break, sentence: str) -> None:
    assert len(shards_of(sharded)) == 7
    break_it(sharded)
    with pytest.raises(CheckpointError, match=sentence):
        open_saved(str(sharded))


def with_side(**changes: Any) -> Break:
    def rewrite(folder: Path) -> None:
        sides = json.loads((folder / "vocabulary.json").read_text())
        sides["target"] |= changes
        (folder / "vocabulary.json").write_text(json.dumps(sides))

    return rewrite


@pytest.mark.parametrize(
    "break_it,sentence",
    [
        (with_side(language="../en"), "target side is not valid .*no tokenizing rules"),
        (with_side(language=3), "it has no language"),
        (with_side(lowercase="yes"), "it has no lowercase"),
        (with_side(pieces=None), "it has no pieces"),
        (with_side(pieces=["a"]), "begins with <pad>"),
        (with_side(pieces=[1, 2]), "its pieces are not all text"),
        (with_side(merges=["a b c"]), "a merge is two pieces"),
        (with_side(merges=["q x"]), "is not of pieces in the vocabulary"),
        (with_side(merges=["\ud800 x"]), "its merges are not all text"),
        (with_side(words=["<pad>", "<bos>", "<eos>", "<unk>"]), "has 4 target words, but config.json says"),
        (with_config(tgt_vocab_size=99), "target sub-words, but config.json says 99"),
    ],
)
def test_broken_sub_words_are_refused_with_a_sentence(tmp_path: Path, break_it: Break, sentence: str) -> None:
    save_model(tmp_path / "tiny", tiny_subword_model())
    break_it(tmp_path / "tiny")
    with pytest.raises(CheckpointError, match=sentence):
        open_saved(str(tmp_path / "tiny"))
