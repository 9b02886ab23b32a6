"""What a decoding is asked for, and the loop that greedy decoding and sampling share."""

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
"""Tokens that never come twice in a row; fewer do in right sentences ("piano piano"), if not three times."""

LengthForm = Literal["wu", "power"]
"""How a length penalty grows with the length: see `beam.length_penalty`."""

Ending = Literal["end", "limit", "positions"]
"""Why a target ended: by a token that ends it; at the most new tokens that were asked for, where an end may
have been forced; at the model's last position."""


@dataclass(frozen=True)
class Target:
    """A target that was decoded, without start and end; a given prefix is part of it."""

    ids: tuple[int, ...]
    ending: Ending


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
        no_repeat_ngram_size: n tokens in a row never come a second time, those of `start_ids` counted (Paulus
            et al. 2018, section 2.5, with n = 3); 0 where they may.
        no_loops: nor do fewer tokens, where there is such an n: four and more not twice in a row, others not
            three times.
        copied: of each row's source the words that its target spells to the end once it has begun them, and
            begins where the model has no idea how to go on, and the letters that it may spell by bytes; empty
            where nothing is copied.
        forced_end_id: what a target ends with that has come to its limit, in the place of its last token;
            None where it is left without an end.
        length_form: of a beam search's length penalty.
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

    def ending(self, model: Transformer, token: int, n_left: int, limit: int) -> Ending | None:
        """Why a target ends with its newest token; None for one that goes on.

        Args:
            token: the newest.
            n_left: how many more its limit has room for.
            limit: of the target's row, as in `limits`.
        """
        if token in self.end_ids and (n_left > 0 or self.forced_end_id is None):
            return "end"
        if n_left > 0:
            return None
        most = max_new_tokens(model, len(self.start_ids) + len(self.prefix))
        return "positions" if limit == most else "limit"

    def suppress(self, logits: Tensor) -> Tensor:
        """A copy of logits (..., V) in which the suppressed ids can't be chosen."""
        return suppress(logits, self.suppressed_ids)

    def repeating(self, target: Sequence[int]) -> set[int]:
        """The ids by which the last tokens of a target (without start) would be there a second time."""
        n, ids = self.no_repeat_ngram_size, [*self.start_ids, *target]
        if not n:
            return set()
        last = ids[len(ids) - n + 1 :]
        again = {ids[i + n - 1] for i in range(len(ids) - n + 1) if ids[i : i + n - 1] == last}
        return again | self._looping(target) if self.no_loops else again

    def _looping(self, target: Sequence[int]) -> set[int]:
        """The ids by which fewer than n tokens would come again at once."""
        found = set()
        for period in range(1, self.no_repeat_ngram_size):
            n_repeated = period * (1 if period >= _LOOP else 2) - 1  # all but the last of what may not come
            recent = target[max(0, len(target) - n_repeated - period) :]
            if len(recent) == n_repeated + period and recent[period:] == recent[:n_repeated]:
                found.add(recent[-period])
        return found

    def closed(
        self, target: Sequence[int], row: int = 0, surest: float = 1.0
    ) -> tuple[frozenset[int], frozenset[int]]:
        """What may not follow a target: ids that would be `repeating`, and ids that would misspell a word.

        A copied word is spelled to its end even where its pieces come a second time.

        Args:
            row: of the source, in a batch.
            surest: the probability of the most probable id, 0 to 1.
        """
        misspelling = self.copied[row].closed(target, surest) if self.copied else frozenset()
        return frozenset() if misspelling else frozenset(self.repeating(target)), misspelling

    def invented_letters(self, target: Sequence[int], row: int = 0) -> frozenset[int]:
        """What may not follow a target besides, for it would spell a letter that is not in its source."""
        return self.copied[row].invented_letters(target) if self.copied else frozenset()

    def close(self, logits: Tensor, targets: Sequence[Sequence[int]], rows: Sequence[int]) -> Tensor:
        """Logits (N, V), those of `closed` ids minus infinity.

        Args:
            targets: the N so far.
            rows: the row of the batch that each of them is of.
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
        """Logits (N, V), in rows that come to their limit only the forced end's finite, if there is one.

        Its log-probability is 0 there: the search pays nothing for what it has no choice of.
        """
        if self.forced_end_id is None or not any(at_limit):
            return logits
        rows = torch.tensor(at_limit, device=logits.device)[:, None]
        end = torch.full_like(logits[:1], -math.inf)
        end[:, self.forced_end_id] = 0.0
        return torch.where(rows, end, logits)


def max_new_tokens(model: Transformer, n_tokens: int) -> int:
    """How many tokens a model can generate after so many: it need not read the last one."""
    return model.config.max_len - n_tokens + 1


def surest(logits: Tensor) -> list[float]:
    """The probability of the most probable token of each row of logits (N, V)."""
    most: list[float] = logits.float().softmax(dim=-1).amax(dim=-1).tolist()
    return most


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
) -> list[Target]:
    """Targets of many sources at once, token by token, with their keys and values kept.

    A sentence that has ended, or come to its limit, leaves the batch: the others are decoded without it.

    Args:
        model: with a decoder, in eval mode.
        src: (B, S) ids, padded; None without an encoder, for one target.
        choose: takes logits (B, V), minus infinity for what may not follow, and returns the next token of
            each row, (B,).

    Returns:
        each target: the prefix and what follows, and why it ended.
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
    # Without room for a single token there was no step.
    return [Target(tuple(ids), ending or "limit") for ids, ending in zip(targets, endings, strict=True)]
