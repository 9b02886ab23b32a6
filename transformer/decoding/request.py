"""What a decoding is asked for: one value object for greedy decoding, beam search and sampling."""

from __future__ import annotations

import math
from collections.abc import Sequence
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
