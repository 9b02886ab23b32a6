"""Models of every kind give the same numbers and targets on CUDA as on the CPU."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.devices.comparing import MODELS, assert_same, moved
from tests.pages.offered import BATCH, TEXT
from tests.support.models import tiny_model
from transformer.analysis.attention_maps import attention_maps, attentions
from transformer.model.trace import Trace
from transformer.run import draw_target, encode_sentence, run_sentence, search
from transformer.tracing import trace_batch
from transformer.training.evaluation.translations import translate_all

SEARCHED = ("rotary", "relative", "words")
SENTENCES = BATCH.splitlines()


def assert_same_trace(on_device: Trace, on_cpu: Trace) -> None:
    """Check that all recorded numbers match the CPU's and are on the CPU, ready for NumPy."""
    assert list(on_device) == list(on_cpu)
    for path, numbers in on_cpu.items():
        assert on_device[path].device.type == "cpu", path
        assert isinstance(on_device[path].numpy(), np.ndarray)
        assert_same(on_device[path], numbers, path)


@pytest.mark.parametrize("name", MODELS)
def test_a_sentence_and_its_target(name: str, device: torch.device) -> None:
    loaded = MODELS[name]()
    expected, found = run_sentence(loaded, TEXT), run_sentence(moved(loaded, device), TEXT)
    assert found.target_ids == expected.target_ids
    assert found.translation == expected.translation
    assert [step.top_ids[0] for step in found.steps] == [step.top_ids[0] for step in expected.steps]
    assert_same_trace(found.trace, expected.trace)
    for attention in attentions(found.trace):
        assert isinstance(attention_maps(found.trace, attention, "masked").values, np.ndarray)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_padded_batch(name: str, device: torch.device) -> None:
    loaded = MODELS[name]()
    sources = [encode_sentence(loaded, "source", text, "sentence") for text in SENTENCES]
    assert_same_trace(trace_batch(moved(loaded, device), sources), trace_batch(loaded, sources))


@pytest.mark.parametrize("name", MODELS)
def test_a_forward_by_the_fused_kernel(name: str, device: torch.device) -> None:
    """Sentences of several lengths; one is all padding, so that its rows are fully masked."""
    loaded = MODELS[name]()
    config = loaded.model.config
    pad = max(config.pad_id, 0)
    src = torch.tensor([[9, 10, 11, 12, 9], [10, 9, pad, pad, pad], [pad] * 5])
    tgt = torch.tensor([[6, 9, 10], [6, 9, pad], [6, pad, pad]])

    def ids(on: torch.device) -> list[Tensor | None]:
        return [
            src.to(on) if config.n_encoder_layers else None,
            tgt.to(on) if config.n_decoder_layers else None,
        ]

    expected = loaded.model(*ids(torch.device("cpu")))
    found = moved(loaded, device).model(*ids(device))
    assert found.device == device
    assert bool(found.isfinite().all())
    assert_same(found.cpu(), expected)


@pytest.mark.parametrize("name", SEARCHED)
def test_a_search_and_a_draw(name: str, device: torch.device) -> None:
    loaded = MODELS[name]()
    on_device, source = moved(loaded, device), encode_sentence(loaded, "source", TEXT, "sentence")
    expected, found = (
        search(model, source, beam_size=3, alpha=0.6, prefix=(9, 10)) for model in (loaded, on_device)
    )
    assert [node.token_id for node in found.nodes] == [node.token_id for node in expected.nodes]
    assert [one.ids for one in found.hypotheses] == [one.ids for one in expected.hypotheses]
    totals = [[node.total for node in tree.nodes] for tree in (found, expected)]
    assert totals[0] == pytest.approx(totals[1], rel=1e-4)
    expected_draw, found_draw = (
        draw_target(model, source, seed=3, temperature=1.3, top_k=7, top_p=0.9)
        for model in (loaded, on_device)
    )
    assert found_draw == expected_draw


@pytest.mark.parametrize("beam_size", [1, 3])
@pytest.mark.parametrize("merge_heads", ["transposed", "untransposed"])
def test_sentences_together(merge_heads: str, beam_size: int, device: torch.device) -> None:
    loaded = tiny_model(merge_heads=merge_heads)
    found = translate_all(moved(loaded, device), SENTENCES, beam_size=beam_size)
    assert found == translate_all(loaded, SENTENCES, beam_size=beam_size)
