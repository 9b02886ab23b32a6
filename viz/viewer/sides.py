"""Tokens of a stack as the viewer reads them: their words, and what is written and predicted from each."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from transformer.analysis.attention_maps import Words, words_of
from transformer.decoding.greedy import DecodingStep
from transformer.loaded import LoadedModel
from transformer.model.trace import Stack
from transformer.run import Run
from transformer.text.coder import Coder
from viz.components.shared.output_step import Candidate, OutputStep
from viz.figures.labels import visible

_SPECIAL = re.compile(r"\[[^\[\]]+\]|<(?!0x[0-9A-F]{2}>)[^<>]+>|<\|.+\|>")
"""How tokenizers write their special tokens; <0x0A> is a byte."""
_CONTEXT = 8
"""Ids before an id that determine how it is spelled."""
_SPACES = "▁Ġ "
"""How tokenizers write a space at the beginning of a word."""


@dataclass(frozen=True)
class SideTokens:
    """The tokens that a stack reads.

    Attributes:
        tokens: T tokens.
        special: positions of the special tokens.
        words: the words to which the tokens belong; None if unknown.
        written: (T,) the token that the model generates after reading up to each position; None where it
            generates none. Empty for a stack that generates nothing.
        spelled: (T,) the text that each of these tokens adds to the output; "" for None and the end token.
        predicted: (T,) the step in which the model predicted a token from each position; None where it
            predicted none. Empty if nothing is predicted from this stack.
    """

    tokens: tuple[str, ...]
    special: tuple[int, ...] = ()
    words: Words | None = None
    written: tuple[str | None, ...] = ()
    spelled: tuple[str, ...] = ()
    predicted: tuple[OutputStep | None, ...] = ()

    @property
    def punctuation(self) -> tuple[int, ...]:
        """Positions of the tokens that are punctuation."""
        return tuple(i for i, token in enumerate(self.tokens) if _is_punctuation(token))


def side_of(run: Run, loaded: LoadedModel, stack: Stack) -> SideTokens:
    """The tokens of a stack of one of our models."""
    read = run.encoder_input if stack == "encoder" else run.decoder_input
    assert read is not None
    special = (*range(read.first), *range(read.first + len(read.sentence.ids), len(read.ids)))
    tokens = run.trace.tokens(stack)[0]
    written: tuple[str | None, ...] = ()
    spelled: tuple[str, ...] = ()
    n_before = 0  # positions before the first that predicts a token
    coder = loaded.source if run.decoder_input is None else loaded.target
    if stack == "decoder" and run.steps:
        n_before = len(tokens) - len(run.target.ids) - 1
        last = [step.token_id for step in run.steps[len(run.target.ids) :]]
        # From the trace, not the steps: an unknown word is shown as it was typed.
        names = (*[None] * n_before, *tokens[n_before + 1 :], *map(coder.token, last), None)
        written = names[: len(tokens)]
        ids = read.ids if run.finished else (*read.ids, *last)
        is_prompt = run.encoder_input is None
        added = _added_texts(coder, ids, 0 if is_prompt else n_before + 1)[: len(tokens)]
        spelled = tuple(
            "" if name is None or row >= len(added) else added[row] for row, name in enumerate(written)
        )
    predicts = stack == "decoder" or run.decoder_input is None
    predicted: list[OutputStep | None] = [None] * len(tokens)
    for step in run.steps if predicts and run.has_numbers else ():
        position = step.position + n_before
        if position < len(tokens):
            predicted[position] = output_step(coder, step)
    return SideTokens(
        tokens,
        special,
        words_of(run, stack),
        written,
        spelled,
        tuple(predicted) if any(predicted) else (),
    )


def output_step(coder: Coder, step: DecodingStep) -> OutputStep:
    """A step for the browser, with its tokens by name."""
    return OutputStep(
        text=visible(coder.token(step.token_id)),
        probability=step.probability,
        rank=step.rank,
        best=[
            Candidate(visible(coder.token(token)), probability)
            for token, probability in zip(step.top_ids, step.top_probabilities, strict=True)
        ],
    )


def _added_texts(coder: Coder, ids: Sequence[int], first: int) -> list[str]:
    """The text that each id after the first adds to that of the ids before it, or else its token.

    Args:
        coder: the ids' coder.
        ids: all that the decoder reads or writes.
        first: position of the first id of the text.
    """
    added = []
    for end in range(1, len(ids)):
        around = ids[max(first, end - _CONTEXT) : end]
        before, after = coder.decode(around), coder.decode((*around, ids[end]))
        added.append(after.removeprefix(before) if after.startswith(before) else coder.token(ids[end]))
    return added


def foreign_side(tokens: Sequence[str]) -> SideTokens:
    """The tokens of another library; special tokens are recognised by their spelling."""
    return SideTokens(tuple(tokens), tuple(i for i, token in enumerate(tokens) if _SPECIAL.fullmatch(token)))


def _is_punctuation(token: str) -> bool:
    text = token.strip(_SPACES)
    return bool(text) and all(unicodedata.category(character)[0] == "P" for character in text)
