"""Every mistake can be made on every kind of model that it applies to, and leaves that model unchanged."""

from __future__ import annotations

from copy import deepcopy
from itertools import chain

import pytest
import torch

from tests.pages.lab.mistakes.cases import TRAINED, case, fingerprint, fitting, model
from tests.support.kinds import KINDS
from transformer.loaded import LoadedModel
from transformer.model_input import padded
from transformer.run import Run, run_again
from viz.pages.lab.mistakes import MISTAKES, Broken, Symptom

ALL = (*KINDS, "toy-en-it", pytest.param("en-it", marks=pytest.mark.slow))
NOT_A_NUMBER = {"fully-masked-row"}
"""Mistakes whose symptom is NaN."""
NOT_IN_THE_MODEL = {"no-shift", "heads-averaged", "row-off-by-one"}
"""Mistakes in a sound model's input, or in how its output is read."""


def finite(run: Run) -> bool:
    """True if every recorded number is finite."""
    return all(bool(tensor.isfinite().all()) for tensor in run.trace.values())


@pytest.mark.parametrize("kind", ALL)
def test_each_mistake_can_be_made_compared_and_measured(kind: str) -> None:
    sound, checked = case(kind), 0
    for name, mistake in MISTAKES.items():
        if not mistake.unfit(sound.loaded.model.config):
            broken = mistake.broken(sound)
            check_steps(name, broken)
            check_symptom(name, mistake.symptom(sound, broken))
            check_parameters(name, sound.loaded, broken)
            check_writing(name, sound.loaded, broken)
            checked += 1
    assert checked >= 8


def check_steps(name: str, broken: Broken) -> None:
    """Both runs must have the same tensors and shapes, except for a norm that the mistake leaves out."""
    shapes = {path: tensor.shape for path, tensor in broken.run.trace.items()}
    missing = {path for path in broken.sound.trace if path not in shapes}
    assert missing == {path for path in missing if ".final_norm." in path and name == "final-norm-missing"}
    assert all(shapes[path] == broken.sound.trace[path].shape for path in shapes), name
    candidates = [[len(step.top_ids) for step in run.steps] for run in (broken.run, broken.sound)]
    assert candidates[0] == candidates[1], name
    assert finite(broken.sound)
    assert finite(broken.run) == (name not in NOT_A_NUMBER), name


def check_symptom(name: str, symptom: Symptom) -> None:
    assert torch.tensor([symptom.sound, symptom.broken, symptom.limit]).isfinite().all(), name
    assert symptom.what


def check_parameters(name: str, sound: LoadedModel, broken: Broken) -> None:
    """The broken model must share every parameter: a second copy of a large one may not fit in memory."""
    assert (broken.loaded is None) == (name in NOT_IN_THE_MODEL), name
    if broken.loaded is None:
        return
    pairs = [dict(one.model.named_parameters()) for one in (sound, broken.loaded)]
    memory = [{tensor.data_ptr() for tensor in named.values()} for named in pairs]
    if name == "final-norm-missing":
        assert memory[1] < memory[0]
    else:
        assert memory[1] == memory[0], name
        assert set(pairs[1]) == set(pairs[0]), name
    assert not any(tensor.requires_grad for tensor in pairs[1].values()), name
    assert not broken.loaded.model.training, name
    assert broken.loaded.model is not sound.model, name


@torch.inference_mode()
def check_writing(name: str, sound: LoadedModel, broken: Broken) -> None:
    """The broken model must generate if the sound one does, and give the same by steps as all at once."""
    config = sound.model.config
    writes = config.n_decoder_layers > 0 and config.has_generator
    assert (broken.free is not None) == (writes and broken.loaded is not None), name
    if broken.loaded is None or broken.free is None:
        return
    assert broken.free.generated, name
    if name == "dropout-on":
        return
    # In double precision: without a final norm, logits near a thousand round too coarsely in float32.
    run, network = broken.free, deepcopy(broken.loaded.model).double()
    src = None if run.encoder_input is None else padded(sound, [run.encoder_input.ids])
    ids = padded(sound, [run.target_ids])
    state = network.start(src)
    network.step(ids[:, :-1], state)
    stepped, whole = network.step(ids[:, -1:], state), network(src, ids)[:, -1:]
    assert torch.allclose(stepped, whole, rtol=0, atol=1e-6, equal_nan=True), name


@pytest.mark.parametrize("kind", ALL)
def test_the_shared_model_stays_as_it_was(kind: str) -> None:
    """Other users run the model at the same time: its numbers, classes, hooks and outputs must not change."""
    loaded, made = model(kind), case(kind)
    numbers, classes = fingerprint(loaded), [type(module) for module in loaded.model.modules()]
    config = loaded.model.config
    for mistake in MISTAKES.values():
        if not mistake.unfit(config):
            mistake.symptom(made, mistake.broken(made))
    assert all(map(torch.equal, fingerprint(loaded), numbers))
    assert [type(module) for module in loaded.model.modules()] == classes
    assert loaded.model.config is config
    again = run_again(loaded, made.run)
    assert all(torch.equal(again.trace[path], tensor) for path, tensor in made.run.trace.items())
    for module in loaded.model.modules():
        assert not list(chain(module._forward_hooks, module._forward_pre_hooks, module._backward_hooks))


@pytest.mark.parametrize("kind", ALL)
def test_why_a_mistake_does_not_fit_is_a_sentence(kind: str) -> None:
    reasons = [mistake.unfit(model(kind).model.config) for mistake in MISTAKES.values()]
    assert all(reason == "" or (reason[0].isupper() and reason.endswith(".")) for reason in reasons)


def test_every_mistake_fits_a_model_that_is_shipped() -> None:
    assert {name for _, name in fitting(TRAINED)} == set(MISTAKES)
