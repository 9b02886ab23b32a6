"""Common to the configurations of Hugging Face's transformers."""

from __future__ import annotations

from collections.abc import Iterable

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.layout.questions import ask_activation
from transformer.checkpoints.reading.raw import RawCheckpoint

ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
}
"""Activation names in transformers -> ours."""

_LABELS = {
    "gelu": "GELU (gelu)",
    "gelu_tanh": "GELU, approximated by tanh (gelu_new, gelu_pytorch_tanh)",
    "relu": "ReLU (relu)",
    "silu": "SiLU, or Swish (silu, swish)",
}


def ask_usual_activation(draft: ConfigDraft, usual: str) -> None:
    """Ask for the activation, the family's usual one first."""
    labels = {usual: _LABELS[usual]} | _LABELS
    why = (
        "It is in config.json and not stored with the weights. With a wrong one nearly all numbers are wrong."
    )
    ask_activation(draft, labels, why)


_OTHER_TASKS = ("ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering")


def is_for_words(raw: RawCheckpoint, heads: Iterable[str], *bare: str) -> bool:
    """True if a model without a stored generator ties it: no class name or other head says otherwise.

    Args:
        raw: the checkpoint.
        heads: tensors of heads for other tasks.
        bare: names in config.json of the models without a head.
    """
    told = raw.json("config.json").get("architectures")
    name = str(told[0]) if isinstance(told, list) and told else ""
    of_another_task = name.endswith(_OTHER_TASKS) or any(head in raw.tensors for head in heads)
    return name not in bare and not of_another_task


def put_no_generator(draft: ConfigDraft) -> None:
    """Fill in that the files have no generator, the layer from hidden states to words."""
    draft.put("has_generator", False, "shapes", "there is no lm_head.weight")
    draft.put("tie_generator", False, "shapes", "there is no lm_head.weight")
    draft.note(
        "There is no language-model head in the files: the model gives hidden states and attention, and "
        "predicts no words."
    )
