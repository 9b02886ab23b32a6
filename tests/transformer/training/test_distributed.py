"""Several processes train a model exactly as one would with all their batches; here two, on the CPU."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from unittest.mock import patch

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.transformer.training.runs import TINY, Call, Run, metrics, ranks, state, train, write_files
from transformer.data.batches import Batch, Example, make_batch
from transformer.model.config import TransformerConfig
from transformer.model.transformer import Transformer
from transformer.training.optimization.ranks import join_ranks
from transformer.training.optimization.trainer import Trainer, TrainingStep
from transformer.training.state import saved_step

pytestmark = pytest.mark.slow

PATIENCE = 120.0
"""Seconds that a busy machine may need for what takes a few; without a limit it would wait for days."""
CPU = torch.device("cpu")
CHOICES = [*TINY, "--dropout", "0", "--steps", "12", "--validate-every", "5"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return write_files(tmp_path_factory.mktemp("pairs"))


@pytest.fixture(scope="module")
def alone(files: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One process with four batches per update."""
    out = tmp_path_factory.mktemp("alone") / "model"
    train(out.parent, *files, *CHOICES, "--accumulate", "4", "--out", str(out))
    return out


def together(folder: Path, *arguments: str) -> list[Run]:
    return [Run(folder, *arguments, environment=environment) for environment in ranks(2)]


def model(dropout: float = 0.0) -> Transformer:
    config = TransformerConfig(
        src_vocab_size=17, tgt_vocab_size=19, d_model=12, n_heads=3, n_encoder_layers=1, n_decoder_layers=2,
        d_ff=23, max_len=16, dropout=dropout,
    )  # fmt: skip
    return Transformer(config, torch.Generator().manual_seed(0))


def batches() -> list[Batch]:
    """Four batches with very unequal numbers of labels: 1, 14, 3 and 7 words, and an <eos> each."""
    return [make_batch([Example((5, 2), (1, *range(4, 4 + length), 2))]) for length in (1, 14, 3, 7)]


def update_and_save(path: Path, dropout: float = 0.0) -> None:
    """Make two updates with this process's share of the batches; save gradients, weights and the loss."""
    with join_ranks(CPU) as group:
        trained = model(dropout)
        torch.manual_seed(group.rank)
        trainer = Trainer(trained, rate=lambda step: 0.01, max_gradient_norm=1e9, ranks=group)
        own = batches()[group.rank :: group.count]
        trainer.update(own)
        gradients = {
            f"gradient {name}": p.grad.clone() for name, p in trained.named_parameters() if p.grad is not None
        }
        step = trainer.update(own)
        weights = dict(trained.named_parameters())
        save_file(gradients | weights | {"loss": torch.tensor([step.loss, step.n_tokens])}, path)


def saved(folder: Path, n_processes: int, dropout: float = 0.0) -> list[dict[str, torch.Tensor]]:
    paths = [folder / f"{n_processes}-{rank}" for rank in range(n_processes)]
    calls = [
        Call(partial(update_and_save, path, dropout), environment if n_processes > 1 else {})
        for path, environment in zip(paths, ranks(n_processes), strict=True)
    ]
    for call in calls:
        assert call.wait() == 0
    return [load_file(path) for path in paths]


def assert_close(tensors: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    """To 1e-6, except key biases: their gradient is 0 up to rounding, of which Adam makes full steps."""
    for name, tensor in expected.items():
        if "gradient" in name or "w_k.bias" not in name:
            torch.testing.assert_close(tensors[name], tensor, rtol=0, atol=1e-6, msg=name)


def test_gradients_and_weights_are_those_of_one_process(tmp_path: Path) -> None:
    (one,), two = saved(tmp_path, 1), saved(tmp_path, 2)
    for rank in two:
        assert rank.keys() == one.keys()
        assert_close(rank, one)
    assert one["loss"][1] == 1 + 14 + 3 + 7 + 4


def test_dropout_differs_but_the_weights_do_not(tmp_path: Path) -> None:
    """With equal dropout in both processes, the gradient would be the same as one process's."""
    (one,), (first, second) = saved(tmp_path, 1, dropout=0.5), saved(tmp_path, 2, dropout=0.5)
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.allclose(first["generator.bias"], one["generator.bias"], atol=1e-4)


def test_a_whole_training(files: list[str], alone: Path, tmp_path: Path) -> None:
    """Two processes with two batches each make the same updates as one with four; the first one writes."""
    out = tmp_path / "model"
    runs = together(tmp_path, *files, *CHOICES, "--accumulate", "2", "--out", str(out))
    assert [run.wait() for run in runs] == [0, 0], [run.said for run in runs]
    tensors, progress = state(out)
    expected, expected_progress = state(alone)
    assert_close(tensors, {name: tensor for name, tensor in expected.items() if "random" not in name})
    assert {name for name in tensors if name.startswith("random")} == {"random.cpu", "random.cpu-1"}
    exact = ("step", "epoch", "batch", "tokens", "validated", "best_step", "n_worse")
    assert {name: progress[name] for name in exact} == {name: expected_progress[name] for name in exact}
    assert [line.get("step") for line in metrics(out)] == [line.get("step") for line in metrics(alone)]
    assert "Saved" in runs[0].said
    assert runs[1].said == ""


def be_told_to_stop_in_update(number: int) -> None:
    """Let the process send itself SIGTERM during its n-th update."""
    update, left = Trainer.update, [number]

    def counted(self: Trainer, own: Sequence[Batch]) -> TrainingStep:
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGTERM)
        return update(self, own)

    patch.object(Trainer, "update", counted).start()


