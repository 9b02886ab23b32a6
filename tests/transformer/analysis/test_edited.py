"""Rerunning with edits: unedited records stay the same; edited ones match a model that was built that way."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tests.support.kinds import KINDS
from tests.support.models import tiny_model
from transformer.analysis.edited import edited_records, effect_of, without_positions
from transformer.loaded import LoadedModel, freeze
from transformer.model.transformer import Transformer
from transformer.run import run_again, run_sentence
from transformer.tracing import trace_batch

TEXT = "Yesterday I saw the dog."
MODELS: dict[str, Callable[[], LoadedModel]] = {**KINDS, "paper": tiny_model}
every_kind = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


@every_kind
def test_without_edits_it_is_the_same_run(make: Callable[[], LoadedModel]) -> None:
    loaded = make()
    run = run_sentence(loaded, TEXT)
    records = edited_records(loaded, run, {})
    assert list(records) == list(run.trace)
    for path, tensor in records.items():
        torch.testing.assert_close(tensor, run.trace[path])
    effect = effect_of(loaded, run, {})
    assert effect.change == pytest.approx(0, abs=1e-6)
    expected = [step.probability for step in run.steps]
    torch.testing.assert_close(effect.probabilities, torch.tensor(expected), atol=1e-6, rtol=1e-5)
    logs = [math.log(p) for p in expected]
    mean = math.exp(sum(logs) / len(logs)) if logs else math.nan
    assert effect.mean == pytest.approx(mean, rel=1e-4, nan_ok=True)


def test_a_sublayer_that_puts_out_nothing_is_one_whose_weights_are_zero() -> None:
    loaded = tiny_model()
    run = run_sentence(loaded, TEXT)
    path = "decoder.layers.1.cross_attn"
    effect = effect_of(loaded, run, {f"{path}.out": torch.zeros_like})
    other = tiny_model()
    with torch.no_grad():
        for parameter in other.model.get_submodule(f"{path}.w_o").parameters():
            parameter.zero_()
    expected = run_again(other, run)
    own, theirs = run.trace["logits"][0], expected.trace["logits"][0]
    assert effect.change == pytest.approx(float((theirs - own).norm() / own.norm()), rel=1e-4)
    assert effect.change > 0.01
    # A run that reached its limit has a last step that a given target lacks.
    probabilities = torch.tensor([step.probability for step in expected.steps])
    torch.testing.assert_close(effect.probabilities[: len(probabilities)], probabilities)


@pytest.mark.parametrize("kind", ["masked", "reader", "relative", "rotary", "languages", "prompted"])
def test_without_positions_it_is_the_model_that_has_none(kind: str) -> None:
    """Compared with the same weights in a model configured without positions."""
    loaded = KINDS[kind]()
    run = run_sentence(loaded, TEXT)
    config = replace(loaded.model.config, positions="none")
    bare = Transformer(config, torch.Generator().manual_seed(0))
    bare.load_state_dict(
        {name: w for name, w in loaded.model.state_dict().items() if name in bare.state_dict()}
    )
    expected = run_again(replace(loaded, model=freeze(bare)), run).trace
    records = edited_records(loaded, run, without_positions(loaded.model.config))
    last = list(run.trace)[-1]
    torch.testing.assert_close(records[last], expected[last], atol=1e-5, rtol=1e-4)
    assert not torch.allclose(records[last], run.trace[last], atol=1e-3), "the model used its positions"


def test_padding_is_that_of_a_batch_with_a_longer_sentence() -> None:
    loaded = tiny_model()
    short, longer = "The dog.", "Yesterday I saw the dog."
    run = run_sentence(loaded, short)
    batch = trace_batch(loaded, [run.source, run_sentence(loaded, longer).source])
    n_padding = len(batch.src_tokens[0]) - len(run.trace.src_tokens[0])
    assert n_padding == 3
    records = edited_records(loaded, run, {}, padding=n_padding)
    for name in ("weights", "z"):
        path = f"encoder.layers.1.self_attn.{name}"
        torch.testing.assert_close(records[path][0], batch[path][0], atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(records["logits"], run.trace["logits"], atol=1e-5, rtol=1e-4)


def test_a_run_and_its_model_stay_as_they_were() -> None:
    loaded = tiny_model()
    run = run_sentence(loaded, TEXT)
    before = {path: tensor.clone() for path, tensor in run.trace.items()}
    weights = {name: tensor.clone() for name, tensor in loaded.model.state_dict().items()}

    def spoil(tensor: Tensor) -> Tensor:
        return tensor.fill_(7)

    effect_of(loaded, run, {"encoder.layers.0.self_attn.scores": spoil, "src_embedding.positions": spoil})
    assert all(torch.equal(before[path], run.trace[path]) for path in run.trace)
    assert all(torch.equal(weights[name], tensor) for name, tensor in loaded.model.state_dict().items())
