"""Which tokenizer a folder has, from the files that lie in it."""

from __future__ import annotations

from transformer.foreign_text.built import Built
from transformer.foreign_text.marian import MarianSide, build_marian
from transformer.foreign_text.sentence_pieces import build_llama, build_mbart, build_t5
from transformer.foreign_text.settings import Texts, read_settings
from transformer.foreign_text.tokenizer_json import build_from_json
from transformer.foreign_text.vocabulary_files import build_byte_level, build_word_piece

TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "target_vocab.json",
    "merges.txt",
    "source.spm",
    "target.spm",
    "spiece.model",
    "sentencepiece.bpe.model",
    "tokenizer.model",
)
_LIKE_ROBERTA = ("roberta", "bart")


def build(texts: Texts, family: str) -> Built | tuple[MarianSide, MarianSide] | None:
    """Build the tokenizer of a folder: one, or one a language; None where there are no files of one.

    Native libraries read the files: for files of others call `probe.probe` first.

    Args:
        texts: the folder's small files.
        family: of the model; tells apart tokenizers that have files of the same names.

    Raises:
        CheckpointError: for files that are damaged or don't belong together.
    """
    settings = read_settings(texts)
    if {"source.spm", "target.spm"} <= texts.keys():
        return build_marian(texts, settings)
    if "tokenizer.json" in texts:
        return build_from_json(texts, settings, like_mbart=family == "mbart")
    if "vocab.txt" in texts:
        return build_word_piece(texts, settings)
    if {"vocab.json", "merges.txt"} <= texts.keys():
        return build_byte_level(texts, settings, like_roberta=family in _LIKE_ROBERTA)
    if "spiece.model" in texts:
        return build_t5(texts, settings)
    if "sentencepiece.bpe.model" in texts:
        return build_mbart(texts, settings)
    if "tokenizer.model" in texts:
        return build_llama(texts, settings)
    return None
