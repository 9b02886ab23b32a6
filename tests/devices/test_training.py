"""Training on CUDA: updates in every precision, resuming from a state, a whole run of the command line."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.devices.comparing import ATOL, assert_same
from tests.transformer.training.runs import TINY, write_pairs
from transformer.__main__ import main
from transformer.checkpoints.opening import open_model
from transformer.data.batches import Batch, Example, make_batch
from transformer.data.tasks import ToyEnIt
from transformer.loaded import freeze
from transformer.model.config import TransformerConfig
from transformer.model.transformer import Transformer
from transformer.training.choices import task_plan
from transformer.training.evaluation.tasks import head_alignments, translations
from transformer.training.folder import TrainingFolder
from transformer.training.optimization.trainer import Trainer
from transformer.training.prepare import first_model, new_trainer, open_prepared
from transformer.training.state import load_state, save_state

PRECISIONS = ("float32", "bfloat16", "float16")
CPU = torch.device("cpu")


def trainer(device: torch.device, dropout: float = 0.0, **choices: Any) -> Trainer:
    config = TransformerConfig(
        src_vocab_size=17, tgt_vocab_size=19, d_model=16, n_heads=2, n_encoder_layers=1,
        n_decoder_layers=2, d_ff=24, max_len=16, dropout=dropout,
    )  # fmt: skip
    model = Transformer(config, torch.Generator().manual_seed(0)).to(device)
    return Trainer(model, **{"rate": lambda step: 0.01} | choices)


def batches() -> list[Batch]:
    """Sentences of several lengths, translated token by token: id w becomes w + 1."""
    sources = [(5, 6, 7), (9, 8), (12, 5, 11, 6), (7,)]
    examples = [Example((*s, 2), (1, *(w + 1 for w in s), 2)) for s in sources]
    return [make_batch(examples[:2]), make_batch(examples[2:])]


def test_an_update_is_that_of_the_cpu(device: torch.device) -> None:
    here, there = trainer(CPU), trainer(device)
    expected, found = here.update(batches()), there.update(batches())
    assert found.loss == pytest.approx(expected.loss, rel=1e-5)
    assert found.gradient_norm == pytest.approx(expected.gradient_norm, rel=1e-4)
    for (name, parameter), own in zip(here.model.named_parameters(), there.model.parameters(), strict=True):
        assert own.device == device
        assert parameter.grad is not None
        assert own.grad is not None
        assert own.grad.device == device
        assert_same(own.grad.cpu(), parameter.grad, name)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_batch_is_learned_in_every_precision(precision: str, device: torch.device) -> None:
    one = trainer(device, precision=precision, dropout=0.1, rate=lambda step: 0.03)
    assert one.scaler.is_enabled() == (precision == "float16")
    losses = [one.update(batches()).loss for _ in range(8)]
    assert losses[-1] < losses[0] - 0.3
    assert all(parameter.dtype == torch.float32 for parameter in one.model.parameters())


def test_float16_lowers_its_scale_until_there_are_numbers(device: torch.device) -> None:
    one = trainer(device, precision="float16")
    one.scaler = torch.amp.GradScaler("cuda", init_scale=2.0**24)
    before = [parameter.detach().clone() for parameter in one.model.parameters()]
    n_skipped = 0
    while one.update(batches()).skipped:
        n_skipped += 1
        assert all(map(torch.equal, one.model.parameters(), before))
    assert n_skipped > 0
    assert one.scaler.get_scale() == 2.0 ** (24 - n_skipped)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_state_is_gone_on_from(precision: str, device: torch.device, tmp_path: Path) -> None:
    """With the same dropout as without the interruption: CUDA's generator is part of the state."""
    torch.manual_seed(3)
    first = trainer(device, dropout=0.3, precision=precision)
    for _ in range(3):
        first.update(batches())
    save_state(tmp_path / "state", first, {"epoch": 4})
    expected = [first.update(batches()).loss for _ in range(2)]
    torch.manual_seed(999)
    second = trainer(device, dropout=0.3, precision=precision)
    assert load_state(tmp_path / "state", second)["step"] == 3
    assert [second.update(batches()).loss for _ in range(2)] == pytest.approx(expected, rel=1e-3)
    assert first.scaler.state_dict() == second.scaler.state_dict()
    moments = [value for state in second.optimizer.state.values() for value in state.values()]
    assert {moment.device for moment in moments} == {device}


def test_a_state_of_the_device_is_gone_on_from_on_the_cpu(device: torch.device, tmp_path: Path) -> None:
    first = trainer(device)
    first.update(batches())
    save_state(tmp_path / "state", first, {})
    second = trainer(CPU)
    load_state(tmp_path / "state", second)
    expected, found = first.update(batches()), second.update(batches())
    assert found.loss == pytest.approx(expected.loss, rel=1e-4)


def test_the_command_line_trains_in_float16(device: torch.device, tmp_path: Path) -> None:
    """This includes validation, snapshots, averaging the last weights and the model card."""
    pairs, out = write_pairs(tmp_path / "pairs.tsv", 40), tmp_path / "model"
    valid = write_pairs(tmp_path / "valid.tsv", 1, seed=4)
    arguments = f"--pairs {pairs} --valid {valid} --out {out} --device cuda --precision float16"
    checks = "--steps 4 --warmup 1 --save-every 2 --validate-every 4 --average 2 --snapshots 2"
    assert main(["train", *TINY, *arguments.split(), *checks.split()]) == 0
    assert "1 x " in (out / "README.md").read_text()
    updates = [json.loads(line) for line in (out / "training" / "metrics.jsonl").read_text().splitlines()]
    assert any("valid_loss" in update for update in updates)
    on_cpu, on_device = open_model(str(out)), open_model(str(out), device)
    assert next(on_device.model.parameters()).device == device
    weights = zip(on_cpu.model.parameters(), on_device.model.parameters(), strict=True)
    assert all(torch.equal(here, there.cpu()) for here, there in weights)


def test_a_task_trains_and_its_heads_are_ranked(device: torch.device, tmp_path: Path) -> None:
    plan = task_plan("toy-en-it")
    plan = replace(
        plan,
        data=replace(plan.data, n_pairs=40),
        model=replace(plan.model, n_encoder_layers=1, n_decoder_layers=1),
    )
    prepared = open_prepared(TrainingFolder(tmp_path), plan)
    loaded = first_model(plan, "tiny", prepared, device)
    trainer = new_trainer(prepared.updates, loaded)
    losses = [trainer.update([prepared.data.batch(group)]).loss for group in prepared.data.epoch(0)]
    freeze(loaded.model)
    pairs = ToyEnIt().held_out(3, seed=3)
    assert all(loss > ATOL for loss in losses)
    assert len(list(translations(loaded, pairs))) == 3
    assert len(head_alignments(loaded, pairs)) == loaded.model.config.n_heads


@pytest.mark.gpu
def test_a_compiled_model_trains(real_cuda: torch.device) -> None:
    pytest.importorskip("triton", reason="torch.compile needs triton on CUDA")
    if shutil.which("cc") is None and shutil.which("gcc") is None:
        pytest.skip("torch.compile needs a C compiler")
    plain, compiled = (trainer(real_cuda, compiled=compiled) for compiled in (False, True))
    for _ in range(2):
        assert compiled.update(batches()).loss == pytest.approx(plain.update(batches()).loss, rel=1e-3)
