"""Drawing targets at random, from a distribution that is sharpened and cut."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from transformer.decoding.greedy import refuse_no_numbers, room_behind
from transformer.model.transformer import Transformer


def reshape(
    logits: Tensor, *, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0, never: Sequence[int] = ()
) -> Tensor:
    """Turn logits into the probabilities that a token is drawn with.

    In this order: logits over the temperature; only the k most probable tokens (Fan et al. 2018); of these,
    shared out anew, the smallest number of best ones whose probabilities reach p (nucleus sampling, Holtzman
    et al. 2020, section 3.1), shared out anew. Of tokens that are equally probable the one with the smaller
    id is taken first.

    Args:
        logits: (..., V).
        temperature: above 0; below 1 the probable becomes more probable, above 1 less.
        top_k: how many tokens are left at most; 0 leaves all.
        top_p: the probability that the tokens left had together at least, above 0; 1 leaves all.
        never: ids that are not to be chosen.

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
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    logits = logits.index_fill(-1, torch.tensor(never, dtype=torch.long, device=logits.device), -math.inf)
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


@torch.inference_mode()
def sample(
    model: Transformer,
    src: Tensor | None,
    *,
    start_ids: Sequence[int],
    end_ids: Sequence[int],
    max_new_tokens: int,
    generator: torch.Generator,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    never: Sequence[int] = (),
    prefix: Sequence[int] = (),
) -> list[list[int]]:
    """Draw a target for each source, token by token, with their keys and values kept.

    Args:
        model: with a decoder, in eval mode.
        src: (B, S) ids, padded; None without an encoder, for one target. Repeat a source for several targets.
        start_ids: what the decoder's input begins with, at least one: <bos>, or a prompt.
        end_ids: each of them ends a target, as <eos> does.
        max_new_tokens: stop after so many, the end included, or at the model's last position.
        generator: what is drawn with, on the CPU; the same state draws the same targets.
        temperature, top_k, top_p, never: as in `reshape`.
        prefix: ids that every target begins with.

    Returns:
        ids of each target, the prefix included, without what begins and ends it.

    Raises:
        SentenceError: when logits are no numbers.
    """
    device = model.generator.weight.device
    n_rows = 1 if src is None else len(src)
    targets: list[list[int]] = [list(prefix) for _ in range(n_rows)]
    going_on = list(range(n_rows))
    state = model.start(src)
    tokens = torch.tensor([[*start_ids, *prefix]] * n_rows, device=device)
    for _ in range(min(max_new_tokens, room_behind(model, start_ids) - len(prefix))):
        logits = model.step(tokens, state)[:, -1]
        refuse_no_numbers(logits.amax(dim=-1))
        probabilities = reshape(logits, temperature=temperature, top_k=top_k, top_p=top_p, never=never)
        drawn = torch.multinomial(probabilities.cpu(), 1, generator=generator)[:, 0].tolist()
        kept = [row for row, token in enumerate(drawn) if token not in end_ids]
        for row in kept:
            targets[going_on[row]].append(drawn[row])
        if not kept:
            break
        if len(kept) < len(drawn):
            going_on = [going_on[row] for row in kept]
            rows = torch.tensor(kept, device=device)
            state.select(rows, rows)
        tokens = torch.tensor([[drawn[row]] for row in kept], device=device)
    return targets