def test_stopped_and_resumed_together(files: list[str], tmp_path: Path) -> None:
    """Only one process gets the signal; all stop after the same update, and resume with their own dropout."""
    choices = [*CHOICES, "--dropout", "0.3", "--save-every", "100000", "--validate-every", "8"]
    unbroken, out = tmp_path / "unbroken", tmp_path / "model"
    runs = together(tmp_path, *files, *choices, "--steps", "16", "--out", str(unbroken))
    assert [run.wait() for run in runs] == [0, 0]
    begin = [*files, *choices, "--steps", "16", "--out", str(out)]
    first, second = ranks(2)
    runs = [
        Run(tmp_path, *begin, environment=first),
        Run(tmp_path, *begin, environment=second, before=partial(be_told_to_stop_in_update, 7)),
    ]
    assert [run.wait() for run in runs] == [143, 143], [run.said for run in runs]
    assert state(out)[1]["step"] == 7
    runs = together(tmp_path, "--resume", "--out", str(out))
    assert [run.wait() for run in runs] == [0, 0]
    tensors, expected = state(out)[0], state(unbroken)[0]
    assert all(torch.equal(tensor, expected[name]) for name, tensor in tensors.items())


def lose_the_other_process() -> None:
    """Let the next update fail as when the other process is gone, and SIGTERM arrive before the report."""

    def lost(self: Trainer, own: Sequence[Batch]) -> TrainingStep:
        raise torch.distributed.DistNetworkError("Connection reset by peer")

    def saved_step_and_signal(path: Path) -> int:
        os.kill(os.getpid(), signal.SIGTERM)
        return saved_step(path)

    patch.object(Trainer, "update", lost).start()
    patch("transformer.cli.train.saved_step", saved_step_and_signal).start()


def test_a_lost_process_is_reported_after_the_signal_that_follows(files: list[str], tmp_path: Path) -> None:
    out = tmp_path / "model"
    train(tmp_path, *files, *CHOICES, "--out", str(out))
    resume = ("--resume", "--out", str(out), "--steps", "20")
    run = Run(tmp_path, *resume, before=lose_the_other_process)
    assert run.wait() == 1, run.said
    assert "Another process of this run ended. The state after update 12 is saved" in run.said


def environment_of(process_id: str) -> bytes:
    return b"\0" + Path(f"/proc/{process_id}/environ").read_bytes()


def test_one_killed_ends_all(files: list[str], tmp_path: Path) -> None:
    """Under torchrun; the remaining state can be resumed by one process alone."""
    out = tmp_path / "model"
    path = out / "training" / "state.safetensors"
    launch = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone", "-m"]
    command = [*launch, "transformer", "train", *files, *CHOICES, "--steps", "1000000", "--out", str(out)]
    root = Path(__file__).parents[3]
    with subprocess.Popen(command, cwd=root, stderr=subprocess.PIPE, text=True) as launcher:
        try:
            while not path.exists():
                assert launcher.poll() is None
                time.sleep(0.05)
            children = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text().split()
            (second,) = (child for child in children if b"\0RANK=1\0" in environment_of(child))
            os.kill(int(second), signal.SIGKILL)
            _, said = launcher.communicate(timeout=PATIENCE)
        finally:
            launcher.terminate()
    assert launcher.returncode > 0
    assert "Another process of this run ended. The state after update" in said, said
    assert not any(Path(f"/proc/{child}").exists() for child in children)
    step = state(out)[1]["step"]
    train(tmp_path, "--resume", "--out", str(out), "--steps", str(step + 3))
    assert state(out)[1]["step"] == step + 3
