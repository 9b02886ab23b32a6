"""Mistakes in attention itself: heads, softmax and scale."""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from torch import Tensor

from transformer.analysis.stepping import every_attention, stepping
from transformer.model.attention import MultiHeadAttention, masked_softmax
from transformer.model.trace import Trace
from transformer.model.transformer import Transformer
from viz.pages.lab.mistakes.breaking import broken_by
from viz.pages.lab.mistakes.fitting import (
    fits_all,
    needs_scale,
    needs_scaled_heads,
    needs_transposing,
)
from viz.pages.lab.mistakes.measuring import distance
from viz.pages.lab.mistakes.mistake import Broken, Case, Mistake, Symptom
from viz.pages.lab.mistakes.seen import issue


def _attention_paths(trace: Trace) -> list[str]:
    return [path.removesuffix(".weights") for path in trace if path.endswith("attn.weights")]


def _leave_untransposed(model: Transformer) -> None:
    model.config = replace(model.config, merge_heads="untransposed")
    for attention in every_attention(model):
        assert isinstance(attention, MultiHeadAttention)
        attention.transposed = False


@torch.inference_mode()
def _distance_from_merged(case: Case, trace: Trace) -> float:
    """The largest relative distance between an attention's output and W_O times its tokens' merged heads."""
    farthest = 0.0
    for path in _attention_paths(trace):
        w_o = case.loaded.model.get_submodule(f"{path}.w_o")
        merged = trace[f"{path}.z"].transpose(1, 2).flatten(-2)
        right = w_o(merged.to(next(w_o.parameters()).device)).cpu()
        farthest = max(farthest, distance(trace[f"{path}.out"], right))
    return farthest


def merged_heads(case: Case, broken: Broken) -> Symptom:
    """The distance between attention outputs and W_O times each token's own heads."""
    return Symptom(
        what="Distance between an attention's output and its tokens' own heads times W_O, relative",
        sound=_distance_from_merged(case, broken.sound.trace),
        broken=_distance_from_merged(case, broken.run.trace),
        limit=0.01,
    )


UNTRANSPOSED = Mistake(
    name="heads-untransposed",
    title="Heads merged without transposing",
    group="attention",
    level=2,
    what=(
        "The outputs of the heads are reshaped into one row per token without being transposed back first. "
        "The shape is right, the contents are not: a token gets outputs of its neighbours in place of its "
        "own heads', and which ones depends on the length of the sentence. The attention weights look as "
        "they should, since the mistake comes after them."
    ),
    wrong="z = weights @ v\nz = z.reshape(batch, length, d_model)",
    right="z = weights @ v\nz = z.transpose(1, 2).reshape(batch, length, d_model)",
    seen=(
        issue(
            "reczoo/FuxiCTR",
            30,
            "Heads were split with view() alone, without a transpose. Three models of the library had it, "
            "and the code that they were written after.",
        ),
        issue(
            "jsbaan/transformer-from-scratch",
            6,
            "A permute was missing before the reshape. The test still passed: copying is a task easy enough "
            "to be learned with scrambled tokens.",
        ),
    ),
    find=(
        "places = torch.arange(length)[:, None]\n"
        "probe = places.expand(1, n_heads, length, d_head)\n"
        "assert (merge_heads(probe)[0] == places).all()"
    ),
    broken=broken_by(_leave_untransposed),
    symptom=merged_heads,
    unfit=needs_transposing,
)


def _softmax_over_queries(scores: Tensor, mask: Tensor) -> Tensor:
    mask = mask.expand(scores.shape)
    return masked_softmax(scores.transpose(-2, -1), mask.transpose(-2, -1)).transpose(-2, -1)


def _farthest_row_sum(trace: Trace) -> float:
    sums = [trace[f"{path}.weights"].sum(dim=-1) for path in _attention_paths(trace)]
    return max(float((one - 1).abs().max()) for one in sums)


def row_sums(case: Case, broken: Broken) -> Symptom:
    """The sum of a row of weights, which should be 1."""
    return Symptom(
        what="How far the sum of a row of attention weights is from 1, at most",
        sound=_farthest_row_sum(broken.sound.trace),
        broken=_farthest_row_sum(broken.run.trace),
        limit=0.01,
    )


SOFTMAX_OVER_QUERIES = Mistake(
    name="softmax-over-queries",
    title="Softmax over the queries",
    group="attention",
    level=1,
    what=(
        "Softmax is taken down the columns instead of along the rows. Each key then divides one unit of "
        "attention among the queries, and a query gets what is left for it: several units, or hardly any. "
        "What it gathers is no longer an average of the values."
    ),
    wrong="weights = scores.softmax(dim=-2)",
    right="weights = scores.softmax(dim=-1)  # over the keys",
    seen=(
        issue("labmlai/annotated_deep_learning_paper_implementations", 146),
        issue(
            "nerminnuraydogan/vision-transformer",
            1,
            "A reader of the notebook saw softmax taken along the wrong dimension; the author agreed.",
        ),
        issue(
            "PetrochukM/PyTorch-NLP",
            2,
            "Softmax along the batch: the attention weights were all 1, whatever the input.",
        ),
    ),
    find="assert torch.allclose(weights.sum(dim=-1), torch.ones(()))",
    broken=broken_by(stepping(softmax=_softmax_over_queries)),
    symptom=row_sums,
    unfit=fits_all,
)


