"""Tiny random models of Hugging Face's transformers, made offline, and what they compute."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from transformers import PreTrainedModel

from tests.transformer.checkpoints.importing.families.foreign import close, randomized, raw_of
from tests.transformer.model.core import trace_of
from transformer.checkpoints.importing.recognition import plan_import
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.decoding.greedy import greedy
from transformer.decoding.request import DecodingRequest
from transformer.errors import CheckpointError
from transformer.model.trace import Trace
from transformer.model.transformer import Transformer


def tiny(model_class: Any, config: Mapping[str, Any], seed: int = 0) -> Any:
    """In eval mode, with random parameters and eager attention, which returns its weights."""
    model = model_class(model_class.config_class(**config, attn_implementation="eager"))
    return randomized(model.to(torch.float32), seed)


def saved(folder: Path, model: PreTrainedModel, *, with_config: bool = True) -> RawCheckpoint:
    """The checkpoint that saving the model would give."""
    config = model.config.to_dict() | {"architectures": [type(model).__name__]}
    weights = model.state_dict()
    if any(".experts." in name for name in weights):  # in memory one tensor has those of all experts
        model.save_pretrained(folder / "saved")
        weights = load_file(folder / "saved" / "model.safetensors")
    return raw_of(folder, weights, config if with_config else None)


@torch.no_grad()
def outputs(model: PreTrainedModel, ids: Tensor, open_tokens: Tensor) -> Any:
    """Logits, attentions and hidden states for ids (B, T); `open_tokens` (B, T) is False at padding."""
    return model(
        input_ids=ids, attention_mask=open_tokens.long(), output_attentions=True, output_hidden_states=True
    )


def assert_same_logits(ours: Transformer, theirs: PreTrainedModel, ids: Tensor) -> None:
    """Compare a decoder's logits; no id is padding."""
    assert close(trace_of(ours, None, ids)["logits"], outputs(theirs, ids, ids >= 0).logits)


def assert_refused(folder: Path, theirs: PreTrainedModel, told: dict[str, Any], words: str) -> None:
    """The model's weights are refused with a configuration that has these changes."""
    with pytest.raises(CheckpointError, match=words):
        plan_import(raw_of(folder, theirs.state_dict(), theirs.config.to_dict() | told), {})


def assert_same_stack(trace: Trace, stack: Any, theirs: Any, words: Tensor) -> None:
    """Compare every attention matrix and hidden state at words; values at padding may differ."""
    n_layers = len(theirs.attentions)
    assert trace.n_layers(stack) == n_layers
    for i in range(n_layers):
        ours = trace.attention(stack, i, "self_attn").weights
        for row, open_tokens in enumerate(words):
            assert close(ours[row][:, open_tokens], theirs.attentions[i][row][:, open_tokens])
    states = [trace[f"{stack}.layers.0.resid_pre"]]
    states += [trace[f"{stack}.layers.{i}.resid_post"] for i in range(n_layers)]
    if f"{stack}.final_norm.result" in trace:
        states[-1] = trace[f"{stack}.final_norm.result"]  # their last hidden state is normed too
    for ours, expected in zip(states, theirs.hidden_states, strict=True):
        assert close(ours[words], expected[words])


def greedy_ids(ours: Transformer, prompt: list[int], n: int, pad_id: int) -> list[int]:
    """Continue a prompt with our own greedy decoding, without end token or padding."""
    request = DecodingRequest(start_ids=prompt, end_ids=(), max_new_tokens=n, suppressed_ids=(pad_id,))
    steps = greedy(ours, None, request)
    return [step.token_id for step in steps]
