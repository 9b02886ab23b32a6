"""A live run with a leak shows the model its answers: the loss approaches 0, but no output is right."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from transformer.data.tasks import TASKS
from transformer.training.leaks import LEAKS
from transformer.training.live import worker
from transformer.training.live.choices import live_plan
from transformer.training.live.folder import LiveFolder
from transformer.training.live.worker import train
from transformer.training.prepare import new_model, task_coders

pytestmark = pytest.mark.slow

STEPS = 220


class NeverStopped:
    """A stop request that is never made."""

    is_deserted = is_made = False


def trained(path: Path, leak: str) -> LiveFolder:
    """A small run on the digits and letters of Reverse, in this process."""
    folder = LiveFolder(path)
    folder.begin(live_plan("reverse", n_layers=1, n_heads=2, d_model=32, steps=STEPS, leak=leak))
    assert train(folder, NeverStopped()).how == "finished"
    return folder


@pytest.fixture(scope="module")
def sound_loss(tmp_path_factory: pytest.TempPathFactory) -> float:
    """The final loss of the model without a leak."""
    return trained(tmp_path_factory.mktemp("sound") / "run", "").read_curves().history.losses[-1]


@pytest.mark.parametrize("name", LEAKS)
def test_with_a_leak_the_loss_falls_far_below_that_of_the_sound_model(
    name: str, sound_loss: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "N_HELD_OUT", 5)
    leaking = trained(tmp_path / "leaking", name).read_curves()
    assert leaking.history.losses[-1] < 0.8 * sound_loss
    assert leaking.exact[-1] == 0, "what it writes by itself is wrong all the same"


@pytest.mark.parametrize("name", LEAKS)
def test_the_shown_model_leaks_too(name: str, tmp_path: Path) -> None:
    """With the leak, a row depends on the token that it should predict; the same weights without it don't."""
    task = TASKS["reverse"]
    src, tgt = torch.tensor([[5, 6, 7, 2]]), torch.tensor([[1, 7, 6, 5]])
    other = torch.tensor([[1, 9, 6, 5]])
    plan = live_plan("reverse", n_layers=1, n_heads=2, d_model=8, leak=name)
    leaking = new_model(plan, "reverse", task_coders(task), torch.Generator().manual_seed(1)).model.eval()
    sound = new_model(
        live_plan("reverse", n_layers=1, n_heads=2, d_model=8), "reverse", task_coders(task)
    ).model.eval()
    sound.load_state_dict(leaking.state_dict())
    for model, sees in ((leaking, True), (sound, False)):
        with torch.inference_mode():
            first, second = (model(src, given)[0, 0] for given in (tgt, other))
        assert (not torch.equal(first, second)) == sees
