"""Tokenizers with sentencepiece models (T5, Pegasus, Llama), as in version 5 of Hugging Face's library."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from transformer.checkpoints.reading.raw import Texts
from transformer.checkpoints.tokenizers.library import LibraryTokenizer
from transformer.checkpoints.tokenizers.piece_model import (
    BPE,
    CONTROL,
    UNIGRAM,
    USER_DEFINED,
    PieceModel,
    read_piece_model,
)
from transformer.checkpoints.tokenizers.settings import (
    TokenizerSettings,
    add_special_tokens,
    frame_by_settings,
    frame_with,
)
from transformer.errors import CheckpointError, shown
from transformer.text.spelling import MARK

T5_TOKENS = {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
PEGASUS_TOKENS = {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>", "mask_token": "<mask_2>"}
LLAMA_TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
_N_EXTRA = 100
_PEGASUS_OFFSET = 103
_NEVER_CHOSEN = -100.0
_FEWEST_PIECES = 4


def build_t5(texts: Texts, settings: TokenizerSettings) -> LibraryTokenizer:
    """Build T5's tokenizer from spiece.model: the pieces, then <extra_id_99> to <extra_id_0>.

    Raises:
        CheckpointError: when the file is not such a model.
    """
    model = open_pieces(texts, "spiece.model", UNIGRAM)
    n_extra = settings.values.get("extra_ids", _N_EXTRA)
    if type(n_extra) is not int or not 0 <= n_extra <= 10_000:
        raise CheckpointError(f"tokenizer_config.json says extra_ids {shown(n_extra)}: it must be a number.")
    sentinels = [f"<extra_id_{number}>" for number in reversed(range(n_extra))]
    scores = [(piece.text, piece.score) for piece in model.pieces] + [(name, 0.0) for name in sentinels]
    tokenizer = Tokenizer(models.Unigram(scores, unk_id=2, byte_fallback=False))
    if model.charsmap:
        tokenizer.normalizer = normalizers.Precompiled(model.charsmap)
    cut_at_spaces(tokenizer)
    extra = [*control_pieces(model), *(AddedToken(name, special=True) for name in sentinels)]
    named = add_special_tokens(tokenizer, settings, T5_TOKENS, extra)
    frame_with(tokenizer, [], ["</s>"])
    return LibraryTokenizer(tokenizer, "marks", named, settings.flag("clean_up_tokenization_spaces", False))


def build_pegasus(texts: Texts, settings: TokenizerSettings) -> LibraryTokenizer:
    """Build Pegasus' tokenizer from spiece.model.

    Ids: <pad>, </s>, <mask_1> for a sentence, <mask_2> for a word, <unk_2> to <unk_102>, and the pieces from
    the third on.

    Raises:
        CheckpointError: when the file is not such a model, or the number of special tokens is not the
            published one.
    """
    model = open_pieces(texts, "spiece.model", UNIGRAM)
    if settings.values.get("offset", _PEGASUS_OFFSET) != _PEGASUS_OFFSET:
        raise CheckpointError(
            f"tokenizer_config.json says offset {shown(settings.values['offset'])}: only the published "
            f"{_PEGASUS_OFFSET} is opened."
        )
    reserved = [f"<unk_{number}>" for number in range(2, _PEGASUS_OFFSET)]
    scores = [(name, 0.0) for name in ("<pad>", "</s>", "<mask_1>", "<mask_2>")]
    scores += [(name, _NEVER_CHOSEN) for name in reserved]
    unknown = len(scores)
    scores += [(piece.text, piece.score) for piece in model.pieces[2:]]
    tokenizer = Tokenizer(models.Unigram(scores, unk_id=unknown, byte_fallback=False))
    cut_at_spaces(tokenizer)
    normalize_spaces(tokenizer, model)
    extra = [AddedToken(name, special=True) for name in ("<mask_1>", *reserved)]
    named = add_special_tokens(tokenizer, settings, PEGASUS_TOKENS, extra)
    frame_with(tokenizer, [], ["</s>"])
    return LibraryTokenizer(tokenizer, "marks", named, settings.flag("clean_up_tokenization_spaces", False))


def build_llama(texts: Texts, settings: TokenizerSettings) -> LibraryTokenizer:
    """Build Llama's tokenizer from tokenizer.model: byte-pair encoding, with bytes for unknown characters.

    With `legacy` in the settings, a space is added before each part of a text between special tokens,
    otherwise only before the first.

    Raises:
        CheckpointError: when the file is not such a model.
    """
    model = open_pieces(texts, "tokenizer.model", BPE)
    ids = {piece.text: index for index, piece in enumerate(model.pieces)}
    tokenizer = Tokenizer(models.BPE(ids, list(_merges(ids)), fuse_unk=True, byte_fallback=True))
    space = settings.flag("add_prefix_space", True)
    scheme = "always" if settings.flag("legacy", False) else "first"
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(
        replacement=MARK, prepend_scheme=scheme if space else "never", split=False
    )
    steps = [decoders.Replace(MARK, " "), decoders.ByteFallback(), decoders.Fuse()]
    tokenizer.decoder = decoders.Sequence([*steps, *([decoders.Strip(content=" ", left=1)] if space else [])])
    named = add_special_tokens(tokenizer, settings, LLAMA_TOKENS, control_pieces(model))
    frame_by_settings(tokenizer, settings, named)
    return LibraryTokenizer(tokenizer, "marks", named, clean_up=False)


def open_pieces(texts: Texts, name: str, algorithm: int) -> PieceModel:
    """Read a sentencepiece model.

    Raises:
        CheckpointError: when it is not one, or its algorithm is another.
    """
    content = texts[name]
    try:
        model = read_piece_model(content if isinstance(content, bytes) else content.encode())
    except CheckpointError as error:
        raise CheckpointError(f"{name} {error}") from error
    if model.algorithm != algorithm or len(model.pieces) < _FEWEST_PIECES:
        raise CheckpointError(f"{name} is a model of another kind than this file's name promises.")
    return model


def cut_at_spaces(tokenizer: Tokenizer, *, mark_words: bool = True) -> None:
    """Split at spaces, with or without a mark before each word, and join words when decoding."""
    scheme: Literal["always", "never"] = "always" if mark_words else "never"
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.WhitespaceSplit(),
            pre_tokenizers.Metaspace(replacement=MARK, prepend_scheme=scheme, split=True),
        ]
    )
    tokenizer.decoder = decoders.Metaspace(replacement=MARK, prepend_scheme=scheme, split=True)


def normalize_spaces(tokenizer: Tokenizer, model: PieceModel) -> None:
    """Normalize characters and merge repeated spaces, then split at spaces."""
    cut_at_spaces(tokenizer)
    steps = [normalizers.Precompiled(model.charsmap)] if model.charsmap else []
    tokenizer.normalizer = normalizers.Sequence([*steps, normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement=MARK, prepend_scheme="always", split=True)


def control_pieces(model: PieceModel) -> list[AddedToken]:
    """The pieces that are never split; control pieces are special tokens."""
    return [
        AddedToken(piece.text, normalized=False, special=piece.kind == CONTROL)
        for piece in model.pieces
        if piece.kind in (CONTROL, USER_DEFINED)
    ]


def _merges(ids: dict[str, int]) -> Iterator[tuple[str, str]]:
    """The pairs of pieces that form another piece, in the order of those pieces."""
    for text in ids:
        pairs = ((text[:cut], text[cut:]) for cut in range(1, len(text)))
        yield from ((left, right) for left, right in pairs if left in ids and right in ids)
