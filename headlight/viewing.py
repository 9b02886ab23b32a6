"""All attention of a run, or of any model, in a cell of a notebook: the app's viewer."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from headlight.foreign import Layers, Tokens, hold_pair, hold_several, hold_single, pretty, unusual_rows
from headlight.runs import Batch, Run
from headlight.widget import AttentionWidget, Look, View
from transformer.analysis.attention_maps import Attention
from transformer.model.trace import Stack
from viz.viewer.choice import MEASURES
from viz.viewer.held_run import HeldRun, hold, hold_sentence, side_of

_TAKEN = re.compile(r"|head \d+|.*:.*", re.DOTALL)
"""What a comparison with nothing or with another head of the run is called, or would break a piece's name."""


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
    """All attention of a run, to click through; as the last line of a cell it is shown.

    Args:
        run: as `headlight.run` or `headlight.run_batch` gives it.
        attention, layer, head: what is looked at first; when left out the last layer, of the cross-attention
            if there is one.
        view: "head" is one head as a matrix, "layer" all heads of its layer, "map" their lines, "token" every
            head from one token.
        measure: "weights", "scores" before the mask, "masked" scores after it, or "moved": how long the
            vector is that a query gets from a key.
        sentence: of a batch, from 0.
        others: runs of the same tokens to compare with, such as those of another model, by their names.
        theme: "light", "dark", or "auto" to follow the notebook.

    Raises:
        ValueError: for what the run does not have, or for others of other tokens or heads.
    """
    held = _held(run, sentence)
    compared = {
        name: _held(other, 0 if isinstance(other, Run) else sentence)
        for name, other in (others or {}).items()
    }
    for name, other in compared.items():
        _check_comparable(name, other, held)
    name = f"{run.text!r} in {run.model.name}" if isinstance(run, Run) else f"sentence {sentence} of {run!r}"
    chosen = {"attention": attention, "layer": layer, "head": head, "view": view, "measure": measure}
    held = replace(held, others={name: partial(_same, other) for name, other in compared.items()})
    return AttentionWidget(held, name, theme, chosen)


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
    """Attention of any model, to click through; as the last line of a cell it is shown.

    ``headlight.show_attention(outputs.attentions, tokens)`` is all it takes: calls of ``bertviz.head_view``
    and ``bertviz.model_view`` work under this name.

    Args:
        weights: of each layer, (1, H, Q, K) or (H, Q, K), as transformers returns them: tensors or arrays.
        query_tokens: Q of them.
        key_tokens: K of them; when left out the queries' own. A number is taken as `sentence_b_start`, which
            BertViz has in this place.
        encoder_attention, decoder_attention, cross_attention: instead of `weights`, up to three attentions.
        encoder_tokens, decoder_tokens: theirs.
        attention, tokens: BertViz's names for `weights` and `query_tokens`.
        sentence_b_start: where the second of two sentences begins: the attention within each and from one to
            the other can then be chosen too.
        prettify_tokens: show GPT-2's tokens as the text that they spell, with "▁" for a space.
        layer, head: what is looked at first.
        heads, include_heads: those that lines are drawn of first; all others are there too.
        include_layers: the first of these is looked at first; all others are there too.
        view: "head" is one head as a matrix, "layer" all heads of its layer, "map" their lines, "token" every
            head from one token.
        theme, display_mode: "light", "dark", or "auto" to follow the notebook.

    Raises:
        TypeError, ValueError: for what is no attention, and for tokens that do not fit it.
    """
    if isinstance(key_tokens, int):
        key_tokens, sentence_b_start = None, key_tokens
    held = _held_attention(
        weights if weights is not None else attention,
        (query_tokens if query_tokens is not None else tokens, key_tokens),
        {"encoder": encoder_attention, "decoder": decoder_attention, "cross": cross_attention},
        {"encoder": encoder_tokens, "decoder": decoder_tokens},
    )
    if note := unusual_rows(held):
        warnings.warn(note, stacklevel=2)
    if prettify_tokens:
        held = replace(held, sides={name: side_of(pretty(side.tokens)) for name, side in held.sides.items()})
    if sentence_b_start is not None:
        held = hold_pair(held, sentence_b_start)
    lines = heads if heads is not None else include_heads
    chosen = _looked_at_first(layer, include_layers, head, lines) | {"view": view}
    return AttentionWidget(held, "attention from elsewhere", display_mode or theme, chosen)


def _held_attention(
    single: Layers,
    tokens: tuple[Tokens | None, Tokens | None],
    several: Mapping[Attention, Layers],
    sides: Mapping[Stack, Tokens | None],
) -> HeldRun:
    """One attention with the tokens of its queries and keys, or an encoder's and a decoder's with theirs."""
    if all(layers is None for layers in several.values()):
        return hold_single(single, *tokens)
    if single is not None:
        raise ValueError("Pass one attention, or those of an encoder and a decoder by their names, not both.")
    return hold_several(several, sides)


def _looked_at_first(
    layer: int | None, layers: Sequence[int] | None, head: int | None, heads: Sequence[int] | None
) -> dict[str, object]:
    """A choice: the layer and head that are given, else the first of several; lines are of all these."""
    return {
        "layer": layers[0] if layer is None and layers else layer,
        "head": heads[0] if head is None and heads else head,
        "heads": None if heads is None else list(heads),
    }


def _held(run: Batch, sentence: int) -> HeldRun:
    run.check_sentence(sentence)
    if isinstance(run, Run):
        return hold(run.computed, run.model)
    return hold_sentence(run.trace, run.model, sentence)


def _check_comparable(name: str, other: HeldRun, held: HeldRun) -> None:
    if _TAKEN.fullmatch(name):
        raise ValueError(
            f"No run to compare with can be called {name!r}: choose a name without a colon that is no head's."
        )
    for side in held.sides:
        if side not in other.sides or other.sides[side].tokens != held.sides[side].tokens:
            raise ValueError(
                f"{name!r} can't be compared with: its {side} tokens are not the same. Give both models the "
                "same sentence and target: headlight.run(model, text, target=run.translation)."
            )
    for family in held.families.values():
        theirs = other.families.get(family.name)
        if theirs is None or (theirs.n_layers, theirs.n_heads) != (family.n_layers, family.n_heads):
            raise ValueError(
                f"{name!r} can't be compared with: its {family.label.lower()} does not have "
                f"{family.n_layers} layers of {family.n_heads} heads."
            )


def _same(held: HeldRun) -> HeldRun:
    return held
