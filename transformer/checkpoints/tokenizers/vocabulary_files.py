"""Tokenizers from plain files: vocab.txt (WordPiece), and vocab.json with merges.txt (byte-level BPE)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from transformer.checkpoints.reading.raw import Texts, json_object
from transformer.checkpoints.tokenizers.library import LibraryTokenizer
from transformer.checkpoints.tokenizers.settings import (
    FAIRSEQ_TOKENS,
    MAX_TOKENS,
    TokenizerSettings,
    add_special_tokens,
    frame_by_settings,
    frame_with,
)
from transformer.errors import CheckpointError, shown

WORD_PIECE_TOKENS = {
    "unk_token": "[UNK]",
    "sep_token": "[SEP]",
    "pad_token": "[PAD]",
    "cls_token": "[CLS]",
    "mask_token": "[MASK]",
}


@dataclass(frozen=True)
class ByteLevel:
    """The differences between tokenizers with vocab.json and merges.txt.

    Attributes:
        tokens: role -> special token, unless the files give one.
        framed: whether cls_token and sep_token are added around every sentence.
        pattern: splits text into chunks that merges can't cross; empty for GPT-2's pattern.
        composed: whether text is first normalized to composed characters (NFC).
    """

    tokens: Mapping[str, str]
    framed: bool = False
    pattern: str = ""
    composed: bool = False


ROBERTA = ByteLevel(FAIRSEQ_TOKENS, framed=True)
GPT2 = ByteLevel(dict.fromkeys(("unk_token", "bos_token", "eos_token"), "<|endoftext|>"))
QWEN2 = ByteLevel(
    dict.fromkeys(("unk_token", "eos_token", "pad_token"), "<|endoftext|>"),
    pattern=r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
    r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    composed=True,
)


def build_word_piece(texts: Texts, settings: TokenizerSettings) -> LibraryTokenizer:
    """Build BERT's tokenizer from vocab.txt: one token per line, in the order of their ids.

    Raises:
        CheckpointError: when the file is not a vocabulary.
    """
    lines = file_text(texts, "vocab.txt").removesuffix("\n").split("\n")
    vocabulary = {line.rstrip(): index for index, line in enumerate(lines)}
    _check_size(len(lines), "vocab.txt")
    unknown = settings.named["unk_token"].content if "unk_token" in settings.named else "[UNK]"
    if unknown not in vocabulary:
        raise CheckpointError(
            f"vocab.txt has no {shown(unknown)}, the token for unknown words: copy the whole file again."
        )
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token=unknown))
    tokenizer.normalizer = normalizers.BertNormalizer(
        clean_text=True,
        handle_chinese_chars=settings.flag("tokenize_chinese_chars", True),
        strip_accents=_optional_flag(settings, "strip_accents"),
        lowercase=settings.flag("do_lower_case", True),
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix="##")
    named = add_special_tokens(tokenizer, settings, WORD_PIECE_TOKENS)
    frame_with(tokenizer, [named["cls_token"]], [named["sep_token"]])
    return LibraryTokenizer(
        tokenizer, "continuations", named, settings.flag("clean_up_tokenization_spaces", False)
    )


def build_byte_level(texts: Texts, settings: TokenizerSettings, kind: ByteLevel) -> LibraryTokenizer:
    """Build a tokenizer of this kind from vocab.json and merges.txt.

    Raises:
        CheckpointError: for invalid files, or files that don't match.
    """
    vocabulary = json_object(texts, "vocab.json")
    check_vocabulary(vocabulary, "vocab.json")
    lines = file_text(texts, "merges.txt").split("\n")
    pairs = [
        line.rstrip("\r").split(" ") for line in lines if line.strip() and not line.startswith("#version")
    ]
    merges = [(pair[0], pair[1]) for pair in pairs if len(pair) == 2]
    if len(merges) != len(pairs):
        raise CheckpointError("merges.txt has lines that are no two pieces: copy it again.")
    for left, right in merges:
        if not {left, right, left + right} <= vocabulary.keys():
            raise CheckpointError(
                f"merges.txt makes {shown(left + right)}, but vocab.json lacks that or its parts: copy both "
                "files again."
            )
    model = models.BPE(vocabulary, merges, continuing_subword_prefix="", end_of_word_suffix="")
    tokenizer = Tokenizer(model)
    prefix_space = settings.flag("add_prefix_space", False)
    if kind.composed:
        tokenizer.normalizer = normalizers.NFC()
    in_bytes = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space, use_regex=not kind.pattern)
    steps = [pre_tokenizers.Split(Regex(kind.pattern), behavior="isolated")] if kind.pattern else []
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*steps, in_bytes])
    tokenizer.decoder = decoders.ByteLevel()
    named = add_special_tokens(tokenizer, settings, kind.tokens)
    if kind.framed:
        frame_with(tokenizer, [named["cls_token"]], [named["sep_token"]])
    else:
        frame_by_settings(tokenizer, settings, named)
    return LibraryTokenizer(tokenizer, "bytes", named, clean_up=False)


def check_vocabulary(vocabulary: Mapping[str, object], name: str) -> None:
    """Refuse anything but a mapping of tokens to ids.

    Raises:
        CheckpointError: names the file.
    """
    _check_size(len(vocabulary), name)
    if not all(type(index) is int and 0 <= index < MAX_TOKENS for index in vocabulary.values()):
        raise CheckpointError(f"{name} does not give every token a whole number: copy it again.")


def file_text(texts: Texts, name: str) -> str:
    """The text of a file.

    Raises:
        CheckpointError: when it is not UTF-8.
    """
    content = texts[name]
    try:
        return content if isinstance(content, str) else content.decode()
    except UnicodeDecodeError as error:
        raise CheckpointError(f"{name} is no text in UTF-8: copy it again.") from error


def _optional_flag(settings: TokenizerSettings, name: str) -> bool | None:
    return settings.flag(name, False) if settings.values.get(name) is not None else None


def _check_size(n_tokens: int, name: str) -> None:
    if n_tokens > MAX_TOKENS:
        raise CheckpointError(f"{name} has more than {MAX_TOKENS:,} tokens: it is no vocabulary.")
