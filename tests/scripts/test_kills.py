"""Commands that write files are killed at random: what they leave is whole, or what was there before."""

from __future__ import annotations

import signal
from pathlib import Path
from random import Random

import pytest

from scripts.killing import KillError
from scripts.kills import Case, Killing, cases, kill


@pytest.mark.parametrize(
    "only, n_kills",
    [("train over another model", 3), ("align", 3), pytest.param(None, 300, marks=pytest.mark.full)],
)
def test_what_a_killed_command_leaves_is_whole(seed: int, only: str | None, n_kills: int) -> None:
    """`python -m scripts.kills --seed SEED` draws the same moments."""
    killed = dict(kill(seed, n_kills, only))
    assert sum(killing.kills for killing in killed.values()) == n_kills
    assert all(killing.completed for killing in killed.values())


def test_a_file_written_in_place_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the killed command has truncated the earlier file."""
    trace = cases(tmp_path)["trace to npz"].command
    case = Case(trace, trace, "trace.npz")
    killing = Killing(case, tmp_path / "killed", Random(1))

    def truncate(*_: object) -> tuple[int, str, int]:
        (tmp_path / "killed" / "out" / "trace.npz").write_bytes(b"PK")
        return -signal.SIGKILL, "", 0

    monkeypatch.setattr("scripts.kills.run_killed", truncate)
    with pytest.raises(KillError, match="neither the earlier file nor the new one"):
        killing.go(1)
