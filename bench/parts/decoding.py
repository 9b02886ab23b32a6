"""Sentences decoded per second, by us and by Hugging Face's `generate` with the same weights."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

import torch
from torch import Tensor

from bench.measurement import PerSecond, Ratio, ratio, seconds_in_turn
from bench.peers.marian import generate, marian_copy
from bench.setting import Setting
from transformer.decoding.beam import beam_search
from transformer.decoding.greedy import greedy_batch
from transformer.decoding.request import DecodingRequest
from transformer.loaded import freeze
from transformer.model.config import TransformerConfig, preset
from transformer.model.transformer import Transformer
from transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID, SPECIALS

VOCAB_SIZE = 6000
LONGEST_SOURCE = 16
N_NEW_TOKENS = 20


@dataclass(frozen=True)
class Decoding:
    """Sentences per second on the CPU, in one batch.

    Attributes:
        beam_size: 1 is greedy.
        headlight, transformers: median over the rounds.
        times_faster: speed relative to transformers.
        sentences: number of sentences in the batch.
        same_targets: how many targets are equal, token for token.
    """

    beam_size: int
    headlight: PerSecond
    transformers: PerSecond
    times_faster: Ratio
    sentences: int
    same_targets: int


def measure(setting: Setting) -> list[Decoding]:
    """Decode greedily and with a beam."""
    if setting.smallest:
        toy = preset("toy", src_vocab_size=29, tgt_vocab_size=31, d_model=32)
        return [measure_decoding(toy, beam_size, n_sentences=3, rounds=1) for beam_size in (1, 2)]
    small = preset("small", src_vocab_size=VOCAB_SIZE, tgt_vocab_size=VOCAB_SIZE)
    return [measure_decoding(small, beam_size) for beam_size in (1, 4)]


def measure_decoding(
    config: TransformerConfig, beam_size: int, n_sentences: int = 64, rounds: int = 6
) -> Decoding:
    """Decode one batch of random sources of different lengths, with a fixed number of tokens for each.

    The weights are random and <eos> is suppressed in both, so that both do the same work. (Where two
    continuations are almost equally probable, rounding decides, and targets may differ.)
    """
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

    own, [others] = seconds_in_turn(decode_ours, [decode_theirs], rounds)
    return Decoding(
        beam_size=beam_size,
        headlight=PerSecond(n_sentences / statistics.median(own)),
        transformers=PerSecond(n_sentences / statistics.median(others)),
        times_faster=ratio(others, own),
        sentences=n_sentences,
        same_targets=sum(a == b for a, b in zip(decode_ours(), decode_theirs(), strict=True)),
    )


def _sources(config: TransformerConfig, n: int) -> Tensor:
    """Padded ids (n, LONGEST_SOURCE)."""
    draw = torch.Generator().manual_seed(2)
    src = torch.randint(len(SPECIALS), config.src_vocab_size, (n, LONGEST_SOURCE), generator=draw)
    lengths = torch.randint(LONGEST_SOURCE // 3, LONGEST_SOURCE + 1, (n,), generator=draw)
    lengths[0] = LONGEST_SOURCE
    return src.masked_fill(torch.arange(LONGEST_SOURCE) >= lengths[:, None], PAD_ID)
