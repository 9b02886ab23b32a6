"""Requests for the tests of decoding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tests.transformer.model.core import BOS_ID, EOS_ID, PAD_ID
from transformer.decoding.request import DecodingRequest, Target

SUPPRESSED = (PAD_ID, BOS_ID)
ENDLESS = -1
"""An end id that matches no token."""


def request(limit: int | Sequence[int], end_id: int = EOS_ID, **changes: Any) -> DecodingRequest:
    """A request for the small test models, with changes."""
    usual = DecodingRequest(
        start_ids=(BOS_ID,), end_ids=(end_id,), max_new_tokens=limit, suppressed_ids=SUPPRESSED
    )
    return replace(usual, **changes)


def target_ids(targets: Sequence[Target]) -> list[list[int]]:
    """The ids of targets, without their endings."""
    return [list(target.ids) for target in targets]
