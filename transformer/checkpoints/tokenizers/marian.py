"""Marian's tokenizer: a sentencepiece model for each language, and ids of its own for their pieces."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sentencepiece import SentencePieceProcessor

from transformer.checkpoints.tokenizers.piece_model import read_piece_model
from transformer.checkpoints.tokenizers.settings import NAMED, Texts, TokenizerSettings, json_object
from transformer.checkpoints.tokenizers.vocabulary_files import check_vocabulary
from transformer.errors import CheckpointError
from transformer.text.spelling import MARK

DEFAULTS = {"unk_token": "<unk>", "eos_token": "</s>", "pad_token": "<pad>"}
_LANGUAGE = re.compile(r">>.*?<<", re.DOTALL)

Cut = tuple[str, int]
"""A piece, and where it begins in the text."""


@dataclass(frozen=True)
class MarianSide:
    """One language's pieces and ids.

    Attributes:
        pieces: cuts its sentences.
        joiner: puts what the model writes together; the source's, as Hugging Face's library does it, unless
            the two languages have ids of their own.
        ids: by token, special ones included.
        named: role of a special token -> the token.
        never_cut: tokens that are found in text before it is cut.
        special: ids that no decoded sentence shows.
        language: its code as the files have it; empty where they don't.
    """

    pieces: SentencePieceProcessor
    joiner: SentencePieceProcessor
    ids: Mapping[str, int]
    named: Mapping[str, str]
    never_cut: re.Pattern[str]
    special: frozenset[int]
    language: str

    def cut(self, text: str) -> Iterator[Cut]:
        """Cut a text into pieces, special tokens and language codes such as >>fra<< whole."""
        place = 0
        for whole in self.never_cut.finditer(text):
            yield from self._cut(text[place : whole.start()], place)
            yield whole.group(), whole.start()
            place = whole.end()
        yield from self._cut(text[place:], place)

    def _cut(self, text: str, place: int) -> Iterator[Cut]:
        code = _LANGUAGE.match(text)
        if code:
            yield code.group(), place
            text, place = text[code.end() :], place + code.end()
        found = self.pieces.encode(text, return_type="offset_mapping")
        for piece, (start, _) in zip(found["pieces"], found["offsets"], strict=True):
            yield piece, place + start

    def join(self, tokens: Iterable[str]) -> str:
        """Put the pieces of a sentence together."""
        text: str = self.joiner.decode_pieces(list(tokens))
        return text.replace(MARK, " ").strip()


def build_marian(texts: Texts, settings: TokenizerSettings) -> tuple[MarianSide, MarianSide]:
    """Build the tokenizers of source.spm, target.spm and vocab.json (target_vocab.json for ids of its own).

    Raises:
        CheckpointError: for files that are no models, or a vocabulary without the unknown token.
    """
    separate = settings.flag("separate_vocabs", False)
    source_ids = _vocabulary(texts, "vocab.json")
    target_ids = _vocabulary(texts, "target_vocab.json") if separate else source_ids
    source, target = (_open(texts, name) for name in ("source.spm", "target.spm"))
    sides = (
        (source, source_ids, settings.text("source_lang")),
        (target, target_ids, settings.text("target_lang")),
    )
    first, second = (
        _side(pieces, target if separate else source, ids, settings, language)
        for pieces, ids, language in sides
    )
    return first, second


def _side(
    pieces: SentencePieceProcessor,
    joiner: SentencePieceProcessor,
    vocabulary: Mapping[str, int],
    settings: TokenizerSettings,
    language: str,
) -> MarianSide:
    named = DEFAULTS | {name: token.content for name, token in settings.named.items()}
    roles = [named[name] for name in NAMED if name in named]
    roles += [token for name, token in named.items() if name not in NAMED]
    ids = dict(vocabulary) | {token.content: index for index, token in settings.added.items()}
    for token in (*roles, *(extra.content for extra in settings.extra)):
        ids.setdefault(token, len(ids))
    special = {*roles, *(extra.content for extra in settings.extra)}
    whole = sorted({*special, *(token.content for token in settings.added.values())} - {""}, key=len)
    if named["unk_token"] not in vocabulary:
        raise CheckpointError(
            f"vocab.json has no {named['unk_token']!r:.80}, the token for unknown pieces: copy it again."
        )
    return MarianSide(
        pieces=pieces,
        joiner=joiner,
        ids=ids,
        named=named,
        never_cut=re.compile("|".join(map(re.escape, reversed(whole)))),
        special=frozenset(ids[token] for token in special),
        language=language,
    )


def _vocabulary(texts: Texts, name: str) -> dict[str, int]:
    if name not in texts:
        raise CheckpointError(f"There is no {name} beside the sentencepiece models: copy the whole folder.")
    vocabulary = json_object(texts, name)
    check_vocabulary(vocabulary, name)
    return vocabulary


def _open(texts: Texts, name: str) -> SentencePieceProcessor:
    content = texts[name]
    content = content if isinstance(content, bytes) else content.encode()
    try:
        read_piece_model(content)  # says in words what the library would not survive, or not name
        return SentencePieceProcessor(model_proto=content)
    except CheckpointError as error:
        raise CheckpointError(f"{name} {error}") from error
    except RuntimeError as error:
        raise CheckpointError(
            f"{name} is a damaged sentencepiece model: copy or download it again."
        ) from error
