"""The input of the first layer, for each choice."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tests.transformer.model.core import PAD_ID, deviation, random_ids, tiny_config
from transformer.model.embedding import Embedding
from transformer.model.positions import sinusoidal_encoding
from transformer.model.trace import Recorder

VOCAB, LENGTH, START, D_MODEL = 29, 5, 4, 66


def run(**choices: object) -> tuple[Embedding, Tensor, Tensor, dict[str, Tensor]]:
    """The module with random weights; ids, its output for them from position START on, its records."""
    module = Embedding(VOCAB, tiny_config(**choices)).eval()
    generator = torch.Generator().manual_seed(0)
    for parameter in module.parameters():
        nn.init.normal_(parameter, generator=generator)
    ids = random_ids(VOCAB, 2, LENGTH)
    recorder = Recorder()
    out = module(ids, recorder, START)
    assert deviation(module(ids, start=START), out) < 1e-5
    assert torch.equal(recorder.records["out"], out)
    return module, ids, out, recorder.records


def test_the_papers() -> None:
    module, ids, out, records = run()
    expected = module.weight[ids] * D_MODEL**0.5 + sinusoidal_encoding(13, D_MODEL)[START : START + LENGTH]
    assert deviation(out, expected) < 1e-5
    assert list(records) == ["tokens", "positions", "out"]


def test_unscaled_and_without_positions() -> None:
    for kind in ("none", "rotary", "relative"):
        module, ids, out, records = run(positions=kind, embedding_scale=False)
        assert torch.equal(out, module.weight[ids])
        assert list(records) == ["tokens", "out"]


def test_segments_and_a_norm_after_the_sum() -> None:
    module, ids, out, records = run(
        positions="learned", n_segments=2, embedding_norm=True, embedding_scale=False
    )
    weights = dict(module.named_parameters())
    total = module.weight[ids] + weights["segments"][0] + weights["positions.weight"][START : START + LENGTH]
    expected = nn.functional.layer_norm(total, (D_MODEL,), weights["norm.gamma"], weights["norm.beta"], 1e-5)
    assert deviation(out, expected) < 1e-5
    assert deviation(records["norm.input"], total) < 1e-5
    assert records["segments"].shape == (1, 1, D_MODEL)


def test_sines_before_cosines() -> None:
    encoding = sinusoidal_encoding(13, D_MODEL)
    _, _, _, records = run(sinusoid_layout="halves")
    expected = torch.cat((encoding[:, ::2], encoding[:, 1::2]), dim=1)[START : START + LENGTH]
    assert torch.equal(records["positions"][0], expected)


def test_padding_is_embedded_as_any_token() -> None:
    module, _, _, _ = run(positions="none")
    padding = torch.full((1, 1), PAD_ID)
    assert deviation(module(padding)[0, 0], module.weight[PAD_ID] * D_MODEL**0.5) < 1e-5
