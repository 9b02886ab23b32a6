"""Refusal of quantised weights, recognised by the names of their tensors."""

from __future__ import annotations

from collections.abc import Iterable

from transformer.errors import CheckpointError, shown

_METHODS = (
    ("GPTQ", {"qweight", "g_idx"}),
    ("AWQ", {"qweight", "qzeros"}),
    ("bitsandbytes, in 8 bits", {"SCB"}),
    ("bitsandbytes, in 4 bits", {"absmax", "quant_map"}),
    ("compressed-tensors", {"weight_packed"}),
    ("8-bit floating point (FP8)", {"weight_scale_inv"}),
)
"""Method of quantisation, and the last parts of its tensors' names, all of which must be there."""
_FLOAT8 = "F8_"


def check_not_quantised(names: Iterable[str], dtypes: Iterable[str] = ()) -> None:
    """Refuse quantised weights, whatever a configuration says.

    Args:
        names: of all tensors of a file.
        dtypes: of safetensors.

    Raises:
        CheckpointError: that names the method and what shows it.
    """
    last = {name.rpartition(".")[2] for name in names}
    for method, shows in _METHODS:
        if shows <= last:
            raise _refusal(method, ", ".join(sorted(shows)))
    for dtype in dtypes:
        if dtype.startswith(_FLOAT8):
            raise _refusal("8-bit floating point (FP8)", shown(dtype))


def _refusal(method: str, shows: str) -> CheckpointError:
    return CheckpointError(
        f"holds weights that are quantised with {method} ({shows}), and Headlight opens float16, bfloat16 "
        "and float32: choose the files that they were made from, or load the model with transformers, call "
        "its dequantize() and save it with save_pretrained."
    )
