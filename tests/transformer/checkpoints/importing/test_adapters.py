"""LoRA is merged as PEFT computes it, from its names; other adapters are refused by their kind."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import GPT2LMHeadModel, LlamaForCausalLM, PreTrainedModel

from tests.transformer.checkpoints.importing.families.foreign import close, random_ids, randomized
from tests.transformer.checkpoints.importing.families.hugging_face.small_models import tiny
from transformer.checkpoints.opening import open_checkpoint
from transformer.errors import CheckpointError

LLAMA: dict[str, Any] = {
    "vocab_size": 37,
    "hidden_size": 20,
    "intermediate_size": 26,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
}
GPT2: dict[str, Any] = {"vocab_size": 41, "n_embd": 33, "n_layer": 2, "n_head": 3, "n_positions": 29}
IDS = random_ids(37, 2, 7)
Module = tuple[Tensor, Tensor, float]
"""A (r, in), B (out, r), and the factor of their product."""


def llama() -> Any:
    return tiny(LlamaForCausalLM, LLAMA)


def drawn(seed: int, *shape: int) -> Tensor:
    return 0.3 * torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def adapter_of(model: PreTrainedModel, *ends: str, r: int = 3, scale: float = 1.5) -> dict[str, Module]:
    """Random A and B for each module with one of these ends to its name."""
    found = {}
    for seed, (name, module) in enumerate(model.named_modules()):
        if name.endswith(ends):
            weight = module.get_parameter("weight")
            into, out = weight.shape if type(module).__name__ == "Conv1D" else weight.shape[::-1]
            found[name] = drawn(seed, r, into), drawn(seed + 1000, out, r), scale
    return found


@torch.no_grad()
def logits(model: PreTrainedModel, adapter: Mapping[str, Module], ids: Tensor = IDS) -> Tensor:
    """What PEFT computes: each adapted module's output, plus B A x scaled."""

    def add(of: Module, module: nn.Module, args: Any, output: Tensor) -> Tensor:
        down, up, scale = of
        narrow = down.T[args[0]] if isinstance(module, nn.Embedding) else args[0] @ down.T
        return output + scale * narrow @ up.T

    hooks = [
        model.get_submodule(name).register_forward_hook(partial(add, of)) for name, of in adapter.items()
    ]
    expected: Tensor = model(ids).logits
    for hook in hooks:
        hook.remove()
    return expected


def state_dict(
    model: PreTrainedModel, adapter: Mapping[str, Module], name: str = "default"
) -> dict[str, Tensor]:
    """What `peft_model.state_dict()` is."""
    found = {}
    for key, weight in model.state_dict().items():
        stem, _, last = key.rpartition(".")
        found[f"base_model.model.{stem}{'.base_layer' if stem in adapter else ''}.{last}"] = weight
    for stem, (down, up, _) in adapter.items():
        found |= {
            f"base_model.model.{stem}.lora_{side}.{name}.weight": m for side, m in (("A", down), ("B", up))
        }
    return found


def written(
    folder: Path, model: PreTrainedModel, tensors: Mapping[str, Tensor], settings: Mapping[str, Any] | None
) -> Path:
    folder.mkdir(exist_ok=True)
    model.config.save_pretrained(folder)
    torch.save(dict(tensors), folder / "pytorch_model.bin")
    if settings is not None:
        (folder / "adapter_config.json").write_text(json.dumps(settings))
    return folder


