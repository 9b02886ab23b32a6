"""Guesses which weights of ours the tensors of one layer are: by names, and only where all shapes fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from transformer.checkpoints.importing.families.own_layout.name_words import (
    ATTENTION,
    FEED_FORWARD,
    Guess,
    Guesses,
    Shape,
    attention_part,
    bias_of,
    crossness,
    has,
    is_in_blocks,
    is_matrix_of_a_layer,
    is_norm_name,
    numbers,
    shared_words,
    words,
)
from transformer.checkpoints.importing.families.own_layout.norm_guess import guess_norms

_AS_THE_OTHERS = "square: stored like the other matrices?"
_OR_BY_HEAD = "or interleaved_by_head: shapes don't tell"
_BY_NUMBER = "by its number in the list"
_GATE_FIRST = "shapes don't tell the order: w_1 is the half that is activated"
_ACTIVATED = (("w1", "w3"), ("fc1", "fc2"), ("wi0", "wi1"), ("linear1", "linear2"))
"""Gated feed-forwards: the matrix whose output is activated, and the one it is multiplied with."""
_UP = {"up", "in", "fc1", "w1", "linear1", "layer1", "wi", "intermediate", "fc", "expand"}
_DOWN = {"down", "out", "fc2", "w2", "linear2", "layer2", "wo", "output", "proj", "contract"}


@dataclass
class _Attention:
    """The matrices of one attention.

    Attributes:
        words: those of the queries' name, with * for the part.
        parts: "q", "k", "v" or "qkv", and "o" -> name.
        order: of the parts in a fused matrix.
        note: a remark for the user.
    """

    words: tuple[str, ...]
    parts: dict[str, str] = field(default_factory=dict)
    order: str = "qkv"
    note: str = ""


class LayerGuess:
    """Guesses for one layer of a stack.

    Attributes:
        crosses: whether it has a second attention, to another sequence.
        has_attention: whether there is any.
        guesses: our names are without the stack's: "self_attn.w_q.weight".
    """

    def __init__(self, shapes: Mapping[str, Shape], d_model: int, *, in_order: bool) -> None:
        """Take the names inside a layer with their shapes.

        Args:
            shapes: of the tensors.
            d_model: the model's width.
            in_order: whether names are in the order in which they were defined; else they are sorted.
        """
        self.shapes, self.d_model = shapes, d_model
        self.guesses: Guesses = {}
        self.matrices = {
            name: of
            for name, of in ((name, words(name.removesuffix(".weight"))) for name in shapes)
            if d_model in self._shape(name) and len(self._shape(name)) == 2 and is_matrix_of_a_layer(of)
        }
        self.crosses = False
        attentions = self._attentions()
        for name, attention in self._outputs(attentions).items():
            attention.parts.setdefault("o", name)
        kinds = _kinds(attentions, others=self.crosses)
        self.has_attention = bool(attentions)
        inside = {name for attention in attentions for name in attention.parts.values()}
        feed_forward = [
            name for name, of in self.matrices.items() if name not in inside and not attention_part(of)
        ]
        turned = self._feed_forward(feed_forward)
        for attention, kind in zip(attentions, kinds, strict=True):
            if kind:
                self._attention(attention, kind, turned)
        sublayers = {kind: one.words for one, kind in zip(attentions, kinds, strict=True)}
        if feed_forward and {"self_attn"} <= sublayers.keys() and len(sublayers) == 1 + self.crosses:
            in_turn = {kind: sublayers[kind] for kind in sorted(sublayers, reverse=True)}
            in_turn["feed_forward"] = self.matrices[feed_forward[0]]
            self.guesses |= guess_norms(shapes, d_model, in_turn, in_order=in_order)

    def _shape(self, name: str) -> Shape:
        """A tensor's shape; that of one matrix for heads apart and for convolutions over single tokens."""
        shape, width = self.shapes[name], self.d_model
        if len(shape) != 3:
            return shape
        if shape[2] == 1:
            return shape[:2]
        if shape[1] == width:
            return (shape[0] * shape[2], width)
        return (width, shape[0] * shape[1]) if shape[2] == width else shape

    def _attentions(self) -> list[_Attention]:
        found: dict[tuple[str, ...], _Attention] = {}
        for name, of in self.matrices.items():
            part = attention_part(of)
            if len(part) == 3:
                found[of] = _Attention(of, {"qkv": name}, part)
            elif part:
                key = tuple("*" if attention_part((word,)) == part else word for word in of)
                found.setdefault(key, _Attention(key)).parts[part] = name
        whole = [one for one in found.values() if one.parts.keys() in ({"q", "k", "v"}, {"qkv"})]
        self.crosses = len([one for one in found.values() if {"q", "qkv"} & one.parts.keys()]) == 2
        numbered = [] if whole else self._numbered_attention()
        self.crosses = self.crosses or len(numbered) == 2
        return whole or numbered

    def _numbered_attention(self) -> list[_Attention]:
        """Queries, keys, values and perhaps the output as entries 0, 1, 2, 3 of a list."""
        lists: dict[tuple[str, ...], dict[str, str]] = {}
        for name, of in self.matrices.items():
            if of[-1].isdigit() and has(of, ATTENTION):
                lists.setdefault(of[:-1], {})["qkvo"[int(of[-1])] if int(of[-1]) < 4 else of[-1]] = name
        return [
            _Attention((*of, "*"), parts, note=_BY_NUMBER)
            for of, parts in lists.items()
            if parts.keys() in ({"q", "k", "v"}, {"q", "k", "v", "o"})
        ]

    def _outputs(self, attentions: Sequence[_Attention]) -> dict[str, _Attention]:
        """The one matrix of each attention that follows its heads."""
        if len(attentions) > 2:
            return {}
        taken = {name for attention in attentions for name in attention.parts.values()}
        of_attention: dict[int, list[str]] = {index: [] for index in range(len(attentions))}
        for name, of in self.matrices.items():
            if name in taken or attention_part(of) or is_norm_name(of):
                continue
            near = [
                (shared_words(of, one.words), len(numbers(of) & numbers(one.words))) for one in attentions
            ]
            best = [index for index, one in enumerate(near) if one == max(near)]
            if len(best) == 1 and self._may_follow_heads(name, of, attentions[best[0]]):
                of_attention[best[0]].append(name)
        return {names[0]: attentions[index] for index, names in of_attention.items() if len(names) == 1}

    def _may_follow_heads(self, name: str, of: Sequence[str], attention: _Attention) -> bool:
        shape, width = self._shape(name), self.d_model
        rows = width
        if "q" in attention.parts:
            lengths = list(self._shape(attention.parts["q"]))
            lengths.remove(width)
            rows = lengths[0]
        is_feed_forward = has(of[:-1], FEED_FORWARD)
        is_named = has(of, ATTENTION) or not is_feed_forward
        return sorted(shape) == sorted((rows, width)) and is_named

    def _attention(self, attention: _Attention, kind: str, turned: bool | None) -> None:
        """Guess all of an attention's matrices, or none if their shapes don't fit."""
        shapes = {part: self._shape(name) for part, name in attention.parts.items()}
        width = self.d_model
        if "qkv" in shapes:
            is_turned = shapes["qkv"] == (width, 3 * width)
            if not is_turned and shapes["qkv"] != (3 * width, width):
                return
            self._fused(attention, kind, is_turned)
        else:
            visible = {
                shape[0] == width for part, shape in shapes.items() if part != "o" and shape[0] != shape[1]
            }
            is_turned = visible == {True} if visible else bool(turned)
            straight = {part: shape[::-1] if is_turned else shape for part, shape in shapes.items()}
            fits = all(straight[part][1] == width for part in "qkv") and straight["k"] == straight["v"]
            if len(visible) > 1 or not fits or straight["q"][0] % straight["k"][0]:
                return
            if straight.get("o", straight["q"][::-1]) != straight["q"][::-1]:
                return
            for part in "qkv":
                self._plain(attention.parts[part], f"{kind}.w_{part}", is_turned, attention.note)
        if "o" in shapes:
            self._plain(attention.parts["o"], f"{kind}.w_o", is_turned, attention.note)

    def _fused(self, attention: _Attention, kind: str, is_turned: bool) -> None:
        """Guess the matrix of queries, keys and values."""
        names = tuple(f"{kind}.w_{part}" for part in attention.order)
        by = "[transposed, blocks]" if is_turned else "blocks"
        is_open = not is_in_blocks(attention.words)
        guess = Guess(names, by, _OR_BY_HEAD if is_open else "", is_open)
        self._matrix(attention.parts["qkv"], guess, bias_by="blocks")

    def _plain(self, name: str, ours: str, is_turned: bool, note: str = "") -> None:
        shape = self._shape(name)
        doubtful = is_turned and shape[0] == shape[1]
        by = "transposed" if is_turned else ""
        self._matrix(name, Guess((ours,), by, _AS_THE_OTHERS if doubtful else note))

    def _matrix(self, name: str, modules: Guess, bias_by: str = "") -> None:
        """Guess a matrix and its bias, from a guess about modules."""
        shape = self.shapes[name]
        if len(shape) == 3:
            modules = Guess(modules.names, "pointwise" if shape[2] == 1 else "heads_apart")
        self.guesses[name] = modules._replace(names=tuple(f"{one}.weight" for one in modules.names))
        bias = bias_of(name, self.shapes)
        if bias:
            by = "heads_apart" if len(self.shapes[bias]) == 2 else bias_by
            names = tuple(f"{one}.bias" for one in modules.names)
            self.guesses[bias] = Guess(names, by, is_open=modules.is_open)

    def _feed_forward(self, names: Sequence[str]) -> bool | None:
        """Guess a feed-forward's matrices; returns whether they are stored (in, out), None if unknown."""
        width = self.d_model
        shapes = {name: self._shape(name) for name in names}
        there = set(shapes.values())
        inner = {shape[0] for shape in there if shape[::-1] in there} - {width}
        if not inner and len(names) == 2:
            return self._fused_gate(names)
        if len(inner) != 1:
            return None
        [d_ff] = inner
        falling = [name for name in names if shapes[name] == (d_ff, width)]
        rising = [name for name in names if shapes[name] == (width, d_ff)]
        if len(falling) + len(rising) > 3:
            return None
        if len(falling) + len(rising) == 3:
            is_turned = len(rising) == 2
            ups, down = (rising, falling[0]) if is_turned else (falling, rising[0])
            first, second = _gate_first(ups)
            if first:
                self._plain(first, "feed_forward.w_1", is_turned)
                self._plain(second, "feed_forward.w_3", is_turned)
        else:
            is_turned = self._is_turned(falling[0], rising[0])
            up, down = (rising[0], falling[0]) if is_turned else (falling[0], rising[0])
            self._plain(up, "feed_forward.w_1", is_turned)
        self._plain(down, "feed_forward.w_2", is_turned)
        return is_turned

    def _fused_gate(self, names: Sequence[str]) -> bool | None:
        """Guess the two matrices of a gated feed-forward whose gate and up are one; returns as above."""
        width = self.d_model
        for up, down in (names, names[::-1]):
            rows, columns = self._shape(up), self._shape(down)
            for is_turned in (False, True):
                of_up, of_down = (rows[::-1], columns[::-1]) if is_turned else (rows, columns)
                if of_up == (2 * of_down[1], width) and of_down[0] == width:
                    by = "[transposed, blocks]" if is_turned else "blocks"
                    halves = ("feed_forward.w_1", "feed_forward.w_3")
                    self._matrix(up, Guess(halves, by, _GATE_FIRST), bias_by="blocks")
                    self._plain(down, "feed_forward.w_2", is_turned)
                    return is_turned
        return None

    def _is_turned(self, falling: str, rising: str) -> bool:
        """Whether the matrix of shape (d_model, d_ff) comes first: its bias, or else its name, tells.

        A kernel, as Keras and Flax call it, is stored (in, out).
        """
        biases = [bias_of(name, self.shapes) for name in (falling, rising)]
        if all(biases):
            return self.shapes[biases[1]] != (self.d_model,)
        if rising.endswith("kernel"):
            return True
        mine, other = ({_joined(self.matrices[name]), *self.matrices[name]} for name in (rising, falling))
        return bool(mine & _UP and other & _DOWN) and not (mine & _DOWN and other & _UP)


