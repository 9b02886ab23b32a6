"""Small models of words and of sub-words, for tests that go from a sentence to its translation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from transformer.experience import Calibration, Experience, ReliabilityBin
from transformer.loaded import LoadedModel, freeze
from transformer.model.config import TransformerConfig
from transformer.model.transformer import Transformer
from transformer.text.coder import Coder, SentenceCoder
from transformer.text.subwords import SubwordCoder, learn_subwords
from transformer.text.vocabulary import Vocabulary
from transformer.text.words import WordTokenizer

ENGLISH = ["a", "cat", "dog", "i", "saw", "see", "the", "yesterday", "."]
ITALIAN = ["cane", "gatto", "ho", "ieri", "il", "un", "vedo", "visto", ".", "lo", "la"]
ENGLISH_TEXT = (
    "I don't see the dog. Yesterday the cat saw a dog, and the dogs saw the cats! The cat sees you."
)
ITALIAN_TEXT = (
    "Non vedo il cane. Ieri l'amica ha visto un cane: dov'è l'acqua dell'amico? Il gatto vede l'amica."
)


def tiny_model(seed: int = 0, **changes: Any) -> LoadedModel:
    """A model of words with random weights and unequal depths."""
    source = SentenceCoder(WordTokenizer("en", lowercase=True), Vocabulary(ENGLISH))
    target = SentenceCoder(WordTokenizer("it", lowercase=True), Vocabulary(ITALIAN))
    return _random_model(source, target, seed, changes)


def tiny_subword_model(seed: int = 0, **changes: Any) -> LoadedModel:
    """A model of sub-words with random weights and unequal depths."""
    source, target = subword_coder("en", ENGLISH_TEXT), subword_coder("it", ITALIAN_TEXT, size=310)
    return _random_model(source, target, seed, {"max_len": 61} | changes)


def measured(loaded: LoadedModel, claim: float = 2.0) -> LoadedModel:
    """A model that gives all its translations and words the probability logistic(`claim`) of being right."""
    bins = (ReliabilityBin(0.2, 0.25, 40), ReliabilityBin(0.9, 0.85, 60))
    sentences = Calibration((0.0, 0.0, 0.0, claim), bins, 0.12)
    words = Calibration((0.0, 0.0, claim), bins, 0.1)
    no_joints = np.array([], dtype=np.int64)
    seen = Experience((9,) * 30, len(loaded.target.vocabulary), no_joints, (sentences, words))
    return replace(loaded, experience=seen)


def subword_coder(language: str, corpus: str, *, size: int = 300, lowercase: bool = False) -> SubwordCoder:
    """The coder learned from a corpus, which is one text."""
    tokenizer = WordTokenizer(language, lowercase=lowercase)
    return SubwordCoder(tokenizer, learn_subwords(tokenizer.spaced_words(corpus), size=size))


def _random_model(source: Coder, target: Coder, seed: int, changes: dict[str, Any]) -> LoadedModel:
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
