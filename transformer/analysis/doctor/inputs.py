"""Inputs of an examination: the user's text, plain sentences, or random tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from transformer.decoding.request import suppress
from transformer.loaded import LoadedModel
from transformer.model.trace import NO_TAP, Tap
from transformer.model.transformer import Transformer
from transformer.text.coder import Coder

SENTENCES = (
    "The old woman gave her son a red book yesterday.",
    "I have seen the dog, but he did not see me in the garden.",
    "We live in a small house near the sea.",
)
"""Plain English sentences of several lengths, which models of other languages tokenize their own way."""

BETWEEN_SIDES = "|||"
"""Separates a source from its target on a typed line."""

SHORTEST = 12
"""Fewest positions that a model needs for a test sentence."""
LONGEST = 128
"""Most tokens used of a sentence."""
N_PADDING = 5
"""Positions left free after a sentence for padding."""
_LONGEST_TARGET = 24
_FEWEST = 4
"""Fewest tokens for a sentence's attention to be informative."""
_DRAWN_LENGTHS = (7, 11, 13)


@dataclass(frozen=True)
class Side:
    """One side of a model's input.

    Attributes:
        ids: (T,) token ids.
        special: (T,) true for tokens that frame the sentence and don't belong to its words.
        names: (T,) tokens for display.
    """

    ids: tuple[int, ...]
    special: tuple[bool, ...]
    names: tuple[str, ...]

    @property
    def words(self) -> list[int]:
        """The positions of the words."""
        return [place for place, special in enumerate(self.special) if not special]

    def padded(self, n: int, pad_id: int) -> Side:
        """The same side followed by n padding tokens."""
        return Side((*self.ids, *[pad_id] * n), (*self.special, *[True] * n), (*self.names, *["padding"] * n))


@dataclass(frozen=True)
class Probe:
    """One test sentence: source and target, or whichever of them the model has.

    Attributes:
        src: the encoder's input.
        tgt: the decoder's input.
        has_typed_target: whether the user typed the target; otherwise it is the model's own answer, or
            random.
    """

    src: Side | None
    tgt: Side | None
    has_typed_target: bool = False

    def run(self, model: Transformer, tap: Tap = NO_TAP) -> Tensor:
        """The model's output for this probe: (1, T, V)."""
        return model(ids_tensor(model, self.src), ids_tensor(model, self.tgt), tap)


def ids_tensor(model: Transformer, side: Side | None) -> Tensor | None:
    """A batch of one, (1, T), on the model's device."""
    if side is None:
        return None
    return torch.tensor([side.ids], device=next(model.parameters()).device)


def text_probes(loaded: LoadedModel, text: str = "") -> list[Probe]:
    """One probe per line of a text (SENTENCES if blank), or random probes if no line can be read.

    A line may include a target, in the format of word aligners: "source ||| target".
    """
    return read_probes(loaded, text) or drawn_probes(loaded)


def read_probes(loaded: LoadedModel, text: str = "") -> list[Probe]:
    """Probes for the readable lines of the text or, if it is blank, of SENTENCES."""
    vocabulary, answers = read_vocabulary(loaded), target_words(loaded)
    probes = []
    for line in [line for line in text.splitlines() if line.strip()] or SENTENCES:
        source, _, target = line.partition(BETWEEN_SIDES)
        encoded = vocabulary.coder.encode(source)
        ids = [] if all(encoded.unknown) else vocabulary.known(encoded.ids)
        if len(ids) >= _FEWEST:
            probes.append(_probe(loaded, ids, answers.known(answers.coder.encode(target).ids)))
    return probes


def sources_of(text: str) -> str:
    """The sources of a text's lines, without their targets."""
    return "\n".join(line.partition(BETWEEN_SIDES)[0] for line in text.splitlines())


def drawn_probes(loaded: LoadedModel) -> list[Probe]:
    """Probes of random words, always the same."""
    vocabulary = read_vocabulary(loaded)
    return [_probe(loaded, vocabulary.draw(length, seed=length)) for length in _DRAWN_LENGTHS]


