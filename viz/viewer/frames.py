"""The frames that send a run to the viewer: a first one, then pieces of the run on request.

The weights of all attentions are sent with the run if they are few bytes. Otherwise the grid gets maps of one
byte per pixel, and single heads are sent on demand: the browser colours cells by these bytes, but writes no
number before its float32 is there. In a run of at most `MAX_SHORT` tokens a side each cell has its pixel; the
maps of a longer run are pooled.

Of such a short run, the browser asks for all weights of an attention as soon as the grid shows something that
Python does not pool: scores, weights between words, or weights without special tokens.

A piece is named after its content; its arrays are named "<piece>/<array>":

    weights:<attention>                  values (L, H, Q, K): all of an attention
    scores:<attention>                   values (L, H, Q, K), before the mask
    pooled:<attention>                   levels, low, high, strongest_query, strongest_key: see viz.pooling
    head:<attention>:<layer>:<head>      weights (Q, K)
    head_scores:<attention>:<layer>:<head>    scores (Q, K), before the mask
    vectors:<attention>:<layer>:<head>   q, k, v, z, moved ... (T, d): see `AttentionView.vectors`
    row:<attention>:<query>              values (L, H, K): where every head looks from a query
    lengths:<attention>                  values (L, H, K): the length of each key's moved value
    ranking:<attention>                  entropy, distance, ... (L, H): see `head_scores`
    costs:<attention>                    cost (L, H): how much less probable the output is without a head
    receipt                              json: what determines the costs of all heads, as UTF-8
    other:<name>:<attention>:<layer>:<head>   weights, scores and moved (Q, K) of the same head in another
                                         run; moved is each weight times the length of the moved value

All numbers are the run's own, in float32. The script calls an attention a family.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from transformer.analysis.attention_maps import Attention, closed_reasons
from transformer.analysis.head_ranking import head_scores, resting_share
from viz.components.shared.frame import brief, color_data, pack_frame
from viz.components.shared.output_step import step_data
from viz.figures.labels import visible, visible_in_full
from viz.pooling import pool_maps
from viz.theme import Theme
from viz.viewer.choice import VIEWS, Choice, easiest_head
from viz.viewer.sides import SideTokens
from viz.viewer.viewer_run import AttentionView, ViewerRun

MAX_SHORT = 64
"""Tokens per side up to which the grid shows every weight; for longer runs it shows pooled maps."""
MAX_BYTES = 250_000
"""Bytes up to which a short run is sent with the weights of all attentions."""
POOLED_SIDE = 48
"""Pixels of a map's side in the grid of a long run; larger maps are pooled to this size."""
RECEIPT = "receipt"
"""Name of the piece with the receipt of the costs."""

Arrays = dict[str, NDArray[Any]]


def is_short(run: ViewerRun) -> bool:
    """True if the grid shows every weight of a run."""
    return run.longest <= MAX_SHORT


def comes_at_once(run: ViewerRun, max_bytes: int = MAX_BYTES) -> bool:
    """True if a run is short and all its weights together are at most `max_bytes` bytes."""
    n_weights = sum(view.n_layers * view.n_heads * view.allowed.size for view in run.attentions.values())
    return is_short(run) and n_weights * np.dtype(np.float32).itemsize <= max_bytes


def run_frame(
    run: ViewerRun, theme: Theme, *, pieces: Iterable[str] | None = None, channel: str = "", **options: Any
) -> bytes:
    """Pack the viewer's first frame.

    Args:
        run: the run.
        theme: the colours of everything.
        pieces: the pieces to include. None for all weights if they are few bytes.
        channel: the name under which updates of this view are sent.
        options: options of the viewer; see `RunData` in run.js.
    """
    arrays = closed_arrays(run)
    if pieces is None:
        pieces = weight_pieces(run) if comes_at_once(run) else ()
    for name in pieces:
        arrays |= piece(run, name)
    return pack_frame(run_data(run, theme, channel=channel) | options, arrays)


def run_data(run: ViewerRun, theme: Theme, *, channel: str = "") -> dict[str, Any]:
    """The data of the first frame, without the arrays; see `RunFrame` in run.js."""
    return {
        "colors": color_data(theme),
        "channel": channel,
        "run": run_id(run),
        "unit": run.unit,
        "whole": is_short(run),
        "pooled": _pooled_side(run),
        "rounded": [],
        "absent": "",
        "sides": {stack: _side_data(side) for stack, side in run.sides.items()},
        "attentions": [
            {
                **_attention_data(attention),
                "easiest": easiest_head(run, attention),
                "resting": _resting(run, attention),
            }
            for attention in run.attentions.values()
        ],
        "others": list(run.others),
        "views": list(VIEWS),
        "grid": True,
        "detail": True,
    }


