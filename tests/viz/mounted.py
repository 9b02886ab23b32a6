"""The data that a client-side view was given, read as the browser reads it."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray


def unpack_frame(frame: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Unpack a frame as frame.js does."""
    (length,) = struct.unpack_from("<I", frame)
    header = json.loads(frame[4 : 4 + length])
    body = -(-(4 + length) // 8) * 8
    arrays = {}
    for name, described in header["arrays"].items():
        count = int(np.prod(described["shape"]))
        array = np.frombuffer(frame, described["dtype"], count, body + described["offset"])
        arrays[name] = array.reshape(described["shape"])
    return header["data"], arrays


class Mounted(SimpleNamespace):
    """A stand-in for a mounted view: records what it was given, so that a test can act as the browser."""

    frame: bytes
    parse: Callable[[object], object]

    @property
    def data(self) -> dict[str, Any]:
        return unpack_frame(self.frame)[0]

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        return unpack_frame(self.frame)[1]
