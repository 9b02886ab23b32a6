"""All attention of a run, or of any model, in a notebook cell: the app's viewer."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from headlight.foreign import Layers, Tokens, pretty, unusual_rows, view_pair, view_several, view_single
from headlight.runs import Batch, Run
from headlight.widget import AttentionWidget, Look, View
from transformer.analysis.attention_maps import Attention
from transformer.model.trace import Stack
from viz.viewer.choice import MEASURES
from viz.viewer.sides import foreign_side
from viz.viewer.viewer_run import ViewerRun, view_run, view_sentence

_TAKEN = re.compile(r"|head \d+|.*:.*", re.DOTALL)
"""Names that a compared run can't have: they mean no run or another head, or would break a piece's name."""


def show(
    run: Batch,
    *,
    attention: Attention | None = None,
    layer: int | None = None,
    head: int | None = None,
    view: View = "head",
    measure: str = MEASURES[0],
    sentence: int = 0,
    others: Mapping[str, Batch] | None = None,
    theme: Look = "auto",
) -> AttentionWidget:
    """Show all attention of a run, interactively; displayed as the last line of a cell.

    Args:
        run: a run from `headlight.run` or `headlight.run_batch`.
        attention, layer, head: the initial selection; by default the last layer, of the cross-attention if
            there is one.
        view: "head" is one head as a matrix, "layer" all heads of its layer, "map" their lines, "token" every
            head from one token.
        measure: "weights", "scores" before the mask, "masked" scores after it, or "moved": the
            length of the vector that a query gets from a key.
        sentence: index in a batch, from 0.
        others: runs of the same tokens to compare with, such as those of another model, by name.
        theme: "light", "dark", or "auto" to follow the notebook.

    Raises:
        ValueError: the run has no such part, or a compared run has other tokens or heads.
    """
    viewed = _viewed(run, sentence)
    compared = {
        name: _viewed(other, 0 if isinstance(other, Run) else sentence)
        for name, other in (others or {}).items()
    }
    for name, other in compared.items():
        _check_comparable(name, other, viewed)
    name = f"{run.text!r} in {run.model.name}" if isinstance(run, Run) else f"sentence {sentence} of {run!r}"
    chosen = {"attention": attention, "layer": layer, "head": head, "view": view, "measure": measure}
    viewed = replace(viewed, others={name: partial(_same, other) for name, other in compared.items()})
    return AttentionWidget(viewed, name, theme, chosen)


def show_attention(
    weights: Layers = None,
    query_tokens: Tokens | None = None,
    key_tokens: Tokens | int | None = None,
    *,
    encoder_attention: Layers = None,
    decoder_attention: Layers = None,
    cross_attention: Layers = None,
    encoder_tokens: Tokens | None = None,
    decoder_tokens: Tokens | None = None,
    attention: Layers = None,
    tokens: Tokens | None = None,
    sentence_b_start: int | None = None,
    prettify_tokens: bool = True,
    layer: int | None = None,
    head: int | None = None,
    heads: Sequence[int] | None = None,
    include_layers: Sequence[int] | None = None,
    include_heads: Sequence[int] | None = None,
    view: View = "head",
    theme: Look = "auto",
    display_mode: Literal["light", "dark"] | None = None,
) -> AttentionWidget:
    """Show the attention of any model, interactively; displayed as the last line of a cell.

    ``headlight.show_attention(outputs.attentions, tokens)`` is all it takes: calls of ``bertviz.head_view``
    and ``bertviz.model_view`` work under this name.

    Args:
        weights: by layer, (1, H, Q, K) or (H, Q, K), as transformers returns them: tensors or arrays.
        query_tokens: Q tokens.
        key_tokens: K tokens; by default the query tokens. A number is taken as `sentence_b_start`, which
            is BertViz's argument in this position.
        encoder_attention, decoder_attention, cross_attention: up to three attentions in place of `weights`.
        encoder_tokens, decoder_tokens: their tokens.
        attention, tokens: BertViz's names for `weights` and `query_tokens`.
        sentence_b_start: position of the second of two sentences: the attention within each sentence and from
            one to the other can then be chosen too.
        prettify_tokens: show GPT-2's tokens as the text that they spell, with "▁" for a space.
        layer, head: the initial selection.
        heads, include_heads: the heads whose lines are drawn initially; the others can be added.
        include_layers: the first of these is selected initially; the others can be chosen too.
        view: "head" is one head as a matrix, "layer" all heads of its layer, "map" their lines, "token" every
            head from one token.
        theme, display_mode: "light", "dark", or "auto" to follow the notebook.

    Raises:
        TypeError, ValueError: the weights are not attention weights, or the tokens don't match them.
    """
    if isinstance(key_tokens, int):
        key_tokens, sentence_b_start = None, key_tokens
    run = _viewed_attention(
        weights if weights is not None else attention,
        (query_tokens if query_tokens is not None else tokens, key_tokens),
        {"encoder": encoder_attention, "decoder": decoder_attention, "cross": cross_attention},
        {"encoder": encoder_tokens, "decoder": decoder_tokens},
    )
    if note := unusual_rows(run):
        warnings.warn(note, stacklevel=2)
    if prettify_tokens:
        sides = {name: foreign_side(pretty(side.tokens)) for name, side in run.sides.items()}
        run = replace(run, sides=sides)
    if sentence_b_start is not None:
        run = view_pair(run, sentence_b_start)
    lines = heads if heads is not None else include_heads
    chosen = _first_selection(layer, include_layers, head, lines) | {"view": view}
    return AttentionWidget(run, "attention from elsewhere", display_mode or theme, chosen)


def _viewed_attention(
    single: Layers,
    tokens: tuple[Tokens | None, Tokens | None],
    several: Mapping[Attention, Layers],
    sides: Mapping[Stack, Tokens | None],
) -> ViewerRun:
    """One attention, or the attentions of an encoder and a decoder, each with its tokens."""
    if all(layers is None for layers in several.values()):
        return view_single(single, *tokens)
    if single is not None:
        raise ValueError("Pass one attention, or those of an encoder and a decoder by their names, not both.")
    return view_several(several, sides)


def _first_selection(
    layer: int | None, layers: Sequence[int] | None, head: int | None, heads: Sequence[int] | None
) -> dict[str, object]:
    """The given layer and head, or else the first of several; lines are drawn for all of these heads."""
    return {
        "layer": layers[0] if layer is None and layers else layer,
        "head": heads[0] if head is None and heads else head,
        "heads": None if heads is None else list(heads),
    }


def _viewed(run: Batch, sentence: int) -> ViewerRun:
    run.check_sentence(sentence)
    if isinstance(run, Run):
        return view_run(run.computed, run.model, typed=run.typed)
    return view_sentence(run.trace, run.model, sentence)


def _check_comparable(name: str, other: ViewerRun, run: ViewerRun) -> None:
    if _TAKEN.fullmatch(name):
        raise ValueError(
            f"No run to compare with can be called {name!r}: choose a name without a colon that is no head's."
        )
    for side in run.sides:
        if side not in other.sides or other.sides[side].tokens != run.sides[side].tokens:
            raise ValueError(
                f"{name!r} can't be compared with: its {side} tokens are not the same. Give both models the "
                "same sentence and target: headlight.run(model, text, target=run.translation)."
            )
    for attention in run.attentions.values():
        theirs = other.attentions.get(attention.name)
        if theirs is None or (theirs.n_layers, theirs.n_heads) != (attention.n_layers, attention.n_heads):
            raise ValueError(
                f"{name!r} can't be compared with: its {attention.label.lower()} does not have "
                f"{attention.n_layers} layers of {attention.n_heads} heads."
            )


def _same(run: ViewerRun) -> ViewerRun:
    return run
