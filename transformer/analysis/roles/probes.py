"""Probes for what few sentences show: repeated random sequences, and source words knocked out."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from transformer.analysis.attention_maps import words_of
from transformer.analysis.interventions.knock_outs import word_effects
from transformer.analysis.interventions.questions import word_questions
from transformer.analysis.roles.sentences import Sentence
from transformer.analysis.roles.targets import NO_LINKS, Links, after_previous
from transformer.loaded import LoadedModel
from transformer.run import force

LONGEST_REPEATED, SHORTEST_REPEATED = 20, 5
CLEAR = 1.0
"""Nats of log-probability that an output word loses without the source word that it is linked to."""


def repeated(loaded: LoadedModel, sentence: Sentence, seed: int) -> Sentence:
    """The sentence with its decoder's text replaced by different random tokens, twice (Olsson et al. 2022).

    Lengths are random, so that no head can find the previous occurrence at a fixed distance.
    """
    generator = torch.Generator().manual_seed(seed)
    assert sentence.decoder is not None
    config, special = loaded.model.config, loaded.target.special_tokens.ids
    kept = sentence.decoder.first
    longest = min(LONGEST_REPEATED, (config.max_len - kept) // 2)
    shortest = min(SHORTEST_REPEATED, longest)
    n = int(torch.randint(shortest, longest + 1, (1,), generator=generator))
    size = min(config.tgt_vocab_size, len(loaded.target.vocabulary))
    ordinary = torch.tensor([index for index in range(size) if index not in special])
    ids = ordinary[torch.randperm(len(ordinary), generator=generator)[:n]].tolist() * 2
    beginning = replace(
        sentence.decoder,
        ids=sentence.decoder.ids[:kept],
        tokens=sentence.decoder.tokens[:kept],
        sentence=loaded.target.describe_ids([]),
    )
    return replace(sentence, decoder=beginning.followed_by(loaded.target.describe_ids(ids)))


def induction_cells(sentence: Sentence) -> Tensor:
    """The tokens after the previous occurrences, for the second half of a repeated sequence: (T, T) bool."""
    assert sentence.decoder is not None
    found = after_previous(sentence.decoder.ids)
    found[: sentence.decoder.first + len(sentence.decoder.sentence.ids) // 2] = False
    return found


def links(loaded: LoadedModel, sentence: Sentence) -> Links:
    """What each output word depends on, by knocking out source words one by one.

    An output word is linked to the source word without which it loses most, if that is at least `CLEAR`; the
    end of the output is not linked.
    """
    assert sentence.encoder is not None
    assert sentence.decoder is not None
    n_start = len(loaded.start_ids)
    target = loaded.target.describe_ids(sentence.decoder.ids[n_start:])
    run = force(loaded, sentence.encoder.sentence, target, top_k=1)
    n_tokens = len(sentence.decoder.ids)
    questions = [one for one in word_questions(loaded, run) if one.rows[-1] < n_tokens - 1]
    if not questions:
        return NO_LINKS
    read = sentence.encoder
    words = words_of(run, "encoder")
    inside = range(read.first, read.first + len(read.sentence.ids))
    positions = [words.tokens(word) for word in range(len(words.labels)) if words.tokens(word)[0] in inside]
    effects = word_effects(loaded, run, questions, words=positions)  # (words, questions)
    writing, reading = [], []
    for question, (loss, best) in zip(questions, zip(*effects.max(dim=0), strict=True), strict=True):
        if loss >= CLEAR:
            writing += [(row, positions[int(best)]) for row in question.rows]
            reading += [(row + 1, positions[int(best)]) for row in question.rows]
    return Links(writing, reading)
