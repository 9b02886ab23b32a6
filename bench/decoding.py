"""Sentences a second, decoded by us and by Hugging Face's `generate` with the same weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from bench.marian import generate, marian_copy
from bench.measurement import seconds
from transformer.decoding.beam import beam_search
from transformer.decoding.greedy import greedy_batch
from transformer.decoding.request import DecodingRequest
from transformer.loaded import freeze
from transformer.model.config import TransformerConfig, preset
from transformer.model.transformer import Transformer
from transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID, SPECIALS

N_SENTENCES = 64
VOCAB_SIZE = 6000
LONGEST_SOURCE = 16
N_NEW_TOKENS = 20


@dataclass(frozen=True)
class Decoding:
    """Sentences a second on the CPU, in one batch.

    Attributes:
        beam_size: 1 is greedy.
        ours, theirs: sentences a second.
        same: how many of the targets are the same, token for token.
        sentences: of the batch.
    """

    beam_size: int
    ours: float
    theirs: float
    same: int
    sentences: int


def measure_decoding(
    beam_size: int, config: TransformerConfig | None = None, n_sentences: int = N_SENTENCES
) -> Decoding:
    """Decode one batch of random sources of unequal lengths, a fixed number of tokens each.

    The weights are random and <eos> is closed in both, so that both do the same work. (Of two continuations
    that are almost equally probable, rounding decides: then targets differ.)
    """
    config = config or preset("small", src_vocab_size=VOCAB_SIZE, tgt_vocab_size=VOCAB_SIZE)
    model = freeze(Transformer(config, torch.Generator().manual_seed(1)))
    theirs = marian_copy(model)
    src = _sources(config, n_sentences)
    suppressed = tuple(range(len(SPECIALS)))
    request = DecodingRequest(
        start_ids=(BOS_ID,), end_ids=(EOS_ID,), max_new_tokens=N_NEW_TOKENS, suppressed_ids=suppressed
    )

    def decode_ours() -> list[list[int]]:
        if beam_size == 1:
            return [list(target.ids) for target in greedy_batch(model, src, request)]
        found = beam_search(model, src, request, beam_size=beam_size)
        return [list(best.ids) for best, *_ in found]

    def decode_theirs() -> list[list[int]]:
        return generate(theirs, src, beam_size=beam_size, n_tokens=N_NEW_TOKENS, suppressed_ids=suppressed)

    same = sum(a == b for a, b in zip(decode_ours(), decode_theirs(), strict=True))
    ours, other = (_rate(decode, n_sentences) for decode in (decode_ours, decode_theirs))
    return Decoding(beam_size, ours, other, same, n_sentences)


def _rate(decode: Callable[[], object], n_sentences: int) -> float:
    return n_sentences / seconds(decode)


def _sources(config: TransformerConfig, n: int) -> Tensor:
    draw = torch.Generator().manual_seed(2)
    src = torch.randint(len(SPECIALS), config.src_vocab_size, (n, LONGEST_SOURCE), generator=draw)
    lengths = torch.randint(LONGEST_SOURCE // 3, LONGEST_SOURCE + 1, (n,), generator=draw)
    lengths[0] = LONGEST_SOURCE
    return src.masked_fill(torch.arange(LONGEST_SOURCE) >= lengths[:, None], PAD_ID)
