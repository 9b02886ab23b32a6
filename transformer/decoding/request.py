"""The parameters of a decoding, and the loop shared by greedy decoding and sampling."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from transformer.errors import SentenceError
from transformer.model.transformer import Transformer
from transformer.text.copied import CopiedWords

NOT_FINITE = (
    "The model's scores for the next token are not finite (NaN or infinite), so no token can be chosen. The "
    "page Checkpoint, or `python -m transformer inspect`, says which weights are not finite."
)


_LOOP = 4
"""Fewest tokens that count as a loop if repeated once; shorter runs count from the second repetition on.

Correct sentences may repeat fewer tokens once ("piano piano"), but not twice.
"""

LengthForm = Literal["wu", "power"]
"""The formula of a length penalty: see `beam.length_penalty`."""

Ending = Literal["end", "limit", "positions"]
"""Why a target ended: an end token; max_new_tokens, perhaps with a forced end; the last position."""


@dataclass(frozen=True)
class Target:
    """A decoded target without start and end, including a given prefix."""

    ids: tuple[int, ...]
    ending: Ending


@dataclass(frozen=True, kw_only=True)
class DecodingRequest:
    """How targets begin and end, and which ids may not be chosen.

    Attributes:
        start_ids: the decoder's first input, at least one id: <bos>, or a prompt.
        end_ids: ids that end a target, such as <eos>.
        max_new_tokens: largest number of tokens, with the end and without the prefix; the model's last
            position is also a limit. One number for all rows of a batch or one per row, so that a sentence's
            result does not depend on its batch.
        suppressed_ids: ids that are never chosen, such as <pad>.
        prefix: ids that every target begins with, treated as if chosen; none may be suppressed.
        no_repeat_ngram_size: n-grams of this size may occur only once, including `start_ids` (Paulus et al.
            2018, section 2.5, with n = 3); 0 for no such rule.
        no_loops: with such a rule, shorter n-grams may not loop either: four or more tokens may not be
            repeated immediately, fewer at most once.
        copied: for each row, the source words that the target copies; empty to copy nothing.
        forced_end_id: replaces the last token of a target at its limit; None to leave it without an end.
        length_form: form of a beam search's length penalty.
    """

    start_ids: Sequence[int]
    end_ids: Sequence[int]
    max_new_tokens: int | Sequence[int]
    suppressed_ids: Sequence[int] = ()
    prefix: Sequence[int] = ()
    no_repeat_ngram_size: int = 0
    no_loops: bool = False
    copied: Sequence[CopiedWords] = ()
    forced_end_id: int | None = None
    length_form: LengthForm = "wu"

    def first_tokens(self, n_rows: int, device: torch.device) -> Tensor:
        """The decoder's first input, start and prefix: (n_rows, T)."""
        return torch.tensor([[*self.start_ids, *self.prefix]] * n_rows, device=device)

    def limits(self, model: Transformer, n_rows: int) -> list[int]:
        """The largest number of new tokens of each row, within the model's positions.

        Raises:
            ValueError: unless there is one limit, or one per row.
        """
        limits = self.max_new_tokens
        limits = [limits] * n_rows if isinstance(limits, int) else limits
        if len(limits) != n_rows:
            raise ValueError(f"There are {n_rows} rows, but limits for {len(limits)}.")
        most = max_new_tokens(model, len(self.start_ids) + len(self.prefix))
        return [min(limit, most) for limit in limits]

    def ending(self, model: Transformer, token: int, n_left: int, limit: int) -> Ending | None:
        """Why a target ends with its newest token; None if it does not end.

        Args:
            model: the decoding model.
            token: the newest token.
            n_left: tokens left before the limit.
            limit: limit of the target's row, from `limits`.
        """
        if token in self.end_ids and (n_left > 0 or self.forced_end_id is None):
            return "end"
        if n_left > 0:
            return None
        most = max_new_tokens(model, len(self.start_ids) + len(self.prefix))
        return "positions" if limit == most else "limit"

    def suppress(self, logits: Tensor) -> Tensor:
        """A copy of logits (..., V) with minus infinity at the suppressed ids."""
        return suppress(logits, self.suppressed_ids)

    def repeating(self, target: Sequence[int]) -> set[int]:
        """The ids that would repeat an n-gram of a target, which is given without start."""
        n, ids = self.no_repeat_ngram_size, [*self.start_ids, *target]
        if not n:
            return set()
        last = ids[len(ids) - n + 1 :]
        again = {ids[i + n - 1] for i in range(len(ids) - n + 1) if ids[i : i + n - 1] == last}
        return again | self._looping(target) if self.no_loops else again

    def _looping(self, target: Sequence[int]) -> set[int]:
        """The ids that would complete a loop of fewer than n tokens."""
        found = set()
        for period in range(1, self.no_repeat_ngram_size):
            n_repeated = period * (1 if period >= _LOOP else 2) - 1  # all but the last repeated token
            recent = target[max(0, len(target) - n_repeated - period) :]
            if len(recent) == n_repeated + period and recent[period:] == recent[:n_repeated]:
                found.add(recent[-period])
        return found

    def closed(
        self, target: Sequence[int], row: int = 0, surest: float = 1.0
    ) -> tuple[frozenset[int], frozenset[int]]:
        """The ids that may not follow a target: `repeating` ones, and those that misspell a copied word.

        At most one of the two is non-empty, because a copied word may repeat n-grams.

        Args:
            target: ids without start.
            row: row of its source in the batch.
            surest: probability of the most probable id, 0 to 1.
        """
        misspelling = self.copied[row].closed(target, surest) if self.copied else frozenset()
        return frozenset() if misspelling else frozenset(self.repeating(target)), misspelling

    def invented_letters(self, target: Sequence[int], row: int = 0) -> frozenset[int]:
        """The ids excluded because they would spell a letter that the source lacks."""
        return self.copied[row].invented_letters(target) if self.copied else frozenset()

    def close(self, logits: Tensor, targets: Sequence[Sequence[int]], rows: Sequence[int]) -> Tensor:
        """Logits (N, V) with minus infinity at ids that are `closed` or `invented_letters`.

        Args:
            logits: (N, V).
            targets: the N targets so far.
            rows: the N rows of their sources in the batch.
        """
        if not (self.no_repeat_ngram_size or self.copied):
            return logits
        mask = torch.zeros(logits.shape, dtype=torch.bool)
        most = surest(logits) if self.copied else [1.0] * len(logits)
        for place, (row, target, probability) in enumerate(zip(rows, targets, most, strict=True)):
            repeating, misspelling = self.closed(target, row, probability)
            mask[place, [*repeating, *misspelling, *self.invented_letters(target, row)]] = True
        return logits.masked_fill(mask.to(logits.device), -math.inf)

    def force_end(self, logits: Tensor, at_limit: Sequence[bool]) -> Tensor:
        """Logits (N, V) that allow only the forced end, if any, in rows at their limit.

        Its log-probability is then 0, since there is no choice.
        """
        if self.forced_end_id is None or not any(at_limit):
            return logits
        rows = torch.tensor(at_limit, device=logits.device)[:, None]
        end = torch.full_like(logits[:1], -math.inf)
        end[:, self.forced_end_id] = 0.0
        return torch.where(rows, end, logits)


