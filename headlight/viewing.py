"""All attention of a run, or of any model, in a notebook cell: the app's viewer."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, SupportsIndex, cast

from IPython.display import HTML

from headlight.foreign.bertviz import is_position, returned_page, takes_bertviz_calls
from headlight.foreign.layers import Layers, unclear_axis
from headlight.foreign.tokens import Tokens, pretty
from headlight.foreign.views import unusual_rows, view_attention, view_pair
from headlight.runs import Batch, Run
from headlight.widget import AttentionWidget, Look, View
from transformer.analysis.attention_maps import Attention
from viz.viewer.choice import MEASURES, read_choice
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


@takes_bertviz_calls
def show_attention(
    weights: Layers = None,
    query_tokens: Tokens | None = None,
    key_tokens: Tokens | SupportsIndex | None = None,
    *,
    encoder_attention: Layers = None,
    decoder_attention: Layers = None,
    cross_attention: Layers = None,
    encoder_tokens: Tokens | None = None,
    decoder_tokens: Tokens | None = None,
    attention: Layers = None,
    tokens: Tokens | None = None,
    sentence_b_start: SupportsIndex | None = None,
    prettify_tokens: bool = True,
    layer: int | None = None,
    head: int | None = None,
    heads: Sequence[int] | None = None,
    include_layers: Sequence[int] | None = None,
    include_heads: Sequence[int] | None = None,
    view: View = "head",
    theme: Look = "auto",
    display_mode: Literal["light", "dark"] | None = None,
    html_action: Literal["view", "return"] = "view",
) -> AttentionWidget | HTML:
    """Show the attention of any model, interactively; displayed as the last line of a cell.

    ``headlight.show_attention(outputs.attentions, tokens)`` is all it takes: calls of ``bertviz.head_view``
    and ``bertviz.model_view`` work under this name, with their arguments by name or by position.

    What ``generate(output_attentions=True, return_dict_in_generate=True)`` returns by step is joined to one
    matrix per head: ``headlight.show_attention(output.attentions, tokens)``, or with an encoder
    ``headlight.show_attention(output, encoder_tokens=..., decoder_tokens=...)``. The last token may be among
    the tokens, although the model wrote it and never read it. With beams, pass the whole output.

    Args:
        weights: by layer, (1, H, Q, K) or (H, Q, K), as transformers returns them: tensors or arrays; those
            of the steps of ``generate``, by step and layer; or a whole output that has them.
        query_tokens: Q tokens.
        key_tokens: K tokens; by default the query tokens. A number is taken as `sentence_b_start`, which
            is BertViz's argument in this position.
        encoder_attention, decoder_attention, cross_attention: up to three attentions in place of `weights`.
        encoder_tokens, decoder_tokens: their tokens.
        attention, tokens: BertViz's names for `weights` and `query_tokens`.
        sentence_b_start: position of the second of two sentences: the attention within each sentence and from
            one to the other can then be chosen too.
        prettify_tokens: show tokens in GPT-2's alphabet as the text that they spell, with "▁" for a space.
        layer, head: the initial selection.
        heads, include_heads: the heads whose lines are drawn initially; the others can be added.
        include_layers: the first of these is selected initially; the others can be chosen too.
        view: "head" is one head as a matrix, "layer" all heads of its layer, "map" their lines, "token" every
            head from one token.
        theme, display_mode: "light", "dark", or "auto" to follow the notebook.
        html_action: "return" returns a page that needs no server, as an ``IPython.display.HTML`` whose
            ``data`` can be written to a file.

    Raises:
        TypeError, ValueError: the weights are not attention weights, or the tokens don't match them.
    """
    keys = None if is_position(key_tokens) else cast(Tokens | None, key_tokens)
    if is_position(key_tokens):
        sentence_b_start = key_tokens
    given = weights if weights is not None else attention
    several: dict[Attention, Layers] = {
        "encoder": encoder_attention,
        "decoder": decoder_attention,
        "cross": cross_attention,
    }
    run = view_attention(
        given,
        (query_tokens if query_tokens is not None else tokens, keys),
        several,
        {"encoder": encoder_tokens, "decoder": decoder_tokens},
    )
    for note in filter(None, (*map(unclear_axis, (given, *several.values())), unusual_rows(run))):
        warnings.warn(note, stacklevel=3)
    if prettify_tokens:
        sides = {name: foreign_side(pretty(side.tokens)) for name, side in run.sides.items()}
        run = replace(run, sides=sides)
    if sentence_b_start is not None:
        run = view_pair(run, sentence_b_start)
    lines = heads if heads is not None else include_heads
    chosen = _first_selection(layer, include_layers, head, lines) | {"view": view}
    widget = AttentionWidget(run, "attention from elsewhere", display_mode or theme, chosen)
    match html_action:
        case "view":
            return widget
        case "return":
            return returned_page(run, read_choice(widget.choice, run))
    raise ValueError(f'There is no html_action {html_action!r}: choose "view" or "return".')


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
