"""Plain values saved with the weights: text, numbers, and lists and dictionaries of them."""

from __future__ import annotations

import struct
from typing import Any

from transformer.checkpoints.reading.formats.pickles.modules import is_module
from transformer.checkpoints.reading.formats.pickles.values import Global, Opaque

NOTHING = object()
"""Result for values without a plain form: tensors, bytes, storages, most objects."""

_MOST_VALUES = 100_000
_MOST_CHARACTERS = 4_000_000
_DEEPEST = 8
"""Limits on the values read from inside objects; a model's settings stay far below them."""
_PATHS = ("PosixPath", "WindowsPath", "Path", "PurePath", "PurePosixPath", "PureWindowsPath")
_MOST_PARTS = 200
_NUMPY_SCALARS = ("numpy.core.multiarray.scalar", "numpy._core.multiarray.scalar")
_NUMPY_CODES = dict(zip("f8 f4 f2 b1 i8 i4 i2 i1 u8 u4 u2 u1".split(), "dfe?qihbQIHB", strict=True))
"""NumPy's dtype codes -> format characters of `struct`."""
_OMEGACONF = "omegaconf."
_WRAPPED = ("_content", "_val")
"""Attributes in which OmegaConf's objects store their value."""


def items_of(value: Any) -> list[tuple[Any, Any]]:
    """The items of a dictionary, list, tuple or set; nothing for anything else."""
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, (list, tuple, set)):
        return list(enumerate(value))
    return []


class PlainValues:
    """Converts to plain values: all of a dictionary or list, a limited number from inside objects."""

    def __init__(self) -> None:
        self._values_left = _MOST_VALUES
        self._characters_left = _MOST_CHARACTERS

    def of(self, value: Any, depth: int = 0) -> Any:
        """Convert to a JSON value, or NOTHING.

        Args:
            value: its nesting outside of objects must be known to be shallow.
            depth: number of objects that it is nested in.
        """
        if depth and not self._has_room(value, depth):
            return NOTHING
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, Opaque):
            return self._of_object(value, depth + 1)
        if isinstance(value, Global):
            return value.name.rpartition(".")[2]
        if not isinstance(value, (dict, list, tuple, set)):
            return NOTHING
        inner = [
            (key, plain)
            for key, item in items_of(value)
            if not isinstance(key, Opaque) and (plain := self.of(item, depth + bool(depth))) is not NOTHING
        ]
        if isinstance(value, dict):
            return {str(key): plain for key, plain in inner}
        return [plain for _, plain in inner]

    def _has_room(self, value: Any, depth: int) -> bool:
        """True if the limits allow one more value from inside an object."""
        n_items = len(value) if isinstance(value, (dict, list, tuple, set)) else 0
        self._values_left -= 1 + n_items
        if depth > _DEEPEST or self._values_left < 0:
            return False
        if isinstance(value, dict):
            self._characters_left -= sum(len(key) for key in value if isinstance(key, (str, bytes)))
        elif isinstance(value, str):
            self._characters_left -= len(value)
        return self._characters_left >= 0

    def _of_object(self, found: Opaque, depth: int) -> Any:
        if found.name in _NUMPY_SCALARS:
            return _number(found)
        if found.name.startswith("pathlib.") and found.name.rpartition(".")[2] in _PATHS:
            parts = [part for part in found.args if isinstance(part, str)]
            return self.of("/".join(parts).replace("//", "/"), depth) if len(parts) < _MOST_PARTS else NOTHING
        if is_module(found):
            return NOTHING
        if found.name.startswith(_OMEGACONF):
            inner = next((found.attributes[name] for name in _WRAPPED if name in found.attributes), NOTHING)
            return self.of(inner, depth)
        held = found.entries or found.attributes
        return self.of(held, depth) if held else NOTHING


def _number(scalar: Opaque) -> Any:
    """Convert a pickled NumPy scalar: a dtype with its byte order, and bytes."""
    if len(scalar.args) != 2:
        return NOTHING
    kind, content = scalar.args
    if not isinstance(kind, Opaque) or not kind.args or not isinstance(content, bytes):
        return NOTHING
    order = kind.state[1] if isinstance(kind.state, tuple) and len(kind.state) > 1 else "|"
    code = _NUMPY_CODES.get(kind.args[0]) if isinstance(kind.args[0], str) else None
    if code is None or order not in ("<", "|", "=") or len(content) != struct.calcsize(f"<{code}"):
        return NOTHING
    return struct.unpack(f"<{code}", content)[0]