def max_new_tokens(model: Transformer, n_tokens: int) -> int:
    """The most tokens that a model can generate after n_tokens; it does not read the last one."""
    return model.config.max_len - n_tokens + 1


def surest(logits: Tensor) -> list[float]:
    """The probability of the most probable token of each row of logits (N, V)."""
    most: list[float] = logits.float().softmax(dim=-1).amax(dim=-1).tolist()
    return most


def suppress(logits: Tensor, suppressed_ids: Sequence[int]) -> Tensor:
    """A copy of logits (..., V) with minus infinity at the suppressed ids."""
    index = torch.tensor(suppressed_ids, dtype=torch.long, device=logits.device)
    return logits.index_fill(-1, index, -math.inf)


def check_finite(best: Tensor) -> None:
    """Check the largest logits; broken weights make them NaN or infinite.

    Raises:
        SentenceError: when any is not finite.
    """
    if not bool(best.isfinite().all()):
        raise SentenceError(NOT_FINITE)


@torch.inference_mode()
def decode_batch(
    model: Transformer, src: Tensor | None, request: DecodingRequest, choose: Callable[[Tensor], Tensor]
) -> list[Target]:
    """Decode many sources at once, token by token; finished sentences leave the batch.

    Args:
        model: a model with a decoder, in eval mode.
        src: (B, S) ids, padded; None without an encoder, for one target.
        request: how targets begin and end.
        choose: maps logits (B, V), minus infinity for excluded ids, to the next token of each row (B,).
    """
    device = model.generator.weight.device
    n_rows = 1 if src is None else len(src)
    targets = [list(request.prefix) for _ in range(n_rows)]
    endings: list[Ending | None] = [None] * n_rows
    unfinished = list(range(n_rows))
    state = model.start(src)
    tokens = request.first_tokens(n_rows, device)  # (B, T_new)
    limits = request.limits(model, n_rows)
    for position in range(max(limits)):
        logits = model.step(tokens, state)[:, -1]
        logits = request.suppress(logits)
        logits = request.close(logits, [targets[row] for row in unfinished], unfinished)
        logits = request.force_end(logits, [position + 1 == limits[row] for row in unfinished])
        chosen = choose(logits).tolist()
        for row, token in zip(unfinished, chosen, strict=True):
            endings[row] = request.ending(model, token, limits[row] - position - 1, limits[row])
            if token not in request.end_ids and position < limits[row]:
                targets[row].append(token)
        kept = [place for place, row in enumerate(unfinished) if endings[row] is None]
        if not kept:
            break
        if len(kept) < len(chosen):
            unfinished = [unfinished[row] for row in kept]
            rows = torch.tensor(kept, device=device)
            state.select(rows, rows)
        tokens = torch.tensor([[chosen[row]] for row in kept], device=device)  # (B, 1)
    # No step was made if there is no room for a single token.
    return [Target(tuple(ids), ending or "limit") for ids, ending in zip(targets, endings, strict=True)]
