"""Cross-attention between words, by the row that reads a target word or the row that writes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from transformer.analysis.alignment.words import given_words, tokens_of_words, typed
from transformer.errors import AlignmentError
from transformer.loaded import LoadedModel
from transformer.model.trace import Trace
from transformer.model_input import Input, beginning, encode_sentence
from transformer.tracing import trace_inputs

Convention = Literal["writing", "reading"]
"""The row of the decoder that stands for a target token.

"writing": the row that predicts the token; it has read only the tokens before. "reading": the next row, whose
input is the token (Chen et al. 2020, "Accurate word alignment induction from neural machine translation",
arXiv:2004.14837).
"""
CONVENTIONS: tuple[Convention, ...] = get_args(Convention)


@dataclass(frozen=True)
class Pair:
    """A sentence pair as a model reads it.

    Attributes:
        source_words, target_words: the given words.
        encoder_input, decoder_input: the inputs of the stacks; the decoder's includes the whole target.
        source_tokens: the tokens of the encoder's input that spell each source word: (words, S) bool.
        target_tokens: the same for the decoder's input: (words, T) bool.
    """

    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    encoder_input: Input
    decoder_input: Input
    source_tokens: NDArray[np.bool_]
    target_tokens: NDArray[np.bool_]

    def rows(self, convention: Convention) -> NDArray[np.bool_]:
        """The decoder's rows that stand for each target word: (words, T) bool."""
        return self.target_tokens if convention == "reading" else np.roll(self.target_tokens, -1, axis=1)


def check_can_align(loaded: LoadedModel) -> None:
    """Check that a model has what an alignment is read from.

    Raises:
        AlignmentError: it hasn't.
    """
    config = loaded.model.config
    if config.kind != "encoder-decoder":
        raise AlignmentError(
            f"{loaded.name} is {config.kind}, so it has no cross-attention, which word alignments are read "
            "from: choose a model that translates."
        )
    if not config.has_generator:
        raise AlignmentError(
            f"{loaded.name} has no generator, so no source word can be tested for its effect on the output, "
            "which chooses the heads: choose a model that translates."
        )


def encode_pair(loaded: LoadedModel, source: str, target: str, place: str = "") -> Pair | None:
    """Encode a pair of sentences whose words are separated by spaces; None if a side has no words.

    Args:
        loaded: an encoder-decoder.
        source, target: the sentences.
        place: where the pair is, for error messages, such as " of pair 3".

    Raises:
        SentenceError: for a sentence with more tokens than the model has positions.
    """
    words = given_words(source), given_words(target)
    texts = typed(words[0], loaded.source), typed(words[1], loaded.target)
    if not all(texts):
        return None
    first = encode_sentence(loaded, "source", texts[0], f"source{place}")
    second = encode_sentence(loaded, "target", texts[1], f"target{place}")
    begin = beginning(loaded, first)
    assert begin.encoder is not None
    whole = begin.decoder.followed_by(second)
    return Pair(
        source_words=tuple(words[0]),
        target_words=tuple(words[1]),
        encoder_input=begin.encoder,
        decoder_input=whole,
        source_tokens=_in_input(begin.encoder, tokens_of_words(words[0], first, loaded.source)),
        target_tokens=_in_input(whole, tokens_of_words(words[1], second, loaded.target)),
    )


def _in_input(whole: Input, owned: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The same tokens, as positions of the whole input with its special tokens."""
    found = np.zeros((len(owned), len(whole.ids)), dtype=np.bool_)
    found[:, whole.first : whole.first + owned.shape[1]] = owned
    return found


def pair_trace(loaded: LoadedModel, pair: Pair) -> Trace:
    """Run a pair with its target given (teacher forcing)."""
    return trace_inputs(loaded, [pair.encoder_input], [pair.decoder_input])


def word_weights(trace: Trace, pair: Pair, convention: Convention) -> NDArray[np.float64]:
    """The cross-attention of all layers and heads between words: (L, H, target words, source words).

    Weights are summed over the tokens of a source word and averaged over those of a target word. Weights of
    special tokens belong to no word, so rows sum to at most 1.
    """
    weights = np.stack(
        [
            trace[f"decoder.layers.{layer}.cross_attn.weights"][0].numpy()
            for layer in range(trace.n_layers("decoder"))
        ]
    )
    rows = pair.rows(convention)
    means = rows / np.maximum(rows.sum(axis=1, keepdims=True), 1)
    found: NDArray[np.float64] = means @ weights.astype(np.float64) @ pair.source_tokens.T
    return found
