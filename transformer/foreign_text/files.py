"""Which tokenizer a folder has, from the files that lie in it."""

from __future__ import annotations

from transformer.checkpoints._files import CheckpointError
from transformer.foreign_text.built import Built
from transformer.foreign_text.classes import class_of
from transformer.foreign_text.fairseq_pieces import (
    build_camembert,
    build_mbart,
    build_xlm_roberta,
    frame_with_language,
)
from transformer.foreign_text.marian import MarianSide, build_marian
from transformer.foreign_text.sentence_pieces import build_llama, build_t5
from transformer.foreign_text.settings import Texts, TokenizerSettings, read_settings
from transformer.foreign_text.tokenizer_json import build_from_json
from transformer.foreign_text.vocabulary_files import (
    GPT2,
    QWEN2,
    ROBERTA,
    build_byte_level,
    build_word_piece,
)

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
    "config.json",  # says whose the others are
)
_BYTE_LEVEL = {
    "": GPT2,
    "GPT2Tokenizer": GPT2,
    "RobertaTokenizer": ROBERTA,
    "Qwen2Tokenizer": QWEN2,
}
_MBARTS = ("MBartTokenizer", "MBart50Tokenizer")


def build(texts: Texts, family: str) -> Built | tuple[MarianSide, MarianSide] | None:
    """Build the tokenizer of a folder: one, or one a language; None where there are no files of one.

    Native libraries read the files: for files of others call `probe.probe` first.

    Args:
        texts: the folder's small files.
        family: of the model; tells apart tokenizers that have files of the same names.

    Raises:
        CheckpointError: for files that are damaged or don't belong together, and for those of a tokenizer
            that is not known.
    """
    settings = read_settings(texts)
    name = class_of(texts, settings, family)
    if {"source.spm", "target.spm"} <= texts.keys():
        return build_marian(texts, settings)
    if "tokenizer.json" in texts:
        built = build_from_json(texts, settings)
        return frame_with_language(built, settings, fifty="50" in name) if name in _MBARTS else built
    if "vocab.txt" in texts:
        return build_word_piece(texts, settings)
    if {"vocab.json", "merges.txt"} <= texts.keys():
        if name not in _BYTE_LEVEL:
            raise CheckpointError(_asking_for_json(name, "vocab.json and merges.txt"))
        return build_byte_level(texts, settings, _BYTE_LEVEL[name])
    if "spiece.model" in texts:
        return build_t5(texts, settings)
    if "sentencepiece.bpe.model" in texts:
        return _build_fairseq(texts, settings, name)
    if "tokenizer.model" in texts:
        return build_llama(texts, settings)
    return None


def _build_fairseq(texts: Texts, settings: TokenizerSettings, name: str) -> Built:
    if name in _MBARTS:
        return build_mbart(texts, settings, fifty="50" in name)
    if name == "XLMRobertaTokenizer":
        return build_xlm_roberta(texts, settings)
    if name == "CamembertTokenizer":
        return build_camembert(texts, settings)
    raise CheckpointError(_asking_for_json(name, "sentencepiece.bpe.model"))


def _asking_for_json(name: str, files: str) -> str:
    told = f"is {name!r:.80}, which" if name else "isn't named by any file, so it"
    return (
        f"The model's tokenizer {told} can't be built of {files} alone: put its tokenizer.json into the "
        "folder (AutoTokenizer.from_pretrained(folder).save_pretrained(folder) of transformers writes it), "
        f"or remove {files} from a copy of the folder and type token numbers instead."
    )
