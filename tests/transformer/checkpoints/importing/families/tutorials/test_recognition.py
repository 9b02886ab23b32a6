"""Each layout is known as itself and as nothing else, whatever wraps the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from torch import nn

from tests.transformer.checkpoints.importing.families.foreign import raw_of
from tests.transformer.checkpoints.importing.families.torch_modules import (
    test_annotated,
    test_fused_tutorial,
)
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
    test_samlynnevans,
)
from transformer.checkpoints.importing.families import FAMILIES
from transformer.checkpoints.importing.recognition import plan_import, recognise

SAMPLES: dict[str, tuple[str, Callable[[], nn.Module]]] = {
    "hkproj": ("hkproj", test_hkproj.Theirs),
    "hkproj, first version": ("hkproj", lambda: test_hkproj.Theirs(first_version=True)),
    "hyunwoongko": ("hyunwoongko", test_hyunwoongko.Theirs),
    "bentrevett": ("bentrevett", test_bentrevett.Theirs),
    "bentrevett, shared norm": ("bentrevett", lambda: test_bentrevett.Theirs(test_bentrevett.SHARED_NORM)),
    "bentrevett, first version": ("bentrevett", lambda: test_bentrevett.Theirs(test_bentrevett.FIRST)),
    "gordicaleksa": ("gordicaleksa", test_gordicaleksa.Theirs),
    "samlynnevans": ("samlynnevans", test_samlynnevans.Theirs),
    "jadore801120": ("jadore801120", test_jadore801120.Theirs),
    "jadore801120, 2018": (
        "jadore801120",
        lambda: test_jadore801120.Theirs(test_jadore801120.Version(old=True)),
    ),
    "graykode": ("graykode", test_graykode.Theirs),
    "graykode, a copy": ("graykode", lambda: test_graykode.Theirs(test_graykode.Version(is_copy=True))),
    "aladdinpersson": ("aladdinpersson", test_aladdinpersson.Theirs),
    "d2l": ("d2l", test_d2l.Theirs),
    "labml": ("labml", test_labml.Theirs),
    "labml, a lone stack": ("labml", test_labml.Lone),
    "annotated": ("annotated", test_annotated.EncoderDecoder),
    "fused_tutorial": ("fused_tutorial", lambda: test_fused_tutorial.Translator(True)),
    "torch_transformer": ("torch_transformer", lambda: nn.Transformer(8, 2, 2, 3, 12, batch_first=True)),
}


@pytest.mark.parametrize("sample", SAMPLES)
def test_no_other_family_takes_it(tmp_path: Path, sample: str) -> None:
    name, make = SAMPLES[sample]
    raw = raw_of(tmp_path, make().state_dict())
    taken = [family.name for family in FAMILIES if family.matches(family.arranged(raw))]
    assert set(taken) == {name}


@pytest.mark.parametrize("before", ["_orig_mod.", "module.net.transformer."])
@pytest.mark.parametrize("sample", SAMPLES)
def test_wrappers_are_taken_off(tmp_path: Path, sample: str, before: str) -> None:
    name, make = SAMPLES[sample]
    raw = raw_of(tmp_path, make().state_dict())
    wrapped = replace(raw, tensors={before + key: stored for key, stored in raw.tensors.items()})
    assert [family.name for family, _ in recognise(wrapped)] == [name]
    report = plan_import(wrapped, {}).report
    assert report.keys.fits
    assert not report.keys.unexpected


@pytest.mark.parametrize("sample", SAMPLES)
def test_files_may_hold_more_than_the_model(tmp_path: Path, sample: str) -> None:
    """The user's own module has a loss with a buffer beside it."""
    name, make = SAMPLES[sample]
    module = nn.ModuleDict({"model": make(), "loss": nn.BatchNorm1d(3)})
    found = recognise(raw_of(tmp_path, module.state_dict()))
    assert [family.name for family, _ in found] == [name]
