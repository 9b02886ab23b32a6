"""The measured sizes, and sentences and models of those sizes."""

from __future__ import annotations

import random

import torch

from transformer.loaded import LoadedModel, freeze
from transformer.model.config import preset
from transformer.model.transformer import Transformer
from transformer.text.coder import SentenceCoder
from transformer.text.vocabulary import Vocabulary
from transformer.text.words import WordTokenizer

LENGTHS = (16, 64, 128, 256, 512)
N_LAYERS = 6
N_HEADS = 8
D_MODELS = (256, 512)
"""512 is the width of the paper's base model; 256 suits a laptop."""
WORDS = (
    "the small raccoon saw a white house near the old garden and my friend eats an apple with the happy cat "
    "yesterday because we like water bread music books stars trees rivers and the green sea"
).split()


def sentence(n_tokens: int, seed: int) -> str:
    """A sentence of n_tokens tokens, including <eos> (or <bos>, as a target)."""
    return " ".join(random.Random(seed).choices(WORDS, k=n_tokens - 1))


def random_attention(n_layers: int, n_heads: int, n_tokens: int) -> tuple[torch.Tensor, list[str]]:
    """Attention weights (L, H, N, N) from random scores, and N tokens."""
    scores = torch.randn(n_layers, n_heads, n_tokens, n_tokens, generator=torch.Generator().manual_seed(0))
    return torch.softmax(2 * scores, dim=-1), sentence(n_tokens + 1, 0).split()


def random_model(d_model: int) -> LoadedModel:
    """An encoder-decoder of N_LAYERS + N_LAYERS layers and N_HEADS heads with random weights."""
    vocabulary = Vocabulary(sorted(set(WORDS)))
    config = preset(
        "base",
        src_vocab_size=len(vocabulary),
        tgt_vocab_size=len(vocabulary),
        d_model=d_model,
        n_heads=N_HEADS,
        n_encoder_layers=N_LAYERS,
        n_decoder_layers=N_LAYERS,
        d_ff=4 * d_model,
        max_len=max(LENGTHS),
    )
    coder = SentenceCoder(WordTokenizer("en", lowercase=True), vocabulary)
    model = freeze(Transformer(config, torch.Generator().manual_seed(0)))
    return LoadedModel("random", model, source=coder, target=coder)
