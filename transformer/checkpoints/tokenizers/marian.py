"""Marian's tokenizer and its coder: a sentencepiece model for each language, and ids of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sentencepiece import SentencePieceProcessor

from transformer.checkpoints.reading.raw import Texts, json_object
from transformer.checkpoints.tokenizers.piece_model import read_piece_model
from transformer.checkpoints.tokenizers.settings import NAMED, TokenizerSettings
from transformer.checkpoints.tokenizers.vocabulary_files import check_vocabulary
from transformer.checkpoints.tokenizers.words import words_of_pieces, words_of_text
from transformer.errors import CheckpointError
from transformer.text.coder import EncodedSentence, Specials, Unit
from transformer.text.ids import TokenIds
from transformer.text.spelling import MARK, SURROGATES, legible

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


class MarianCoder:
    """Sentences to ids and ids to sentences of one of Marian's languages.

    The special tokens are special as typed text too, as in Hugging Face's library. `decode` reads what the
    model writes.

    Args:
        side: the language's pieces and ids.
        rows: of the model's embedding. Ids that it has no row for become the unknown token's.
        specials: of the tokenizer and the model's configuration, each below `rows`.
        language: the code, if it is known.
    """

    unit: Unit = "sub-word"

    def __init__(self, side: MarianSide, *, rows: int, specials: Specials, language: str | None) -> None:
        self.specials = specials
        self.language = language
        self.vocabulary = TokenIds(side.ids.values())
        self._side = side
        self._rows = rows
        self._tokens = {index: token for token, index in side.ids.items()}
        self._unknown = side.ids[side.named["unk_token"]]
        self._end = [self._within(side.ids[side.named["eos_token"]])]

    def encode(self, sentence: str) -> EncodedSentence:
        """Encode typed text, without </s>. Never raises."""
        text = SURROGATES.sub("\N{REPLACEMENT CHARACTER}", sentence)
        cut = list(self._side.cut(text))
        words, word_of = words_of_text(text, [start for _, start in cut])
        own = [self._side.ids.get(piece, self._unknown) for piece, _ in cut]
        ids = list(map(self._within, own))
        return EncodedSentence(
            tokens=list(map(self.token, ids)),
            ids=ids,
            unknown=[index == self._unknown or index >= self._rows for index in own],
            words=words,
            word_of=word_of,
        )

    def of_ids(self, ids: Sequence[int]) -> EncodedSentence:
        """Describe the sentence of given ids, token by token; special ones too are kept as they are."""
        words, word_of = words_of_pieces(map(self._spell, ids))
        return EncodedSentence(
            tokens=list(map(self.token, ids)),
            ids=list(ids),
            unknown=[index == self._unknown for index in ids],
            words=words,
            word_of=word_of,
        )

    def decode(self, ids: Iterable[int]) -> str:
        """Make the sentence of ids: the special ones are left out."""
        return self._side.join(
            self._tokens.get(index, "") for index in ids if index not in self._side.special
        )

    def token(self, index: int) -> str:
        """Name the piece of an id; # and the id where the vocabulary has none."""
        return legible(self._tokens.get(index, f"#{index}").encode())

    def frame(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Put </s> behind the ids of a source."""
        return (*ids, *self._end)

    def frame_tokens(self, tokens: Sequence[str]) -> tuple[str, ...]:
        """Put </s> behind the tokens of a source."""
        return (*tokens, *map(self.token, self._end))

    def _within(self, index: int) -> int:
        unknown = self._unknown if self._unknown < self._rows else 0
        return index if index < self._rows else unknown

    def _spell(self, index: int) -> bytes:
        piece = self._tokens.get(index)
        if piece is None or (index in self._side.special and index != self._unknown):
            return f" {self.token(index)} ".encode()
        return piece.replace(MARK, " ").encode()
