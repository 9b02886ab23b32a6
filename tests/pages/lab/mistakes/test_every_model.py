"""Every mistake on every kind of model that it fits: it can be made, and it leaves the model as it was."""

from __future__ import annotations

from copy import deepcopy
from itertools import chain

import pytest
import torch

from tests.pages.lab.mistakes.cases import TRAINED, case, fingerprint, fitting, model
from tests.support.kinds import KINDS
from transformer.model_input import padded
from transformer.run import Run, run_again
from viz.pages.lab.mistakes import MISTAKES, Broken

ALL = (*KINDS, *TRAINED)
NOT_A_NUMBER = {"fully-masked-row"}
"""The mistakes that are known by NaN."""
NOT_IN_THE_MODEL = {"no-shift", "heads-averaged", "row-off-by-one"}
"""Those of what a sound model is fed, and of how it is read."""


def finite(run: Run) -> bool:
    """Whether every recorded number is."""
    return all(bool(tensor.isfinite().all()) for tensor in run.trace.values())


@pytest.fixture(params=fitting(ALL), ids="-".join, scope="module")
def made(request: pytest.FixtureRequest) -> tuple[str, str, Broken]:
    """A kind of model, the name of a mistake, and what it makes of a sentence there."""
    kind, name = request.param
    return kind, name, MISTAKES[name].broken(case(kind))


def test_it_runs_and_can_be_compared_step_by_step(made: tuple[str, str, Broken]) -> None:
    """All tensors of the sound run are there with the same shapes, but for a norm that is left out."""
    _, name, broken = made
    shapes = {path: tensor.shape for path, tensor in broken.run.trace.items()}
    missing = {path for path in broken.sound.trace if path not in shapes}
    assert all(".final_norm." in path for path in missing) if name == "final-norm-missing" else not missing
    assert all(shapes[path] == broken.sound.trace[path].shape for path in shapes)
    assert [len(step.top_ids) for step in broken.run.steps] == [
        len(step.top_ids) for step in broken.sound.steps
    ]
    assert finite(broken.sound)
    assert finite(broken.run) == (name not in NOT_A_NUMBER)


def test_its_symptom_is_a_number(made: tuple[str, str, Broken]) -> None:
    kind, name, broken = made
    symptom = MISTAKES[name].symptom(case(kind), broken)
    assert torch.tensor([symptom.sound, symptom.broken, symptom.limit]).isfinite().all()
    assert symptom.what


def test_the_broken_model_shares_every_parameter(made: tuple[str, str, Broken]) -> None:
    """A second copy of a large model would not fit beside it; the names stay, so that it can be trained."""
    kind, name, broken = made
    assert (broken.loaded is None) == (name in NOT_IN_THE_MODEL)
    if broken.loaded is None:
        return
    pairs = [dict(one.model.named_parameters()) for one in (model(kind), broken.loaded)]
    memory = [{tensor.data_ptr() for tensor in named.values()} for named in pairs]
    if name == "final-norm-missing":
        assert memory[1] < memory[0]
    else:
        assert memory[1] == memory[0]
        assert set(pairs[1]) == set(pairs[0])
    assert not any(tensor.requires_grad for tensor in pairs[1].values())
    assert not broken.loaded.model.training
    assert broken.loaded.model is not model(kind).model


def test_it_writes_by_itself_where_the_model_writes(made: tuple[str, str, Broken]) -> None:
    kind, _, broken = made
    config = model(kind).model.config
    writes = config.n_decoder_layers > 0 and config.has_generator
    assert (broken.free is not None) == (writes and broken.loaded is not None)
    assert broken.free is None or broken.free.generated


@torch.inference_mode()
def test_a_step_of_its_decoding_is_what_the_whole_target_gives(made: tuple[str, str, Broken]) -> None:
    """As in published code, which keeps nothing of earlier steps: those may come out otherwise by now."""
    kind, name, broken = made
    if broken.loaded is None or broken.free is None or name == "dropout-on":
        return
    # In double precision, for without a final norm logits are near a thousand: float32 rounds those by more.
    run, network = broken.free, deepcopy(broken.loaded.model).double()
    src = None if run.encoder_input is None else padded(model(kind), [run.encoder_input.ids])
    ids = padded(model(kind), [run.target_ids])
    state = network.start(src)
    network.step(ids[:, :-1], state)
    stepped, whole = network.step(ids[:, -1:], state), network(src, ids)[:, -1:]
    assert torch.allclose(stepped, whole, rtol=0, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("kind", ALL)
def test_the_shared_model_stays_as_it_was(kind: str) -> None:
    """Other users run it meanwhile: no number of it changes, no class, no hook, and none of its outputs."""
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
    assert len([reason for reason in reasons if not reason]) >= 8


def test_every_mistake_fits_a_model_that_is_shipped() -> None:
    assert {name for _, name in fitting(TRAINED)} == set(MISTAKES)