def beside(folder: Path, model: PreTrainedModel, adapter: Mapping[str, Module], **settings: object) -> Path:
    """A model's folder with an adapter's two files, as PEFT saves them."""
    model.save_pretrained(folder)
    tensors = {
        f"base_model.model.{stem}.lora_{side}.weight": matrix
        for stem, (down, up, _) in adapter.items()
        for side, matrix in (("A", down), ("B", up))
    }
    save_file(tensors, folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA"} | settings))
    return folder


def assert_computes(path: Path, expected: Tensor, ids: Tensor = IDS, **answers: object) -> None:
    opened = open_checkpoint(path, answers=answers)
    assert opened.loaded is not None, opened.report.keys
    assert not opened.report.keys.unexpected
    assert close(opened.loaded.model(None, ids), expected)


ENDS = ("q_proj", "v_proj", "down_proj")


def test_parity_of_a_whole_state_dict(tmp_path: Path) -> None:
    model = llama()
    adapter = adapter_of(model, *ENDS)
    folder = written(tmp_path, model, state_dict(model, adapter), {"peft_type": "LORA", "lora_alpha": 4.5})
    assert_computes(folder, logits(model, adapter))


def test_alpha_is_asked_where_no_file_says_it(tmp_path: Path) -> None:
    model = llama()
    adapter = adapter_of(model, *ENDS)
    folder = written(tmp_path, model, state_dict(model, adapter), None)
    (question,) = open_checkpoint(folder).report.assumed
    assert question.name == "lora_alpha"
    assert "r is 3" in question.why
    assert_computes(folder, logits(model, adapter), lora_alpha=4.5)


@pytest.mark.parametrize(
    "settings, scales",
    [
        ({}, (8 / 3,) * 3),
        ({"lora_alpha": 6, "use_rslora": True}, (6 / 3**0.5,) * 3),
        ({"lora_alpha": 6, "alpha_pattern": {"layers.1.self_attn.q_proj": 12}}, (2.0, 4.0, 2.0)),
    ],
)
def test_parity_of_scales(tmp_path: Path, settings: dict[str, object], scales: tuple[float, ...]) -> None:
    model = llama()
    pairs = adapter_of(model, "q_proj").items()
    adapter = {stem: (down, up, scale) for (stem, (down, up, _)), scale in zip(pairs, scales, strict=True)}
    folder = written(tmp_path, model, state_dict(model, adapter), {"peft_type": "LORA"} | settings)
    assert_computes(folder, logits(model, adapter))


@pytest.mark.parametrize("settings", [None, {"fan_in_fan_out": True, "lora_alpha": 4.5}])
def test_parity_of_matrices_by_columns(tmp_path: Path, settings: dict[str, object] | None) -> None:
    """GPT-2's, of which one is square."""
    model = tiny(GPT2LMHeadModel, GPT2)
    adapter = adapter_of(model, "c_attn", "attn.c_proj", "c_fc")
    folder = written(tmp_path, model, state_dict(model, adapter), settings)
    answers: dict[str, Any] = {} if settings else {"lora_alpha": 4.5}
    assert_computes(folder, logits(model, adapter), **answers)


def test_parity_of_an_embedding(tmp_path: Path) -> None:
    model = llama()
    down, up = drawn(1, 3, 37), drawn(2, 20, 3)
    tensors = state_dict(model, {"model.embed_tokens": (down, up, 2.0)})
    stem = "base_model.model.model.embed_tokens.lora"
    del tensors[f"{stem}_A.default.weight"], tensors[f"{stem}_B.default.weight"]
    tensors |= {f"{stem}_embedding_A.default": down, f"{stem}_embedding_B.default": up}
    folder = written(tmp_path, model, tensors, {"peft_type": "LORA", "lora_alpha": 6})
    assert_computes(folder, logits(model, {"model.embed_tokens": (down, up, 2.0)}))


def test_parity_with_whole_tensors_trained(tmp_path: Path) -> None:
    model, other = llama(), tiny(LlamaForCausalLM, LLAMA, seed=5)
    adapter = adapter_of(model, "q_proj")
    tensors = state_dict(model, adapter)
    tensors["base_model.model.lm_head.original_module.weight"] = tensors.pop(
        "base_model.model.lm_head.weight"
    )
    tensors["base_model.model.lm_head.modules_to_save.default.weight"] = other.lm_head.weight
    folder = written(tmp_path, model, tensors, {"peft_type": "LORA", "lora_alpha": 4.5})
    model.lm_head.weight = other.lm_head.weight
    assert_computes(folder, logits(model, adapter))


def test_parity_of_torchs_own_attention(tmp_path: Path) -> None:
    """PEFT wraps the attention and its output projection."""
    stack = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(22, 2, 26, batch_first=True), 2, enable_nested_tensor=False
    )
    plain = randomized(nn.ModuleDict({"emb": nn.Embedding(37, 22), "enc": stack})).state_dict()
    wrapped, whole = {}, dict(plain)
    for name, weight in plain.items():
        inner = name.replace("self_attn.in_", "self_attn.base_layer.in_")
        inner = inner.replace("out_proj.", "base_layer.out_proj.base_layer.")
        wrapped[f"base_model.model.{inner}"] = weight
    for layer in range(2):
        attention = f"enc.layers.{layer}.self_attn"
        for stem, name, rows in (
            (attention, f"{attention}.in_proj_weight", 66),
            (f"{attention}.base_layer.out_proj", f"{attention}.out_proj.weight", 22),
        ):
            down, up = drawn(layer, 3, 22), drawn(layer + 7, rows, 3)
            wrapped[f"base_model.model.{stem}.lora_A.default.weight"] = down
            wrapped[f"base_model.model.{stem}.lora_B.default.weight"] = up
            whole[name] = whole[name] + 1.5 * up @ down
    torch.save(wrapped, tmp_path / "wrapped.pt")
    torch.save(whole, tmp_path / "whole.pt")
    ours = open_checkpoint(tmp_path / "wrapped.pt", answers={"lora_alpha": 4.5, "n_heads": 2}).loaded
    expected = open_checkpoint(tmp_path / "whole.pt", answers={"n_heads": 2}).loaded
    assert ours is not None
    assert expected is not None
    for name, weight in expected.model.named_parameters():
        assert close(ours.model.get_parameter(name), weight)


def test_of_several_adapters_one_is_chosen(tmp_path: Path) -> None:
    model = llama()
    first, second = adapter_of(model, "q_proj"), adapter_of(model, "q_proj", r=2, scale=3.0)
    tensors = state_dict(model, first) | state_dict(model, second, "second")
    folder = written(tmp_path, model, tensors, {"peft_type": "LORA", "lora_alpha": 6})
    assert_computes(folder, logits(model, second), adapter="second")
    (question,) = open_checkpoint(folder).report.assumed
    assert [option.value for option in question.options] == ["default", "second"]


