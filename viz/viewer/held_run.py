"""What the viewer can be told of a run: its tokens, and every number of its attention, by layer and head."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

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
from transformer.analysis.moved import moved_lengths, moved_values
from transformer.loaded import LoadedModel
from transformer.model.trace import AttentionRecord, Stack, Trace
from transformer.model_input import Input
from transformer.run import Run
from transformer.text.coder import Unit

Floats = NDArray[np.float32]
_OF_QUERIES = ("q", "q_unrotated", "q_unnormed", "z")
_SPECIAL = re.compile(r"\[[^\[\]]+\]|<[^<>]+>|<\|.+\|>")
"""How tokenizers write their special tokens."""
_SPACES = "▁Ġ "
"""What tokenizers write for a space at the beginning of a word."""


@dataclass(frozen=True)
class Side:
    """The tokens that a stack reads.

    Attributes:
        tokens: T of them.
        special: which of them are special tokens, by position.
        words: which word each is a part of; None where words are not known.
        written: (T,) the token that the model writes when it has read up to that one; None where it writes
            none there. Empty for a stack that writes nothing.
    """

    tokens: tuple[str, ...]
    special: tuple[int, ...] = ()
    words: Words | None = None
    written: tuple[str | None, ...] = ()

    @property
    def punctuation(self) -> tuple[int, ...]:
        """Which tokens are punctuation, by position."""
        return tuple(i for i, token in enumerate(self.tokens) if _is_punctuation(token))


@dataclass(frozen=True, eq=False)
class Family:
    """One attention of a run, with all its layers and heads. L layers, H heads, Q queries, K keys.

    Attributes:
        name: which attention: of a run of ours an `Attention`.
        label: its name for people.
        queries, keys: the sides whose tokens look, and are looked at: of a run of ours a `Stack` each.
        n_layers, n_heads: L and H.
        allowed: (Q, K) bool, True = may attend.
        weights: of a layer, (H, Q, K).
        scores: of a layer before the mask, (H, Q, K); None where only weights are known.
        vectors: of a layer and head: "q" (Q, d_head), "k" and "v" (K, d_head), "z" (Q, d_head) and, where
            it makes sense, "moved" (K, D), "bias" (Q, K), and what q and k were before they were turned by
            their positions ("q_unrotated", "k_unrotated") and before they were normed ("q_unnormed",
            "k_unnormed"); None where only weights are known.
        lengths: of "moved", of a layer: (H, K); None where there is no such thing.
        path: of the module of layer `{layer}`, with that in braces; "" where it is not known.
        formula: how a score is computed, in symbols.
        scale: what the products of q and k are divided by; 1 where they are not.
        soft_cap: c of c tanh(score / c); 0 for none.
        kv_heads: how many heads of keys and values there are.
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
    path: str = ""
    formula: str = ""
    scale: float = 1.0
    soft_cap: float = 0.0
    kv_heads: int = 0

    @property
    def has(self) -> list[str]:
        """What is known beside the weights: "scores", "vectors", "lengths"."""
        known = {"scores": self.scores, "vectors": self.vectors, "lengths": self.lengths}
        return [name for name, found in known.items() if found is not None]


@dataclass(frozen=True, eq=False)
class HeldRun:
    """A run as the viewer holds it.

    Attributes:
        sides: the tokens of each stack.
        families: its attentions. Parts of a foreign one have names of their own, and so have their sides.
        unit: what a token is.
        others: runs of the same tokens that it can be compared with, by their names, made when asked for.
    """

    sides: Mapping[Stack, Side]
    families: Mapping[Attention, Family]
    unit: Unit = "sub-word"
    others: Mapping[str, Callable[[], HeldRun]] = field(default_factory=dict)

    @property
    def longest(self) -> int:
        """The most tokens of a side."""
        return max(len(side.tokens) for side in self.sides.values())


def hold(run: Run, loaded: LoadedModel, others: Mapping[str, Callable[[], HeldRun]] | None = None) -> HeldRun:
    """Hold a run of ours."""
    sides: dict[Stack, Side] = {stack: _side(run, loaded, stack) for stack in stacks(run.trace)}
    return HeldRun(sides, _families(run.trace, loaded, 0), _unit(loaded), others or {})


def hold_sentence(trace: Trace, loaded: LoadedModel, sentence: int) -> HeldRun:
    """Hold one sentence of a batch that ran through a model of ours, with the padding that it has there."""
    sides: dict[Stack, Side] = {}
    for stack in stacks(trace):
        tokens = trace.tokens(stack)[sentence]
        coder = loaded.source if stack == "encoder" else loaded.target
        names = {coder.token(index) for index in coder.special_tokens.ids}
        sides[stack] = Side(tokens, tuple(i for i, token in enumerate(tokens) if token in names))
    return HeldRun(sides, _families(trace, loaded, sentence), _unit(loaded))


