"""The Lab's mistakes give the same numbers on CUDA as on the CPU."""

from __future__ import annotations

import pytest
import torch

from tests.devices.comparing import ATOL, MODELS, RTOL, moved
from tests.pages.offered import TEXT
from transformer.run import run_sentence
from viz.pages.lab.mistakes import MISTAKES, Case

pytestmark = pytest.mark.slow

FEW = ("rotary", "relative", "words")
"""Together they fit every mistake and cover every kind of computed positions."""


@pytest.mark.parametrize("name", FEW)
def test_every_mistake(name: str, device: torch.device) -> None:
    loaded = MODELS[name]()
    there = moved(loaded, device)
    on_cpu = Case(loaded, run_sentence(loaded, TEXT))
    on_device = Case(there, run_sentence(there, TEXT))
    for mistake in MISTAKES.values():
        if mistake.unfit(loaded.model.config):
            continue
        expected, found = mistake.broken(on_cpu), mistake.broken(on_device)
        assert list(found.run.trace) == list(expected.run.trace)
        for path, numbers in expected.run.trace.items():
            same = torch.allclose(found.run.trace[path], numbers, rtol=RTOL, atol=ATOL, equal_nan=True)
            assert same, (mistake.name, path)
        symptoms = mistake.symptom(on_cpu, expected), mistake.symptom(on_device, found)
        assert symptoms[1].broken == pytest.approx(symptoms[0].broken, rel=0.01, abs=1e-3), mistake.name
