"""Questions that the state dict of a user's own module leaves open, and hints from its values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.reading.memory_map import map_tensor
from transformer.checkpoints.reading.raw import StoredTensor

if TYPE_CHECKING:
    from torch import Tensor

ASSUMED_LENGTH = 1024
"""max_len of a model whose sinusoids are not stored."""
_ROUNDING = 2e-3
"""Largest error of a sinusoid table computed in float32."""
_COMPARED_ROWS = 2_048
"""Most rows compared with sinusoids, whose computation would otherwise cost many times the file."""
_FLOATS = ("F64", "F32", "F16", "BF16")
_FIRST_IDS = 4
"""Usual padding ids are below this."""

SINUSOIDS = "A table of sinusoids; our model computes its own."
"""Why a stored table of sinusoids is not used."""

NOT_STORED = "It is an argument of the module and not stored with its weights."
_NORM_POSITIONS = {
    "post": "after, as in the paper (norm_first=False)",
    "pre": "before (norm_first=True)",
}
NORM_POSITIONS = {
    "post": "after, as in the paper: norm(x + sublayer(x))",
    "pre": "before: x + sublayer(norm(x))",
    "output": "after, on the sublayer's output alone: x + norm(sublayer(x))",
    "both": "before and after: x + norm(sublayer(norm(x)))",
    "none": "there are none: x + sublayer(x)",
}
"""All of norm_position's values, for a layout that may compute any of them."""
_ACTIVATIONS = {
    "relu": "ReLU, as in the paper",
    "gelu": "GELU",
    "gelu_tanh": "GELU, approximated by tanh",
    "silu": "SiLU (Swish)",
    "relu_squared": "the square of ReLU",
}


ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "relu": "relu",
    "relu2": "relu_squared",
    "silu": "silu",
    "swish": "silu",
}
"""Activation names in transformers -> ours."""

_USUAL_ACTIVATIONS = {
    "gelu": "GELU (gelu)",
    "gelu_tanh": "GELU, approximated by tanh (gelu_new, gelu_pytorch_tanh)",
    "relu": "ReLU (relu)",
    "silu": "SiLU, or Swish (silu, swish)",
    "relu_squared": "the square of ReLU (relu2)",
}


def ask_norm_position(
    draft: ConfigDraft,
    labels: Mapping[str, str] = _NORM_POSITIONS,
    why: str = f"{NOT_STORED} torch calls it norm_first.",
) -> None:
    """Ask whether norms come before or after the sublayers; arguments as in `ask_activation`."""
    draft.ask("norm_position", "Do the norms come before or after the sublayers?", why, labels)


def ask_norm_eps(draft: ConfigDraft, *likely: float) -> None:
    """Ask for a norm's eps, the likeliest first."""
    draft.ask(
        "norm_eps",
        "What is added to the variance in a norm?",
        f"{NOT_STORED} It matters little unless yours is far from the usual ones.",
        {eps: f"{eps:g}" for eps in likely},
    )


def ask_activation(
    draft: ConfigDraft, labels: Mapping[str, str] = _ACTIVATIONS, why: str = NOT_STORED
) -> None:
    """Ask for the activation of the feed-forward.

    Args:
        draft: to be filled in.
        labels: our names -> text for the user, the likeliest first.
        why: why the files don't say.
    """
    draft.ask("activation", "Which activation does the feed-forward have?", why, labels)


def ask_usual_activation(draft: ConfigDraft, usual: str) -> None:
    """Ask for the activation, the family's usual one first."""
    labels = {usual: _USUAL_ACTIVATIONS[usual]} | _USUAL_ACTIVATIONS
    why = (
        "It is in config.json and not stored with the weights. With a wrong one nearly all numbers are wrong."
    )
    ask_activation(draft, labels, why)


def ask_embedding_scale(draft: ConfigDraft, *, likely: bool) -> None:
    """Ask whether embeddings are multiplied by sqrt(d_model)."""
    draft.ask(
        "embedding_scale",
        "Are embeddings multiplied by the square root of d_model?",
        "It is done in the program and not stored. A wrong answer makes words too large or small next to "
        "their positions.",
        {True: "yes, as in the paper (section 3.4)", False: "no"},
        likely=likely,
    )


def ask_positions(draft: ConfigDraft, tables: list[str]) -> None:
    """Ask which kind the positions are: a learned table, sinusoids, or none.

    Args:
        draft: with d_model.
        tables: names of stored position tables.

    Raises:
        CheckpointError: for a table that is a single row or number.
    """
    for name in tables:
        draft.length(name, 1)  # rejects one that has no such axis
    lengths = [max(draft.raw.tensors[name].shape[:-1]) for name in tables]
    if not tables:
        draft.put("max_len", ASSUMED_LENGTH, "assumed", "no table of positions is stored")
        labels = {"none": "no positions"}
        if draft["d_model"] % 2 == 0:
            labels = {"sinusoidal": "sines and cosines, as in the paper (section 3.5)"} | labels
        draft.ask(
            "positions",
            "How does the model know the position of a token?",
            "There is no table of positions in the files; sinusoids are usually computed.",
            labels,
        )
        return
    draft.put("max_len", min(lengths), "shapes", f"rows of {draft.stored_name(tables[0])}")
    layouts = {sinusoid_layout(draft.raw.tensors[name]) for name in tables}
    # If one table is learned and the other computed, both can be used as stored.
    layout = layouts.pop() if len(layouts) == 1 else None
    why = f"the numbers of {draft.stored_name(tables[0])}"
    draft.put("positions", "sinusoidal" if layout else "learned", "shapes", why)
    if layout:
        draft.put("sinusoid_layout", layout, "shapes", why)


def sinusoid_layout(table: StoredTensor) -> str | None:
    """How a position table orders the paper's sinusoids; None if it was learned."""
    d_model = table.shape[-1]
    if d_model % 2 or table.dtype not in _FLOATS:
        return None
    from transformer.model.positions import sinusoidal_encoding  # imports torch

    stored = map_tensor(table).reshape(-1, d_model)[:_COMPARED_ROWS].float()
    if _is_close(stored, sinusoidal_encoding(len(stored), d_model)):
        return "interleaved"
    halves = sinusoidal_encoding(len(stored), d_model, layout="halves")
    return "halves" if _is_close(stored, halves) else None


def _is_close(one: Tensor, other: Tensor) -> bool:
    return bool(((one - other).abs() <= _ROUNDING).all())


def ask_pad_id(draft: ConfigDraft, embedding: str | None, usual: int) -> None:
    """Ask which id is padding; a zero row among the embedding's first ones is the likely answer."""
    zeros = [] if embedding is None else _zero_rows(draft.raw.tensors[embedding])
    ids = sorted(range(_FIRST_IDS), key=lambda index: (index not in zeros, index != usual, index))
    draft.ask(
        "pad_id",
        "Which id pads short sentences of a batch?",
        "The vocabulary is not stored with the weights. This token is masked."
        + (f" Row {zeros[0]} of the embedding is zero, as padding's usually is." if zeros else ""),
        {index: str(index) for index in ids} | {-1: "none"},
    )


def _zero_rows(embedding: StoredTensor) -> list[int]:
    rows = map_tensor(embedding)[:_FIRST_IDS]
    return [index for index, row in enumerate(rows) if not bool(row.any())]
