"""From a source to a target, token by token."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.errors import SentenceError
from transformer.model.transformer import Transformer

NO_NUMBERS = (
    "The model's scores for the next token are no numbers (NaN or infinite), so no token can be chosen. The "
    "page Checkpoint, or `python -m transformer inspect`, says which weights are no numbers."
)


@dataclass(frozen=True)
class DecodingStep:
    """One step of a decoding.

    Attributes:
        position: of the token in the target, from 0.
        token_id: the token that was chosen.
        probability: of that token.
        rank: its place among all tokens by probability, from 1.
        top_ids: the k most probable tokens, best first.
        top_probabilities: theirs.
    """

    position: int
    token_id: int
    probability: float
    rank: int
    top_ids: tuple[int, ...]
    top_probabilities: tuple[float, ...]


def next_token_probabilities(logits: Tensor, never: Sequence[int]) -> Tensor:
    """Softmax over the tokens that may come next.

    Args:
        logits: (..., V).
        never: ids that are no words of a target, such as <pad> and <bos>: their probability is 0.

    Returns:
        (..., V).
    """
    closed = torch.tensor(never, dtype=torch.long, device=logits.device)
    return logits.index_fill(-1, closed, -math.inf).softmax(dim=-1)


def decoding_step(position: int, token_id: int, probabilities: Tensor, top_k: int) -> DecodingStep:
    """The step at which `token_id` was taken, given the probabilities (V,) of every token."""
    top = probabilities.topk(min(top_k, probabilities.shape[-1]))
    return DecodingStep(
        position=position,
        token_id=token_id,
        probability=float(probabilities[token_id]),
        rank=1 + int((probabilities > probabilities[token_id]).sum()),
        top_ids=tuple(top.indices.tolist()),
        top_probabilities=tuple(top.values.tolist()),
    )


def refuse_no_numbers(best: Tensor) -> None:
    """Refuse to choose among logits whose best is NaN or infinite, as those of broken weights are.

    Raises:
        SentenceError: that says so.
    """
    if not bool(best.isfinite().all()):
        raise SentenceError(NO_NUMBERS)


def room_behind(model: Transformer, start_ids: Sequence[int]) -> int:
    """How many tokens a model can be asked for behind these: it need not read the last one."""
    return model.config.max_len - len(start_ids) + 1


def row_limits(max_new_tokens: int | Sequence[int], n_rows: int, room: int) -> list[int]:
    """The most new tokens of each row, where one number is that of all; never more than there is room for."""
    asked = [max_new_tokens] * n_rows if isinstance(max_new_tokens, int) else max_new_tokens
    if len(asked) != n_rows:
        raise ValueError(f"There are {n_rows} rows, but limits for {len(asked)}.")
    return [min(limit, room) for limit in asked]


@torch.inference_mode()
def greedy(
    model: Transformer,
    src: Tensor | None,
    *,
    start_ids: Sequence[int],
    end_ids: Sequence[int],
    max_new_tokens: int,
    never: Sequence[int] = (),
    top_k: int = 5,
) -> Iterator[DecodingStep]:
    """Take the most probable token at each step, up to and including one that ends the target.

    Earlier tokens' keys and values are kept, so that a step costs one token.

    Args:
        model: with a decoder, in eval mode.
        src: (1, S) ids; None without an encoder.
        start_ids: what the decoder's input begins with, at least one: <bos>, or a prompt.
        end_ids: each of them ends the target, as <eos> does.
        max_new_tokens: stop after so many, or at the model's last position.
        never: ids that are not to be chosen.
        top_k: how many of the best tokens each step tells.
    """
    state = model.start(src)
    tokens = list(start_ids)
    device = model.generator.weight.device
    for position in range(min(max_new_tokens, room_behind(model, start_ids))):
        logits = model.step(torch.tensor([tokens], device=device), state)
        probabilities = next_token_probabilities(logits[0, -1], never)  # (V,)
        token = int(probabilities.argmax())
        yield decoding_step(position, token, probabilities, top_k)
        if token in end_ids:
            return
        tokens = [token]


@torch.inference_mode()
def greedy_batch(
    model: Transformer,
    src: Tensor,
    *,
    start_ids: Sequence[int],
    end_ids: Sequence[int],
    max_new_tokens: int | Sequence[int],
    never: Sequence[int] = (),
) -> list[list[int]]:
    """Greedy targets of many sources at once, each without what begins and ends it.

    A sentence that has ended, or come to its limit, leaves the batch: the others are decoded without it.

    Args:
        model: an encoder-decoder, in eval mode.
        src: (B, S) ids, padded.
        start_ids, end_ids, never: as in `greedy`.
        max_new_tokens: as in `greedy`; one number for all rows, or one each, so that what a sentence becomes
            does not depend on those beside it.

    Raises:
        SentenceError: when logits are no numbers.
    """
    closed = torch.tensor(never, dtype=torch.long, device=src.device)
    targets: list[list[int]] = [[] for _ in range(len(src))]
    going_on = list(range(len(src)))
    state = model.start(src)
    tokens = torch.tensor([list(start_ids)] * len(src), device=src.device)  # (B, T_new)
    limits = row_limits(max_new_tokens, len(src), room_behind(model, start_ids))
    for position in range(max(limits)):
        logits = model.step(tokens, state)[:, -1].index_fill_(-1, closed, -math.inf)  # (B, V)
        tokens = logits.argmax(dim=-1, keepdim=True)  # (B, 1)
        refuse_no_numbers(logits.gather(1, tokens))
        chosen = tokens[:, 0].tolist()
        kept = [
            row
            for row, token in enumerate(chosen)
            if token not in end_ids and position < limits[going_on[row]]
        ]
        for row in kept:
            targets[going_on[row]].append(chosen[row])
        if not kept:
            break
        if len(kept) < len(chosen):
            rows = torch.tensor(kept, device=src.device)
            state.select(rows, rows)
            tokens, going_on = tokens[rows], [going_on[row] for row in kept]
    return targets