def hold_weights(
    weights: Mapping[Attention, Sequence[Floats]],
    tokens: Mapping[Stack, Sequence[str]],
    labels: Mapping[Attention, str] = ATTENTION_LABELS,
) -> HeldRun:
    """Hold attention of which only the weights are known.

    Args:
        weights: of each attention by layer, (H, Q, K).
        tokens: of each stack.
        labels: names of the attentions for people.
    """
    families: dict[Attention, Family] = {}
    for name, layers in weights.items():
        stack, module = MODULES[name]
        families[name] = Family(
            name=name,
            label=labels[name],
            queries=stack,
            keys="encoder" if module == "cross_attn" else stack,
            n_layers=len(layers),
            n_heads=layers[0].shape[0],
            allowed=_looked_at(layers),
            weights=layers.__getitem__,
        )
    return HeldRun({stack: side_of(own) for stack, own in tokens.items()}, families)


def side_of(tokens: Sequence[str]) -> Side:
    """The tokens of another library, of which the special ones are known by how they are written."""
    return Side(tuple(tokens), tuple(i for i, token in enumerate(tokens) if _SPECIAL.fullmatch(token)))


def until(held: HeldRun, query: int, n_keys: Mapping[Attention, int]) -> HeldRun:
    """A run as it was when the decoder's token `query` was the newest: what came later was not there yet.

    Args:
        n_keys: of each attention that is kept, how many keys there were.
    """
    n_queries = query + 1
    families: dict[Attention, Family] = {
        name: _cut(held.families[name], n_queries, n_keys[name]) for name in n_keys
    }
    decoder = held.sides["decoder"]
    kept = replace(
        decoder,
        tokens=decoder.tokens[:n_queries],
        special=tuple(i for i in decoder.special if i < n_queries),
        words=None,
        written=decoder.written[:n_queries],
    )
    return replace(held, sides={**held.sides, "decoder": kept}, families=families, others={})


def _cut(family: Family, n_queries: int, n_keys: int) -> Family:
    queries, keys = slice(n_queries), slice(n_keys)

    def cells(of: Callable[[int], Floats], layer: int) -> Floats:
        return of(layer)[:, queries, keys]

    def vectors(layer: int, head: int) -> Mapping[str, Floats]:
        assert family.vectors is not None
        return {
            name: array[queries, keys] if name == "bias" else array[queries if name in _OF_QUERIES else keys]
            for name, array in family.vectors(layer, head).items()
        }

    def lengths(layer: int) -> Floats | None:
        whole = family.lengths and family.lengths(layer)
        return None if whole is None else whole[:, keys]

    return replace(
        family,
        allowed=family.allowed[queries, keys],
        weights=partial(cells, family.weights),
        scores=None if family.scores is None else partial(cells, family.scores),
        vectors=family.vectors and vectors,
        lengths=family.lengths and lengths,
    )


def _families(trace: Trace, loaded: LoadedModel, sentence: int) -> dict[Attention, Family]:
    return {name: _recorded(trace, loaded, name, sentence) for name in attentions(trace)}


def _unit(loaded: LoadedModel) -> Unit:
    return loaded.source.unit if loaded.source.unit == loaded.target.unit else "sub-word"


def _recorded(trace: Trace, loaded: LoadedModel, name: Attention, sentence: int) -> Family:
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

    return Family(
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
    """Every vector of one head, as the trace has it; of shared keys and values those that serve this head."""
    shared = record.q.shape[1] // record.k.shape[1]
    found = {
        "q": record.q[sentence, head],
        "k": record.k[sentence, head // shared],
        "v": record.v[sentence, head // shared],
        "z": record.z[sentence, head],
    }
    for name, own in (("q", head), ("k", head // shared)):
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


def _side(run: Run, loaded: LoadedModel, stack: Stack) -> Side:
    read = run.encoder_input if stack == "encoder" else run.decoder_input
    assert read is not None
    special = _special(read)
    # The tokens of the trace: what a run reads, padding included.
    tokens = run.trace.tokens(stack)[0]
    written: tuple[str | None, ...] = ()
    if stack == "decoder" and run.steps:
        before = len(tokens) - len(run.target.ids) - 1
        last = [loaded.target.token(step.token_id) for step in run.steps[len(run.target.ids) :]]
        # A given word that is unknown is called what it is called where it is read.
        written = (*[None] * before, *tokens[before + 1 :], *last, None)[: len(tokens)]
    return Side(tokens, special, words_of(run, stack), written)


def _special(read: Input) -> tuple[int, ...]:
    stop = read.first + len(read.sentence.ids)
    return (*range(read.first), *range(stop, len(read.ids)))


def _looked_at(layers: Sequence[Floats]) -> NDArray[np.bool_]:
    """Which cells may be open: all, or the causal ones where no head of any layer looks ahead."""
    n_queries, n_keys = layers[0].shape[1:]
    causal = np.tri(n_queries, n_keys, dtype=bool)
    is_causal = n_queries == n_keys > 1 and not any(np.any(layer[:, ~causal]) for layer in layers)
    return causal if is_causal else np.ones((n_queries, n_keys), bool)


def _is_punctuation(token: str) -> bool:
    text = token.strip(_SPACES)
    return bool(text) and all(unicodedata.category(character)[0] == "P" for character in text)
