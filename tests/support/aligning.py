"""Small translation models whose weights are written by hand, so that it is known how their heads align."""

from __future__ import annotations

import random

import torch

from transformer.analysis.alignment.attention import Convention
from transformer.loaded import LoadedModel, freeze
from transformer.model.attention import MultiHeadAttention
from transformer.model.config import TransformerConfig
from transformer.model.transformer import Transformer
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
    config = TransformerConfig(
        src_vocab_size=n,
        tgt_vocab_size=n,
        d_model=2 * n + MAX_LEN,
        n_heads=3,
        d_head=MAX_LEN,
        n_encoder_layers=1,
        n_decoder_layers=2,
        d_ff=5,
        max_len=MAX_LEN,
        positions="learned",
        norm_position="none",
        final_norm=False,
        bias=False,
        embedding_scale=False,
        share_embeddings=False,
        tie_generator=False,
    )
    model = Transformer(config, torch.Generator().manual_seed(0))
    token, position, moved = torch.eye(config.d_model).split([n, MAX_LEN, n])
    state = {name: torch.zeros_like(tensor) for name, tensor in model.state_dict().items()}
    state["src_embedding.weight"], state["src_embedding.positions.weight"] = token, position
    state["tgt_embedding.positions.weight"] = position
    state["generator.weight"] = SHARP * moved
    model.load_state_dict(state)
    rows = range(MAX_LEN - 2)
    if convention == "writing":
        looks = {row: row ^ 1 for row in rows}
        _plant(model, "decoder", LAYER, HEAD, looks, position, token, moved)
    else:
        looks = {row: (row - 1) ^ 1 for row in rows if row}
        stored = {looks[row]: row ^ 1 for row in rows if row}
        _plant(model, "encoder", 0, 0, stored, position, token, moved)
        _plant(model, "decoder", LAYER, HEAD, looks, position, moved, moved)
    return LoadedModel(convention, freeze(model), source, target)


def _plant(
    model: Transformer,
    stack: str,
    layer: int,
    head: int,
    looks: dict[int, int],
    position: torch.Tensor,
    value: torch.Tensor,
    out: torch.Tensor,
) -> None:
    """Let the queries at some positions look at others, and add what is stored there to the stream."""
    attention = model.get_submodule(
        f"{stack}.layers.{layer}.{'self' if stack == 'encoder' else 'cross'}_attn"
    )
    assert isinstance(attention, MultiHeadAttention)
    width = slice(head * MAX_LEN, (head + 1) * MAX_LEN)
    with torch.no_grad():
        attention.w_k.weight[width] = position
        for query, key in looks.items():
            attention.w_q.weight[width][key] += SHARP * position[query]
        attention.w_v.weight[width][: len(value)] = value
        attention.w_o.weight[:, width][:, : len(out)] = out.T


def swapped_pairs(n: int, seed: int) -> list[tuple[str, str]]:
    """Sentences of distinct words with their translations by `swapping`."""
    draw = random.Random(seed)
    pairs = []
    for _ in range(n):
        words = draw.sample(range(len(SOURCE)), draw.choice([4, 6, 8]))
        other = [words[place ^ 1] for place in range(len(words))]
        pairs.append((" ".join(SOURCE[i] for i in words), " ".join(TARGET[i] for i in other)))
    return pairs