def _kinds(attentions: Sequence[_Attention], *, others: bool) -> list[str]:
    """Of each attention: self_attn or cross_attn; empty if there is no telling.

    Args:
        attentions: those whose matrices are all known.
        others: whether the layer has two attentions, known or not.
    """
    scores = [crossness(attention.words) for attention in attentions]
    if len(attentions) == 1:
        return [{-1: "self_attn", 0: "", 1: "cross_attn"}[scores[0]] if others else "self_attn"]
    if len(attentions) != 2:
        return [""] * len(attentions)
    if scores[0] == scores[1]:
        order = [max(numbers(attention.words), default=0) for attention in attentions]
        scores = [int(one == max(order)) for one in order]
    if scores[0] == scores[1]:
        return ["", ""]
    return ["cross_attn" if score == max(scores) else "self_attn" for score in scores]


def _gate_first(ups: Sequence[str]) -> tuple[str, str]:
    """Of a gated feed-forward's two first matrices, the activated one first; two empty names if unknown."""
    split = {
        name: {_joined(of), *of} for name, of in ((name, words(name.removesuffix(".weight"))) for name in ups)
    }
    for one, other in (ups, ups[::-1]):
        is_pair = any(first in split[one] and second in split[other] for first, second in _ACTIVATED)
        if is_pair or ("gate" in split[one] and "gate" not in split[other]):
            return one, other
    return "", ""


def _joined(of: Sequence[str]) -> str:
    """The last word with its number: w and 1 are w1."""
    return "".join(of[-2:]) if len(of) > 1 and of[-1].isdigit() else of[-1]
