"""Beam search: follows the best few hypotheses at once (Sutskever et al. 2014, section 3.2)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn import functional

from transformer.decoding.request import DecodingRequest, Ending, LengthForm, check_finite
from transformer.model.transformer import Transformer


@dataclass(frozen=True)
class Hypothesis:
    """One target found by a search.

    Attributes:
        ids: token ids without start and end, including a given prefix.
        log_probability: log-probability of all tokens in nats, including a given prefix and the end.
        score: log_probability divided by the length penalty.
        end_id: the end token; None at the limit.
        ending: why it ended.
    """

    ids: tuple[int, ...]
    log_probability: float
    score: float
    end_id: int | None
    ending: Ending


def length_penalty(n_tokens: int, alpha: float, form: LengthForm = "wu") -> float:
    """The divisor of the log-probability of |Y| tokens, including the end.

    "wu" is ((5 + |Y|) / 6) ** alpha (Wu et al. 2016, equation 14); "power" is |Y| ** alpha, the
    length_penalty of Hugging Face's transformers: with alpha 1 the score is the mean per token. With alpha 0
    short targets win, because every further token makes a target less probable.
    """
    return float((n_tokens if form == "power" else (5 + n_tokens) / 6) ** alpha)


@dataclass(frozen=True)
class BeamStep:
    """The candidates of one step: the best N continuations for each sentence, best first.

    N is K * (1 + number of end tokens), so 2K if <eos> is the only one: at least K candidates then do not
    end.

    Attributes:
        parents: index of the hypothesis that each candidate continues, 0 to K - 1 (B, N).
        tokens: the candidates' token ids (B, N).
        log_probabilities: log-probability of each token given those before it, in nats (B, N).
        totals: log-probability of all tokens, including a given prefix (B, N); minus infinity where there
            are fewer candidates.
        followed: indices of the K candidates that continue to be followed, best first (B, K).
        surest: probability of the most probable token after each hypothesis (B, K).
    """

    parents: Tensor
    tokens: Tensor
    log_probabilities: Tensor
    totals: Tensor
    followed: Tensor
    surest: Tensor


@dataclass
class BestHypotheses:
    """The best hypotheses of one sentence so far, at most `size`, best first."""

    size: int
    hypotheses: list[Hypothesis] = field(default_factory=list)

    def add(self, hypothesis: Hypothesis) -> None:
        """Insert a hypothesis, and drop the worst beyond `size`."""
        self.hypotheses.append(hypothesis)
        self.hypotheses.sort(key=lambda one: -one.score)
        del self.hypotheses[self.size :]

    def has_no_room_for(self, score: float) -> bool:
        """True if there are `size` hypotheses, none worse than this score."""
        return len(self.hypotheses) == self.size and self.hypotheses[-1].score >= score


class BeamSearch:
    """A search over a batch of sources, step by step.

    Each step continues every followed hypothesis with every token. The best K continuations of a sentence
    that do not end continue to be followed; one that ends is finished if it is among the best K. The search
    for a sentence ends when it has `n_best` finished hypotheses and no followed one has, at its current
    length, a better score than the worst of them. With alpha 0 this misses nothing; with alpha above 0 a
    longer hypothesis could still overtake.

    Args:
        model: a model with a decoder, in eval mode.
        src: (B, S) ids, padded; None without an encoder, for one sentence.
        request: how targets begin and end.
        beam_size: K.
        alpha: exponent of the length penalty.
        n_best: number of hypotheses to find per sentence, at most K.

    Attributes:
        found: the best hypotheses of each sentence so far.
        n_listed: N, the number of candidates per step.

    Raises:
        ValueError: for an empty beam, or n_best above the beam size.
    """

    def __init__(
        self,
        model: Transformer,
        src: Tensor | None,
        request: DecodingRequest,
        *,
        beam_size: int,
        alpha: float = 1.0,
        n_best: int = 1,
    ) -> None:
        if not 1 <= n_best <= beam_size:
            raise ValueError(f"A beam of {beam_size} gives 1 to {beam_size} hypotheses, not {n_best}.")
        n_rows = 1 if src is None else len(src)
        self.found = [BestHypotheses(n_best) for _ in range(n_rows)]
        self.n_listed = beam_size * (1 + max(1, len(request.end_ids)))
        self._model, self._src, self._request = model, src, request
        self._beam_size, self._alpha = beam_size, alpha
        self._new_limits = request.limits(model, n_rows)
        self._limits = [len(request.prefix) + limit for limit in self._new_limits]
        device = model.generator.weight.device
        self._ends = torch.tensor(list(request.end_ids), dtype=torch.long, device=device)
        self._first_tokens = request.first_tokens(n_rows, device)

    @torch.inference_mode()
    def steps(self) -> Iterator[BeamStep]:
        """Run the search, one step per length; finished sentences leave the batch.

        Raises:
            SentenceError: when logits are not finite.
        """
        sentences = list(range(len(self.found)))
        state = self._model.start(self._src)
        n_start = len(self._request.start_ids)
        logits = self._model.step(self._first_tokens, state)  # (B, T, V)
        targets = self._first_tokens[:, None, n_start:]  # (B, 1, tokens), later (B, K, tokens)
        totals = self._prefix_total(logits[:, n_start - 1 : -1], targets[:, 0])[:, None]  # later (B, K)
        logits = logits[:, -1]  # (B, V), later (B * K, V)
        for length in range(1 + targets.shape[2], max(self._limits) + 1):
            at_limit = [length == self._limits[sentence] for sentence in sentences]
            step = self._candidates(logits, totals, targets.flatten(0, 1).tolist(), sentences, at_limit)
            self._finish(sentences, step, targets, length)
            yield step
            parents, tokens, totals = (
                numbers.gather(1, step.followed) for numbers in (step.parents, step.tokens, step.totals)
            )  # (B, K)
            before = targets.gather(1, parents[..., None].expand(-1, -1, targets.shape[2]))
            rows = parents + torch.arange(len(parents), device=parents.device)[:, None] * targets.shape[1]
            targets = torch.cat((before, tokens[..., None]), dim=2)
            searching = self._searching(sentences, totals, length)
            self._add_unfinished(sentences, totals, targets, [row for row in searching if at_limit[row]])
            unfinished = [row for row in searching if not at_limit[row]]
            if not unfinished:
                return
            kept = torch.tensor(unfinished, device=rows.device)
            sentences = [sentences[row] for row in unfinished]
            totals, targets = totals[kept], targets[kept]
            state.select(kept, rows[kept].flatten())
            logits = self._model.step(tokens[kept].view(-1, 1), state)[:, -1]

    def _penalty(self, length: int) -> float:
        return length_penalty(length, self._alpha, self._request.length_form)

    def _prefix_total(self, logits: Tensor, prefix: Tensor) -> Tensor:
        """Log-probability (B,) of the prefix (B, P), given logits (B, P, V); 0 if the prefix is empty."""
        log_probabilities = self._request.suppress(logits.float()).log_softmax(dim=-1)
        return log_probabilities.gather(-1, prefix[..., None]).sum(dim=(1, 2))

    def _candidates(
        self,
        logits: Tensor,
        totals: Tensor,
        targets: Sequence[Sequence[int]],
        sentences: Sequence[int],
        at_limit: Sequence[bool],
    ) -> BeamStep:
        n, width = self.n_listed, totals.shape[1]
        logits = self._request.suppress(logits.float())
        # As in Hugging Face's transformers, probabilities are not renormalised over the remaining ids.
        rows = [sentence for sentence in sentences for _ in range(width)]
        ranked = self._request.close(logits, targets, rows)
        forced = [last for last in at_limit for _ in range(width)]
        logits, ranked = (self._request.force_end(one, forced) for one in (logits, ranked))
        largest = logits.amax(dim=-1, keepdim=True)
        check_finite(largest)
        best = ranked.topk(min(n, logits.shape[-1]))
        shifted = best.values - largest  # (B * width, n or V)
        # log(sum(exp(logits - largest))), in place because the logits are a step's largest tensor.
        summed = logits.sub_(largest).exp_().sum(dim=-1, keepdim=True)
        log_probabilities = shifted - summed.log()
        n_each = log_probabilities.shape[-1]
        log_probabilities = log_probabilities.view(len(totals), -1)  # (B, width * n_each)
        together = totals.repeat_interleave(n_each, dim=1) + log_probabilities
        missing = max(0, n - together.shape[1])
        top = functional.pad(together, (0, missing), value=-math.inf).topk(n)
        places = top.indices.clamp(max=together.shape[1] - 1)  # arbitrary token where the total is -inf
        tokens = best.indices.view(len(totals), -1).gather(1, places)
        does_end = torch.isin(tokens, self._ends) & top.values.isfinite()
        return BeamStep(
            parents=places // n_each,
            tokens=tokens,
            log_probabilities=log_probabilities.gather(1, places),
            totals=top.values,
            followed=does_end.int().sort(dim=1, stable=True).indices[:, : self._beam_size],
            surest=(1 / summed).view(len(totals), -1),
        )

    def _finish(self, sentences: list[int], step: BeamStep, targets: Tensor, length: int) -> None:
        """Add the candidates that end, if among the best K."""
        does_end = torch.isin(step.tokens, self._ends) & step.totals.isfinite()
        for row, rank in does_end[:, : self._beam_size].nonzero().tolist():
            total = float(step.totals[row, rank])
            score = total / self._penalty(length)
            found = self.found[sentences[row]]
            if not found.has_no_room_for(score):
                ids = targets[row, step.parents[row, rank]].tolist()
                end = int(step.tokens[row, rank])
                found.add(
                    Hypothesis(tuple(ids), total, score, end, self._ending(sentences[row], end, length))
                )

    def _ending(self, sentence: int, token: int, length: int) -> Ending:
        """Why a hypothesis of this length, prefix included, ended with this token."""
        n_left = self._limits[sentence] - length
        ending = self._request.ending(self._model, token, n_left, self._new_limits[sentence])
        assert ending is not None  # its token is an end token, or it is at the limit
        return ending

    def _searching(self, sentences: list[int], totals: Tensor, length: int) -> list[int]:
        """Rows of the sentences whose search continues."""
        penalty = self._penalty(length)
        best = totals[:, 0].tolist()
        return [
            row
            for row, sentence in enumerate(sentences)
            if best[row] > -math.inf and not self.found[sentence].has_no_room_for(best[row] / penalty)
        ]

    def _add_unfinished(
        self, sentences: list[int], totals: Tensor, targets: Tensor, rows: Sequence[int]
    ) -> None:
        """For rows at their limit, fill up with the hypotheses still followed."""
        penalty = self._penalty(targets.shape[2])
        for row in rows:
            found = self.found[sentences[row]]
            for total, ids in zip(totals[row].tolist(), targets[row].tolist(), strict=True):
                if len(found.hypotheses) < found.size and total > -math.inf:
                    ending = self._ending(sentences[row], ids[-1], len(ids))
                    found.add(Hypothesis(tuple(ids), total, total / penalty, None, ending))


def beam_search(
    model: Transformer,
    src: Tensor | None,
    request: DecodingRequest,
    *,
    beam_size: int,
    alpha: float = 1.0,
    n_best: int = 1,
) -> list[list[Hypothesis]]:
    """The `n_best` targets of each source, best first: see `BeamSearch`.

    There are fewer only if no token is allowed to follow.

    Raises:
        SentenceError: when logits are not finite.
    """
    search = BeamSearch(model, src, request, beam_size=beam_size, alpha=alpha, n_best=n_best)
    for _ in search.steps():
        pass
    return [found.hypotheses for found in search.found]
