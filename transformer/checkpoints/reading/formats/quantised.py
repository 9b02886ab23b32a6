"""Refuses quantised weights, recognised by their tensor names and dtypes."""

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
"""Quantisation method, and the last parts of its tensor names, all of which must be present."""
_FLOAT8 = "F8_"


def check_not_quantised(names: Iterable[str], dtypes: Iterable[str] = ()) -> None:
    """Refuse quantised weights, regardless of any configuration.

    Args:
        names: names of all tensors in a file.
        dtypes: safetensors' names of their dtypes.

    Raises:
        CheckpointError: names the method and the evidence for it.
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
