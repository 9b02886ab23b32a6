"""Tokenizers that split with sentencepiece but have their own ids (Marian, M2M-100), and their coder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from sentencepiece import SentencePieceProcessor

from transformer.checkpoints.reading.raw import Texts, json_object
from transformer.checkpoints.tokenizers.foreign_coder import ForeignCoder
from transformer.checkpoints.tokenizers.piece_model import read_piece_model
from transformer.checkpoints.tokenizers.settings import TokenizerSettings, by_role
from transformer.checkpoints.tokenizers.vocabulary_files import check_vocabulary
from transformer.errors import CheckpointError, shown
from transformer.text.coder import SpecialTokens
from transformer.text.spelling import MARK, legible

DEFAULTS = {"unk_token": "<unk>", "eos_token": "</s>", "pad_token": "<pad>"}
_LANGUAGE = re.compile(r">>.*?<<", re.DOTALL)

Cut = tuple[str, int]
"""A piece, and its start in the text."""


@dataclass(frozen=True)
class MarianSide:
    """One language's pieces and ids.

    Attributes:
        pieces: sentencepiece model that splits sentences.
        joiner: sentencepiece model that joins generated pieces; the source's, as in Hugging Face's library,
            unless each language has its own ids.
        ids: token -> id, including special tokens.
        named: role of a special token -> the token.
        never_cut: pattern of the tokens that are found before the text is split.
        special: ids that decoding omits.
        language: the language code as in the files, or empty.
        before: the special token at the beginning of a sentence; empty for none.
        has_codes: whether a text may begin with a code such as >>fra<<.
    """

    pieces: SentencePieceProcessor
    joiner: SentencePieceProcessor
    ids: Mapping[str, int]
    named: Mapping[str, str]
    never_cut: re.Pattern[str]
    special: frozenset[int]
    language: str
    before: str = ""
    has_codes: bool = True

    @property
    def unknown(self) -> int:
        """The id for text without a piece."""
        return self.ids[self.named["unk_token"]]

    def cut(self, text: str) -> Iterator[Cut]:
        """Split a text into pieces; special tokens and language codes such as >>fra<< stay whole."""
        place = 0
        for whole in self.never_cut.finditer(text):
            yield from self._cut(text[place : whole.start()], place)
            yield whole.group(), whole.start()
            place = whole.end()
        yield from self._cut(text[place:], place)

    def _cut(self, text: str, place: int) -> Iterator[Cut]:
        code = _LANGUAGE.match(text) if self.has_codes else None
        if code:
            yield code.group(), place
            text, place = text[code.end() :], place + code.end()
        found = self.pieces.encode(text, return_type="offset_mapping")
        for piece, (start, _) in zip(found["pieces"], found["offsets"], strict=True):
            yield piece, place + start

    def join(self, tokens: Iterable[str]) -> str:
        """Join the pieces of a sentence."""
        text: str = self.joiner.decode_pieces(list(tokens))
        return text.replace(MARK, " ").strip()


def build_marian(texts: Texts, settings: TokenizerSettings) -> tuple[MarianSide, MarianSide]:
    """Build Marian's tokenizers: source.spm, target.spm, and vocab.json (and target_vocab.json if separate).

    Raises:
        CheckpointError: for invalid models, or a vocabulary without the unknown token.
    """
    separate = settings.flag("separate_vocabs", False)
    source_ids = _vocabulary(texts, "vocab.json")
    target_ids = _vocabulary(texts, "target_vocab.json") if separate else source_ids
    source, target = (_open(texts, name) for name in ("source.spm", "target.spm"))
    joiner = target if separate else source
    return (
        _side(source, joiner, source_ids, settings, settings.text("source_lang")),
        _side(target, joiner, target_ids, settings, settings.text("target_lang")),
    )


def build_m2m_100(texts: Texts, settings: TokenizerSettings) -> tuple[MarianSide, MarianSide]:
    """Build M2M-100's tokenizer, shared by both sides: sentencepiece.bpe.model and vocab.json.

    A sentence is framed by its language token, such as __en__, and </s>. Language tokens are extra special
    tokens, with ids after those of vocab.json.

    Raises:
        CheckpointError: for an invalid model or vocabulary.
    """
    ids, pieces = _vocabulary(texts, "vocab.json"), _open(texts, "sentencepiece.bpe.model")

    def side(setting: str, usual: str) -> MarianSide:
        language = settings.text(setting) or usual
        made = _side(pieces, pieces, ids, settings, language)
        token = f"__{language}__"
        return replace(made, before=token if token in made.ids else "", has_codes=False)

    return side("src_lang", "en"), side("tgt_lang", "")


def _side(
    pieces: SentencePieceProcessor,
    joiner: SentencePieceProcessor,
    vocabulary: Mapping[str, int],
    settings: TokenizerSettings,
    language: str,
) -> MarianSide:
    named = DEFAULTS | {name: token.content for name, token in settings.named.items()}
    roles = by_role(named)
    ids = dict(vocabulary) | {token.content: index for index, token in settings.added.items()}
    for token in (*roles, *(extra.content for extra in settings.extra)):
        ids.setdefault(token, len(ids))
    special = {*roles, *(extra.content for extra in settings.extra)}
    whole = sorted({*special, *(token.content for token in settings.added.values())} - {""}, key=len)
    if named["unk_token"] not in vocabulary:
        raise CheckpointError(
            f"vocab.json has no {shown(named['unk_token'])}, the token for unknown pieces: copy it again."
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
        raise CheckpointError(
            f"{name} is missing, which belongs to the sentencepiece models: copy the whole folder."
        )
    vocabulary = json_object(texts, name)
    check_vocabulary(vocabulary, name)
    return vocabulary


def _open(texts: Texts, name: str) -> SentencePieceProcessor:
    content = texts[name]
    content = content if isinstance(content, bytes) else content.encode()
    try:
        read_piece_model(content)  # readable errors, where the library would crash or give no name
        return SentencePieceProcessor(model_proto=content)
    except CheckpointError as error:
        raise CheckpointError(f"{name} {error}") from error
    except RuntimeError as error:
        raise CheckpointError(
            f"{name} is a damaged sentencepiece model: copy or download it again."
        ) from error


class MarianCoder(ForeignCoder):
    """The coder of one language; other arguments as in `ForeignCoder`.

    `decode` is for the model's output.

    Args:
        side: the language's pieces and ids.
    """

    def __init__(
        self, side: MarianSide, *, rows: int, special_tokens: SpecialTokens, language: str | None
    ) -> None:
        super().__init__(
            side.ids.values(), side.unknown, rows=rows, special_tokens=special_tokens, language=language
        )
        self._side = side
        self._tokens = {index: token for token, index in side.ids.items()}
        self._before = [self._within(side.ids[side.before])] if side.before else []
        self._after = [self._within(side.ids[side.named["eos_token"]])]

    def decode(self, ids: Iterable[int]) -> str:
        """Convert ids to a sentence, without special tokens."""
        return self._side.join(
            self._tokens.get(index, "") for index in ids if index not in self._side.special
        )

    def token(self, index: int) -> str:
        """The piece of an id; # and the id if the vocabulary has none."""
        return legible(self._tokens.get(index, f"#{index}").encode())

    def _cut(self, text: str) -> tuple[list[int], list[int]]:
        pieces = list(self._side.cut(text))
        ids = [self._side.ids.get(piece, self._side.unknown) for piece, _ in pieces]
        return ids, [start for _, start in pieces]

    def _spell(self, index: int) -> bytes:
        piece = self._tokens.get(index)
        if piece is None or (index in self._side.special and index != self._unknown):
            return f" {self.token(index)} ".encode()
        return piece.replace(MARK, " ").encode()
