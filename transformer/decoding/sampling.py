"""Drawing targets at random, from a distribution that is sharpened and cut."""

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
    """Turn logits into the probabilities that a token is drawn with.

    In this order: logits over the temperature; only the k most probable tokens (Fan et al. 2018),
    renormalised; of these, the fewest of the best whose probabilities add up to p (nucleus sampling, Holtzman
    et al. 2020, section 3.1), renormalised. Of tokens that are equally probable the one with the smaller id
    is taken first.

    Args:
        logits: (..., V).
        temperature: above 0; below 1 the probable becomes more probable, above 1 less.
        top_k: how many tokens are kept at most; 0 keeps all.
        top_p: the probability that the kept tokens had together at least, above 0; 1 keeps all.
        suppressed_ids: ids that are never chosen.

    Returns:
        (..., V), each row sums to 1; what is cut off is exactly 0. float32 at least.

    Raises:
        ValueError: for settings out of their range.
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
    before = probabilities.cumsum(dim=-1) - probabilities  # of all better ones together
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
    """Draw a target for each source: see `decode_batch`. Repeat a source for several targets.

    Args:
        model, src, request: as in `decode_batch`.
        generator: what is drawn with, on the CPU; the same state draws the same targets.
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
