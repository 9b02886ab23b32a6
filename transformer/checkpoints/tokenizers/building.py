"""Determines a folder's tokenizer from its files, and builds it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from transformer.checkpoints.reading.folder_files import BINARIES, TOKENIZER_TEXTS
from transformer.checkpoints.reading.raw import Texts, json_object
from transformer.checkpoints.tokenizers.fairseq_pieces import (
    build_camembert,
    build_mbart,
    build_xlm_roberta,
    frame_with_language,
)
from transformer.checkpoints.tokenizers.library import LibraryTokenizer
from transformer.checkpoints.tokenizers.marian import MarianSide, build_m2m_100, build_marian
from transformer.checkpoints.tokenizers.sentence_pieces import build_llama, build_pegasus, build_t5
from transformer.checkpoints.tokenizers.settings import TokenizerSettings, read_settings
from transformer.checkpoints.tokenizers.tokenizer_json import build_from_json
from transformer.checkpoints.tokenizers.vocabulary_files import (
    GPT2,
    QWEN2,
    ROBERTA,
    build_byte_level,
    build_word_piece,
)
from transformer.errors import CheckpointError, shown

TOKENIZER_FILES = (*TOKENIZER_TEXTS, *BINARIES, "config.json")  # the last identifies the model type
USUAL = {
    "albert": "AlbertTokenizer",
    "bart": "RobertaTokenizer",
    "bert": "BertTokenizer",
    "blenderbot": "BlenderbotTokenizer",
    "camembert": "CamembertTokenizer",
    "distilbert": "BertTokenizer",
    "electra": "BertTokenizer",
    "ernie": "BertTokenizer",
    "fsmt": "FSMTTokenizer",
    "gpt2": "GPT2Tokenizer",
    "llama": "LlamaTokenizer",
    "m2m_100": "M2M100Tokenizer",
    "marian": "MarianTokenizer",
    "mbart": "MBartTokenizer",
    "mistral": "LlamaTokenizer",
    "mt5": "T5Tokenizer",
    "pegasus": "PegasusTokenizer",
    "plbart": "PLBartTokenizer",
    "qwen2": "Qwen2Tokenizer",
    "qwen3": "Qwen2Tokenizer",
    "roberta": "RobertaTokenizer",
    "t5": "T5Tokenizer",
    "whisper": "WhisperTokenizer",
    "xlm-roberta": "XLMRobertaTokenizer",
}
"""Model type or family -> its usual tokenizer."""

ALIASES = {
    "BartTokenizer": "RobertaTokenizer",
    "DistilBertTokenizer": "BertTokenizer",
    "LEDTokenizer": "RobertaTokenizer",
    "LongformerTokenizer": "RobertaTokenizer",
    "MT5Tokenizer": "T5Tokenizer",
}
_OF_ANY_KIND = ("PreTrainedTokenizer", "PythonBackend", "TokenizersBackend")
_MBARTS = ("MBartTokenizer", "MBart50Tokenizer")


def _refuse_dictionary(texts: Texts, settings: TokenizerSettings) -> LibraryTokenizer:
    raise CheckpointError(
        "The model's tokenizer finds words by a dictionary that isn't among the files: remove vocab.txt from "
        "a copy of the folder and type token ids instead."
    )


_ANY_OTHER = "*"
_BUILDERS: dict[tuple[str, ...], dict[str, Callable[[Texts, TokenizerSettings], LibraryTokenizer]]] = {
    ("vocab.txt",): {"BertJapaneseTokenizer": _refuse_dictionary, _ANY_OTHER: build_word_piece},
    ("vocab.json", "merges.txt"): {
        "GPT2Tokenizer": partial(build_byte_level, kind=GPT2),
        "RobertaTokenizer": partial(build_byte_level, kind=ROBERTA),
        "Qwen2Tokenizer": partial(build_byte_level, kind=QWEN2),
        "": partial(build_byte_level, kind=GPT2),
    },
    ("spiece.model",): {"T5Tokenizer": build_t5, "PegasusTokenizer": build_pegasus, "": build_t5},
    ("sentencepiece.bpe.model",): {
        "MBartTokenizer": partial(build_mbart, fifty=False),
        "MBart50Tokenizer": partial(build_mbart, fifty=True),
        "XLMRobertaTokenizer": build_xlm_roberta,
        "CamembertTokenizer": build_camembert,
    },
    ("tokenizer.model",): {_ANY_OTHER: build_llama},
}
"""Files -> tokenizer class (empty if no file names it) -> function that builds it."""


def build(texts: Texts, family: str) -> LibraryTokenizer | tuple[MarianSide, MarianSide] | None:
    """Build a folder's tokenizer, or one per language; None without tokenizer files.

    Native libraries parse the files: call `probe.probe` first for untrusted ones.

    Args:
        texts: the folder's small files.
        family: the model's family; distinguishes tokenizers whose files have the same names.

    Raises:
        CheckpointError: for damaged or mismatched files, and for an unknown tokenizer.
    """
    settings = read_settings(texts)
    name = class_of(texts, settings, family)
    if {"source.spm", "target.spm"} <= texts.keys():
        return build_marian(texts, settings)
    if name == "M2M100Tokenizer" and {"sentencepiece.bpe.model", "vocab.json"} <= texts.keys():
        return build_m2m_100(texts, settings)
    if "tokenizer.json" in texts:
        return _framed(build_from_json(texts, settings), settings, name)
    present = [files for files in _BUILDERS if texts.keys() >= set(files)]
    for files in present:
        builder = _BUILDERS[files].get(name) or _BUILDERS[files].get(_ANY_OTHER)
        if builder is not None:
            return builder(texts, settings)
    if present:
        raise CheckpointError(_asking_for_json(name, " and ".join(present[0])))
    return None


def _framed(built: LibraryTokenizer, settings: TokenizerSettings, name: str) -> LibraryTokenizer:
    """Add the languages to a multilingual tokenizer.json, which has only one in its template."""
    if name in _MBARTS:
        return frame_with_language(built, settings, first="50" in name)
    if name == "NllbTokenizer":
        first = not settings.flag("legacy_behaviour", False)
        return frame_with_language(built, settings, first=first, usual="eng_Latn")
    return built


def class_of(texts: Texts, settings: TokenizerSettings, family: str) -> str:
    """The tokenizer's class name in Hugging Face's library, without "Fast"; empty if unknown.

    Taken from tokenizer_config.json, then from config.json's tokenizer class, then from its model type.

    Args:
        texts: the folder's small files.
        settings: the tokenizer settings in those files.
        family: the model's family, used if the files say none of that.

    Raises:
        CheckpointError: for a config.json that is not a JSON object.
    """
    config = json_object(texts, "config.json")
    for told in (settings.values.get("tokenizer_class"), config.get("tokenizer_class")):
        name = told.removesuffix("Fast") if isinstance(told, str) else ""
        if name and name not in _OF_ANY_KIND:
            return ALIASES.get(name, name)
    return USUAL.get(str(config.get("model_type"))) or USUAL.get(family, "")


def _asking_for_json(name: str, files: str) -> str:
    told = f"is {shown(name)}, which" if name else "isn't named by any file, so it"
    return (
        f"The model's tokenizer {told} can't be built of {files} alone: put its tokenizer.json into the "
        "folder (AutoTokenizer.from_pretrained(folder).save_pretrained(folder) of transformers writes it), "
        f"or remove {files} from a copy of the folder and type token ids instead."
    )
