"""Numbers that reveal more than one of the mistakes."""

from __future__ import annotations

import torch
from torch import Tensor

from transformer.loaded import LoadedModel
from transformer.model_input import padded
from transformer.run import Run
from viz.pages.lab.mistakes.mistake import Broken, Case, Symptom


def distance(tensor: Tensor, right: Tensor) -> float:
    """|a - b| / |b|, with b the correct tensor."""
    return float((tensor - right).norm() / right.norm())


def weight_on_closed_cells(run: Run, masks_of: Run) -> float:
    """The largest total weight that a row, padding aside, gives to keys masked in another run."""
    most = 0.0
    for path in run.trace:
        if path.endswith("attn.weights"):
            weights = run.trace[path]
            mask = masks_of.trace[path.removesuffix("weights") + "mask"].expand(weights.shape)
            closed = weights.masked_fill(mask, 0.0).sum(dim=-1)
            if path.endswith("self_attn.weights"):
                closed = closed * mask.diagonal(dim1=-2, dim2=-1)
            most = max(most, float(closed.max()))
    return most


@torch.inference_mode()
def leak(loaded: LoadedModel, run: Run, *, shifted: bool = True) -> float:
    """How much the first logits change when the target that they are to predict is replaced.

    The change is relative to the length of those logits, and exactly 0 in a decoder that sees no future.

    Args:
        loaded: the model.
        run: a run with a target; if it is empty, nothing can be replaced and the result is 0.
        shifted: True if the decoder's input begins with its first tokens, so that the target comes after the
            row that predicts it; False if it comes in that very row.
    """
    ids, first = list(run.target_ids), len(run.target_ids) - len(run.target.ids)
    if not run.target.ids:
        return 0.0
    start = first if shifted else first - 1
    changed = [*ids[:start], *(_other(loaded, index) for index in ids[start:])]
    source = None if run.encoder_input is None else padded(loaded, [run.encoder_input.ids])
    before, after = (loaded.model(source, padded(loaded, [row]))[0, first - 1] for row in (ids, changed))
    return distance(after, before)


def _other(loaded: LoadedModel, index: int) -> int:
    """A different id of the target's vocabulary, never the padding id."""
    config = loaded.model.config
    other = (index + 1) % config.tgt_vocab_size
    return other if other != config.pad_id else (other + 1) % config.tgt_vocab_size


def closed_cells(case: Case, broken: Broken) -> Symptom:
    """The attention on cells that the sound model masks."""
    return Symptom(
        what="Attention on masked keys, of the row that gives most",
        sound=100 * weight_on_closed_cells(broken.sound, broken.sound),
        broken=100 * weight_on_closed_cells(broken.run, broken.sound),
        limit=0.1,
        unit="%",
    )


def leaks(case: Case, broken: Broken) -> Symptom:
    """The dependence of the first logits on the token that they predict."""
    loaded = broken.loaded or case.loaded
    return Symptom(
        what="Change of the first logits when the token that they are to predict is another",
        sound=100 * leak(case.loaded, case.run),
        broken=100 * leak(loaded, broken.run, shifted=broken.loaded is not None),
        limit=0.1,
        unit="%",
    )