def closed_arrays(run: ViewerRun) -> Arrays:
    """The closed cells of each attention, (Q, K): 0 if open, else the number of the reason, from 1.

    Attentions that are open everywhere or causal are left out: the browser knows their cells. A layer that
    closes more has an array of its own.
    """
    codes = {f"closed:{name}": _codes(attention.allowed) for name, attention in run.attentions.items()}
    codes = {name: array for name, array in codes.items() if array.any() and not _is_causal(array)}
    return codes | {
        f"closed:{name}:{layer}": _codes(allowed)
        for name, attention in run.attentions.items()
        for layer, allowed in attention.narrower.items()
    }


def update_frame(run: ViewerRun, choice: Choice | None, pieces: Iterable[str] = ()) -> bytes:
    """Pack a choice, if there is one, and pieces; unknown names are listed as "none"."""
    arrays: Arrays = {}
    found: list[str] = []
    unknown: list[str] = []
    for name in dict.fromkeys(pieces):
        try:
            arrays |= piece(run, name)
        except (KeyError, IndexError, ValueError):
            unknown.append(name)
        else:
            found.append(name)
    chosen = None if choice is None else choice.data()
    return pack_frame({"run": run_id(run), "choice": chosen, "pieces": found, "none": unknown}, arrays)


def piece(run: ViewerRun, name: str) -> Arrays:
    """The arrays of a piece.

    Raises:
        KeyError, IndexError, ValueError: the name is unknown; it may be sent by a browser.
    """
    if name == RECEIPT and run.receipt is not None:
        return {f"{name}/json": np.frombuffer(run.receipt().to_json().encode(), np.uint8)}
    kind, *where = name.split(":")
    if kind == "other":
        other, *where = where
        run = run.others[other]()
    make, n_parts = _PIECES[kind]
    if len(where) != n_parts:
        raise ValueError(name)
    attention = run.attentions[cast("Attention", where[0])]
    numbers = [int(part) for part in where[1:]]
    _check_place(attention, kind, numbers)
    return {f"{name}/{key}": array for key, array in make(run, attention, *numbers).items()}


def weight_pieces(run: ViewerRun) -> list[str]:
    """The names of the pieces with the weights of all heads."""
    return [f"weights:{name}" for name in run.attentions]


def first_pieces(run: ViewerRun, choice: Choice) -> list[str]:
    """The pieces that the viewer needs right after the first frame."""
    return [] if comes_at_once(run) else chosen_pieces(choice)


def chosen_pieces(choice: Choice) -> list[str]:
    """The pieces drawn first if the weights are sent on demand: the grid and the chosen head."""
    return [f"pooled:{choice.attention}", f"head:{choice.attention}:{choice.layer}:{choice.head}"]


def run_id(run: ViewerRun) -> str:
    """An id that is equal for equal tokens and weights.

    For a long run, only the last query's weights are used: they depend on all tokens that it may attend to.
    """
    own = run.once("digest", lambda: _digest(run))
    return hashlib.blake2b(repr((own, list(run.others))).encode(), digest_size=8).hexdigest()


def _digest(run: ViewerRun) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for stack, side in run.sides.items():
        digest.update(repr((stack, side.tokens, side.written)).encode("utf-8", "backslashreplace"))
    for name, attention in run.attentions.items():
        digest.update(f"{name} {attention.n_layers} {attention.n_heads}".encode())
        for layer in range(attention.n_layers):
            weights = attention.weights(layer)
            digest.update((weights if is_short(run) else weights[:, -1]).tobytes())
    return digest.hexdigest()


def _codes(allowed: NDArray[np.bool_]) -> NDArray[np.uint8]:
    codes = np.zeros(allowed.shape, np.uint8)
    for code, cells in enumerate(closed_reasons(allowed).values(), start=1):
        codes[cells] = code
    return codes


def _is_causal(codes: NDArray[np.uint8]) -> bool:
    """True if exactly the keys after each query are closed, all for the first reason."""
    return np.array_equal(codes, np.triu(np.ones_like(codes), 1))


def _side_data(side: SideTokens) -> dict[str, Any]:
    words = side.words
    return {
        "tokens": [brief(visible(token)) for token in side.tokens],
        "special": list(side.special),
        "punctuation": list(side.punctuation),
        "words": None if words is None else [brief(visible(label)) for label in words.labels],
        "word_of": None if words is None else words.word_of.tolist(),
        "written": [None if token is None else brief(visible(token)) for token in side.written],
        "spelled": [visible_in_full(text) if text else "" for text in side.spelled],
        "predicted": [None if step is None else step_data(step) for step in side.predicted],
    }


