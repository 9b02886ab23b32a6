"""One binary frame for a view's data: a JSON header, then the arrays it names, as in memory.

Streamlit passes raw bytes to a view unchanged only if they are all of its data; JSON or Arrow would copy and
inflate the numbers. ``readFrame`` in frame.js reads what ``pack_frame`` writes:

    4 bytes   length of the header, little-endian
    header    UTF-8 JSON: {"data": {...}, "arrays": {name: {"dtype", "shape", "offset"}}}
    padding   up to a multiple of 8
    arrays    each at its offset from the end of the padding, a multiple of 8
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viz.theme import Theme

_ALIGNMENT = 8
_DTYPES = {"uint8": "u1", "uint16": "<u2", "uint32": "<u4", "float32": "<f4"}
LONGEST_TOKEN = 200


def brief(token: str) -> str:
    """Cut an overlong token, and say how much was cut."""
    left_out = len(token) - LONGEST_TOKEN
    return token if left_out <= 0 else f"{token[:LONGEST_TOKEN]}… ({left_out:,} more characters)"


def color_data(theme: Theme) -> dict[str, Any]:
    """Return a theme's colours by name, as JSON-serialisable data."""
    return {name: value for name, value in vars(theme).items() if name != "name"}


def pack_frame(data: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Pack JSON-serialisable data and named arrays into one frame.

    Raises:
        TypeError: an array has a type that frame.js does not read.
        ValueError: a number in data is NaN or infinite, which JSON can't represent: send None.
    """
    described: dict[str, dict[str, Any]] = {}
    body = bytearray()
    for name, array in arrays.items():
        dtype = array.dtype.name
        if dtype not in _DTYPES:
            raise TypeError(f"array {name!r} has type {dtype}; a frame takes {', '.join(_DTYPES)}")
        described[name] = {"dtype": dtype, "shape": list(array.shape), "offset": len(body)}
        body += np.ascontiguousarray(array, _DTYPES[dtype]).tobytes()
        body += bytes(-len(body) % _ALIGNMENT)
    header = json.dumps({"data": data, "arrays": described}, allow_nan=False, separators=(",", ":")).encode()
    padding = bytes(-(4 + len(header)) % _ALIGNMENT)
    return struct.pack("<I", len(header)) + header + padding + bytes(body)
