"""A checkpoint's coders, and the ids that begin and end its sentences, from its small files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from transformer.checkpoints.generation import generation_values
from transformer.checkpoints.reading.raw import RawCheckpoint, Texts
from transformer.checkpoints.tokenizers.building import build
from transformer.checkpoints.tokenizers.library import LibraryCoder, LibraryTokenizer
from transformer.checkpoints.tokenizers.marian import MarianCoder, MarianSide
from transformer.checkpoints.tokenizers.probe import probe
from transformer.errors import CheckpointError, TextError
from transformer.model.config import TransformerConfig
from transformer.text.coder import Coder, SpecialTokens
from transformer.text.ids import IdCoder
from transformer.text.plain_values import from_plain
from transformer.text.vocabulary import BOS_ID, EOS_ID

Coders = tuple[Coder, Coder, tuple[int, ...], tuple[int, ...]]
"""Source and target coder, the ids that a target begins with, and the ids that end it."""

OWN_VOCABULARY = "vocabulary.json"

_START, _FORCED = "decoder_start_token_id", "forced_decoder_ids"
STARTS = {"bart": 2, "blenderbot": 1, "fsmt": 2, "m2m_100": 2, "pegasus": 0, "t5": 0}
"""Family -> its decoder's start id if no file gives it: </s> in BART, padding in T5.

Marian starts with the last id of the vocabulary and mBART with a language code, so neither has a fixed id.
"""


def coders_of(raw: RawCheckpoint, config: TransformerConfig, family: str) -> Coders:
    """Open a model's coders.

    The tokenizer's files are first tried in a separate process (`probe`). Without such files, the user types
    ids (`IdCoder`). A tokenizer and a model of different sizes are no error here: the coders' `vocabulary`
    has as many rows as the tokenizer needs.

    Args:
        raw: the checkpoint.
        config: configuration of the imported model.
        family: the importer's name for its layout.

    Returns:
        The source and target coder (the same for a model with one stack), the ids that a target begins with,
        and the ids that end it, the usual one first.

    Raises:
        CheckpointError: for damaged or mismatched tokenizer files.
    """
    if OWN_VOCABULARY in raw.texts:
        return (*_own_coders(raw), (BOS_ID,), (EOS_ID,))
    rows = config.src_vocab_size or config.tgt_vocab_size
    target_rows = config.tgt_vocab_size or config.src_vocab_size
    generation = read_generation(raw.texts, target_rows, family)
    probe(raw.texts, family)
    built = build(raw.texts, family)
    if built is None:
        return _id_coders(config, generation, rows, target_rows)
    sides: list[tuple[LibraryTokenizer | MarianSide, str]]
    if isinstance(built, LibraryTokenizer):
        sides = [(built, language) for language in built.languages]
    else:
        sides = [(side, side.language) for side in built]
    source = _coder(*sides[0], generation, rows)
    target = _coder(*sides[1], generation, target_rows)
    if not config.n_encoder_layers:
        source = target
    elif not config.n_decoder_layers:
        target = source
    ends = generation.ends or tuple(index for index in (target.special_tokens.eos,) if index is not None)
    start = generation.start or _likely_start(target.special_tokens)
    return source, target, (*start, *_language_after(start, sides, source, target_rows)), ends


def _language_after(
    start: tuple[int, ...],
    sides: Sequence[tuple[LibraryTokenizer | MarianSide, str]],
    source: Coder,
    rows: int,
) -> tuple[int, ...]:
    """The target language's id, which follows the start id that all targets share.

    This applies to models whose sentences begin with their language (mBART-50, M2M-100, NLLB).
    """
    (_, read), (tokenizer, written) = sides
    ids = tokenizer.ids
    if isinstance(tokenizer, MarianSide):
        language = ids.get(tokenizer.before)
    else:
        language = ids.get(written) if source.frame(())[:1] == (ids.get(read),) else None
    return (language,) if language is not None and language < rows and len(start) == 1 else ()


def _own_coders(raw: RawCheckpoint) -> tuple[Coder, Coder]:
    sides = raw.json(OWN_VOCABULARY)
    try:
        return from_plain(sides.get("source")), from_plain(sides.get("target"))
    except TextError as error:
        raise CheckpointError(f"{OWN_VOCABULARY} is not valid ({error}): save the model again.") from error


def _coder(
    tokenizer: LibraryTokenizer | MarianSide, language: str, generation: GenerationIds, rows: int
) -> Coder:
    special_tokens = _specials(tokenizer.named, tokenizer.ids, generation, rows)
    if isinstance(tokenizer, LibraryTokenizer):
        return LibraryCoder(tokenizer, rows=rows, special_tokens=special_tokens, language=_code(language))
    return MarianCoder(tokenizer, rows=rows, special_tokens=special_tokens, language=_code(language))


def _id_coders(config: TransformerConfig, generation: GenerationIds, rows: int, target_rows: int) -> Coders:
    """Without start or end ids in the files, Headlight's own are used, if the vocabulary is large enough."""
    start = generation.start or (min(BOS_ID, target_rows - 1),)
    ends = generation.ends or ((EOS_ID,) if target_rows > EOS_ID else ())
    eos = next(iter(ends), None)
    pad = None if config.pad_id < 0 else config.pad_id
    special_tokens = SpecialTokens(pad=pad, bos=start[0], eos=eos, unk=None, suppressed=generation.suppressed)
    source, target = (IdCoder(rows=size, special_tokens=special_tokens) for size in (rows, target_rows))
    return source, target, start, ends


