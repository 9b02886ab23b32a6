"""Each layout is recognised as itself and nothing else, whatever wraps the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.transformer.checkpoints.importing.families.foreign import raw_of
from tests.transformer.checkpoints.importing.families.reference import Sample, Weights
from tests.transformer.checkpoints.importing.families.torch_modules import test_annotated, test_fused_tutorial
from tests.transformer.checkpoints.importing.families.tutorials import (
    test_aladdinpersson,
    test_bentrevett,
    test_d2l,
    test_gordicaleksa,
    test_graykode,
    test_hkproj,
    test_hyunwoongko,
    test_jadore801120,
    test_labml,
    test_repositories,
    test_samlynnevans,
)
from transformer.checkpoints.importing.families import FAMILIES
from transformer.checkpoints.importing.recognition import plan_import, recognise

MODULES = (
    test_hkproj, test_hyunwoongko, test_bentrevett, test_gordicaleksa, test_samlynnevans, test_jadore801120,
    test_graykode, test_aladdinpersson, test_d2l, test_labml, test_repositories, test_annotated,
    test_fused_tutorial,
)  # fmt: skip
SAMPLES: dict[str, Callable[[], Sample]] = {
    name: make for module in MODULES for name, make in module.SAMPLES.items()
}


def weights_of(sample: str) -> tuple[str, Weights, dict[str, Any]]:
    """The layout and state dict of a sample, or of torch's own module, and answers."""
    if sample == "torch_transformer":
        return sample, nn.Transformer(8, 2, 2, 3, 12, batch_first=True).state_dict(), {}
    made = SAMPLES[sample]()
    return made.family, made.state_dict, made.answers


@pytest.mark.parametrize("sample", [*SAMPLES, "torch_transformer"])
def test_it_is_recognised_alone_wrapped_and_among_others(tmp_path: Path, sample: str) -> None:
    name, weights, answers = weights_of(sample)
    raw = raw_of(tmp_path, weights)
    assert {family.name for family in FAMILIES if family.matches(family.arranged(raw))} == {name}
    for prefix in ("_orig_mod.", "module.net.transformer."):
        wrapped = replace(raw, tensors={prefix + key: stored for key, stored in raw.tensors.items()})
        assert [family.name for family, _ in recognise(wrapped)] == [name]
        keys = plan_import(wrapped, answers).report.keys
        assert keys.fits
        assert not keys.unexpected
    with_loss = {f"model.{key}": weight for key, weight in weights.items()} | {"loss.mean": torch.ones(3)}
    assert [family.name for family, _ in recognise(raw_of(tmp_path, with_loss))] == [name]
