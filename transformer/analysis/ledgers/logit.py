"""The logit ledger: an output token's logit as a sum over embedding, heads, keys, feed-forwards and biases.

Direct logit attribution (Elhage et al. 2021) with nothing left out. The effect of a part through later layers
is not in its term: for that, see `transformer.analysis.interventions`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from transformer.analysis.interventions.questions import Question
from transformer.analysis.ledgers.reading import Part, Reading
from transformer.analysis.ledgers.stream import Stream
from transformer.loaded import LoadedModel
from transformer.model.config import TransformerConfig
from transformer.model.trace import Stack, Trace
from transformer.model.transformer import Transformer
from transformer.run import Run


@dataclass(frozen=True)
class LogitLedger:
    """The terms of a logit, or of the difference of two.

    Attributes:
        parts: what each term comes from.
        values: (parts,) float64, in logits.
        recorded: the number that the model computed; before the soft cap, if it has one.
    """

    parts: tuple[Part, ...]
    values: NDArray[np.float64]
    recorded: float

    @property
    def total(self) -> float:
        """The sum of all terms."""
        return float(self.values.sum())


def logit_ledger(loaded: LoadedModel, run: Run, question: Question) -> LogitLedger:
    """Take apart the logit of a word's first token, minus the rival's if there is one.

    Args:
        loaded: a model with a generator.
        run: its run.
        question: which word; asked without a rival, its ledger is of the logit, not of the log-probability.

    Raises:
        ValueError: the model has no generator.
    """
    if not loaded.model.config.has_generator:
        raise ValueError("This model has no generator, so it has no logits to take apart.")
    model, row, trace = loaded.model, question.rows[0], run.trace
    stack = output_stack(model.config)
    directions = _difference(model.generator.weight, question)
    reading = Reading(directions[:, None] * (model.config.logits_factor if model.config.logits_scale else 1))
    if model.generator.bias is not None:
        bias = _difference(model.generator.bias, question)
        reading.add_values([Part("bias", None, "generator")], bias.reshape(1, 1))
    if model.config.generator_transform:
        _through_transform(model, trace, row, reading)
    Stream(model, trace, stack, row, by_key=True).read_output(reading)
    parts, values = reading.collected()
    name = "logits_uncapped" if model.config.logits_soft_cap else "logits"
    recorded = _difference(trace[name][0, row], question)
    return LogitLedger(parts, values[:, 0], float(recorded))


def output_stack(config: TransformerConfig) -> Stack:
    """The stack whose output the generator reads."""
    return "decoder" if config.n_decoder_layers else "encoder"


def ledger_notes(config: TransformerConfig) -> list[str]:
    """What a reader of this model's logit ledger must know, one sentence each."""
    notes = []
    if config.logits_soft_cap:
        notes.append("The sum is the logit before the soft cap, which is not linear.")
    if config.generator_transform:
        notes.append(
            f"Between the stack and the generator there is an activation ({config.activation}): each unit "
            "is taken as its input times the factor that the activation had in this run."
        )
    if config.merge_heads == "untransposed":
        notes.append(
            "This model mixes its heads before W_O, so an attention can't be divided into heads and words."
        )
    return notes


def _difference(values: Tensor, question: Question) -> Tensor:
    """The row of the question's first token, minus the rival's: (V, ...) -> (...), float64."""
    own = values[question.ids[0]].detach().double().cpu()
    return own if question.rival_id is None else own - values[question.rival_id].detach().double().cpu()


def _through_transform(model: Transformer, trace: Trace, position: int, reading: Reading) -> None:
    """Pull back through Norm(activation(dense(x))), with each unit's output / input held fixed."""
    transform = model.generator_transform
    scale = trace["generator_transform.norm.scale"][0, position]
    reading.through_norm(transform.norm, scale, Part("bias", None, "generator_transform.norm"))
    dense = transform.dense
    before = stack_output(model, trace)[0, position].double() @ dense.weight.double().cpu().T
    if dense.bias is not None:
        before = before + dense.bias.double().cpu()
    hidden = trace["generator_transform.hidden"][0, position].double()
    gates = torch.where(before == 0, 0.0, hidden / before)
    reading.directions = reading.directions * gates[:, None]
    reading.through_matrix(dense.weight, dense.bias, Part("bias", None, "generator_transform.dense"))


def stack_output(model: Transformer, trace: Trace) -> Tensor:
    """The output of the stack that the generator reads: (B, T, D)."""
    stack = output_stack(model.config)
    if model.config.ends_with_norm(stack):
        return trace[f"{stack}.final_norm.result"]
    return trace[f"{stack}.layers.{trace.n_layers(stack) - 1}.resid_post"]
