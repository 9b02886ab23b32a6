"""Models from files on CUDA, and the doctor's examination of one."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.devices.comparing import MODELS, assert_same, moved
from tests.support.checkpoints import torch_file
from tests.support.models import tiny_model
from tests.transformer.analysis.doctor.patients import imported
from transformer.analysis.doctor.examine import examine
from transformer.checkpoints.folder import open_saved, save_model
from transformer.checkpoints.opening import open_checkpoint
from transformer.checkpoints.random_model import random_model
from transformer.loaded import LoadedModel
from transformer.run import run_sentence
from transformer.training.snapshots import History, Snapshots, save_snapshot
from viz.opened_checkpoint import OpenedCheckpoint

TEXT = "the cat saw a dog"


def assert_equal_weights(one: LoadedModel, other: LoadedModel) -> None:
    weights = other.model.state_dict()
    for name, weight in one.model.state_dict().items():
        assert torch.equal(weight.cpu(), weights[name].cpu()), name


def assert_is_on(loaded: LoadedModel, device: torch.device) -> None:
    """Check all parameters and buffers, and that tied weights are still one tensor."""
    model = loaded.model
    assert {weight.device for weight in (*model.parameters(), *model.buffers())} == {device}
    if model.config.has_generator and model.config.tie_generator and model.config.n_decoder_layers:
        assert model.generator.weight is model.tgt_embedding.weight


def test_a_folder_is_saved_from_the_device_and_opened_onto_it(device: torch.device, tmp_path: Path) -> None:
    there = moved(tiny_model(), device)
    save_model(tmp_path, there)
    opened = open_saved(str(tmp_path), device)
    assert_is_on(opened, device)
    assert_equal_weights(opened, there)
    assert run_sentence(opened, TEXT).translation == run_sentence(tiny_model(), TEXT).translation


def test_a_snapshot_is_taken_on_the_device_and_opened_onto_it(device: torch.device, tmp_path: Path) -> None:
    there = moved(tiny_model(), device)
    save_model(tmp_path, there)
    save_snapshot(tmp_path, 3, there.model)
    opened = Snapshots(tmp_path, (3, 5), History()).open(3, device)
    assert_is_on(opened, device)
    assert_same(opened.model.generator.weight.cpu().half().float(), opened.model.generator.weight.cpu())


def test_somebody_elses_file_is_opened_onto_the_device(device: torch.device, tmp_path: Path) -> None:
    answers = {"n_heads": 4, "norm_position": "post"}
    path = torch_file(tmp_path / "weights.pt")
    there, here = (open_checkpoint(path, answers=answers, device=on) for on in (device, None))
    assert there.loaded is not None
    assert here.loaded is not None
    assert_is_on(there.loaded, device)
    assert_equal_weights(there.loaded, here.loaded)


def test_an_opened_model_is_copied_to_the_device_and_stays_on_the_cpu(device: torch.device) -> None:
    loaded = tiny_model()
    opened = OpenedCheckpoint("label", Path(), {}, imported(loaded))
    there = opened.model(device)
    assert_is_on(there, device)
    assert_is_on(loaded, torch.device("cpu"))
    assert opened.model(device) is there
    assert opened.model(torch.device("cpu")) is loaded


def test_random_weights_are_the_same_everywhere(device: torch.device) -> None:
    config = tiny_model().model.config
    there, here = (random_model(config, 3, on) for on in (device, torch.device("cpu")))
    assert all(torch.equal(a.cpu(), b) for a, b in zip(there.parameters(), here.parameters(), strict=True))


@pytest.mark.parametrize("name", ["masked", "words"])
def test_the_doctor_finds_on_the_device_what_it_finds_on_the_cpu(name: str, device: torch.device) -> None:
    loaded = MODELS[name]()
    expected, found = (examine(imported(model), text=TEXT) for model in (loaded, moved(loaded, device)))
    assert found.checks == expected.checks
    for one, other in zip(found.findings, expected.findings, strict=True):
        assert (one.check, one.severity, one.title) == (other.check, other.severity, other.title)
