"""The sentence with a word exchanged so that the model writes another word: two runs to patch between."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from transformer.analysis.interventions.knock_outs import embedded, input_stack, tokens_path
from transformer.analysis.interventions.outcomes import Variant
from transformer.analysis.interventions.patch_places import Place
from transformer.analysis.interventions.patching import Direction, Pair, pair_of, patch_grid
from transformer.analysis.interventions.questions import logit_row, suppressed_ids
from transformer.errors import EditError
from transformer.run import force, read
from viz.pages.learn.lessons.computed.ablation import outputs
from viz.pages.learn.lessons.computed.contest import (
    Contest,
    against,
    asked_steps,
    input_ids,
    sentence_span,
)
from viz.pages.learn.lessons.format.subject import Subject
from viz.pages.shared.exchanged_sentences import EXCHANGED

N_NEIGHBOURS = 3
"""Similar words that each word is exchanged for, the nearest first."""
MOST_WORDS = 16
"""Words that are tried, from the first."""


CLEAR = 1.0
"""A change of a word is clear if both runs prefer their own by this many logits."""


class _Tried(NamedTuple):
    """An exchange to try: the cosine of the two embeddings, and the other token at a position."""

    similarity: float
    position: int
    token_id: int


class Exchange(NamedTuple):
    """A token of the input exchanged for another.

    Attributes:
        position: in the input.
        token_id: the other token.
        text: the other sentence.
        contest: the first word that the model would write otherwise, against what it would write.
        pair: both runs, with the output up to that word.
    """

    position: int
    token_id: int
    text: str
    contest: Contest
    pair: Pair


def exchange(subject: Subject) -> Exchange | None:
    """The exchange that the lesson is about; None if none changes a word of the output.

    Of those that change a word clearly, the one whose effect has to move farthest back, from a late word of
    the source to an early one of the output; of these the one with the most similar words.
    """
    return subject.kept("exchange", lambda: _exchange(subject))


def _exchange(subject: Subject) -> Exchange | None:
    tried = _prepared(subject) or _tried(subject)
    steps, run = asked_steps(subject), subject.run
    if not tried or not steps:
        return None
    rows = [logit_row(run, step) for step in steps]
    variants = [_variant(subject, one.position, one.token_id) for one in tried]
    logits = torch.cat([part[:, rows] for part in outputs(subject, variants)])  # (tried, steps, V)
    logits[..., list(suppressed_ids(subject.loaded, run))] = -torch.inf
    own = run.trace["logits"][0, rows]
    ids = [run.steps[step].token_id for step in steps]
    found = []
    for one, best, others in zip(tried, logits.argmax(dim=-1).tolist(), logits, strict=True):
        differs = [
            at
            for at, rival in enumerate(best)
            # Without a decoder, the place of the exchanged word predicts that word.
            if rival != ids[at] and (run.decoder_input is not None or rows[at] != one.position)
        ]
        if differs:
            at = differs[0]
            leads = (logit[at, ids[at]] - logit[at, best[at]] for logit in (own, -others))
            back = one.position - run.steps[steps[at]].position if run.encoder_input is not None else 0
            is_clear = min(map(float, leads)) >= CLEAR
            found.append((is_clear, max(back, 0), one.similarity, one, steps[at], best[at]))
    if not found:
        return None
    *_, one, step, rival = max(found)
    return _runs(subject, one.position, one.token_id, step, rival)


def _variant(subject: Subject, position: int, token_id: int) -> Variant:
    stack = input_stack(subject.config)
    vector = embedded(subject.loaded, stack, [token_id])[0]

    def exchanged(tokens: torch.Tensor) -> torch.Tensor:
        tokens[:, position] = vector
        return tokens

    return {tokens_path(stack): exchanged}


def _prepared(subject: Subject) -> list[_Tried]:
    """The exchange that is prepared for an example sentence, if it is one of a single token; else empty."""
    other = EXCHANGED.get(subject.text.strip())
    if other is None:
        return []
    own, ids = subject.run.source.ids, subject.loaded.source.encode(other).ids
    differ = [at for at, both in enumerate(zip(own, ids, strict=False)) if both[0] != both[1]]
    if len(own) != len(ids) or len(differ) != 1:
        return []
    return [_Tried(1.0, sentence_span(subject)[0] + differ[0], ids[differ[0]])]


def _tried(subject: Subject) -> list[_Tried]:
    """Whole words of the input, each with similar tokens."""
    stack, model = input_stack(subject.config), subject.loaded.model
    coder = subject.loaded.source if stack == "encoder" else subject.loaded.target
    embedding = model.src_embedding if stack == "encoder" else model.tgt_embedding
    vectors = torch.nn.functional.normalize(embedding.weight.detach().float(), dim=-1)
    start, stop = sentence_span(subject)
    ids = input_ids(subject)
    whole = np.flatnonzero(subject.is_whole_word(stack))
    found = []
    for position in whole[(whole >= start) & (whole < stop)][:MOST_WORDS].tolist():
        if ids[position] in coder.special_tokens.ids:
            continue
        cosines = vectors @ vectors[ids[position]]
        similar = [
            index
            for index in cosines.topk(min(4 * N_NEIGHBOURS, len(vectors))).indices.tolist()
            if index not in coder.special_tokens.ids
            and _is_another_word(coder.token(ids[position]), coder.token(index))
        ]
        found += [_Tried(float(cosines[index]), position, index) for index in similar[:N_NEIGHBOURS]]
    return found


def _is_another_word(own: str, other: str) -> bool:
    begins = own[:1].isalnum() == other[:1].isalnum()  # both with a space before them, or neither
    return begins and any(map(str.isalnum, other)) and own.casefold() != other.casefold()


def _runs(subject: Subject, position: int, token_id: int, step: int, rival: int) -> Exchange | None:
    loaded, run = subject.loaded, subject.run
    ids = list(run.source.ids)
    ids[position - sentence_span(subject)[0]] = token_id
    source = loaded.source.describe_ids(ids)
    question = against(subject, step, rival)
    if run.decoder_input is None:
        clean, corrupt = run, read(loaded, source)
    else:
        prefix = loaded.target.describe_ids(run.target.ids[:step])
        clean, corrupt = (force(loaded, one, prefix, ends=False) for one in (run.source, source))
    try:
        pair = pair_of(loaded, clean, corrupt, question)
    except EditError:
        return None
    return Exchange(
        position,
        token_id,
        loaded.source.decode(ids).strip(),
        Contest(step, pair.question, pair.clean_value),
        pair,
    )


def shares_of(subject: Subject, found: Exchange, place: Place, direction: Direction) -> NDArray[np.float64]:
    """The grid of patches between the two runs: (layers, positions or heads)."""

    def shares() -> NDArray[np.float64]:
        grid: NDArray[np.float64] = patch_grid(subject.loaded, found.pair, place, direction).shares.numpy()
        return grid

    return subject.kept(f"patches {place} {direction}", shares)
