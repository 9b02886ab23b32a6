"""Inputs of a model's stacks: the tokens of a typed sentence and the special tokens around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from torch import Tensor

from transformer.data.batches import pad
from transformer.decoding.request import DecodingRequest, Ending, max_new_tokens
from transformer.errors import SentenceError
from transformer.loaded import GenerationSettings, LoadedModel
from transformer.text.coder import Coder, EncodedSentence
from transformer.text.copied import CopiedWords, looks_like_a_name, words_of
from transformer.text.subwords import SubwordCoder

MOST_CONTINUED = 30
"""Most tokens generated after a prompt, because a language model may never produce an end token."""
USUAL_NO_REPEAT = 6
"""Size of the sub-word n-grams that a translation must not repeat, unless the model's settings differ.

Small enough to break loops early, and large enough not to affect right translations: of en-it's 418,514
Italian training sentences, 1.8 in 1,000 repeat a 3-gram, 0.61 a 4-gram, 0.21 a 5-gram, 0.07 a 6-gram, 0.03 a
7-gram and 0.01 an 8-gram.
"""


@dataclass(frozen=True)
class Input:
    """The input of one stack.

    Attributes:
        sentence: the sentence without the special tokens that frame it.
        ids: T ids, including special ones.
        tokens: the T tokens as shown.
        first: position of the sentence's first token; tokens before and after the sentence are special.
    """

    sentence: EncodedSentence
    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    first: int

    def followed_by(self, more: EncodedSentence) -> Input:
        """Append more tokens of the same sentence, which must have nothing after it yet."""
        return replace(
            self,
            sentence=_joined(self.sentence, more),
            ids=(*self.ids, *more.ids),
            tokens=(*self.tokens, *more.tokens),
        )


@dataclass(frozen=True)
class Beginning:
    """The start of a decoding.

    Attributes:
        encoder: the encoder's input; None without an encoder.
        decoder: the decoder's first tokens: <bos>, or a prompt.
        limit: most tokens to generate after them.
    """

    encoder: Input | None
    decoder: Input
    limit: int

    @property
    def sources(self) -> list[Input]:
        """The encoder's input as a batch of one sentence, or empty without an encoder."""
        return [] if self.encoder is None else [self.encoder]

    @property
    def source_ids(self) -> list[tuple[int, ...]]:
        """The ids of `sources`."""
        return [one.ids for one in self.sources]


def encode_sentence(
    loaded: LoadedModel, side: Literal["source", "target"], text: str, what: str
) -> EncodedSentence:
    """Encode a typed sentence.

    Args:
        side: "source" for a source or prompt, which the coder frames; "target" for a target, which follows
            `start_ids`.
        what: name of the sentence in error messages.

    Raises:
        SentenceError: for a text without words, with too many tokens, with a token that has no embedding, or
            on which the tokenizer fails.
    """
    is_source = side == "source"
    coder = loaded.source if is_source else loaded.target
    encoded = coder.encode(text)
    config = loaded.model.config
    if coder.unit == "token" and all(encoded.unknown):
        raise SentenceError(
            f"This model came without a tokenizer: as the {what} type the ids of tokens, such as 5 17 4."
        )
    if not encoded.ids:
        raise SentenceError(f"The {what} has no words: type at least one.")
    around = coder.frame(()) if is_source else loaded.start_ids
    _check_length(encoded, coder, config.max_len - len(around), what)
    sizes = (config.src_vocab_size, config.tgt_vocab_size)
    _check_ids(encoded, next(filter(None, sizes if is_source else sizes[::-1])), what)
    return encoded


def encode_continuation(
    loaded: LoadedModel, prompt: EncodedSentence, text: str, continuation: str
) -> EncodedSentence:
    """Encode a typed continuation, without the tokens of its prompt.

    Both are encoded as one text, with a space between them if the continuation begins with a word, because
    sub-word tokens include that space.

    Raises:
        SentenceError: when both together are too long.
    """
    space = " " if continuation[:1].isalnum() else ""
    whole = encode_sentence(loaded, "source", f"{text}{space}{continuation}", "text")
    n = len(prompt.ids)
    if whole.ids[:n] == prompt.ids and len(whole.ids) > n:
        return _after(whole, n)
    alone = encode_sentence(loaded, "source", continuation, "continuation")
    _check_length(_joined(prompt, alone), loaded.target, loaded.model.config.max_len, "text")
    return alone


