"""The pretend device refuses what a real one refuses: each deliberate mistake is found."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import transformer.decoding.sampling
import transformer.model.stacks
import transformer.model.transformer
import transformer.run
import transformer.tracing
from tests.devices.comparing import MODELS, moved
from tests.devices.pretend import CUDA, PretendCuda, WrongDeviceError
from tests.pages.offered import TEXT
from transformer.data.batches import Batch, Example, make_batch
from transformer.model.masks import causal_mask
from transformer.model.positions import (
    RelativeBias,
    Rotation,
    SinusoidalPositions,
    rotation,
    sinusoidal_encoding,
)
from transformer.model.trace import Trace
from transformer.model_input import padded
from transformer.run import draw_target, encode_sentence, run_sentence
from transformer.training.optimization.trainer import Trainer


def translate(name: str) -> None:
    """Run a sentence through a model on the device."""
    run_sentence(moved(MODELS[name]()), TEXT)


def draw(name: str) -> None:
    """Draw a target on the device."""
    loaded = moved(MODELS[name]())
    draw_target(loaded, encode_sentence(loaded, "source", TEXT, "sentence"), seed=1)


def train(name: str) -> None:
    """Make one update on the device."""
    model = MODELS[name]().model.requires_grad_(True).to(CUDA)
    Trainer(model, rate=lambda step: 0.01).update([make_batch([Example((5, 6, 2), (1, 6, 7, 2))])])


def mask_without_device(n_queries: int, n_keys: int | None = None, device: object = None) -> Tensor:
    return causal_mask(n_queries, n_keys)


def positions_without_device(self: SinusoidalPositions, start: int, length: int) -> Tensor:
    return sinusoidal_encoding(start + length, self.encoding.shape[1])[start:]


def rotation_without_device(start: int, length: int, wavelengths: Tensor, like: Tensor) -> Rotation:
    return rotation(start, length, wavelengths, like.cpu())


def bias_without_device(self: RelativeBias, start: int, n_queries: int) -> Tensor:
    return self.weight.new_zeros(1, self.weight.shape[1], n_queries, start + n_queries, device="cpu")


def ids_without_device(loaded: Any, rows: Any) -> Tensor:
    return padded(loaded, rows).cpu()


def probabilities_that_stay(logits: Tensor, **_: Any) -> Tensor:
    probabilities = logits.softmax(dim=-1)
    vars(probabilities)["cpu"] = lambda: probabilities
    return probabilities


def numbers_that_stay(records: dict[str, Tensor], **tokens: Any) -> Trace:
    return Trace({path: tensor.to(CUDA) for path, tensor in records.items()}, **tokens)


MISTAKES: dict[str, tuple[Callable[[str], None], str, object, str, object]] = {
    "a mask": (translate, "words", transformer.model.transformer, "causal_mask", mask_without_device),
    "positions": (translate, "words", SinusoidalPositions, "forward", positions_without_device),
    "a rotation": (translate, "rotary", transformer.model.stacks, "rotation", rotation_without_device),
    "a bias": (translate, "relative", RelativeBias, "forward", bias_without_device),
    "ids": (translate, "words", transformer.run, "padded", ids_without_device),
    "ids of a trace": (translate, "words", transformer.tracing, "padded", ids_without_device),
    "a generator": (
        draw,
        "words",
        transformer.decoding.sampling,
        "sampling_distribution",
        probabilities_that_stay,
    ),
    "a batch": (train, "words", Batch, "to", lambda batch, device: batch),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_mistake_is_found(mistake: str, pretend: PretendCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    use, name, owner, attribute, wrong = MISTAKES[mistake]
    use(name)
    monkeypatch.setattr(owner, attribute, wrong)
    with pytest.raises(WrongDeviceError):
        use(name)


def test_a_trace_that_stays_on_the_device_has_no_numpy(
    pretend: PretendCuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transformer.tracing, "Trace", numbers_that_stay)
    trace = run_sentence(moved(MODELS["reader"]()), TEXT).trace
    with pytest.raises(WrongDeviceError, match="NumPy"):
        trace["encoder.layers.0.self_attn.weights"].numpy()


def test_what_is_made_on_the_device_is_there_and_views_stay_there(pretend: PretendCuda) -> None:
    made = torch.arange(6, device=CUDA)
    here = torch.arange(6)
    assert {made.device, made[:2].device, made.view(2, 3).T.device, (made + 1).device} == {CUDA}
    assert (made * torch.tensor(2)).device == CUDA
    assert made.is_cuda
    there = here.to("cuda")
    there.add_(1)
    assert (here.device.type, here.tolist()) == ("cpu", [0, 1, 2, 3, 4, 5])
    assert (there.device, there.tolist()) == (CUDA, [1, 2, 3, 4, 5, 6])
    assert made.cpu().numpy().tolist() == here.tolist()
    here.copy_(there)
    assert (here.device.type, here.tolist()) == ("cpu", [1, 2, 3, 4, 5, 6])


@pytest.mark.parametrize(
    "mix",
    [
        lambda there, here: there + here,
        lambda there, here: there @ here,
        lambda there, here: torch.cat((there, here)),
        lambda there, here: torch.where(there > 0, here, math.inf),
        torch.equal,
        lambda there, here: here[there.long()],
        lambda there, here: here.add_(there),
    ],
)
def test_two_devices_do_not_mix(mix: Callable[[Tensor, Tensor], object], pretend: PretendCuda) -> None:
    with pytest.raises(WrongDeviceError, match=r"from the CPU, of shape \(3,\)"):
        mix(torch.ones(3, device=CUDA), torch.ones(3))
