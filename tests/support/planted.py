"""A small language model whose weights are written by hand, so that it is known what each head does."""

from __future__ import annotations

import random

import torch

from tests.support.planting import blank_model, plant
from transformer.loaded import LoadedModel, freeze
from transformer.text.coder import SentenceCoder
from transformer.text.vocabulary import Vocabulary
from transformer.text.words import WordTokenizer

WORDS = tuple("ant bee cat dog eel fox gnu hen ibis jay kite lynx mole newt owl pug ray seal".split())
MAX_LEN = 43
PREVIOUS, DEAD, COPYING = (0, 0), (0, 1), (0, 2)
"""Layer and head of each planted head; those of layer 1 but `INDUCTION` are dead too."""
INDUCTION = (1, 0)
SHARP = 60.0


def planted() -> LoadedModel:
    """A decoder of two layers with three heads each.

    The stream has three parts: the token, the position, and the previous token, which head 0 of layer 0
    writes. In layer 1 head 0 compares its token with the previous tokens, and copies.
    """
    coder = SentenceCoder(WordTokenizer("en", lowercase=True), Vocabulary(WORDS))
    n = len(coder.vocabulary)
    model = blank_model(
        src_vocab_size=0,
        tgt_vocab_size=n,
        d_model=2 * n + MAX_LEN,
        n_heads=3,
        d_head=MAX_LEN,
        n_encoder_layers=0,
        n_decoder_layers=2,
        d_ff=5,
        max_len=MAX_LEN,
    )
    token, position, previous = torch.eye(model.config.d_model).split([n, MAX_LEN, n])
    with torch.no_grad():
        model.tgt_embedding.weight.copy_(token)
        model.get_parameter("tgt_embedding.positions.weight").copy_(position)
    first, second = (model.get_submodule(f"decoder.layers.{layer}.self_attn") for layer in (0, 1))
    plant(first, 0, SHARP * position.roll(-1, dims=0), position, token, previous)
    plant(first, 2, 0 * token, token, token, 0.1 * token)
    plant(second, 0, SHARP * token, previous, token, token)
    return LoadedModel("planted", freeze(model), coder, coder)


def planted_sentences(n: int, seed: int) -> list[tuple[str, str]]:
    """Random sentences for the planted model; about every second one repeats words."""
    rng = random.Random(seed)
    return [(" ".join(rng.choices(WORDS, k=rng.randint(7, 15))), "") for _ in range(n)]
