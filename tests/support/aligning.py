"""Small translation models whose weights are written by hand, so that it is known how their heads align."""

from __future__ import annotations

import random

import torch

from tests.support.planting import blank_model, plant
from transformer.analysis.alignment.attention import Convention
from transformer.loaded import LoadedModel, freeze
from transformer.text.coder import SentenceCoder
from transformer.text.vocabulary import Vocabulary
from transformer.text.words import WordTokenizer

SOURCE = tuple("ant bee cat dog eel fox gnu hen ibis jay kite".split())
TARGET = tuple("ape boa cow doe elk fly gar hog ide jar koi".split())
MAX_LEN = 17
LAYER, HEAD = 1, 2
"""The head that aligns; the other heads are uniform."""
SHARP = 60.0


def swapping(convention: Convention) -> LoadedModel:
    """Translates word by word and swaps neighbours: target word j is source word j ^ 1, for an even number.

    The aligning head looks at that source word in the row that writes target word j, or in the row that reads
    it. A row that reads a word must write the next one: the encoder has stored that one there.
    """
    source = SentenceCoder(WordTokenizer("en", lowercase=True), Vocabulary(SOURCE))
    target = SentenceCoder(WordTokenizer("it", lowercase=True), Vocabulary(TARGET))
    n = len(source.vocabulary)
    model = blank_model(
        src_vocab_size=n,
        tgt_vocab_size=n,
        d_model=2 * n + MAX_LEN,
        n_heads=3,
        d_head=MAX_LEN,
        n_encoder_layers=1,
        n_decoder_layers=2,
        d_ff=5,
        max_len=MAX_LEN,
        share_embeddings=False,
        tie_generator=False,
    )
    token, position, moved = torch.eye(model.config.d_model).split([n, MAX_LEN, n])
    state = model.state_dict()
    state["src_embedding.weight"], state["src_embedding.positions.weight"] = token, position
    state["tgt_embedding.positions.weight"] = position
    state["generator.weight"] = SHARP * moved
    model.load_state_dict(state)
    aligning = model.get_submodule(f"decoder.layers.{LAYER}.cross_attn")
    rows = range(MAX_LEN - 2)
    if convention == "writing":
        looks = {row: row ^ 1 for row in rows}
        plant(aligning, HEAD, _queries(looks, position), position, token, moved)
    else:
        looks = {row: (row - 1) ^ 1 for row in rows if row}
        stored = {looks[row]: row ^ 1 for row in rows if row}
        storing = model.get_submodule("encoder.layers.0.self_attn")
        plant(storing, 0, _queries(stored, position), position, token, moved)
        plant(aligning, HEAD, _queries(looks, position), position, moved, moved)
    return LoadedModel(convention, freeze(model), source, target)


def _queries(looks: dict[int, int], position: torch.Tensor) -> torch.Tensor:
    """What the queries at some positions read, in the rows of the keys that they look at: (keys, D)."""
    queries = torch.zeros_like(position)
    for query, key in looks.items():
        queries[key] = SHARP * position[query]
    return queries


def swapped_pairs(n: int, seed: int) -> list[tuple[str, str]]:
    """Sentences of distinct words with their translations by `swapping`."""
    draw = random.Random(seed)
    pairs = []
    for _ in range(n):
        words = draw.sample(range(len(SOURCE)), draw.choice([4, 6, 8]))
        other = [words[place ^ 1] for place in range(len(words))]
        pairs.append((" ".join(SOURCE[i] for i in words), " ".join(TARGET[i] for i in other)))
    return pairs
