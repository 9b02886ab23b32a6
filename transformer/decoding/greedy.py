"""Greedy decoding: the most probable token at each step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from transformer.decoding.request import (
    DecodingRequest,
    Ending,
    Target,
    check_finite,
    decode_batch,
    suppress,
)
from transformer.model.transformer import Transformer


@dataclass(frozen=True)
class DecodingStep:
    """One decoding step.

    Attributes:
        position: position of the token in the target, from 0.
        token_id: the chosen token.
        probability: probability of that token.
        rank: rank of that token by probability, from 1; ties are in the order of `top_ids`.
        top_ids: the k most probable tokens, best first.
        top_probabilities: probabilities of `top_ids`.
        repeating: ids excluded because they would repeat an n-gram. Probabilities are the model's, before
            excluding.
        misspelling: ids excluded because they would misspell, or not begin, a word to copy, or spell a letter
            that the source lacks.
        ending: why the target ends with this token; None if it does not, or if the token was given.
    """

    position: int
    token_id: int
    probability: float
    rank: int
    top_ids: tuple[int, ...]
    top_probabilities: tuple[float, ...]
    repeating: frozenset[int] = frozenset()
    misspelling: frozenset[int] = frozenset()
    ending: Ending | None = None


def next_token_probabilities(logits: Tensor, suppressed_ids: Sequence[int]) -> Tensor:
    """Softmax over all ids except the suppressed ones, which get 0: (..., V) -> (..., V)."""
    return suppress(logits, suppressed_ids).softmax(dim=-1)


def decoding_step(position: int, token_id: int, probabilities: Tensor, top_k: int) -> DecodingStep:
    """The step that chose `token_id`, given the probabilities (V,) of all tokens."""
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
    """Choose the most probable token at each step, up to and including the end.

    Args:
        model: a model with a decoder, in eval mode.
        src: (1, S) ids; None without an encoder.
        request: how the target begins and ends.
        top_k: number of best tokens listed in each step.
    """
    state = model.start(src)
    tokens = request.first_tokens(1, model.generator.weight.device)
    (limit,) = request.limits(model, 1)
    target = list(request.prefix)
    last = len(request.prefix) + limit - 1
    for position in range(len(request.prefix), last + 1):
        logits = request.force_end(model.step(tokens, state)[:, -1], [position == last])
        probabilities = next_token_probabilities(logits[0], request.suppressed_ids)  # (V,)
        is_forced = position == last and request.forced_end_id is not None
        repeating, misspelling = (frozenset[int](),) * 2
        if not is_forced:
            repeating, misspelling = request.closed(target, surest=float(probabilities.max()))
            misspelling |= request.invented_letters(target)
        closed = torch.tensor([*repeating, *misspelling], dtype=torch.long, device=probabilities.device)
        token = int(probabilities.index_fill(0, closed, -1).argmax())
        ending = request.ending(model, token, last - position, limit)
        step = decoding_step(position, token, probabilities, top_k)
        yield replace(step, repeating=repeating, misspelling=misspelling, ending=ending)
        if ending is not None:
            return
        target.append(token)
        tokens = tokens.new_tensor([[token]])


def greedy_batch(model: Transformer, src: Tensor, request: DecodingRequest) -> list[Target]:
    """Decode many sources greedily at once; see `decode_batch`.

    Raises:
        SentenceError: when logits are not finite.
    """

    def choose(logits: Tensor) -> Tensor:
        tokens = logits.argmax(dim=-1, keepdim=True)
        check_finite(logits.gather(1, tokens))
        return tokens[:, 0]

    return decode_batch(model, src, request, choose)