def test_an_adapter_beside_its_model_is_asked_about(tmp_path: Path) -> None:
    model = llama()
    adapter = adapter_of(model, *ENDS)
    folder = beside(tmp_path, model, adapter, lora_alpha=4.5)
    (question,) = open_checkpoint(folder).report.assumed
    assert (question.name, question.value) == ("adapter", "ignore")
    assert_computes(folder, logits(model, {}))
    assert_computes(folder, logits(model, adapter), adapter="merge")


def test_an_adapter_of_a_model_with_a_head_fits_one_without(tmp_path: Path) -> None:
    model = llama()
    folder = beside(tmp_path, model, adapter_of(model, "q_proj"), lora_alpha=4.5)
    whole = open_checkpoint(folder, answers={"adapter": "merge"}).loaded
    bare = model.model
    bare.save_pretrained(folder)
    lone = open_checkpoint(folder, answers={"adapter": "merge"}).loaded
    assert whole is not None
    assert lone is not None
    name = "decoder.layers.1.self_attn.w_q.weight"
    assert torch.equal(whole.model.get_parameter(name), lone.model.get_parameter(name))


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"peft_type": "IA3"}, "peft_type 'IA3': only LoRA is merged"),
        ({"use_dora": True}, "'use_dora'"),
        ({"init_lora_weights": "pissa"}, "init_lora_weights 'pissa'"),
        ({"alpha_pattern": {"(a|a)*b": 3}}, "alpha_pattern"),
        ({"lora_alpha": "many"}, "lora_alpha 'many'"),
        ({"layer_replication": [[0, 2]]}, "'layer_replication'"),
    ],
)
def test_settings_that_are_not_merged_are_named(
    tmp_path: Path, settings: dict[str, object], words: str
) -> None:
    model = llama()
    folder = beside(tmp_path, model, adapter_of(model, "q_proj"), **settings)
    with pytest.raises(CheckpointError, match=words.replace("(", r"\(")):
        open_checkpoint(folder, answers={"adapter": "merge"})


LAYER = "base_model.model.model.layers.1.self_attn.q_proj"
A, B = (f"{LAYER}.lora_{side}.default.weight" for side in "AB")


@pytest.mark.parametrize(
    "extra, words",
    [
        ({f"{LAYER}.lora_magnitude_vector.default.weight": (20,)}, "kind DoRA"),
        ({f"{LAYER}.ia3_l.default": (20, 1)}, "kind IA3"),
        ({f"{LAYER}.lora_B.default.bias": (20,)}, "another form than PEFT's"),
        ({"model.layers.1.self_attn.q_proj.lora_a": (3, 20)}, "another form than PEFT's"),
        ({f"{LAYER}.lora_A.other.weight": (3, 20)}, "one matrix, where lora_A and lora_B are needed"),
        ({A.replace("q_proj", "x"): (3, 4), B.replace("q_proj", "x"): (4, 3)}, "files don't have"),
        ({A: (3, 19), B: (20, 3)}, "20 × 19 numbers.*20 × 20"),
        ({A: (3, 20, 1), B: (20, 3, 1)}, "convolution"),
    ],
)
def test_what_is_not_merged_is_refused_by_its_reason(
    tmp_path: Path, extra: dict[str, tuple[int, ...]], words: str
) -> None:
    model = llama()
    tensors = state_dict(model, adapter_of(model, "q_proj"))
    tensors |= {name: torch.ones(shape) for name, shape in extra.items()}
    answers = {"adapter": "other"} if "other" in "".join(extra) else {}
    folder = written(tmp_path, model, tensors, {"peft_type": "LORA"})
    with pytest.raises(CheckpointError, match=words):
        open_checkpoint(folder, answers=answers)


def test_an_adapter_of_a_tied_matrix_is_refused(tmp_path: Path) -> None:
    model = tiny(LlamaForCausalLM, LLAMA | {"tie_word_embeddings": True})
    adapter = adapter_of(model, "lm_head")
    folder = written(tmp_path, model, state_dict(model, adapter), {"peft_type": "LORA"})
    with pytest.raises(CheckpointError, match=r"lm_head.*is tied"):
        open_checkpoint(folder)


def test_an_adapter_without_its_model_is_refused(tmp_path: Path) -> None:
    model = llama()
    folder = beside(tmp_path, model, adapter_of(model, "q_proj"))
    (folder / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"not the model that it changes.*adapter=merge"):
        open_checkpoint(folder)


def test_weights_without_an_adapter_stay_in_their_file(tmp_path: Path) -> None:
    model = llama()
    opened = open_checkpoint(written(tmp_path, model, state_dict(model, adapter_of(model, "q_proj")), {}))
    assert opened.loaded is not None
    kept = opened.loaded.model.get_parameter("decoder.layers.0.feed_forward.w_2.weight")
    assert not kept.untyped_storage().resizable()
