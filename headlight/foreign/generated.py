"""Attention of the steps of `generate` of transformers, joined to that of one text.

The first step reads the prompt, P tokens; each step after it reads one token, and the keys before it are
cached: (B, H, P, P), (B, H, 1, P + 1), (B, H, 1, P + 2) ... The token that the last step writes is not read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from viz.viewer.viewer_run import Floats

_WRITING = ("attentions", "decoder_attentions", "cross_attentions")
_FIELDS = (*_WRITING, "encoder_attentions")


def is_generated(weights: Any) -> bool:
    """True if the weights are those of steps, each a list of layers."""
    is_list = isinstance(weights, list | tuple)
    return is_list and bool(weights) and all(isinstance(step, list | tuple) for step in weights)


def join_steps(steps: Sequence[Sequence[Floats]], what: str, *, between: bool) -> list[Floats]:
    """Join the steps of each layer.

    Args:
        steps: by step and layer, (1, H, Q, K).
        what: name of the attention in messages.
        between: True if the keys are the tokens of another text.

    Returns:
        By layer, (1, H, T, K) for the T tokens that were read; keys that were not written yet have weight 0.

    Raises:
        ValueError: the steps are not those of one sequence.
    """
    _check_steps(steps, what)
    return [_join(layer, what, between=between) for layer in zip(*steps, strict=True)]


def attentions_of(output: Mapping[str, Any]) -> dict[str, Any]:
    """The attentions in a whole output of transformers, by the field's name.

    Beams change places at every step: those of one sequence are put together from the rows in `beam_indices`.

    Raises:
        ValueError: there are none, or those of several generated sequences.
    """
    found = {name: output[name] for name in _FIELDS if output.get(name) is not None}
    if not found:
        raise ValueError(
            f"The output has no attentions, only {', '.join(output)}: load the model with "
            'attn_implementation="eager" and call it with output_attentions=True.'
        )
    sequences, beams = output.get("sequences", ()), output.get("beam_indices")
    if len(sequences) > 1:
        raise ValueError(f"The output has {len(sequences)} sequences: {_RUN_ONCE}")
    if beams is None:
        return found
    rows = [row for row in beams[0].tolist() if row >= 0]
    return {
        name: [[layer[row : row + 1] for layer in step] for step, row in zip(steps, rows, strict=False)]
        if name in _WRITING
        else steps
        for name, steps in found.items()
    }


_RUN_ONCE = (
    "run the model on one of them without its padding, model(output.sequences[:1], output_attentions=True), "
    "with an encoder model(input_ids[:1], decoder_input_ids=output.sequences[:1], output_attentions=True)."
)


def _check_steps(steps: Sequence[Sequence[Floats]], what: str) -> None:
    if len({len(step) for step in steps}) > 1:
        raise ValueError(f"The steps of {what} have different numbers of layers.")
    layers = [layer for step in steps for layer in step]
    if any(layer.ndim != 4 for layer in layers):
        shape = next(layer.shape for layer in layers if layer.ndim != 4)
        raise ValueError(
            f"{what} is a list of lists, as generate() returns its steps, but a layer has the shape {shape}, "
            "not (1, heads, queries, keys)."
        )
    most = max(len(layer) for layer in layers)
    if most > 1:
        raise ValueError(
            f"Each step of {what} has {most} sequences. If they are beams of one text, pass the whole "
            f"output, whose beam_indices say where each beam went; otherwise {_RUN_ONCE}"
        )


def _join(steps: Sequence[Floats], what: str, *, between: bool) -> Floats:
    queries, keys = [step.shape[2] for step in steps], [step.shape[3] for step in steps]
    if len(steps) > 1 and queries == [queries[0] + number for number in range(len(steps))]:
        return steps[-1]  # without a cache, each step reads everything before it again
    if any(count != 1 for count in queries[1:]):
        raise ValueError(
            f"{what} is a list of lists, but not of the steps of generate(), which read one token each after "
            f"the first: it has {queries} queries."
        )
    cached = keys[0] - queries[0]  # keys from before the first step
    is_static = not between and not steps[0][..., queries[0] :].any()  # a cache with room for keys to come
    if len(set(keys)) == 1 and (between or (cached and not is_static)):
        return np.concatenate(steps, axis=2)
    if is_static:
        cached = 0
    n_queries = sum(queries)
    joined = np.zeros((*steps[0].shape[:2], n_queries, cached + n_queries), np.float32)
    row = 0
    for step, count in zip(steps, queries, strict=True):
        row += count
        own = step[..., : cached + row]
        # A sliding window keeps the last keys only.
        joined[..., row - count : row, cached + row - own.shape[-1] : cached + row] = own
    return joined
