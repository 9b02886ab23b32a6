"""The frames in which a run reaches the viewer: one to begin with, then pieces of it, as they are asked for.

A run of up to `WHOLE` tokens a side comes with all its attention weights at once. Of a longer one the first
frame has the tokens and the masks only; the grid gets maps pooled to its pixels, whole heads come on demand.

A notebook gets a shorter run in that way too where its weights are many bytes. The browser then asks for all
weights of an attention as soon as the grid has something to show that Python does not pool: scores, weights
between words, or those without special tokens.

A piece is named after what it holds; its arrays are named "<piece>/<array>":

    weights:<attention>                  values (L, H, Q, K): all of an attention
    scores:<attention>                   values (L, H, Q, K), before the mask
    pooled:<attention>                   levels, low, high, strongest_query, strongest_key: see viz.pooling
    head:<attention>:<layer>:<head>      weights (Q, K), and scores (Q, K) where they are known
    vectors:<attention>:<layer>:<head>   q, k, v, z, moved ... (T, d): see `Family.vectors`
    row:<attention>:<query>              values (L, H, K): where every head looks from a query
    lengths:<attention>                  values (L, H, K): how long each key's moved value is
    ranking:<attention>                  entropy, distance, ... (L, H): see `head_scores`
    other:<name>:<attention>:<layer>:<head>   weights, scores and moved (Q, K) of the same head in another
                                         run: moved is each weight times the length of what it moves

All numbers are the run's own, in float32.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transformer.analysis.attention_maps import FUTURE, Attention
from transformer.analysis.head_ranking import head_scores
from viz.components.shared.frame import brief, color_data, pack_frame
from viz.figures.labels import visible
from viz.pooling import pool_maps
from viz.theme import Theme
from viz.viewer.choice import VIEWS, Choice
from viz.viewer.held_run import Family, HeldRun, Side

WHOLE = 64
"""Up to this many tokens a side, all attention of a run is sent at once."""
POOLED_SIDE = 48
"""Pixels of one map in the grid, at most; a larger one is pooled to them."""

Arrays = dict[str, NDArray[Any]]


def is_whole(held: HeldRun) -> bool:
    """Whether all attention of a run is sent at once."""
    return held.longest <= WHOLE


def run_frame(
    held: HeldRun, theme: Theme, *, pieces: Iterable[str] | None = None, channel: str = "", **options: Any
) -> bytes:
    """Pack what the viewer begins with.

    Args:
        held: the run.
        theme: whose colours everything has.
        pieces: what of the run comes with it; when left out all weights, unless the run is long.
        channel: the name under which updates of this view come.
        options: of the viewer: see `RunData` in run.js.
    """
    arrays = closed(held)
    if pieces is None:
        pieces = all_weights(held) if is_whole(held) else ()
    for name in pieces:
        arrays |= piece(held, name)
    return pack_frame(run_data(held, theme, channel=channel) | options, arrays)


def run_data(held: HeldRun, theme: Theme, *, channel: str = "") -> dict[str, Any]:
    """What the viewer begins with, without the arrays; see `RunFrame` in run.js."""
    return {
        "colors": color_data(theme),
        "channel": channel,
        "run": run_id(held),
        "unit": held.unit,
        "whole": is_whole(held),
        "pooled": POOLED_SIDE,
        "rounded": [],
        "absent": "",
        "sides": {stack: _side_data(side) for stack, side in held.sides.items()},
        "families": [_family_data(family) for family in held.families.values()],
        "others": list(held.others),
        "views": list(VIEWS),
        "grid": True,
        "detail": True,
    }


def closed(held: HeldRun) -> Arrays:
    """The closed cells of each attention: see `closed_cells`."""
    return {f"closed:{name}": closed_cells(family)[0] for name, family in held.families.items()}


def update_frame(held: HeldRun, choice: Choice | None, pieces: Iterable[str] = ()) -> bytes:
    """Pack what is chosen, unless it is None, and pieces; names that name none are told to be none."""
    arrays: Arrays = {}
    found: list[str] = []
    none: list[str] = []
    for name in dict.fromkeys(pieces):
        try:
            arrays |= piece(held, name)
        except (KeyError, IndexError, ValueError):
            none.append(name)
        else:
            found.append(name)
    told = None if choice is None else choice.data()
    data = {"run": run_id(held), "choice": told, "pieces": found, "none": none}
    return pack_frame(data, arrays)


def piece(held: HeldRun, name: str) -> Arrays:
    """The arrays of a piece.

    Raises:
        KeyError, IndexError, ValueError: for a name that names nothing here; it may come from a browser.
    """
    kind, *where = name.split(":")
    if kind == "other":
        other, *where = where
        held, kind = held.others[other](), "other"
    make, n_parts = _PIECES[kind]
    if len(where) != n_parts:
        raise ValueError(name)
    return _named(name, make(held, *where))


def all_weights(held: HeldRun) -> list[str]:
    """The pieces that have the weights of all heads."""
    return [f"weights:{name}" for name in held.families]


def first_pieces(held: HeldRun, choice: Choice) -> list[str]:
    """What the viewer will need beside the first frame of a long run."""
    return [] if is_whole(held) else chosen_pieces(choice)


def chosen_pieces(choice: Choice) -> list[str]:
    """What is painted first where not all weights are there: the grid, and the chosen head."""
    return [f"pooled:{choice.attention}", f"head:{choice.attention}:{choice.layer}:{choice.head}"]


def run_id(held: HeldRun) -> str:
    """Tell a run from others: the same for the same tokens and weights.

    Of a long one the last query's weights stand for all: they follow from all tokens that it could look at.
    """
    digest = hashlib.blake2b(digest_size=8)
    for stack, side in held.sides.items():
        digest.update(repr((stack, side.tokens, side.written)).encode("utf-8", "backslashreplace"))
    for name, family in held.families.items():
        digest.update(f"{name} {family.n_layers} {family.n_heads}".encode())
        for layer in range(family.n_layers):
            weights = family.weights(layer)
            digest.update((weights if is_whole(held) else weights[:, -1]).tobytes())
    digest.update(repr(list(held.others)).encode())
    return digest.hexdigest()


def closed_cells(family: Family) -> tuple[NDArray[np.uint8], list[str]]:
    """Why cells are closed: (Q, K) numbers of reasons, 0 where they are open, and the reasons in words.

    The last query may look at all that came before: what is closed to it is padding.
    """
    padding = np.broadcast_to(~family.allowed[-1], family.allowed.shape)
    codes = np.where(padding, 2, np.where(family.allowed, 0, 1)).astype(np.uint8)
    return codes, [f"masked: {FUTURE}", "masked: padding"]


def _side_data(side: Side) -> dict[str, Any]:
    words = side.words
    return {
        "tokens": [brief(visible(token)) for token in side.tokens],
        "special": list(side.special),
        "punctuation": list(side.punctuation),
        "words": None if words is None else [brief(visible(label)) for label in words.labels],
        "word_of": None if words is None else words.word_of.tolist(),
        "written": [None if token is None else brief(visible(token)) for token in side.written],
    }


def _family_data(family: Family) -> dict[str, Any]:
    return {
        "name": family.name,
        "label": family.label,
        "queries": family.queries,
        "keys": family.keys,
        "layers": family.n_layers,
        "heads": family.n_heads,
        "kv_heads": family.kv_heads,
        "path": family.path,
        "formula": family.formula,
        "scale": family.scale,
        "soft_cap": family.soft_cap,
        "reasons": closed_cells(family)[1],
        "has": family.has,
    }


def _named(name: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    return {f"{name}/{key}": array for key, array in arrays.items()}


def _stacked(of_layer: Callable[[int], NDArray[Any] | None] | None, family: Family) -> Arrays:
    if of_layer is None:
        raise KeyError(family.name)
    layers = [of_layer(layer) for layer in range(family.n_layers)]
    return {"values": np.stack([layer for layer in layers if layer is not None])}


def _weights(held: HeldRun, attention: Attention) -> Arrays:
    family = held.families[attention]
    return _stacked(family.weights, family)


def _scores(held: HeldRun, attention: Attention) -> Arrays:
    family = held.families[attention]
    return _stacked(family.scores, family)


def _lengths(held: HeldRun, attention: Attention) -> Arrays:
    family = held.families[attention]
    return _stacked(family.lengths, family)


def _pooled(held: HeldRun, attention: Attention) -> Arrays:
    family = held.families[attention]
    layers = [
        pool_maps(family.weights(layer)[None], family.allowed, POOLED_SIDE)
        for layer in range(family.n_layers)
    ]
    names = ("levels", "low", "high", "strongest_query", "strongest_key")
    arrays: Arrays = {name: np.concatenate([getattr(pooled, name) for pooled in layers]) for name in names}
    for name in names[3:]:
        arrays[name] = arrays[name].astype(np.float32)
    return arrays


def _ranking(held: HeldRun, attention: Attention) -> Arrays:
    family = held.families[attention]
    special = held.sides[family.keys].special
    is_self = family.queries == family.keys
    layers = [
        head_scores(family.weights(layer), special, is_self_attention=is_self)
        for layer in range(family.n_layers)
    ]
    return {name: np.stack([layer[name] for layer in layers]) for name in layers[0]}


def _place(family: Family, layer: str, head: str) -> tuple[int, int]:
    at = int(layer), int(head)
    if not (0 <= at[0] < family.n_layers and 0 <= at[1] < family.n_heads):
        raise IndexError(at)
    return at


def _head(held: HeldRun, attention: Any, layer: str, head: str) -> Arrays:
    family: Family = held.families[attention]
    at = _place(family, layer, head)
    arrays: Arrays = {"weights": family.weights(at[0])[at[1]]}
    if family.scores is not None:
        arrays["scores"] = family.scores(at[0])[at[1]]
    return arrays


def _row(held: HeldRun, attention: Attention, query: str) -> Arrays:
    family = held.families[attention]
    if not 0 <= int(query) < family.allowed.shape[0]:
        raise IndexError(query)
    return {"values": np.stack([family.weights(layer)[:, int(query)] for layer in range(family.n_layers)])}


def _other_head(held: HeldRun, attention: Attention, layer: str, head: str) -> Arrays:
    """A head as `_head` has it, and what it moves, which the browser can't compute without the lengths."""
    family = held.families[attention]
    arrays = _head(held, attention, layer, head)
    lengths = family.lengths and family.lengths(int(layer))
    return arrays if lengths is None else arrays | {"moved": arrays["weights"] * lengths[int(head)]}


def _vectors(held: HeldRun, attention: Attention, layer: str, head: str) -> Arrays:
    family = held.families[attention]
    if family.vectors is None:
        raise KeyError(attention)
    return dict(family.vectors(*_place(family, layer, head)))


_PIECES: dict[str, tuple[Callable[..., Arrays], int]] = {
    "weights": (_weights, 1),
    "scores": (_scores, 1),
    "pooled": (_pooled, 1),
    "head": (_head, 3),
    "other": (_other_head, 3),
    "row": (_row, 2),
    "vectors": (_vectors, 3),
    "lengths": (_lengths, 1),
    "ranking": (_ranking, 1),
}
"""How the pieces of a kind are made, and how many parts their names have after the kind."""
