"""Weights that are quantised, or of another framework: the error names the kind and says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from transformer.checkpoints.reading.contents import read_contents
from transformer.checkpoints.reading.limits import LOCAL_LIMITS
from transformer.errors import CheckpointError

INTEGERS, HALVES, BYTES, SIGNED = torch.int32, torch.float16, torch.uint8, torch.int8
PLAIN = {"model.embed_tokens.weight": HALVES}
LAYER = "model.layers.0.self_attn.q_proj"
GPTQ = {f"{LAYER}.{name}": INTEGERS for name in ("qweight", "qzeros", "scales", "g_idx")}
AWQ = {name: dtype for name, dtype in GPTQ.items() if not name.endswith("g_idx")}
QUANTISED: dict[str, tuple[dict[str, torch.dtype], str]] = {
    "GPTQ": (GPTQ, r"GPTQ \(g_idx, qweight\)"),
    "AWQ": (AWQ, r"AWQ \(qweight, qzeros\)"),
    "bitsandbytes in 8 bits": (
        {f"{LAYER}.weight": SIGNED, f"{LAYER}.SCB": HALVES}, "bitsandbytes, in 8 bits",
    ),
    "bitsandbytes in 4 bits": (
        {f"{LAYER}.weight{end}": BYTES for end in ("", ".absmax", ".quant_map", ".quant_state.nf4")},
        "bitsandbytes, in 4 bits",
    ),
    "FP8": (
        {f"{LAYER}.weight": torch.float8_e4m3fn, f"{LAYER}.weight_scale_inv": HALVES},
        r"8-bit floating point \(FP8\)",
    ),
    "compressed-tensors": ({f"{LAYER}.weight_packed": INTEGERS}, "compressed-tensors"),
}  # fmt: skip


@pytest.mark.parametrize("ending", ["safetensors", "bin"])
@pytest.mark.parametrize("name", QUANTISED)
def test_quantised_weights_are_called_so(tmp_path: Path, name: str, ending: str) -> None:
    """Without a configuration, quantised weights are recognised by the tensor names of the method."""
    dtypes, message = QUANTISED[name]
    tensors = {name: torch.ones(2).to(dtype) for name, dtype in (PLAIN | dtypes).items()}
    path = tmp_path / f"model.{ending}"
    if ending == "bin":
        torch.save(tensors, path)
    else:
        save_file(tensors, path)
    with pytest.raises(CheckpointError, match=f"quantised with {message}") as refused:
        read_contents(path, LOCAL_LIMITS)
    assert "dequantize()" in str(refused.value)


def test_numbers_of_eight_bits_alone_are_called_so(tmp_path: Path) -> None:
    save_file({"w": torch.ones(2).to(torch.float8_e5m2)}, tmp_path / "w.safetensors")
    with pytest.raises(CheckpointError, match=r"quantised with 8-bit floating point \(FP8\) \('F8_E5M2'\)"):
        read_contents(tmp_path / "w.safetensors", LOCAL_LIMITS)


FILES: dict[str, tuple[str, bytes, str]] = {
    "TensorFlow's index": ("model.ckpt-7.index", b"\0\0\x0c", r"index of a TensorFlow checkpoint.*from_tf"),
    "TensorFlow's data": ("model.ckpt-7.data-00000-of-00001", bytes(9), "numbers of a TensorFlow checkpoint"),
    "TensorFlow's list": ("checkpoint", b'model_checkpoint_path: "model.ckpt-1000"', "list of TensorFlow's"),
    "a graph": ("saved_model.pb", b"\x08\x01\x12\x02", "graph of TensorFlow"),
    "Keras": ("model.weights.h5", b"\x89HDF\r\n\x1a\n", "HDF5 file, of Keras"),
    "Flax": ("flax_model.msgpack", b"\x83\xa4", r"file of Flax.*from_flax"),
    "ONNX": ("model.onnx", b"\x08\x08\x12", "ONNX file"),
    "Core ML": ("model.mlmodel", b"\x08\x05", "Core ML file"),
    "llama.cpp": ("model.gguf", b"GGUF\x03", "GGUF file"),
}  # fmt: skip


@pytest.mark.parametrize("kind", FILES)
def test_a_file_of_another_framework_is_named(tmp_path: Path, kind: str) -> None:
    name, content, message = FILES[kind]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CheckpointError, match=message) as refused:
        read_contents(tmp_path / name, LOCAL_LIMITS)
    assert str(refused.value).endswith(".")
    assert "which is not read. " in str(refused.value)


FOLDERS: dict[str, tuple[tuple[str, ...], str]] = {
    "TensorFlow": (
        ("checkpoint", "model.ckpt-1.data-00000-of-00001", "model.ckpt-1.index"),
        r"'model\.ckpt-1\.data.*TensorFlow",
    ),
    "a SavedModel": (("saved_model.pb", "variables.index"), "is a SavedModel of TensorFlow"),
    "Keras": (("config.json", "tf_model.h5"), r"'tf_model\.h5' is a file of Keras"),
    "Flax": (("config.json", "flax_model.msgpack"), "is a file of Flax"),
    "llama.cpp": (("model-Q4_K_M.gguf", "README.md"), "is a GGUF file"),
    "ONNX": (("config.json", "model.onnx", "tokenizer.json"), "is an ONNX file"),
    "Core ML": (("model.mlmodel",), "is a Core ML file"),
    "a tokenizer": (("tokenizer.json", "tokenizer_config.json"), "holds a tokenizer and no weights"),
    "a clone without its weights": ((".git", "config.json"), "git lfs pull"),
    "a trainer's other files": (("optimizer.txt",), "holds no weights"),
    "best and last": (("best.pt", "last.pt"), r"several files of weights \('best\.pt', 'last\.pt'\)"),
}  # fmt: skip


@pytest.mark.parametrize("kind", FOLDERS)
def test_a_folder_without_weights_that_are_read(tmp_path: Path, kind: str) -> None:
    names, message = FOLDERS[kind]
    for name in names:
        (tmp_path / name).write_text("{}", encoding="utf-8")
    with pytest.raises(CheckpointError, match=message) as refused:
        read_contents(tmp_path, LOCAL_LIMITS)
    assert len(str(refused.value)) < 400
