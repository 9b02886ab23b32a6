"""Reads a saved page in Python as the browser does."""

from __future__ import annotations

import base64
import gzip
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.viz.mounted import unpack_frame

# Exactly 16 and 64 tokens on each side of the shipped model en-it, including special tokens.
SENTENCES = {
    16: ("Yesterday evening my brother and his best friend went to the theatre", ""),
    64: (
        "Yesterday evening my brother and his best friend went to the small theatre near the old station, "
        "because a famous actress was going to read a long poem about the sea, and when they came home they "
        "told us that everybody had cried and nobody could sleep in the whole town. that night ,",
        "Ieri sera mio fratello e il suo migliore amico sono andati al piccolo teatro vicino alla vecchia "
        "stazione, perché una famosa attrice stava per leggere una lunga poesia sul mare, e quando sono "
        "tornati a casa ci hanno detto che tutti avevano pianto e nessuno poteva dormire in tutta la città "
        "quella notte. , e",
    ),
}


def blocks(page: bytes, name: str) -> list[bytes]:
    """The data blocks of a kind, in the order of the page."""
    found = re.findall(rf'<script type="text/plain" class="{name}">([^<]*)</script>', page.decode())
    return [base64.b64decode(each, validate=True) for each in found]


def unpacked(page: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What the viewer of the only run starts with: its data, and its arrays with their bytes in order."""
    [run] = blocks(page, "run")
    data, arrays = unpack_frame(gzip.decompress(run))
    return data, {name: _unshuffled(array) for name, array in arrays.items()}


def all_chosen(page: bytes) -> list[dict[str, Any]]:
    """The choice in each viewer of the page."""
    return [unpack_frame(each)[0]["choice"] for each in blocks(page, "choice")]


def chosen(page: bytes) -> dict[str, Any]:
    """What is chosen on a page with one run."""
    [choice] = all_chosen(page)
    return choice


def _unshuffled(array: NDArray[Any]) -> NDArray[Any]:
    parts = np.frombuffer(array.tobytes(), np.uint8).reshape(array.itemsize, -1)
    return np.frombuffer(parts.T.tobytes(), array.dtype).reshape(array.shape)
