"""What a decoding is asked for, and the loop that greedy decoding and sampling share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.errors import SentenceError
from transformer.model.transformer import Transformer

NOT_FINITE = (
    "The model's scores for the next token are not finite (NaN or infinite), so no token can be chosen. The "
    "page Checkpoint, or `python -m transformer inspect`, says which weights are not finite."
)


@dataclass(frozen=True, kw_only=True)
class DecodingRequest:
    """Where targets begin and end, and what may not be chosen for them.

    Attributes:
        start_ids: what the decoder's input begins with, at least one: <bos>, or a prompt.
        end_ids: each of them ends a target, as <eos> does.
        max_new_tokens: stop after so many tokens, the end included and the prefix not, or at the model's last
            position; one number for all rows of a batch, or one for each, so that what a sentence becomes
            does not depend on those beside it.
        suppressed_ids: ids that are never chosen, such as <pad>.
        prefix: ids that every target begins with, none of them suppressed. They count as if they had been
            chosen.
    """

    start_ids: Sequence[int]
    end_ids: Sequence[int]
    max_new_tokens: int | Sequence[int]
    suppressed_ids: Sequence[int] = ()
    prefix: Sequence[int] = ()

    def first_tokens(self, n_rows: int, device: torch.device) -> Tensor:
        """What the decoder reads first: the start and the prefix of each row, (n_rows, T)."""
        return torch.tensor([[*self.start_ids, *self.prefix]] * n_rows, device=device)

    def limits(self, model: Transformer, n_rows: int) -> list[int]:
        """The most new tokens of each row, no more than the model has positions for.

        Raises:
            ValueError: for limits of another number of rows.
        """
        asked = self.max_new_tokens
        asked = [asked] * n_rows if isinstance(asked, int) else asked
        if len(asked) != n_rows:
            raise ValueError(f"There are {n_rows} rows, but limits for {len(asked)}.")
        most = max_new_tokens(model, len(self.start_ids) + len(self.prefix))
        return [min(limit, most) for limit in asked]

    def suppress(self, logits: Tensor) -> Tensor:
        """A copy of logits (..., V) in which the suppressed ids can't be chosen."""
        return suppress(logits, self.suppressed_ids)


def max_new_tokens(model: Transformer, n_tokens: int) -> int:
    """How many tokens a model can generate after so many: it need not read the last one."""
    return model.config.max_len - n_tokens + 1


def suppress(logits: Tensor, suppressed_ids: Sequence[int]) -> Tensor:
    """A copy of logits (..., V) in which some ids are minus infinity."""
    closed = torch.tensor(suppressed_ids, dtype=torch.long, device=logits.device)
    return logits.index_fill(-1, closed, -math.inf)


def check_finite(best: Tensor) -> None:
    """Refuse to choose among logits whose best is NaN or infinite, as those of broken weights are.

    Raises:
        SentenceError: that says so.
    """
    if not bool(best.isfinite().all()):
        raise SentenceError(NOT_FINITE)


@torch.inference_mode()
def decode_batch(
    model: Transformer, src: Tensor | None, request: DecodingRequest, choose: Callable[[Tensor], Tensor]
) -> list[list[int]]:
    """Targets of many sources at once, token by token, with their keys and values kept.

    A sentence that has ended, or come to its limit, leaves the batch: the others are decoded without it.

    Args:
        model: with a decoder, in eval mode.
        src: (B, S) ids, padded; None without an encoder, for one target.
        choose: takes logits (B, V), and returns the next token of each row, (B,).

    Returns:
        ids of each target: the prefix and what follows, without start and end.
    """
    device = model.generator.weight.device
    n_rows = 1 if src is None else len(src)
    targets = [list(request.prefix) for _ in range(n_rows)]
    unfinished = list(range(n_rows))
    state = model.start(src)
    tokens = request.first_tokens(n_rows, device)  # (B, T_new)
    limits = request.limits(model, n_rows)
    for position in range(max(limits)):
        chosen = choose(model.step(tokens, state)[:, -1]).tolist()
        kept = [
            row
            for row, token in enumerate(chosen)
            if token not in request.end_ids and position < limits[unfinished[row]]
        ]
        for row in kept:
            targets[unfinished[row]].append(chosen[row])
        if not kept:
            break
        if len(kept) < len(chosen):
            unfinished = [unfinished[row] for row in kept]
            rows = torch.tensor(kept, device=device)
            state.select(rows, rows)
        tokens = torch.tensor([[chosen[row]] for row in kept], device=device)  # (B, 1)
    return targets
