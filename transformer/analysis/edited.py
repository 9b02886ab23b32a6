"""Repeats a run with some of its tensors edited, or with padding after its source."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.analysis.interventions.questions import logit_row, suppressed_ids
from transformer.decoding.greedy import next_token_probabilities
from transformer.loaded import LoadedModel
from transformer.model.config import TransformerConfig
from transformer.model.trace import Edit, Editor, Recorder, Stack
from transformer.model_input import padded
from transformer.run import Run


@torch.inference_mode()
def edited_records(
    loaded: LoadedModel, run: Run, edits: Mapping[str, Edit], *, padding: int = 0
) -> dict[str, Tensor]:
    """Run the same ids through the model again; returns all tensors by path, on the CPU.

    Args:
        loaded: the model.
        run: the run with the source and target to read.
        edits: path -> function applied to the tensor at that path; see `Editor`.
        padding: number of padding tokens after the source, as in a batch with a longer sentence; without an
            encoder, after the prompt and its continuation. The model must have a padding id.
    """
    ids = [list(read.ids) if read is not None else None for read in (run.encoder_input, run.decoder_input)]
    longer = ids[0] if ids[0] is not None else ids[1]
    assert longer is not None
    longer += [loaded.model.config.pad_id] * padding
    recorder = Recorder()
    loaded.model(*(_batch(loaded, row) for row in ids), tap=Editor(edits, recorder))
    return {path: tensor.cpu() for path, tensor in recorder.records.items()}


def _batch(loaded: LoadedModel, row: Sequence[int] | None) -> Tensor | None:
    return None if row is None else padded(loaded, [row])


@dataclass(frozen=True)
class Effect:
    """The effect of edits on a run.

    Attributes:
        change: norm of the change of the last output (logits, or hidden states without a generator), relative
            to the norm of that output, over all positions.
        probabilities: (steps,) probabilities of the tokens that the run chose; empty without a generator.
    """

    change: float
    probabilities: Tensor

    @property
    def mean(self) -> float:
        """The geometric mean of the probabilities; NaN if there are none."""
        return float(self.probabilities.log().mean().exp()) if len(self.probabilities) else math.nan


def effect_of(loaded: LoadedModel, run: Run, edits: Mapping[str, Edit]) -> Effect:
    """Run again with edits and compare the output; without edits the change is 0."""
    last = list(run.trace)[-1]
    own, output = run.trace[last][0], edited_records(loaded, run, edits)[last][0]
    change = float((output - own).norm() / own.norm())
    if not run.steps:
        return Effect(change, torch.empty(0))
    rows = torch.tensor([logit_row(run, step) for step in range(len(run.steps))])
    ids = torch.tensor([step.token_id for step in run.steps])
    probabilities = next_token_probabilities(output[rows], suppressed_ids(loaded, run))
    return Effect(change, probabilities.gather(1, ids[:, None])[:, 0])


def without_positions(config: TransformerConfig) -> dict[str, Edit]:
    """Edits that remove all positional information from embeddings, scores, and queries and keys."""
    layers: dict[Stack, int] = {"encoder": config.n_encoder_layers, "decoder": config.n_decoder_layers}
    attentions = [f"{stack}.layers.{layer}.self_attn" for stack, n in layers.items() for layer in range(n)]
    if config.has_position_bias:
        return {f"{path}.position_bias": torch.zeros_like for path in attentions}
    if config.positions == "rotary":
        edits: dict[str, Edit] = {}
        turning = [
            f"{stack}.layers.{layer}.self_attn"
            for stack, n in layers.items()
            for layer in range(n)
            if config.rotary_base(stack, layer)
        ]
        for path in turning:
            for name in ("q", "k"):
                held = _Held()
                edits |= {f"{path}.{name}_unrotated": held.take, f"{path}.{name}": held.give}
        return edits
    return dict.fromkeys(("src_embedding.positions", "tgt_embedding.positions"), torch.zeros_like)


class _Held:
    """Returns an earlier tensor in place of a later one."""

    tensor: Tensor

    def take(self, tensor: Tensor) -> Tensor:
        self.tensor = tensor
        return tensor

    def give(self, _: Tensor) -> Tensor:
        return self.tensor
