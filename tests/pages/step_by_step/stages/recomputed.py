"""The result of each stage, recomputed in NumPy from its operands: float64, none of the model's code."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viz.pages.step_by_step.stages.stage import Stage
from viz.pages.step_by_step.stages.way import Way

Numbers = NDArray[np.floating[Any]]
Recompute = Callable[[Sequence[Numbers], Way], Numbers]

ERF = np.vectorize(math.erf)
ACTIVATIONS: dict[str, Callable[[Numbers], Numbers]] = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x * (1 + ERF(x / math.sqrt(2))) / 2,
    "gelu_tanh": lambda x: x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
    "silu": lambda x: x / (1 + np.exp(-x)),
    "relu_squared": lambda x: np.maximum(x, 0) ** 2,
}


def matmul(parts: Sequence[Numbers]) -> Numbers:
    """The product of the first two, plus a bias if there is one."""
    product = np.einsum("ij,jk->ik", parts[0], parts[1])
    return product + parts[2] if len(parts) > 2 else product


def activated(parts: Sequence[Numbers], way: Way) -> Numbers:
    return ACTIVATIONS[way.config.activation](matmul(parts))


def hidden(parts: Sequence[Numbers], way: Way) -> Numbers:
    return parts[0] * matmul(parts[1:]) if way.config.gated else activated(parts, way)


def looked_up(parts: Sequence[Numbers], way: Way) -> Numbers:
    ids = parts[0].astype(int)[:, 0]
    stack = "tgt" if tuple(ids) == way.run.target_ids else "src"
    weights: Numbers = way.loaded.model.state_dict()[f"{stack}_embedding.weight"].numpy()
    return weights[ids]


def normed(parts: Sequence[Numbers], way: Way) -> Numbers:
    """From the input alone; the recorded mean and scale must match those computed here."""
    x, config = parts[0], way.config
    if config.norm == "rms":
        scale = np.sqrt((x**2).mean(1, keepdims=True) + config.norm_eps)
        np.testing.assert_allclose(parts[1], scale, rtol=1e-5)
        return x / scale * parts[2]
    mean = x.mean(1, keepdims=True)
    if config.norm == "layer_unbiased":
        scale = x.std(1, ddof=1, keepdims=True) + config.norm_eps
    else:
        scale = np.sqrt(x.var(1, keepdims=True) + config.norm_eps)
    np.testing.assert_allclose(parts[1], mean, atol=1e-5)
    np.testing.assert_allclose(parts[2], scale, rtol=1e-5)
    return (x - mean) / scale * parts[3] + parts[4]


def turned(parts: Sequence[Numbers], way: Way) -> Numbers:
    """Rotated as complex numbers, by angles from the formula, which cos and sin must match."""
    x, cos, sin = parts
    by = np.exp(1j * angles(way, len(x)))
    np.testing.assert_allclose(cos + 1j * sin, by, atol=1e-6)
    n = 2 * by.shape[1]
    pairs = (x[:, :n:2] + 1j * x[:, 1:n:2]) * by
    return np.concatenate([np.stack([pairs.real, pairs.imag], -1).reshape(len(x), n), x[:, n:]], axis=1)


def angles(way: Way, length: int) -> Numbers:
    config = way.config
    n = config.rotary_dims or config.d_head
    bases = config.of_stack(config.position_bases, way.stack)
    base = bases[way.layer] if bases else config.position_base
    speed = base ** (-np.arange(0, n, 2) / n)
    waves = 2 * np.pi / speed
    start, full, stretch = config.stretch_start, config.stretch_full, config.rotary_stretch
    if base != config.position_base or stretch == 1:
        kept = np.ones(n // 2)
    elif not full:
        kept = np.zeros(n // 2)
    else:
        kept = np.clip((1 / waves - 1 / full) / (1 / start - 1 / full), 0, 1)
    return np.arange(length)[:, None] * speed * (kept + (1 - kept) / stretch)


def capped(parts: Sequence[Numbers], way: Way) -> Numbers:
    return parts[1][0, 0] * np.tanh(parts[0] / parts[1][0, 0])


def scaled(setting: str, root: str, power: float) -> Recompute:
    """By the number in the configuration or, if that is True, by a power of one of its sizes."""

    def scale(parts: Sequence[Numbers], way: Way) -> Numbers:
        chosen = getattr(way.config, setting)
        return parts[0] * (getattr(way.config, root) ** power if chosen is True else chosen)

    return scale


def softmaxed(parts: Sequence[Numbers], way: Way) -> Numbers:
    shares = np.exp(parts[0] - parts[0].max(1, keepdims=True))
    return shares / shares.sum(1, keepdims=True)


def routed(parts: Sequence[Numbers], way: Way) -> Numbers:
    smallest = np.sort(parts[0], axis=1)[:, -way.config.n_active_experts, None]
    return softmaxed([np.where(parts[0] >= smallest, parts[0], -np.inf)], way)


def own_group(parts: Sequence[Numbers], way: Way) -> Numbers:
    heads = np.split(parts[0], way.config.n_kv_heads)
    return [head for head in heads for _ in range(way.config.n_heads // len(heads))][way.head]


def own_columns(parts: Sequence[Numbers], way: Way) -> Numbers:
    heads = np.split(parts[0], parts[0].shape[1] // way.config.d_head, axis=1)
    return heads[way.head * len(heads) // way.config.n_heads]


def side_by_side(parts: Sequence[Numbers], way: Way) -> Numbers:
    assert way.config.merge_heads == "transposed"
    return np.concatenate(np.split(parts[0], way.config.n_heads), axis=1)


def probable(parts: Sequence[Numbers], way: Way) -> Numbers:
    """exp(logit - logsumexp over the open tokens); the recorded logsumexp must match this one."""
    logits = way.run.trace["logits"][0, way.position].numpy().astype(np.float64)
    coder = way.loaded.target if way.config.n_decoder_layers else way.loaded.source
    open_ = [i for i in range(len(logits)) if i not in coder.special_tokens.suppressed]
    np.testing.assert_allclose(parts[1][0, 0], math.log(np.exp(logits[open_]).sum()), atol=1e-5)
    return np.exp(parts[0] - parts[1])


def total(parts: Sequence[Numbers], way: Way) -> Numbers:
    return sum(parts[1:], start=parts[0])


def product(parts: Sequence[Numbers], way: Way) -> Numbers:
    return matmul(parts)


RECOMPUTED: dict[str, Recompute] = {
    "embedding": looked_up,
    "scaled": scaled("embedding_scale", "d_model", 0.5),
    "projection": product,
    "sum": total,
    "embedding-norm": normed,
    "transform": activated,
    "transform-norm": normed,
    "encoder-final-norm": normed,
    "decoder-final-norm": normed,
    "logits-scale": scaled("logits_scale", "d_model", -0.5),
    "logits-cap": capped,
    "logits": product,
    "probabilities": probable,
    "norm": normed,
    "q": product,
    "k": product,
    "v": product,
    "q-norm": normed,
    "k-norm": normed,
    "q-rotary": turned,
    "k-rotary": turned,
    "q-split": own_columns,
    "k-split": own_columns,
    "groups": own_group,
    "scale": scaled("attention_scale", "d_head", -0.5),
    "cap": capped,
    "post-norm": normed,
    "residual-scale": lambda parts, way: parts[0] * way.config.residual_scale,
    "scores": product,
    "bias": total,
    "mask": lambda parts, way: np.where(parts[1] == 1, parts[0], -np.inf),
    "weights": softmaxed,
    "z": product,
    "heads": side_by_side,
    "out": product,
    "gate": activated,
    "hidden": hidden,
    "router": product,
    "routing": routed,
    "mixture": lambda parts, way: parts[0] * parts[1] + parts[2],
}
"""By the name of the stage, or what follows its first hyphen."""


def recomputed(stage: Stage, way: Way) -> Numbers | None:
    """A stage's result from its operands; None for a stage that computes nothing."""
    name = stage.name.removeprefix("target-")
    own = RECOMPUTED.get(name) or RECOMPUTED.get(name.partition("-")[2])
    parts = [one.matrix.values.astype(np.float64) for one in stage.operands]
    return None if own is None else own(parts, way)
