"""A run's tokens in the views that the browser draws: the source, and the output step by step.

A view's `key` is its identity on the page; its `title` is for screen readers.
"""

from __future__ import annotations

from typing import Any

from transformer.decoding.greedy import next_token_probabilities
from transformer.model_input import Input
from transformer.run import Run
from transformer.text.coder import Coder
from viz.components.decoding_steps import decoding_steps
from viz.components.token_strip import StripToken, token_strip
from viz.figures.labels import visible
from viz.pages.shared.explain import computed_by
from viz.session import current_theme
from viz.viewer.sides import output_step


def show_source(run: Run, coder: Coder, *, key: str, title: str, **looks: Any) -> None:
    """Draw the source's or prompt's tokens with their ids; `looks` are further arguments of `token_strip`."""
    unknown = coder.special_tokens.unk
    token_strip(
        source_tokens(run),
        colors=current_theme(),
        key=key,
        title=title,
        words=list(map(visible, run.source.words)),
        stack="decoder" if run.encoder_input is None else "encoder",
        unknown_name="0" if unknown is None else visible(coder.token(unknown)),
        **looks,
    )
    computed_by(type(coder).encode)


def show_steps(run: Run, coder: Coder, *, key: str, title: str, forced: bool = False) -> None:
    """Draw the target step by step, each token with its best alternatives; `forced`: the user typed it."""
    decoding_steps(
        [output_step(coder, step) for step in run.steps],
        colors=current_theme(),
        key=key,
        start=_first_tokens(run),
        positions=[step.position for step in run.steps] if run.decoder_input is None else None,
        forced=forced,
        unit=coder.unit,
        title=title,
    )
    computed_by(next_token_probabilities, "logits")


def source_tokens(run: Run) -> list[StripToken]:
    """The tokens of the source or prompt, each with its word, and the special tokens around them."""
    read, sentence = run.encoder_input or run.decoder_input, run.source
    assert read is not None
    special = _special_tokens(read)
    stop = read.first + len(sentence.ids)
    tokens = [
        StripToken(visible(token), token_id, unknown=unknown, word=word)
        for token, token_id, unknown, word in zip(
            sentence.tokens, sentence.ids, sentence.unknown, sentence.word_of, strict=True
        )
    ]
    after = special[stop:] if run.encoder_input else []
    return [*special[: read.first], *tokens, *after]


def _special_tokens(read: Input) -> list[StripToken]:
    """All tokens of an input as special tokens."""
    pairs = zip(read.tokens, read.ids, strict=True)
    return [StripToken(visible(token), token_id, special=True) for token, token_id in pairs]


def _first_tokens(run: Run) -> list[str]:
    """The tokens that the decoder reads before the target; empty without a decoder."""
    if run.decoder_input is None:
        return []
    tokens = run.decoder_input.tokens
    return list(map(visible, tokens[: len(tokens) - len(run.target.ids)]))
