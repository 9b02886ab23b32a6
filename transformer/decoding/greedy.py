"""Greedy decoding: the most probable token at each step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.decoding.request import DecodingRequest, check_finite, decode_batch, suppress
from transformer.model.transformer import Transformer


@dataclass(frozen=True)
class DecodingStep:
    """One step of a decoding.

    Attributes:
        position: of the token in the target, from 0.
        token_id: the token that was chosen.
        probability: of that token.
        rank: its place among all tokens by probability, from 1; that in `top_ids` where it is one of them, as
            several can be equally probable.
        top_ids: the k most probable tokens, best first.
        top_probabilities: theirs.
    """

    position: int
    token_id: int
    probability: float
    rank: int
    top_ids: tuple[int, ...]
    top_probabilities: tuple[float, ...]


def next_token_probabilities(logits: Tensor, suppressed_ids: Sequence[int]) -> Tensor:
    """Softmax over the tokens that may come next; (..., V) -> (..., V), 0 for those that may not."""
    return suppress(logits, suppressed_ids).softmax(dim=-1)


def decoding_step(position: int, token_id: int, probabilities: Tensor, top_k: int) -> DecodingStep:
    """The step at which `token_id` was taken, given the probabilities (V,) of every token."""
    top = probabilities.topk(min(top_k, probabilities.shape[-1]))
    top_ids = tuple(top.indices.tolist())
    above = int((probabilities > probabilities[token_id]).sum())
    return DecodingStep(
        position=position,
        token_id=token_id,
        probability=float(probabilities[token_id]),
        rank=1 + (top_ids.index(token_id) if token_id in top_ids else max(above, len(top_ids))),
        top_ids=top_ids,
        top_probabilities=tuple(top.values.tolist()),
    )


@torch.inference_mode()
def greedy(
    model: Transformer, src: Tensor | None, request: DecodingRequest, *, top_k: int = 5
) -> Iterator[DecodingStep]:
    """Take the most probable token at each step, up to and including one that ends the target.

    Earlier tokens' keys and values are kept, so that a step costs one token.

    Args:
        model: with a decoder, in eval mode.
        src: (1, S) ids; None without an encoder.
        top_k: how many of the best tokens each step tells.
    """
    state = model.start(src)
    tokens = request.first_tokens(1, model.generator.weight.device)
    (limit,) = request.limits(model, 1)
    target = list(request.prefix)
    last = len(request.prefix) + limit - 1
    for position in range(len(request.prefix), last + 1):
        logits = request.close_repeating(model.step(tokens, state)[:, -1], [target])
        logits = request.force_end(logits, [position == last])
        probabilities = next_token_probabilities(logits[0], request.suppressed_ids)  # (V,)
        token = int(probabilities.argmax())
        yield decoding_step(position, token, probabilities, top_k)
        if token in request.end_ids:
            return
        target.append(token)
        tokens = tokens.new_tensor([[token]])


def greedy_batch(model: Transformer, src: Tensor, request: DecodingRequest) -> list[list[int]]:
    """Greedy targets of many sources at once: see `decode_batch`.

    Raises:
        SentenceError: when logits are not finite.
    """

    def choose(logits: Tensor) -> Tensor:
        logits = request.suppress(logits)
        tokens = logits.argmax(dim=-1, keepdim=True)
        check_finite(logits.gather(1, tokens))
        return tokens[:, 0]

    return decode_batch(model, src, request, choose)
