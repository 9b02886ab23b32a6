"""Mistakes in applying a mask to the scores."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from transformer.analysis.stepping import decoder_self_attention, stepping
from transformer.run import Run
from viz.pages.lab.mistakes.breaking import broken_by
from viz.pages.lab.mistakes.fitting import needs_future
from viz.pages.lab.mistakes.measuring import closed_cells
from viz.pages.lab.mistakes.mistake import Broken, Case, Mistake, Symptom
from viz.pages.lab.mistakes.seen import issue


def _softmax_of_the_inverse(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(mask, -1e9).softmax(dim=-1)


def _inverse(mask: Tensor) -> Tensor:
    """The cells that the inverted mask opens; if it closes a whole row, all its weights are equal: open."""
    return ~mask | mask.all(dim=-1, keepdim=True)


INVERTED = Mistake(
    name="mask-inverted",
    title="Mask of the wrong polarity",
    group="masks",
    level=1,
    what=(
        "The mask says True for a cell that is open; the code reads True as closed. Each token of the "
        "decoder looks at nothing but its future. Where a row has no future and no padding, all of it is "
        "masked, and softmax over equal numbers spreads the attention evenly."
    ),
    wrong="# mask: True = may attend\nscores = scores.masked_fill(mask, -1e9)",
    right="# mask: True = may attend\nscores = scores.masked_fill(~mask, -math.inf)",
    seen=(
        issue(
            "rasbt/LLMs-from-scratch",
            1061,
            "An upper triangle went to scaled_dot_product_attention, where True means: take part. "
            "nn.MultiheadAttention reads it the other way round.",
        ),
        issue(
            "huggingface/transformers",
            38094,
            "A mask of large negative numbers was cast to bool for the same function, which inverted it.",
        ),
        issue("pytorch/pytorch", 29546, "A reader of nn.Transformer reports a causal mask that is flipped."),
    ),
    find="assert not weights.masked_select(~mask).any()",
    broken=broken_by(stepping(softmax=_softmax_of_the_inverse, opened=_inverse)),
    symptom=closed_cells,
    unfit=needs_future,
)


def _softmax_of_the_sum(scores: Tensor, mask: Tensor) -> Tensor:
    return (scores + mask).softmax(dim=-1)


ADDED = Mistake(
    name="mask-added",
    title="Mask added as 0 and 1",
    group="masks",
    level=2,
    what=(
        "A mask of True and False is added to the scores, where one of 0 and minus infinity is expected. "
        "Open cells get 1 more than closed ones, so a closed key keeps about a third of the weight that it "
        "would have without a mask. Nothing crashes, and the future shines through."
    ),
    wrong="# mask: True = may attend\nscores = scores + mask",
    right="# mask: True = may attend\nscores = scores.masked_fill(~mask, -math.inf)",
    seen=(
        issue(
            "huggingface/transformers",
            41443,
            "The eager attention of Qwen3 adds its mask to the scores, also when it is one of bool.",
        ),
        issue(
            "huggingface/transformers",
            1935,
            "A reader takes the sum for this mistake. There it is right: the mask is 0 and −10000 by then.",
        ),
    ),
    find="assert not weights.masked_select(~mask).any()",
    broken=broken_by(stepping(softmax=_softmax_of_the_sum, opened=torch.ones_like)),
    symptom=closed_cells,
    unfit=needs_future,
)


def _softmax_of_a_finite_mask(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, -1e-12).softmax(dim=-1)


FINITE = Mistake(
    name="mask-finite",
    title="A finite number for minus infinity",
    group="masks",
    level=2,
    what=(
        "Closed cells get a finite score instead of minus infinity. How much leaks depends on the number. "
        "The published −1e−12 is as good as 0, an ordinary score, so the future is seen; −10000 hides it "
        "until a model learns scores that are lower still."
    ),
    wrong="scores = scores.masked_fill(~mask, -1e-12)",
    right="scores = scores.masked_fill(~mask, -math.inf)",
    seen=(
        issue(
            "hyunwoongko/transformer", 10, "Masked scores were filled with −1e−12; minus infinity is right."
        ),
        issue("awslabs/gluonts", 1401, "A mask of 1e−9 where −1e9 was meant."),
        issue(
            "karpathy/minGPT",
            75,
            "Loss near 0 and useless text: at a high learning rate the model drove its scores below the "
            "−10000 of the mask, in Hugging Face's GPT-2, and read the future.",
        ),
        issue(
            "TransformerLensOrg/TransformerLens",
            318,
            "Scores of pythia-70m fall below −1e5, the number that stood for minus infinity.",
        ),
    ),
    find="assert not weights.masked_select(~mask).any()",
    broken=broken_by(stepping(softmax=_softmax_of_a_finite_mask, opened=torch.ones_like)),
    symptom=closed_cells,
    unfit=needs_future,
)


def _without_the_diagonal(mask: Tensor) -> Tensor:
    return mask & ~torch.eye(*mask.shape[-2:], dtype=torch.bool, device=mask.device)


def _bare_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, -math.inf).softmax(dim=-1)


def _share_not_finite(run: Run) -> float:
    weights = [run.trace[path] for path in run.trace if path.endswith("attn.weights")]
    return sum(int((~one.isfinite()).sum()) for one in weights) / sum(one.numel() for one in weights)


def not_finite(case: Case, broken: Broken) -> Symptom:
    """The share of the attention that is NaN."""
    return Symptom(
        what="Attention weights that are NaN",
        sound=100 * _share_not_finite(broken.sound),
        broken=100 * _share_not_finite(broken.run),
        limit=0.1,
        unit="%",
    )


FULLY_MASKED = Mistake(
    name="fully-masked-row",
    title="A fully masked row becomes NaN",
    group="masks",
    level=1,
    what=(
        "The causal mask closes the diagonal too, so the first token may look at nothing. Softmax over minus "
        "infinity alone is 0/0: its row becomes NaN. In the next layer that token is a key of all the "
        "others, and a weight of 0 does not help, since 0 times NaN is NaN. Padding on the left does the "
        "same."
    ),
    wrong="mask = torch.ones(length, length).tril(diagonal=-1).bool()",
    right="mask = torch.ones(length, length).tril(diagonal=0).bool()",
    seen=(
        issue(
            "pytorch/pytorch",
            41508,
            "A row that is masked in full, by a causal mask and one for padding together, makes "
            "nn.MultiheadAttention return NaN, and all gradients with it.",
        ),
        issue(
            "huggingface/transformers",
            15326,
            "A sentence of nothing but padding gave NaN in DistilBERT, which masks with minus infinity.",
        ),
    ),
    find="assert mask.any(dim=-1).all()  # mask: True = may attend",
    broken=broken_by(stepping(decoder_self_attention, softmax=_bare_softmax, remask=_without_the_diagonal)),
    symptom=not_finite,
    unfit=needs_future,
)


MASK_MISTAKES = (INVERTED, ADDED, FINITE, FULLY_MASKED)
