"""Spoilt checkpoints by the thousand: each is read or refused, soon and in little memory."""

from __future__ import annotations

import os

import pytest

from scripts.fuzz import MOST_BYTES, fuzz
from transformer.checkpoints.reading import contents

COUNT = 100_000 if os.environ.get("CI") else 4_000
SHARDS = 8


@pytest.mark.parametrize("seed", range(SHARDS))
def test_every_spoilt_file_is_read_or_refused(seed: int) -> None:
    outcome = fuzz(COUNT // SHARDS, seed)
    assert outcome.count == COUNT // SHARDS
    assert outcome.loaded > 0, "some bits don't matter"
    assert len(outcome.refused) > 15, "the files are spoilt in many ways"
    assert outcome.largest < MOST_BYTES


def test_another_error_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader with a fault of its own fails the test above."""

    def broken(*_: object) -> None:
        raise KeyError("a fault")

    monkeypatch.setattr(contents, "read_weights", broken)
    with pytest.raises(KeyError):
        fuzz(10, 0)
