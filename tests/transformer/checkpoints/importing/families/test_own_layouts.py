"""Each layout's sample is recognised as itself, none that is tried before takes it for its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from torch import Tensor

from tests.transformer.checkpoints.importing.families.foreign import raw_of
from tests.transformer.checkpoints.importing.families.language_models import (
    test_meta_llama,
    test_raschka,
    test_video_lecture,
)
from tests.transformer.checkpoints.importing.families.toolkits import (
    test_fairseq,
    test_marian_npz,
    test_open_nmt,
    test_x_transformers,
)
from tests.transformer.checkpoints.importing.families.torch_modules import test_nanogpt
from transformer.checkpoints.importing.recognition import recognise

Weights = dict[str, Tensor]
SAMPLES: dict[str, list[Callable[[], Weights]]] = {
    "nanogpt": [lambda: test_nanogpt.NanoGPT().state_dict()],
    "video_lecture": [lambda: test_video_lecture.LanguageModel().state_dict()],
    "raschka_gpt": [lambda: test_raschka.gpt().state_dict()],
    "raschka_llama": [
        lambda: test_raschka.rotary(3, 4, 1e4).state_dict(),
        lambda: test_raschka.rotary(2, 10, 1e6, normed=True).state_dict(),
    ],
    "meta_llama": [lambda: test_meta_llama.Llama().state_dict()],
    "fairseq": [
        lambda: test_fairseq.Translator().state_dict(),
        lambda: test_fairseq.Translator(norm_first=True, learned=True, embedding_norm=True).state_dict(),
        lambda: test_fairseq.LanguageModel().state_dict(),
        lambda: test_fairseq.fused(test_fairseq.Translator().state_dict()),
    ],
    "open_nmt": [
        lambda: test_open_nmt.Model().state_dict(),
        lambda: test_open_nmt.Model(crossed=False, second=False).state_dict(),
    ],
    "marian_npz": [lambda: test_marian_npz.Marian().weights],
    "x_transformers": [
        lambda: test_x_transformers.XTransformer(tied=False).state_dict(),
        lambda: test_x_transformers.Autoregressive(
            test_x_transformers.Wrapper(31, test_x_transformers.Layers(2, causal=True))
        ).state_dict(),
    ],
}


@pytest.mark.parametrize(
    "name, sample", [(name, number) for name, samples in SAMPLES.items() for number in range(len(samples))]
)
def test_no_family_before_it_takes_it(tmp_path: Path, name: str, sample: int) -> None:
    weights = SAMPLES[name][sample]()
    assert [family.name for family, _ in recognise(raw_of(tmp_path, weights))] == [name]


@pytest.mark.parametrize("name", SAMPLES)
def test_wrapped_in_a_module_of_ones_own(tmp_path: Path, name: str) -> None:
    weights = {f"model.net.{key}": weight for key, weight in SAMPLES[name][0]().items()}
    assert [family.name for family, _ in recognise(raw_of(tmp_path, weights))] == [name]
