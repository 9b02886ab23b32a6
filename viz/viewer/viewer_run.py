"""A run as the viewer reads it: its tokens, and every number of its attention, by layer and head."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from transformer.analysis.attention_maps import (
    ATTENTION_LABELS,
    MODULES,
    Attention,
    Words,
    attention_record,
    attentions,
    n_layers,
    score_expression,
    stacks,
    words_of,
)
from transformer.analysis.interventions.corpus import whole_output
from transformer.analysis.interventions.heads import Switch, head_effects, head_places
from transformer.analysis.moved import moved_lengths, moved_values
from transformer.decoding.greedy import DecodingStep
from transformer.loaded import LoadedModel
from transformer.model.trace import AttentionRecord, Stack, Trace
from transformer.run import Run
from transformer.text.coder import Coder, Unit
from viz.components.shared.output_step import Candidate, OutputStep
from viz.figures.labels import visible

Floats = NDArray[np.float32]
MOST_COSTED = 64
"""Tokens per side up to which each head's cost is computed: of en-it's 64 heads in a second at most."""
_QUERY_VECTORS = ("q", "q_unrotated", "q_unnormed", "z")
_SPECIAL = re.compile(r"\[[^\[\]]+\]|<[^<>]+>|<\|.+\|>")
"""How tokenizers write their special tokens."""
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


@dataclass(frozen=True, eq=False)
class AttentionView:
    """One attention of a run, computed on demand: L layers, H heads, Q queries, K keys.

    Attributes:
        name: an `Attention` for a run of our own models.
        label: its displayed name.
        queries, keys: the sides of the query and the key tokens; a `Stack` each for our own models.
        n_layers, n_heads: L and H.
        allowed: (Q, K) bool, True = may attend.
        weights: layer -> (H, Q, K).
        scores: layer -> (H, Q, K) before the mask; None if only weights are known.
        vectors: (layer, head) -> "q" (Q, d_head), "k" and "v" (K, d_head), "z" (Q, d_head) and, where they
            exist, "moved" (K, D), "bias" (Q, K), and q and k before rotation ("q_unrotated", "k_unrotated")
            and before their norm ("q_unnormed", "k_unnormed"); None if only weights are known.
        lengths: layer -> (H, K), the lengths of "moved", or None; None if they don't exist.
        costs: layer -> (H,), how much less probable the output is without each head, in nats per token; None
            if the model writes nothing, or the run is long.
        path: path of the module, with "{layer}" in place of the layer; "" if unknown.
        formula: how a score is computed, in symbols.
        scale: the divisor of the products of q and k; 1 if there is none.
        soft_cap: c of c tanh(score / c); 0 for none.
        kv_heads: number of key-value heads.
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
    """

    sides: Mapping[Stack, SideTokens]
    attentions: Mapping[Attention, AttentionView]
    unit: Unit = "sub-word"
    others: Mapping[str, Callable[[], ViewerRun]] = field(default_factory=dict)

    @property
    def longest(self) -> int:
        """The number of tokens on the longest side."""
        return max(len(side.tokens) for side in self.sides.values())


def view_run(
    run: Run, loaded: LoadedModel, others: Mapping[str, Callable[[], ViewerRun]] | None = None
) -> ViewerRun:
    """Prepare a run of one of our models for the viewer."""
    sides: dict[Stack, SideTokens] = {stack: _side(run, loaded, stack) for stack in stacks(run.trace)}
    views = _attentions(run.trace, loaded, 0)
    n = max(len(side.tokens) for side in sides.values())
    if n <= MOST_COSTED and run.steps and run.has_numbers:
        costs = _costs(run, loaded)
        views = {name: replace(view, costs=partial(costs, name)) for name, view in views.items()}
    return ViewerRun(sides, views, _unit(loaded), others or {})


def _costs(run: Run, loaded: LoadedModel) -> Callable[[Attention, int], Floats]:
    """A function that gives an attention's and layer's `costs`; all are computed at its first call."""

    @cache
    def by_layer() -> dict[tuple[Attention, int], Floats]:
        question = whole_output(loaded, run)
        effects = head_effects(loaded, run, [question], Switch(loaded, "zero"))[:, 0] / len(question.ids)
        found: dict[tuple[Attention, int], list[float]] = {}
        for place, effect in zip(head_places(loaded.model.config), effects.tolist(), strict=True):
            found.setdefault((place.attention, place.layer), []).append(effect)
        return {key: np.array(own, dtype=np.float32) for key, own in found.items()}

    return lambda attention, layer: by_layer()[attention, layer]


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


def foreign_side(tokens: Sequence[str]) -> SideTokens:
    """The tokens of another library; special tokens are recognised by their spelling."""
    return SideTokens(tuple(tokens), tuple(i for i, token in enumerate(tokens) if _SPECIAL.fullmatch(token)))


def truncated(run: ViewerRun, query: int, n_keys: Mapping[Attention, int]) -> ViewerRun:
    """A run as of the time when the decoder's token `query` was the newest.

    Args:
        run: the whole run.
        query: position of the newest token.
        n_keys: the attentions to keep, with the number of keys that each had.
    """
    n_queries, decoder = query + 1, run.sides["decoder"]
    kept = replace(
        decoder,
        tokens=decoder.tokens[:n_queries],
        special=tuple(i for i in decoder.special if i < n_queries),
        words=None,
        written=decoder.written[:n_queries],
        spelled=decoder.spelled[:n_queries],
        predicted=decoder.predicted[:n_queries],
    )
    attentions = {name: _truncated(run.attentions[name], n_queries, n_keys[name]) for name in n_keys}
    return replace(run, sides={**run.sides, "decoder": kept}, attentions=attentions, others={})


def _truncated(whole: AttentionView, n_queries: int, n_keys: int) -> AttentionView:
    queries, keys = slice(n_queries), slice(n_keys)

    def cells(values: Callable[[int], Floats], layer: int) -> Floats:
        return values(layer)[:, queries, keys]

    def vectors(layer: int, head: int) -> Mapping[str, Floats]:
        assert whole.vectors is not None
        arrays = whole.vectors(layer, head)
        cells = {name: queries if name in _QUERY_VECTORS else keys for name in arrays}
        return {
            name: array[(queries, keys) if name == "bias" else cells[name]] for name, array in arrays.items()
        }

    def lengths(layer: int) -> Floats | None:
        all_keys = whole.lengths and whole.lengths(layer)
        return None if all_keys is None else all_keys[:, keys]

    return replace(
        whole,
        allowed=whole.allowed[queries, keys],
        weights=partial(cells, whole.weights),
        scores=None if whole.scores is None else partial(cells, whole.scores),
        vectors=whole.vectors and vectors,
        lengths=whole.lengths and lengths,
        costs=None,
    )


def _attentions(trace: Trace, loaded: LoadedModel, sentence: int) -> dict[Attention, AttentionView]:
    return {name: _recorded(trace, loaded, name, sentence) for name in attentions(trace)}


def _unit(loaded: LoadedModel) -> Unit:
    return loaded.source.unit if loaded.source.unit == loaded.target.unit else "sub-word"


def _recorded(trace: Trace, loaded: LoadedModel, name: Attention, sentence: int) -> AttentionView:
    config = loaded.model.config
    stack, module = MODULES[name]
    first = attention_record(trace, name, 0)

    def weights(layer: int) -> Floats:
        return attention_record(trace, name, layer).weights[sentence].float().numpy()

    def scores(layer: int) -> Floats:
        return attention_record(trace, name, layer).scores[sentence].float().numpy()

    def vectors(layer: int, head: int) -> Mapping[str, Floats]:
        return _vectors(trace, loaded, attention_record(trace, name, layer), head, sentence)

    def lengths(layer: int) -> Floats | None:
        return moved_lengths(loaded.model, attention_record(trace, name, layer), sentence)

    return AttentionView(
        name=name,
        label=ATTENTION_LABELS[name] if len(attentions(trace)) > 1 else "Self-attention",
        queries=stack,
        keys="encoder" if module == "cross_attn" else stack,
        n_layers=n_layers(trace, name),
        n_heads=first.q.shape[1],
        allowed=first.mask[sentence, 0].numpy(),
        weights=weights,
        scores=scores,
        vectors=vectors,
        lengths=lengths if config.merge_heads == "transposed" else None,
        path=f"{stack}.layers.{{layer}}.{module}",
        formula=score_expression(config, name),
        scale=1 / config.attention_factor,
        soft_cap=config.attention_soft_cap,
        kv_heads=first.k.shape[1],
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
            if tensor is not None:
                found[earlier] = tensor[sentence, own]
    bias = trace.get(f"{record.path}.position_bias")  # (1, H, Q, K)
    if bias is not None:
        found["bias"] = bias[0, head]
    arrays = {name: tensor.float().numpy() for name, tensor in found.items()}
    moved = moved_values(loaded.model, record, head, sentence)
    return arrays if moved is None else {**arrays, "moved": moved}


def _side(run: Run, loaded: LoadedModel, stack: Stack) -> SideTokens:
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


def _guessed_mask(layers: Sequence[Floats]) -> NDArray[np.bool_]:
    """All cells open, or only the causal ones if no head of any layer looks ahead."""
    n_queries, n_keys = layers[0].shape[1:]
    causal = np.tri(n_queries, n_keys, dtype=bool)
    is_causal = n_queries == n_keys > 1 and not any(np.any(layer[:, ~causal]) for layer in layers)
    return causal if is_causal else np.ones((n_queries, n_keys), bool)


def _is_punctuation(token: str) -> bool:
    text = token.strip(_SPACES)
    return bool(text) and all(unicodedata.category(character)[0] == "P" for character in text)
