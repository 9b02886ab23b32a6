"""A run as the viewer reads it: its tokens, and every number of its attention, by layer and head."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from transformer.analysis.attention_maps import (
    ATTENTION_LABELS,
    MODULES,
    Attention,
    attention_record,
    attentions,
    n_layers,
    score_expression,
    stacks,
)
from transformer.analysis.interventions.heads import head_places
from transformer.analysis.moved import moved_lengths, moved_values
from transformer.analysis.receipts.answering import explain
from transformer.analysis.receipts.receipt import Inquiry, Receipt
from transformer.loaded import LoadedModel
from transformer.model.trace import AttentionRecord, Stack, Trace
from transformer.run import Run
from transformer.text.coder import Unit
from viz.viewer.sides import SideTokens, foreign_side, side_of

Known = TypeVar("Known")
Floats = NDArray[np.float32]
_known: WeakKeyDictionary[Trace, dict[str, object]] = WeakKeyDictionary()
"""What was computed of runs that are still cached: a page prepares its run again whenever it is redrawn."""
MOST_COSTED = 64
"""Tokens per side up to which each head's cost is computed: of en-it's 64 heads in a second at most."""


@dataclass(frozen=True, eq=False)
class AttentionView:
    """One attention of a run, computed on demand: L layers, H heads, Q queries, K keys.

    Attributes:
        name: an `Attention` for a run of our own models.
        label: its displayed name.
        queries, keys: the sides of the query and the key tokens; a `Stack` each for our own models.
        n_layers, n_heads: L and H.
        allowed: (Q, K) bool, True = may attend in some layer.
        weights: layer -> (H, Q, K).
        scores: layer -> (H, Q, K) before the mask; None if only weights are known.
        vectors: (layer, head) -> "q" (Q, d_head), "k" and "v" (K, d_head), "z" (Q, d_head) and, where they
            exist, "moved" (K, D), "bias" (Q, K), and q and k before rotation ("q_unrotated", "k_unrotated")
            and before their norm ("q_unnormed", "k_unnormed"); None if only weights are known.
        lengths: layer -> (H, K), the lengths of "moved", or None; None if they don't exist.
        costs: layer -> (H,), how much less probable the output is without each head, in nats per token; None
            if the run has no receipt.
        path: path of the module, with "{layer}" in place of the layer; "" if unknown.
        formula: how a score is computed, in symbols.
        scale: the divisor of the products of q and k; 1 if there is none.
        soft_cap: c of c tanh(score / c); 0 for none.
        kv_heads: number of key-value heads.
        narrower: layer -> (Q, K) bool, for layers whose mask closes more than `allowed`.
    """

    name: Attention
    label: str
    queries: Stack
    keys: Stack
    n_layers: int
    n_heads: int
    allowed: NDArray[np.bool_]
    weights: Callable[[int], Floats]
    scores: Callable[[int], Floats] | None = None
    vectors: Callable[[int, int], Mapping[str, Floats]] | None = None
    lengths: Callable[[int], Floats | None] | None = None
    costs: Callable[[int], Floats] | None = None
    path: str = ""
    formula: str = ""
    scale: float = 1.0
    soft_cap: float = 0.0
    kv_heads: int = 0
    narrower: Mapping[int, NDArray[np.bool_]] = field(default_factory=dict)

    def allowed_in(self, layer: int) -> NDArray[np.bool_]:
        """(Q, K) bool, True = may attend in a layer."""
        return self.narrower.get(layer, self.allowed)

    @property
    def has(self) -> list[str]:
        """What is known in addition to the weights: "scores", "vectors", "lengths", "costs"."""
        known = {
            "scores": self.scores,
            "vectors": self.vectors,
            "lengths": self.lengths,
            "costs": self.costs,
        }
        return [name for name, found in known.items() if found is not None]


@dataclass(frozen=True, eq=False)
class ViewerRun:
    """A run as the viewer reads it.

    Attributes:
        sides: the tokens of each stack.
        attentions: by name. Parts of a foreign attention, and their sides, have other names.
        unit: what a token is.
        others: by name, functions that return runs of the same tokens to compare with.
        receipt: computes the costs of all heads with everything that determines them; None if the model
            writes nothing, the run is long, or it can't be computed again from text.
        known: see `once`.
    """

    sides: Mapping[Stack, SideTokens]
    attentions: Mapping[Attention, AttentionView]
    unit: Unit = "sub-word"
    others: Mapping[str, Callable[[], ViewerRun]] = field(default_factory=dict)
    receipt: Callable[[], Receipt] | None = None
    known: dict[str, object] = field(default_factory=dict)

    def once(self, name: str, compute: Callable[[], Known]) -> Known:
        """What `compute` returns, computed once for all views of the same run."""
        if name not in self.known:
            self.known[name] = compute()
        return self.known[name]  # type: ignore[return-value]

    @property
    def longest(self) -> int:
        """The number of tokens on the longest side."""
        return max(len(side.tokens) for side in self.sides.values())


def view_run(
    run: Run,
    loaded: LoadedModel,
    others: Mapping[str, Callable[[], ViewerRun]] | None = None,
    *,
    typed: tuple[str, str] | None = None,
) -> ViewerRun:
    """Prepare a run of one of our models for the viewer.

    Args:
        run: the run.
        loaded: its model.
        others: see `ViewerRun`.
        typed: the source and target, blank if it is generated, from which `run_sentence` gives this run; None
            if it doesn't. Heads then have no costs, because nobody could compute them again.
    """
    views = _attentions(run.trace, loaded, 0)
    viewed = ViewerRun({}, views, _unit(loaded), others or {}, known=_known.setdefault(run.trace, {}))
    sides = viewed.once("sides", lambda: {stack: side_of(run, loaded, stack) for stack in stacks(run.trace)})
    viewed = replace(viewed, sides=sides)
    if typed is None or viewed.longest > MOST_COSTED or not run.steps or not run.has_numbers:
        return viewed
    receipt = cache(partial(explain, loaded, run, Inquiry("heads", "zero", rival="", pairs=(typed,))))
    places = head_places(loaded.model.config)

    def costs(attention: Attention, layer: int) -> Floats:
        effects = zip(places, receipt().effects, strict=True)
        own = [effect for place, effect in effects if place[:2] == (attention, layer)]
        return np.array(own, dtype=np.float32)

    views = {name: replace(view, costs=partial(costs, name)) for name, view in views.items()}
    return replace(viewed, attentions=views, receipt=receipt)


def view_sentence(trace: Trace, loaded: LoadedModel, sentence: int) -> ViewerRun:
    """Prepare one sentence of a batch for the viewer, including its padding."""
    sides: dict[Stack, SideTokens] = {}
    for stack in stacks(trace):
        tokens = trace.tokens(stack)[sentence]
        coder = loaded.source if stack == "encoder" else loaded.target
        names = {coder.token(index) for index in coder.special_tokens.ids}
        sides[stack] = SideTokens(tokens, tuple(i for i, token in enumerate(tokens) if token in names))
    return ViewerRun(sides, _attentions(trace, loaded, sentence), _unit(loaded))


def view_weights(
    weights: Mapping[Attention, Sequence[Floats]],
    tokens: Mapping[Stack, Sequence[str]],
    labels: Mapping[Attention, str] = ATTENTION_LABELS,
) -> ViewerRun:
    """Prepare attention of which only the weights are known.

    Args:
        weights: by attention and layer, (H, Q, K).
        tokens: by stack.
        labels: displayed names of the attentions.
    """
    views: dict[Attention, AttentionView] = {}
    for name, layers in weights.items():
        stack, module = MODULES[name]
        views[name] = AttentionView(
            name=name,
            label=labels[name],
            queries=stack,
            keys="encoder" if module == "cross_attn" else stack,
            n_layers=len(layers),
            n_heads=layers[0].shape[0],
            allowed=_guessed_mask(layers),
            weights=layers.__getitem__,
        )
    return ViewerRun({stack: foreign_side(own) for stack, own in tokens.items()}, views)


def _attentions(trace: Trace, loaded: LoadedModel, sentence: int) -> dict[Attention, AttentionView]:
    return {name: _recorded(trace, loaded, name, sentence) for name in attentions(trace)}


def _unit(loaded: LoadedModel) -> Unit:
    return loaded.source.unit if loaded.source.unit == loaded.target.unit else "sub-word"


def _recorded(trace: Trace, loaded: LoadedModel, name: Attention, sentence: int) -> AttentionView:
    config = loaded.model.config
    stack, module = MODULES[name]
    records = [attention_record(trace, name, layer) for layer in range(n_layers(trace, name))]
    first, masks = records[0], [record.mask[sentence, 0].numpy() for record in records]
    allowed = np.logical_or.reduce(masks)

    def weights(layer: int) -> Floats:
        return records[layer].weights[sentence].float().numpy()

    def scores(layer: int) -> Floats:
        return records[layer].scores[sentence].float().numpy()

    def vectors(layer: int, head: int) -> Mapping[str, Floats]:
        return _vectors(trace, loaded, records[layer], head, sentence)

    def lengths(layer: int) -> Floats | None:
        return moved_lengths(loaded.model, records[layer], sentence)

    return AttentionView(
        name=name,
        label=ATTENTION_LABELS[name] if len(attentions(trace)) > 1 else "Self-attention",
        queries=stack,
        keys="encoder" if module == "cross_attn" else stack,
        n_layers=len(records),
        n_heads=first.q.shape[1],
        allowed=allowed,
        weights=weights,
        scores=scores,
        vectors=vectors,
        lengths=lengths if config.merge_heads == "transposed" else None,
        path=f"{stack}.layers.{{layer}}.{module}",
        formula=score_expression(config, name),
        scale=1 / config.attention_factor,
        soft_cap=config.attention_soft_cap,
        kv_heads=first.k.shape[1],
        narrower={layer: own for layer, own in enumerate(masks) if (own != allowed).any()},
    )


def _vectors(
    trace: Trace, loaded: LoadedModel, record: AttentionRecord, head: int, sentence: int
) -> Mapping[str, Floats]:
    """All recorded vectors of one head; with grouped queries, the keys and values that this head uses."""
    kv_head = head // (record.q.shape[1] // record.k.shape[1])
    found = {
        "q": record.q[sentence, head],
        "k": record.k[sentence, kv_head],
        "v": record.v[sentence, kv_head],
        "z": record.z[sentence, head],
    }
    for name, own in (("q", head), ("k", kv_head)):
        for earlier, path in (
            (f"{name}_unrotated", f"{name}_unrotated"),
            (f"{name}_unnormed", f"{name}_norm.input"),
        ):
            tensor = trace.get(f"{record.path}.{path}")  # (B, H or fewer, T, d_head)
            if tensor is not None and tensor.dim() == 4:  # not that of a norm across heads
                found[earlier] = tensor[sentence, own]
    bias = trace.get(f"{record.path}.position_bias")  # (1, H, Q, K)
    if bias is not None:
        found["bias"] = bias[0, head]
    arrays = {name: tensor.float().numpy() for name, tensor in found.items()}
    moved = moved_values(loaded.model, record, head, sentence)
    return arrays if moved is None else {**arrays, "moved": moved}


def _guessed_mask(layers: Sequence[Floats]) -> NDArray[np.bool_]:
    """All cells open, or only the causal ones if no head of any layer looks ahead."""
    n_queries, n_keys = layers[0].shape[1:]
    causal = np.tri(n_queries, n_keys, dtype=bool)
    is_causal = n_queries == n_keys > 1 and not any(np.any(layer[:, ~causal]) for layer in layers)
    return causal if is_causal else np.ones((n_queries, n_keys), bool)
