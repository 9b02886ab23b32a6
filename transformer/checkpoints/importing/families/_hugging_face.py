"""What the configurations of Hugging Face's transformers have in common."""

from __future__ import annotations

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
"""Their names of activations -> ours."""

CLASSIFIER = "A head for another task than predicting words; Headlight shows the model below it."
POSITION_IDS = "The numbers 0, 1, 2, ... of the positions."
"""Reasons why a tensor is not needed."""