def reads_as(
    loaded: LoadedModel, source: EncodedSentence, text: str, target: str, ids: Sequence[int]
) -> bool:
    """True if a target typed for a source or prompt would be encoded as these ids."""
    try:
        if loaded.model.config.n_encoder_layers:
            typed = encode_sentence(loaded, "target", target, "target")
        else:
            typed = encode_continuation(loaded, source, text, target)
    except SentenceError:
        return False
    return typed.ids == list(ids)


def encoder_input(loaded: LoadedModel, source: EncodedSentence) -> Input:
    """The encoder's input for a source."""
    return _framed(loaded.source, source)


def beginning(loaded: LoadedModel, source: EncodedSentence) -> Beginning:
    """The start of a decoding.

    Args:
        loaded: a model with a decoder.
        source: the source for the encoder or, without an encoder, the prompt.
    """
    if loaded.model.config.kind == "decoder-only":
        prompt = _framed(loaded.target, source)
        end = prompt.first + len(source.ids)
        prompt = replace(prompt, ids=prompt.ids[:end], tokens=prompt.tokens[:end])
        return Beginning(None, prompt, target_limit(loaded, len(prompt.ids)))
    start = Input(
        sentence=loaded.target.describe_ids([]),
        ids=loaded.start_ids,
        tokens=tuple(map(loaded.target.token, loaded.start_ids)),
        first=len(loaded.start_ids),
    )
    encoder = encoder_input(loaded, source)
    return Beginning(encoder, start, target_limit(loaded, len(encoder.ids)))


def target_limit(loaded: LoadedModel, n_read: int) -> int:
    """The length limit of every decoding: most tokens generated for a source or prompt of `n_read` tokens.

    Args:
        n_read: number of tokens that the encoder reads (without an encoder, the decoder's prompt), including
            special tokens.
    """
    if loaded.model.config.kind == "decoder-only":
        return min(max_new_tokens(loaded.model, n_read), MOST_CONTINUED)
    seen = loaded.experience
    wanted = 2 * n_read + 10 if seen is None else seen.most_tokens(n_read)
    return min(max_new_tokens(loaded.model, len(loaded.start_ids)), wanted)


def no_repeat_ngram_size(loaded: LoadedModel) -> int:
    """The size of n-grams that the app's decoding does not repeat; 0 allows any repetition.

    The model's own setting if any, else `USUAL_NO_REPEAT` for a translation model with sub-words. Models with
    whole words, such as those of the built-in tasks, must be able to copy and sort; a language model may
    continue a list or a refrain.
    """
    told = loaded.settings.no_repeat_ngram_size
    if told is not None:
        return told
    translates = loaded.model.config.kind == "encoder-decoder" and loaded.target.unit == "sub-word"
    return USUAL_NO_REPEAT if translates else 0


def copied_words(loaded: LoadedModel, source: Sequence[int]) -> CopiedWords | None:
    """The names and numbers of a source that this model's translations must copy.

    Names are capitalised words that the model did not learn to translate: it saw them copied, or never. None
    if this was not recorded, or the model has whole words.
    """
    seen = loaded.experience
    if seen is None or seen.translated is None or not isinstance(loaded.target, SubwordCoder):
        return None
    text = loaded.source.decode(source)
    names = {word for word in words_of(text) if looks_like_a_name(word)}
    copied = {word for word in names if seen.translated.isdisjoint(_with_names_in(word))}
    return CopiedWords(sorted(copied), text, loaded.target.vocabulary)


def _with_names_in(word: str) -> list[str]:
    """A word and the names in its hyphenated parts, case-folded: also "spanish" for "Spanish-speaking"."""
    return [one.casefold() for one in (word, *filter(looks_like_a_name, word.split("-")))]


def why_stopped(loaded: LoadedModel, ending: Ending | None, n_tokens: int) -> str:
    """A message to the user if a limit ended the target; empty otherwise."""
    if ending == "positions":
        return f"Stopped at the model's limit of {loaded.model.config.max_len:,} positions."
    if ending == "limit":
        what = "prompt" if loaded.model.config.kind == "decoder-only" else "source of this length"
        return f"Stopped at the limit of {n_tokens:,} {loaded.target.unit}s for a {what}."
    return ""


