"""Names of Python functions and classes in pickles, and why some are refused."""

from __future__ import annotations

from transformer.checkpoints.reading.formats.pickles.values import SAVE_WEIGHTS, Global
from transformer.errors import CheckpointError, shown

_LONGEST_NAME = 500
_DANGEROUS_MODULES = frozenset(
    "os posix nt subprocess commands popen2 pty socket ctypes runpy importlib shutil webbrowser code".split()
)
_DANGEROUS_BUILTINS = frozenset("eval exec execfile compile open __import__ input breakpoint".split())

_PROGRAMS = {
    "torch.jit": "a TorchScript program",
    "__torch__": "a TorchScript program",
    "torch.fx": "a traced program",
}
"""Modules whose functions run programs; no checkpoint needs them."""


def as_global(module: str, name: str) -> Global:
    """The name of a function or class, which is never looked up.

    Names that only an attack uses are refused. They would do nothing here, but other programs would run them,
    so the owner of such a file should know.

    Raises:
        CheckpointError: says what the name was and what to do.
    """
    if len(module) + len(name) > _LONGEST_NAME:
        raise CheckpointError(
            f"has a pickle with a name of {len(module) + len(name):,} characters ({shown(name)}): save it "
            f"again with {SAVE_WEIGHTS}."
        )
    found = Global(module, name)
    root = module.partition(".")[0]
    is_builtin = module in ("builtins", "__builtin__") and name in _DANGEROUS_BUILTINS
    if root in _DANGEROUS_MODULES or is_builtin:
        raise CheckpointError(
            f"asks for {shown(str(found))} to be called, as attacks do and no weights need; nothing of it "
            "was run. Don't load it with torch.load either: get the weights from someone you trust."
        )
    for part, what in _PROGRAMS.items():
        if module == part or module.startswith(f"{part}."):
            raise CheckpointError(
                f"holds {what} ({shown(str(found))}); nothing of it was run. Where it was made, save it "
                f"again: {SAVE_WEIGHTS}."
            )
    return found


def unread_tensor(what: str, name: str) -> CheckpointError:
    """The error for a weight that is more than a dense array of numbers, with what to do.

    Args:
        what: the weight.
        name: the class or function that makes it, or its storage type.
    """
    for part, reason, remedy in _KNOWN_TENSORS:
        if name.startswith(part):
            return CheckpointError(
                f"has {what}, which is {reason} ({shown(name)}): {remedy} and save it again."
            )
    if name.endswith("Storage"):
        return CheckpointError(
            f"has {what} with numbers of a kind that is not read ({shown(name)}): save it again without it, "
            "or after model.float()."
        )
    return CheckpointError(
        f"has {what}, which is no plain tensor but a {shown(name)}: turn it into a torch.Tensor and save it "
        f"again with {SAVE_WEIGHTS}."
    )


_KNOWN_TENSORS = (
    ("torch._utils._rebuild_sparse", "sparse", "call .to_dense() on it"),
    ("torch._utils._rebuild_qtensor", "quantised", "call .dequantize() on it"),
    ("QInt", "quantised", "call .dequantize() on it"),
    ("QUInt", "quantised", "call .dequantize() on it"),
    ("torch._utils._rebuild_nested", "nested", "take it apart"),
    ("torch._utils._rebuild_meta", "a meta tensor, a shape without numbers", "load the weights"),
    ("torch.float8", "in 8-bit floating point", "call .float() on it"),
)
"""Name prefix of a function that makes unusual tensors -> what such a tensor is, and what to do."""