def _leave_unscaled(model: Transformer) -> None:
    for attention in every_attention(model):
        assert isinstance(attention, MultiHeadAttention)
        attention.scale = 1.0


def _scale(trace: Trace) -> float:
    """The ratio of scores to q·k / √d_head; of all attentions, the ratio farthest from 1."""
    ratios = []
    for path in _attention_paths(trace):
        q, k, scores = (trace[f"{path}.{name}"] for name in ("q", "k", "scores"))
        products = q @ k.repeat_interleave(q.shape[1] // k.shape[1], dim=1).transpose(-2, -1)
        expected = products / math.sqrt(q.shape[-1])
        plain = scores - trace.get(f"{path}.position_bias", torch.zeros(()))
        ratios.append(float((plain * expected).sum() / expected.square().sum()))
    return max(ratios, key=lambda ratio: abs(math.log(max(ratio, 1e-9))))


def _scales(broken: Broken, expected: float) -> Symptom:
    """A symptom whose limit is the geometric mean of 1 and the factor that the mistake causes."""
    return Symptom(
        what="Scores over q·k/√d_head",
        sound=_scale(broken.sound.trace),
        broken=_scale(broken.run.trace),
        limit=math.sqrt(expected),
    )


def undivided_scores(case: Case, broken: Broken) -> Symptom:
    """Scores that are √d_head times too large."""
    return _scales(broken, math.sqrt(case.loaded.model.config.d_head))


def flattened_scores(case: Case, broken: Broken) -> Symptom:
    """Scores that are too small by a factor of √(d_model / d_head)."""
    config = case.loaded.model.config
    return _scales(broken, math.sqrt(config.d_head / config.d_model))


_FIND_SCALE = (
    "expected = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])\nassert torch.allclose(scores, expected)"
)

UNSCALED = Mistake(
    name="scores-unscaled",
    title="Scores not divided by √d_head",
    group="attention",
    level=3,
    what=(
        "The products of queries and keys go into softmax as they are. They grow with the width of a head, "
        "so softmax becomes sharp: a query looks at one key and nowhere else. In training the gradient "
        "through such a softmax is close to 0."
    ),
    wrong="scores = q @ k.transpose(-2, -1)",
    right="scores = q @ k.transpose(-2, -1) / math.sqrt(d_head)",
    seen=(
        issue("delzac/cntkx", 10, "The square root was never applied; fixed on the day it was reported."),
        issue(
            "mlc-ai/mlc-llm",
            3426,
            "One of two code paths left the scale at 1. Embeddings of a BERT were at a cosine of 0.86 from "
            "the right ones.",
        ),
        issue("ethen8181/machine-learning", 13, "The products of query and key were not scaled."),
    ),
    find=_FIND_SCALE,
    broken=broken_by(_leave_unscaled, cached=True),
    symptom=undivided_scores,
    unfit=needs_scale,
)


SCALED_BY_D_MODEL = Mistake(
    name="scaled-by-d-model",
    title="Scores divided by √d_model",
    group="attention",
    level=3,
    what=(
        "The scores are divided by the root of the model's width, although each head multiplies vectors of "
        "d_head numbers only. With H heads the scores are √H times too small, so every row of attention is "
        "flatter than it was trained to be."
    ),
    wrong="scores = q @ k.transpose(-2, -1) / math.sqrt(d_model)",
    right="scores = q @ k.transpose(-2, -1) / math.sqrt(d_head)",
    seen=(
        issue(
            "aladdinpersson/Machine-Learning-Collection",
            65,
            "The scores are divided by the root of embed_size, where head_dim is meant.",
        ),
        issue(
            "omihub777/ViT-CIFAR",
            11,
            "The divisor was the root of all features instead of those of one head: 22.6 for 8.",
        ),
        issue("juho-lee/set_transformer", 18, "A reader asks why the width of all heads is used."),
    ),
    find=_FIND_SCALE,
    broken=broken_by(
        stepping(rescale=lambda attention: math.sqrt(attention.d_head / attention.w_q.in_features)),
        cached=True,
    ),
    symptom=flattened_scores,
    unfit=needs_scaled_heads,
)

ATTENTION_MISTAKES = (UNTRANSPOSED, SOFTMAX_OVER_QUERIES, UNSCALED, SCALED_BY_D_MODEL)