def decoding_request(
    loaded: LoadedModel,
    start_ids: Sequence[int],
    limit: int | Sequence[int],
    prefix: Sequence[int] = (),
    settings: GenerationSettings | None = None,
    no_repeat: int | None = None,
    sources: Sequence[Sequence[int]] = (),
) -> DecodingRequest:
    """The decoding request for this model; `limit` includes the prefix, so it must exceed its length.

    With `settings`, such as the model's own, only these exclude tokens and force an end, and the length
    penalty has form "power". Without them, n-grams of size `no_repeat` (by default `no_repeat_ngram_size`)
    are not repeated, and the `copied_words` of the `sources` (encoder inputs, one per row) are copied.
    """
    n_given = len(prefix)
    closing = no_repeat_ngram_size(loaded) if no_repeat is None else no_repeat
    copied = [words for ids in sources if (words := copied_words(loaded, ids)) is not None]
    rules: dict[str, Any] = {"no_repeat_ngram_size": closing, "no_loops": True, "copied": copied}
    if settings is not None:
        rules = {
            "no_repeat_ngram_size": settings.no_repeat_ngram_size or 0,
            "forced_end_id": settings.forced_end_id,
            "length_form": "power",
        }
    return DecodingRequest(
        start_ids=start_ids,
        end_ids=loaded.end_ids,
        max_new_tokens=limit - n_given if isinstance(limit, int) else [one - n_given for one in limit],
        suppressed_ids=loaded.target.special_tokens.suppressed,
        prefix=prefix,
        **rules,
    )


def padded(loaded: LoadedModel, rows: Sequence[Sequence[int]]) -> Tensor:
    """A padded batch of ids (B, T) on the model's device.

    Without a padding id, shorter rows end with 0, which is harmless in a decoder, since it only looks back.
    """
    device = next(loaded.model.parameters()).device
    return pad(rows, max(loaded.model.config.pad_id, 0)).to(device)


def _framed(coder: Coder, sentence: EncodedSentence) -> Input:
    marks = coder.frame([-1] * len(sentence.ids))  # placeholders for the sentence's ids
    return Input(
        sentence=sentence,
        ids=tuple(coder.frame(sentence.ids)),
        tokens=tuple(coder.frame_tokens(sentence.tokens)),
        first=marks.index(-1),
    )


def _joined(first: EncodedSentence, second: EncodedSentence) -> EncodedSentence:
    return EncodedSentence(
        tokens=[*first.tokens, *second.tokens],
        ids=[*first.ids, *second.ids],
        unknown=[*first.unknown, *second.unknown],
        words=[*first.words, *second.words],
        word_of=[*first.word_of, *(len(first.words) + word for word in second.word_of)],
    )


def _after(sentence: EncodedSentence, n: int) -> EncodedSentence:
    """The part of a sentence after its first n tokens."""
    first_word = sentence.word_of[n]
    return EncodedSentence(
        tokens=sentence.tokens[n:],
        ids=sentence.ids[n:],
        unknown=sentence.unknown[n:],
        words=sentence.words[first_word:],
        word_of=[word - first_word for word in sentence.word_of[n:]],
    )


def _check_length(encoded: EncodedSentence, coder: Coder, longest: int, what: str) -> None:
    if len(encoded.ids) > longest:
        raise SentenceError(
            f"The {what} has {_size(encoded, coder)}; this model reads at most {longest}. Shorten it, or "
            "choose a model with more positions."
        )


def _size(encoded: EncodedSentence, coder: Coder) -> str:
    words = f"{len(encoded.words):,} words and punctuation marks"
    tokens = f"{len(encoded.ids):,} {coder.unit}s"
    return {"word": words, "sub-word": f"{tokens} ({words})", "token": tokens}[coder.unit]


def _check_ids(encoded: EncodedSentence, vocab_size: int, what: str) -> None:
    outside = next((index for index in encoded.ids if not 0 <= index < vocab_size), None)
    if outside is not None:
        raise SentenceError(
            f"The {what} has a token with the id {outside:,}, but this model's ids end at "
            f"{vocab_size - 1:,}: its vocabulary is another one, or a typed id is too large."
        )
