"""The sentences of an analysis: encoded, with the given target forced, and in padded batches."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.errors import SentenceError
from transformer.loaded import LoadedModel
from transformer.model.config import TransformerConfig
from transformer.model.trace import AttentionName, Recorder, Stack
from transformer.model_input import Input, beginning, encode_sentence, encoder_input, padded

MOST_WEIGHTS = 2**24
"""Most attention weights in a batch: 67 MB in float32."""
MOST_SENTENCES = 64
"""Most sentences in a batch."""


@dataclass(frozen=True)
class Sentence:
    """A sentence, or a pair, as a model reads it.

    Attributes:
        source: the typed source or prompt.
        target: the typed target; empty in a model with one stack.
        encoder, decoder: the input of each stack; None for a missing stack.
    """

    source: str
    target: str
    encoder: Input | None
    decoder: Input | None

    def read(self, stack: Stack) -> Input:
        """The input of a stack that the model has."""
        read = self.encoder if stack == "encoder" else self.decoder
        assert read is not None
        return read

    def sides(self, stack: Stack, name: AttentionName) -> tuple[Input, Input]:
        """The inputs that an attention's queries and keys are made from."""
        return self.read(stack), self.read("encoder" if name == "cross_attn" else stack)

    @property
    def lengths(self) -> tuple[int, int]:
        """Tokens on each side; 0 for a missing stack."""
        return len(self.encoder.ids) if self.encoder else 0, len(self.decoder.ids) if self.decoder else 0


def prepare(loaded: LoadedModel, source: str, target: str) -> Sentence:
    """Encode a pair; without an encoder or a decoder the target is not used.

    Raises:
        SentenceError: a side is needed and blank, or is too long for the model.
    """
    encoded = encode_sentence(loaded, "source", source, "source")
    kind = loaded.model.config.kind
    if kind == "encoder-only":
        return Sentence(source, "", encoder_input(loaded, encoded), None)
    begin = beginning(loaded, encoded)
    if kind == "decoder-only":
        return Sentence(source, "", None, begin.decoder)
    given = encode_sentence(loaded, "target", target, "target")
    return Sentence(source, target, begin.encoder, begin.decoder.followed_by(given))


def prepare_all(loaded: LoadedModel, pairs: Iterable[tuple[str, str]]) -> tuple[list[Sentence], int]:
    """Encode all pairs that fit the model, and count the others.

    Raises:
        SentenceError: none fits.
    """
    found, left_out, reason = [], 0, "there are none"
    for source, target in pairs:
        try:
            found.append(prepare(loaded, source, target))
        except SentenceError as error:
            left_out, reason = left_out + 1, str(error)
    if not found:
        raise SentenceError(f"No sentence can be analysed. The last one: {reason}")
    return found, left_out


def ids_digest(sentences: Iterable[Sentence]) -> str:
    """A short text that is equal for equal ids."""
    ids = [(one.encoder and one.encoder.ids, one.decoder and one.decoder.ids) for one in sentences]
    return hashlib.sha256(repr(ids).encode()).hexdigest()[:16]


def batches(loaded: LoadedModel, sentences: Sequence[Sentence]) -> Iterator[list[int]]:
    """Group sentences of similar lengths: indices of each batch.

    Lengths in a batch are equal in models whose numbers padding would change.
    """
    config = loaded.model.config
    order = sorted(range(len(sentences)), key=lambda index: sentences[index].lengths[::-1])
    group: list[int] = []
    for index in order:
        longest = max(max(sentences[one].lengths) for one in [*group, index])
        n_weights = (len(group) + 1) * config.n_heads * longest**2
        is_other = (
            group and padding_matters(config) and (sentences[index].lengths != sentences[group[0]].lengths)
        )
        if group and (is_other or len(group) == MOST_SENTENCES or n_weights > MOST_WEIGHTS):
            yield group
            group = []
        group.append(index)
    if group:
        yield group


def padding_matters(config: TransformerConfig) -> bool:
    """True if padding a sentence in a batch changes its numbers."""
    has_open_padding = config.n_encoder_layers > 0 and (config.pad_id < 0 or not config.memory_padding_mask)
    return has_open_padding or config.merge_heads == "untransposed"


@torch.inference_mode()
def recorded(
    loaded: LoadedModel, sentences: Sequence[Sentence], keep: Callable[[str], bool]
) -> dict[str, Tensor]:
    """Run a batch and record the tensors whose path is kept, on the CPU in float32 (masks as they are)."""
    recorder = Recorder(keep)
    sources = [one.encoder.ids for one in sentences if one.encoder is not None]
    targets = [one.decoder.ids for one in sentences if one.decoder is not None]
    loaded.model(
        padded(loaded, sources) if sources else None,
        padded(loaded, targets) if targets else None,
        tap=recorder,
    )
    return {
        path: tensor.cpu() if tensor.dtype == torch.bool else tensor.float().cpu()
        for path, tensor in recorder.records.items()
    }
