"""Each layout's sample is recognised as that layout: none that is tried earlier accepts it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.transformer.checkpoints.importing.families.foreign import raw_of
from tests.transformer.checkpoints.importing.families.language_models import (
    test_meta_llama,
    test_raschka,
    test_video_lecture,
)
from tests.transformer.checkpoints.importing.families.reference import Sample, Weights
from tests.transformer.checkpoints.importing.families.toolkits import (
    test_fairseq,
    test_marian_npz,
    test_open_nmt,
    test_x_transformers,
)
from tests.transformer.checkpoints.importing.families.torch_modules import test_nanogpt
from transformer.checkpoints.importing.recognition import recognise

MODULES = (
    test_nanogpt, test_video_lecture, test_raschka, test_meta_llama, test_fairseq, test_open_nmt,
    test_x_transformers,
)  # fmt: skip


def state_dict_of(make: Callable[[], Sample]) -> Weights:
    return make().state_dict


SAMPLES: dict[str, Callable[[], Weights]] = {
    name: partial(state_dict_of, make) for module in MODULES for name, make in module.SAMPLES.items()
}
SAMPLES |= {"marian_npz": lambda: test_marian_npz.marian()[1]}


@pytest.mark.parametrize("sample", SAMPLES)
def test_it_is_recognised_alone_and_inside_a_module_of_ones_own(tmp_path: Path, sample: str) -> None:
    weights = SAMPLES[sample]()
    wrapped = {f"model.net.{key}": weight for key, weight in weights.items()}
    for named in (weights, wrapped):
        found = recognise(raw_of(tmp_path, named))
        assert [family.name for family, _ in found] == [sample.partition(",")[0]]