def _specials(
    named: Mapping[str, str], ids: Mapping[str, int], generation: GenerationIds, rows: int
) -> SpecialTokens:
    def of(role: str) -> int | None:
        index = ids.get(named.get(role, ""))
        return index if index is not None and index < rows else None

    pad, bos, eos, unk = (of(f"{role}_token") for role in ("pad", "bos", "eos", "unk"))
    return SpecialTokens(
        pad=generation.pad if generation.pad is not None else pad,
        bos=generation.bos if generation.bos is not None else bos,
        eos=generation.ends[0] if generation.ends else eos,
        unk=None if unk in (bos, eos) else unk,  # GPT-2's unk is its end token; it has no unknown text
        mask=of("mask_token"),
        suppressed=generation.suppressed,
    )


def _likely_start(special_tokens: SpecialTokens) -> tuple[int, ...]:
    """The start id if no file gives one: bos, or padding as in Marian and T5."""
    return tuple(index for index in (special_tokens.bos, special_tokens.pad) if index is not None)[:1]


def _code(language: str) -> str | None:
    """The language code: en for en_XX; None for anything other than 2 or 3 lower-case letters."""
    code = language.partition("_")[0]
    return code if code.isascii() and code.isalpha() and code.islower() and 2 <= len(code) <= 3 else None


@dataclass(frozen=True)
class GenerationIds:
    """A model's special ids, without those outside its vocabulary.

    Attributes:
        start: ids that the decoder begins with, if there is a source.
        ends: ids that end a sentence.
        pad, bos: ids in the model's configuration, if given.
        suppressed: ids that must not be generated.
    """

    start: tuple[int, ...]
    ends: tuple[int, ...]
    pad: int | None
    bos: int | None
    suppressed: tuple[int, ...]


def read_generation(texts: Texts, rows: int, family: str) -> GenerationIds:
    """Read the ids; generation_config.json overrides config.json.

    Args:
        texts: the folder's small files.
        rows: number of rows of the model's embedding.
        family: the model's family.

    Raises:
        CheckpointError: for a file that is not a JSON object.
    """
    usual = {_START: STARTS[family]} if family in STARTS else {}
    values = usual | generation_values(texts)

    def ids(name: str) -> tuple[int, ...]:
        return tuple(index for index in _as_list(values.get(name)) if _is_id(index, rows))

    begin = ids(_START) or ids("bos_token_id")
    banned = [sequence[0] for sequence in _as_list(values.get("bad_words_ids")) if _is_single(sequence, rows)]
    return GenerationIds(
        start=(*begin[:1], *(ids("forced_bos_token_id")[:1] or _forced(values.get(_FORCED), rows))),
        ends=ids("eos_token_id"),
        pad=next(iter(ids("pad_token_id")), None),
        bos=next(iter(ids("bos_token_id")), None),
        suppressed=tuple(dict.fromkeys((*banned, *ids("suppress_tokens")))),
    )


def _forced(pairs: object, rows: int) -> tuple[int, ...]:
    """The ids after the first, from pairs [position, id]; Whisper's language and task are given this way."""
    found = [pair for pair in _as_list(pairs) if isinstance(pair, list) and len(pair) == 2]
    by_place = {place: index for place, index in found if type(place) is int and _is_id(index, rows)}
    last = next(place for place in range(len(by_place) + 1) if place + 1 not in by_place)
    return tuple(by_place[place + 1] for place in range(last))


def _as_list(value: Any) -> list[Any]:
    if value is None or isinstance(value, Mapping):
        return []
    return value if isinstance(value, list) else [value]


def _is_id(value: object, rows: int) -> bool:
    return type(value) is int and 0 <= value < rows


def _is_single(sequence: object, rows: int) -> bool:
    return isinstance(sequence, list) and len(sequence) == 1 and _is_id(sequence[0], rows)