def _attention_data(attention: AttentionView) -> dict[str, Any]:
    return {
        "name": attention.name,
        "label": attention.label,
        "queries": attention.queries,
        "keys": attention.keys,
        "layers": attention.n_layers,
        "heads": attention.n_heads,
        "kv_heads": attention.kv_heads,
        "path": attention.path,
        "formula": attention.formula,
        "scale": attention.scale,
        "soft_cap": attention.soft_cap,
        "reasons": [f"masked: {reason}" for reason in closed_reasons(attention.allowed)],
        "causal": _is_causal(_codes(attention.allowed)),
        "has": attention.has,
    }


def _check_place(attention: AttentionView, kind: str, numbers: Sequence[int]) -> None:
    """Raise IndexError for a layer and head, or a query, that an attention does not have."""
    counts = (attention.allowed.shape[0],) if kind == "row" else (attention.n_layers, attention.n_heads)
    if not all(0 <= number < count for number, count in zip(numbers, counts, strict=False)):
        raise IndexError(numbers)


def _stacked(values: Callable[[int], NDArray[Any] | None] | None, attention: AttentionView) -> Arrays:
    if values is None:
        raise KeyError(attention.name)
    layers = [values(layer) for layer in range(attention.n_layers)]
    return {"values": np.stack([layer for layer in layers if layer is not None])}


def _pooled_side(run: ViewerRun) -> int:
    return MAX_SHORT if is_short(run) else POOLED_SIDE


def _pooled(run: ViewerRun, attention: AttentionView) -> Arrays:
    side = _pooled_side(run)
    layers = [
        pool_maps(attention.weights(layer)[None], attention.allowed_in(layer), side)
        for layer in range(attention.n_layers)
    ]
    names = ("levels", "low", "high", "strongest_query", "strongest_key")
    arrays: Arrays = {name: np.concatenate([getattr(pooled, name) for pooled in layers]) for name in names}
    for name in names[3:]:
        arrays[name] = arrays[name].astype(np.float32)
    return arrays


def _ranking(run: ViewerRun, attention: AttentionView) -> Arrays:
    special = run.sides[attention.keys].special
    is_self = attention.queries == attention.keys
    layers = [
        head_scores(attention.weights(layer), special, attention.allowed_in(layer), is_self_attention=is_self)
        for layer in range(attention.n_layers)
    ]
    return {name: np.stack([layer[name] for layer in layers]) for name in layers[0]}


def _costs(_: ViewerRun, attention: AttentionView) -> Arrays:
    if attention.costs is None:
        raise KeyError(attention.name)
    return {"cost": np.stack([attention.costs(layer) for layer in range(attention.n_layers)])}


def _resting(run: ViewerRun, attention: AttentionView) -> list[list[float]]:
    """The share of each head's attention on special tokens, by layer, as precisely as it is shown."""
    special = run.sides[attention.keys].special

    def share() -> list[list[float]]:
        shares = [
            resting_share(attention.weights(layer), special, attention.allowed_in(layer))
            for layer in range(attention.n_layers)
        ]
        return [np.nan_to_num(own).astype(float).round(4).tolist() for own in shares]

    return run.once(f"resting:{attention.name}", share)


def _row(_: ViewerRun, attention: AttentionView, query: int) -> Arrays:
    return {"values": np.stack([attention.weights(layer)[:, query] for layer in range(attention.n_layers)])}


def _head(_: ViewerRun, attention: AttentionView, layer: int, head: int) -> Arrays:
    return {"weights": attention.weights(layer)[head]}


def _head_scores(_: ViewerRun, attention: AttentionView, layer: int, head: int) -> Arrays:
    if attention.scores is None:
        raise KeyError(attention.name)
    return {"scores": attention.scores(layer)[head]}


def _other_head(run: ViewerRun, attention: AttentionView, layer: int, head: int) -> Arrays:
    """Weights, scores, and weighted lengths of values: the browser has no lengths for another run."""
    arrays = _head(run, attention, layer, head)
    if attention.scores is not None:
        arrays |= _head_scores(run, attention, layer, head)
    lengths = attention.lengths and attention.lengths(layer)
    return arrays if lengths is None else arrays | {"moved": arrays["weights"] * lengths[head]}


def _vectors(_: ViewerRun, attention: AttentionView, layer: int, head: int) -> Arrays:
    if attention.vectors is None:
        raise KeyError(attention.name)
    return dict(attention.vectors(layer, head))


_PIECES: dict[str, tuple[Callable[..., Arrays], int]] = {
    "weights": (lambda _, attention: _stacked(attention.weights, attention), 1),
    "scores": (lambda _, attention: _stacked(attention.scores, attention), 1),
    "lengths": (lambda _, attention: _stacked(attention.lengths, attention), 1),
    "pooled": (_pooled, 1),
    "ranking": (_ranking, 1),
    "costs": (_costs, 1),
    "row": (_row, 2),
    "head": (_head, 3),
    "head_scores": (_head_scores, 3),
    "other": (_other_head, 3),
    "vectors": (_vectors, 3),
}
"""By kind, the function that makes a piece, and the number of parts in its name after the kind."""
