"""Samples targets with temperature, top-k and top-p."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from transformer.decoding.request import DecodingRequest, Target, check_finite, decode_batch, suppress
from transformer.model.transformer import Transformer


def sampling_distribution(
    logits: Tensor,
    *,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    suppressed_ids: Sequence[int] = (),
) -> Tensor:
    """The distribution from which tokens are sampled.

    In this order: logits divided by the temperature; the k most probable tokens (Fan et al. 2018),
    renormalised; the smallest set of the most probable of these with total probability p or more (nucleus
    sampling, Holtzman et al. 2020, section 3.1), renormalised. In ties the smaller id is first.

    Args:
        logits: (..., V).
        temperature: above 0; below 1 sharpens the distribution, above 1 flattens it.
        top_k: number of tokens to keep; 0 for all.
        top_p: total probability that the kept tokens must reach, above 0; 1 for all.
        suppressed_ids: ids that are never chosen.

    Returns:
        (..., V), float32 or wider; each row sums to 1, dropped tokens are exactly 0.

    Raises:
        ValueError: for settings out of range.
    """
    if not (temperature > 0 and math.isfinite(temperature)):
        raise ValueError(f"The temperature is {temperature}: it must be above 0 and finite.")
    if top_k < 0:
        raise ValueError(f"top_k is {top_k}: it must be 0, for all tokens, or more.")
    if not 0 < top_p <= 1:
        raise ValueError(f"top_p is {top_p}: it must be above 0 and at most 1.")
    logits = suppress(logits.to(torch.promote_types(logits.dtype, torch.float32)), suppressed_ids)
    ranked = logits.sort(dim=-1, descending=True, stable=True)
    best = (ranked.values - ranked.values[..., :1]) / temperature
    if top_k:
        best[..., top_k:] = -math.inf
    probabilities = best.softmax(dim=-1)
    before = probabilities.cumsum(dim=-1) - probabilities  # total probability of all better tokens
    if top_p < 1:
        probabilities = probabilities.masked_fill(before >= top_p, 0.0)
        probabilities = probabilities / probabilities.sum(dim=-1, keepdim=True)
    return torch.zeros_like(logits).scatter(-1, ranked.indices, probabilities)


def sample(
    model: Transformer,
    src: Tensor | None,
    request: DecodingRequest,
    *,
    generator: torch.Generator,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
) -> list[Target]:
    """Sample one target per source: see `decode_batch`. Repeat a source for several targets.

    Args:
        model, src, request: as in `decode_batch`.
        generator: a CPU generator; the same state gives the same targets.
        temperature, top_k, top_p: as in `sampling_distribution`.

    Raises:
        SentenceError: when logits are not finite.
    """

    def choose(logits: Tensor) -> Tensor:
        check_finite(logits.amax(dim=-1))
        probabilities = sampling_distribution(
            logits, temperature=temperature, top_k=top_k, top_p=top_p, suppressed_ids=request.suppressed_ids
        )
        return torch.multinomial(probabilities.cpu(), 1, generator=generator)[:, 0]

    return decode_batch(model, src, request, choose)
