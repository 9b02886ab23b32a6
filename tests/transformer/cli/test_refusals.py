"""Checkpoints that can't be opened are refused before the import of torch, which takes longest."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

ROOT = Path(__file__).resolve().parents[3]
SAYS_TORCH = "import sys; from transformer.__main__ import main; main(); print('torch' in sys.modules)"
COMMANDS = {
    "inspect": ("inspect", "{}"),
    "translate": ("translate", "--model", "{}", "5"),
    "trace": ("trace", "--model", "{}", "--source", "5", "--out", "trace.npz"),
    "evaluate": ("evaluate", "--model", "{}", "--pairs", "pairs.tsv"),
    "align": ("align", "--model", "{}", "--pairs", "pairs.tsv"),
}


def refused(command: str, path: Path) -> str:
    """The error of a command, in a process that must not import torch."""
    words = [word.format(path) for word in COMMANDS[command]]
    done = subprocess.run(
        [sys.executable, "-c", SAYS_TORCH, *words], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n", f"{command} has imported torch"
    return done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_a_path_that_leads_nowhere(tmp_path: Path, command: str) -> None:
    assert "There is no model" in refused(command, tmp_path / "none-such")


def test_a_file_without_weights(tmp_path: Path) -> None:
    (tmp_path / "notes.pt").write_text("hello")
    assert "is neither safetensors nor a file of torch.save" in refused("inspect", tmp_path / "notes.pt")


def test_a_layout_that_nobody_knows(tmp_path: Path) -> None:
    """All families are tried, so none of their modules may import torch."""
    save_file({"conv.weight": torch.ones(3, 5)}, tmp_path / "model.safetensors")
    assert "conv.weight" in refused("inspect", tmp_path / "model.safetensors")


def test_a_kind_of_model_that_ours_does_not_compute(tmp_path: Path) -> None:
    save_file({"conv.weight": torch.ones(3, 5)}, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "resnet"}))
    assert "model_type 'resnet'" in refused("translate", tmp_path)
