"""Each layout is recognised as itself and nothing else, whatever wraps the model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.transformer.checkpoints.importing.families.foreign import raw_of
from tests.transformer.checkpoints.importing.families.tutorials.test_parity import CASES, Case
from transformer.checkpoints.importing.families import families
from transformer.checkpoints.importing.recognition import plan_import, recognise


@pytest.mark.parametrize("case", [*CASES, None], ids=str)
def test_it_is_recognised_alone_wrapped_and_among_others(tmp_path: Path, case: Case | None) -> None:
    """A case of None is torch's own module."""
    if case is None:
        name, answers = "torch_transformer", dict[str, Any]()
        weights = nn.Transformer(8, 2, 2, 3, 12, batch_first=True).state_dict()
    else:
        name, _, weights, answers = case.sample()
    raw = raw_of(tmp_path, weights)
    assert {family.name for family in families() if family.matches(family.arranged(raw))} == {name}
    for prefix in ("_orig_mod.", "module.net.transformer."):
        wrapped = replace(raw, tensors={prefix + key: stored for key, stored in raw.tensors.items()})
        assert [family.name for family, _ in recognise(wrapped)] == [name]
        keys = plan_import(wrapped, answers).report.keys
        assert keys.fits
        assert not keys.unexpected
    with_loss = {f"model.{key}": weight for key, weight in weights.items()} | {"loss.mean": torch.ones(3)}
    assert [family.name for family, _ in recognise(raw_of(tmp_path, with_loss))] == [name]