@dataclass(frozen=True)
class SideVocabulary:
    """The vocabulary of one side: tokens with a row in the embedding.

    Attributes:
        coder: the coder of that side.
        rows: number of rows of its embedding.
    """

    coder: Coder
    rows: int

    @property
    def pad(self) -> int | None:
        """The tokenizer's padding id; None if there is none, or it has no row."""
        pad_id = self.coder.special_tokens.pad
        return pad_id if pad_id is not None and 0 <= pad_id < self.rows else None

    @cached_property
    def _words(self) -> Sequence[int]:
        special = self.coder.special_tokens.ids
        return [index for index in range(self.rows) if index not in special] or [0]

    def known(self, ids: Sequence[int]) -> list[int]:
        """The ids that have a row."""
        return [index for index in ids if 0 <= index < self.rows]

    def draw(self, n: int, *, seed: int) -> list[int]:
        """Draw random ids of words; id 0 if there are only special tokens."""
        drawn = torch.randint(len(self._words), (n,), generator=torch.Generator().manual_seed(seed))
        return [self._words[place] for place in drawn.tolist()]

    def exchanged(self, side: Side, places: Sequence[int]) -> Side:
        """The same side with other words at the given positions."""
        changes = {}
        for place, drawn in zip(places, self.draw(len(places), seed=len(places)), strict=True):
            other = next((index for index in self._words if index != drawn), drawn)
            changes[place] = drawn if drawn != side.ids[place] else other
        return replace(side, ids=tuple(changes.get(place, old) for place, old in enumerate(side.ids)))


def read_vocabulary(loaded: LoadedModel) -> SideVocabulary:
    """The vocabulary of the side that reads a text."""
    return source_words(loaded) if loaded.model.config.n_encoder_layers else target_words(loaded)


def source_words(loaded: LoadedModel) -> SideVocabulary:
    """The vocabulary of the encoder's side."""
    return SideVocabulary(loaded.source, loaded.model.config.src_vocab_size)


def target_words(loaded: LoadedModel) -> SideVocabulary:
    """The vocabulary of the decoder's side."""
    return SideVocabulary(loaded.target, loaded.model.config.tgt_vocab_size)


def _probe(loaded: LoadedModel, words: Sequence[int], target: Sequence[int] = ()) -> Probe:
    config = loaded.model.config
    reader = read_vocabulary(loaded).coder
    room = min(LONGEST, config.max_len - N_PADDING)
    read = _framed(reader, words[: room - len(reader.frame(()))])
    if not config.n_encoder_layers:
        return Probe(None, read)
    if not config.n_decoder_layers:
        return Probe(read, None)
    start = loaded.start_ids
    longest = min(room - len(start), _LONGEST_TARGET)
    answer = list(target[:longest])
    if not target and config.has_generator:
        answer = _answer(loaded, read, longest)
    elif not target:
        answer = target_words(loaded).draw(longest, seed=len(words))
    marks = [*[True] * len(start), *[False] * len(answer)]
    return Probe(read, _side(loaded.target, (*start, *answer), marks), bool(target))


def _framed(coder: Coder, words: Sequence[int]) -> Side:
    """Words with the frame that a stack reads; framing the placeholder id -1 shows where the frame is."""
    framed = coder.frame(words)
    special = [mark >= 0 for mark in coder.frame([-1] * len(words))]
    return _side(coder, tuple(framed), special)


def _side(coder: Coder, ids: tuple[int, ...], special: Sequence[bool]) -> Side:
    n_tokens = len(coder.vocabulary)
    names = (coder.token(index) if index < n_tokens else f"id {index}" for index in ids)
    return Side(ids, tuple(special), tuple(names))


def _answer(loaded: LoadedModel, source: Side, longest: int) -> list[int]:
    """A model's greedy answer to a source: at least _FEWEST tokens, or one if every token ends it."""
    model, suppressed = loaded.model, set(loaded.target.special_tokens.suppressed)
    state = model.start(ids_tensor(model, source))
    device = next(model.parameters()).device
    newest: Sequence[int] = loaded.start_ids
    ids: list[int] = []
    while len(ids) < longest:
        logits = model.step(torch.tensor([newest], device=device), state)[0, -1]
        closed = suppressed | set(loaded.end_ids) if len(ids) < _FEWEST else suppressed
        token = int(suppress(logits, sorted(closed)).argmax())
        if ids and token in loaded.end_ids:
            break
        ids.append(token)
        newest = [token]
    return ids
