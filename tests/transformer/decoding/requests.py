"""What the tests of decoding ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tests.transformer.model.core import BOS_ID, EOS_ID, PAD_ID
from transformer.decoding.request import DecodingRequest, Target

SUPPRESSED = (PAD_ID, BOS_ID)
ENDLESS = -1
"""As the id of an end: no token ends the target."""


def request(limit: int | Sequence[int], end_id: int = EOS_ID, **changes: Any) -> DecodingRequest:
    """Targets of the tests' small models, with what differs from one test to the other."""
    asked = DecodingRequest(
        start_ids=(BOS_ID,), end_ids=(end_id,), max_new_tokens=limit, suppressed_ids=SUPPRESSED
    )
    return replace(asked, **changes)


def ids_of(targets: Sequence[Target]) -> list[list[int]]:
    """What was decoded, without why it ended."""
    return [list(target.ids) for target in targets]
