"""A small model with words, for tests that need one from sentence to translation."""

from __future__ import annotations

from typing import Any

import torch

from transformer.checkpoints.folder import LoadedModel, freeze
from transformer.config import TransformerConfig
from transformer.model import Transformer
from transformer.text import SentenceCoder, Vocabulary, WordTokenizer

ENGLISH = ["a", "cat", "dog", "i", "saw", "see", "the", "yesterday", "."]
ITALIAN = ["cane", "gatto", "ho", "ieri", "il", "un", "vedo", "visto", ".", "lo", "la"]


def tiny_model(seed: int = 0, **changes: Any) -> LoadedModel:
    """Random weights, unequal depths and vocabularies."""
    source = SentenceCoder(WordTokenizer("en", lowercase=True), Vocabulary(ENGLISH))
    target = SentenceCoder(WordTokenizer("it", lowercase=True), Vocabulary(ITALIAN))
    sizes = {
        "src_vocab_size": len(source.vocabulary),
        "tgt_vocab_size": len(target.vocabulary),
        "d_model": 30,
        "n_heads": 3,
        "n_encoder_layers": 2,
        "n_decoder_layers": 3,
        "d_ff": 23,
        "max_len": 19,
    }
    config = TransformerConfig.from_dict(sizes | changes)
    model = freeze(Transformer(config, torch.Generator().manual_seed(seed)))
    return LoadedModel("tiny", model, source, target, card="# tiny")
