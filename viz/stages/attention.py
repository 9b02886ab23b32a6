"""One head of one attention, from the vectors that it reads to what the heads together add (equation 1)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from transformer.model.attention import MultiHeadAttention, masked_softmax, scaled_dot_product_attention
from transformer.model.positions import RelativeBias, rotate, rotation
from transformer.model.trace import AttentionName, Stack
from viz.figures.numbers import number
from viz.lessons.subject import quoted
from viz.stages.merging import merging
from viz.stages.norms import norm_stage
from viz.stages.source import Lines, assigning, calling, tapping, whole
from viz.stages.stage import ALL, CELL, COLUMN, ROW, Array, Axis, Matrix, Operand, Stage
from viz.stages.way import Way, biased, numbered, per_token, single

SHAPES = {
    "q": ("B", "H", "Q", "d_head"),
    "k": ("B", "H_kv", "K", "d_head"),
    "v": ("B", "H_kv", "K", "d_head"),
}
NOTES = {
    "q": "what each token looks for",
    "k": "what each token offers to be found by",
    "v": "what each token hands over when it is looked at",
}


@dataclass(frozen=True)
class Head:
    """One head of one attention of a way.

    Attributes:
        way: whose.
        name: of the attention.
        x: what queries are made of.
        memory: what keys and values are made of: x itself, or the encoder's output.
        number: the head.
    """

    way: Way
    name: AttentionName
    x: Matrix
    memory: Matrix

    @property
    def number(self) -> int:
        """Which head it is."""
        return self.way.head

    @property
    def path(self) -> str:
        """Of the module."""
        return f"{self.way.stack}.layers.{self.way.layer}.{self.name}"

    @property
    def block(self) -> str:
        """The block of the drawing: that of layer 0."""
        return f"{self.way.stack}.layers.0.{self.name}"

    @property
    def shared(self) -> int:
        """The head of keys and values that it uses."""
        return self.number // (self.way.config.n_heads // self.way.config.n_kv_heads)

    @property
    def queries(self) -> Axis:
        """The tokens that look."""
        return self.way.axis(self.way.stack, "query")

    @property
    def keys(self) -> Axis:
        """The tokens that are looked at."""
        return self.way.axis(self.key_stack, "key")

    @property
    def key_stack(self) -> Stack:
        """The stack whose tokens are looked at."""
        return "encoder" if self.name == "cross_attn" else self.way.stack

    def records(self, name: str) -> bool:
        """Whether this attention has such a number."""
        return f"{self.path}.{name}" in self.way.run.trace

    def stage(self, name: str, title: str, recorded: str, **what: object) -> Stage:
        """A stage of this head; `recorded` is the name of the tensor, "" for none."""
        path = f"{self.path}.{recorded}" if recorded else ""
        return Stage(
            name=f"{self.name.removesuffix('_attn')}-{name}",
            title=title,
            stack=self.way.stack,
            block=self.block,
            path=path,
            sizes=self.way.sizes(path) if path else (),
            **what,  # type: ignore[arg-type]
        )


def attention(way: Way, name: AttentionName, x: Matrix, memory: Matrix) -> Iterator[Stage]:
    """All stages of one head, and of the heads together."""
    head = Head(way, name, x, memory)
    yield from _projections(head)
    if head.shared != head.number or way.config.n_kv_heads < way.config.n_heads:
        yield _groups(head)
    yield from _scores(head)
    yield from _weights(head)
    yield _values(head)
    for stage in merging(way, f"{head.path}", head.queries):
        yield replace(stage, name=f"{name.removesuffix('_attn')}-{stage.name}", block=head.block)


def _projections(head: Head) -> Iterator[Stage]:
    for letter in ("q", "k", "v"):
        number_ = head.number if letter == "q" else head.shared
        yield _projected(head, letter, number_)
        if letter != "v":
            if head.records(f"{letter}_norm.result"):
                yield _normed(head, letter, number_)
            if head.records(f"{letter}_unrotated"):
                yield _turned(head, letter, number_)


def _projected(head: Head, letter: str, number_: int) -> Stage:
    """X W for one head: its columns of the matrix."""
    way, config = head.way, head.way.config
    names = [f"{letter}_norm.input", f"{letter}_unrotated", letter]
    recorded = next(name for name in names if head.records(name))
    values = way.record(f"{head.path}.{recorded}", 0, number_)
    read, tokens = (head.x, head.queries) if letter == "q" else (head.memory, head.keys)
    part = slice(number_ * config.d_head, (number_ + 1) * config.d_head)
    weight = f"{head.path}.w_{letter}.weight"
    matrix = Matrix(
        f"W_{letter.upper()}",
        way.weight(weight)[part].T,
        numbered("dimension", config.d_model),
        numbered("dimension", config.d_head),
        path=weight,
    )
    upper, bias = letter.upper(), f"{head.path}.w_{letter}.bias"
    said = f" + b^{upper}" if way.has_weight(bias) else ""
    called = {"q": "Queries", "k": "Keys", "v": "Values"}[letter]
    reads = "M" if head.name == "cross_attn" and letter != "q" else "X"
    of = " They are made of the encoder's output, once for all that is written." if reads == "M" else ""
    sizes = np.linalg.norm(values, axis=1)
    at = int(sizes.argmax())
    token = quoted(tokens.labels[at])
    function = MultiHeadAttention.forward if letter == "q" else MultiHeadAttention._keys_and_values
    code = assigning(function, letter) if letter != "v" else tapping(function, "v")
    return head.stage(
        letter,
        f"{called} of head {number_}" + (" of the keys and values" if number_ != head.number else ""),
        recorded,
        formula=rf"{upper} = {reads} W^{upper}{said}, \quad d_\text{{head}} = {config.d_head}",
        shape=SHAPES[letter],
        part=(0, number_),
        operands=[
            Operand(replace(read, rows=tokens), ROW),
            Operand(matrix, COLUMN, "×"),
            *biased(way, bias, part, COLUMN, numbered("dimension", config.d_head)),
        ],
        result=per_token(upper, values, tokens, f"{head.path}.{recorded}"),
        code=[code],
        notice=f"A row of {upper} is {NOTES[letter]}: {config.d_head} numbers, each a sum of "
        f"{config.d_model} products. The matrix is learned and the same for every token.{of} The longest row "
        f"is that of {token}, {number(float(sizes[at]), 2)}.",
    )


def _normed(head: Head, letter: str, number_: int) -> Stage:
    what = {"q": "queries", "k": "keys"}[letter]
    stage = norm_stage(
        head.way,
        f"{head.path}.{letter}_norm",
        head.way.stack,
        block=head.block,
        name=f"{head.name.removesuffix('_attn')}-{letter}-norm",
        title=f"A norm for the {what}",
        tokens=head.queries if letter == "q" else head.keys,
        part=(0, number_),
        note=f" So no score can grow by long {what} alone.",
    )
    return stage


def _turned(head: Head, letter: str, number_: int) -> Stage:
    """Rotary positions: before and after."""
    way, config = head.way, head.way.config
    before, after = f"{head.path}.{letter}_unrotated", f"{head.path}.{letter}"
    tokens = head.queries if letter == "q" else head.keys
    x, turned = way.record(before, 0, number_), way.record(after, 0, number_)
    waves = way.loaded.model.get_submodule(way.stack).wavelengths
    angles = rotation(0, len(x), waves, like=way.run.trace[before])  # type: ignore[arg-type]
    pairs = numbered("pair", config.d_head // 2)
    cos, sin = (
        Matrix(name, values.numpy(), tokens, pairs, path=f"{way.stack}.{name}")
        for name, values in (("cos", angles.cos), ("sin", angles.sin))
    )
    upper = letter.upper()
    last = len(x) - 1
    moved = float(np.linalg.norm(turned[last] - x[last]))
    return head.stage(
        f"{letter}-rotary",
        f"Rotary positions turn the {'queries' if letter == 'q' else 'keys'}",
        letter,
        formula=r"\begin{pmatrix} x'_{2i} \\ x'_{2i+1} \end{pmatrix} = \begin{pmatrix} \cos\theta & "
        r"-\sin\theta \\ \sin\theta & \cos\theta \end{pmatrix} \begin{pmatrix} x_{2i} \\ x_{2i+1} "
        r"\end{pmatrix}, \quad \theta = 2\pi \, pos / \lambda_i",
        shape=SHAPES[letter],
        part=(0, number_),
        operands=[
            Operand(per_token(upper, x, tokens, before), ROW),
            Operand(cos, ROW, "turned by"),
            Operand(sin, ROW, ","),
        ],
        result=per_token(upper, turned, tokens, after),
        code=[
            assigning(rotate, "turned"),
            calling(
                MultiHeadAttention.forward if letter == "q" else MultiHeadAttention._keys_and_values, "rotate"
            ),
        ],
        notice="Each pair of neighbouring numbers is turned like a clock's hand, the first pairs fast and the "
        f"last ones slowly. Row 0 stays as it is; row {last} moves by {number(moved, 2)}. No row changes its "
        "length. A score then depends on how far apart query and key stand, not on where.",
    )


def _groups(head: Head) -> Stage:
    config, way = head.way.config, head.way
    n, size = config.n_kv_heads, config.n_heads // config.n_kv_heads
    keys = way.record(f"{head.path}.k", 0)
    labels = [f"{kv} · {label}" for kv in range(n) for label in head.keys.labels]
    rows = Axis("head · key", labels, has_words=True)
    stacked = per_token("K of all heads", keys.reshape(-1, config.d_head), rows, f"{head.path}.k")
    first = head.shared * size
    return head.stage(
        "groups",
        "Heads share keys and values",
        "",
        formula=rf"h_{{kv}} = \lfloor h / {size} \rfloor = \lfloor {head.number} / {size} \rfloor "
        rf"= {head.shared}",
        operands=[Operand(stacked, ALL)],
        result=per_token("K", keys[head.shared], head.keys, f"{head.path}.k"),
        code=[assigning(scaled_dot_product_attention, "(k, v)")],
        notice=f"There are {config.n_heads} heads of queries and only {n} of keys and values (grouped "
        f"queries). Heads {first} to {first + size - 1} all use number {head.shared}. That makes what has to "
        f"be kept for each token while writing {size} times smaller.",
    )


def _scores(head: Head) -> Iterator[Stage]:
    way, config = head.way, head.way.config
    q = way.record(f"{head.path}.q", 0, head.number)
    k = way.record(f"{head.path}.k", 0, head.shared)
    scores = way.record(f"{head.path}.scores", 0, head.number)
    queries = per_token("Q", q, head.queries, f"{head.path}.q")
    if config.attention_scale:
        root = math.sqrt(config.d_head)
        divided = replace(
            queries, name="Q / √d_head", values=q / np.float32(root), path=f"{head.path}.queries"
        )
        size = Matrix("√d_head", np.array([[root]], np.float32), single(), single(), path="√d_head")
        yield head.stage(
            "scale",
            "Divided by the square root of d_head",
            "",
            formula=rf"\frac{{Q}}{{\sqrt{{d_\text{{head}}}}}}, \quad \sqrt{{{config.d_head}}} = {root:.4g}",
            operands=[Operand(queries), Operand(size, ALL, "÷")],
            result=divided,
            code=[assigning(scaled_dot_product_attention, "queries")],
            notice=f"The paper divides the scores. Dividing the queries by {root:.4g} first gives the same "
            f"scores with fewer divisions. Without it a score, a sum of {config.d_head} products, would grow "
            "with the width of the head, and softmax would put nearly all weight on one key.",
        )
        queries = divided
    bias = way.record(f"{head.path}.position_bias", 0, head.number) if head.records("position_bias") else None
    products = scores if bias is None else queries.values @ k.T
    at = np.unravel_index(int(np.nanargmax(_finite(scores))), scores.shape)
    transposed = Matrix("Kᵀ", k.T, numbered("dimension", config.d_head), head.keys, path=f"{head.path}.k")
    product = Matrix(
        "scores" if bias is None else "products",
        products,
        head.queries,
        head.keys,
        path=f"{head.path}.scores" if bias is None else f"{head.path}.products",
    )
    scaled = r"\frac{Q}{\sqrt{d_\text{head}}} K^\top" if config.attention_scale else r"Q K^\top"
    unscaled = "" if config.attention_scale else " This model was trained without dividing by √d_head."
    most = (
        f" The highest score is {number(float(scores[at]), 2)}, of query {quoted(head.queries.labels[at[0]])} "
        f"and key {quoted(head.keys.labels[at[1]])}."
    )
    yield head.stage(
        "scores",
        "Scores",
        "scores" if bias is None else "",
        formula=r"S = " + scaled,
        shape=("B", "H", "Q", "K") if bias is None else (),
        part=(0, head.number) if bias is None else (),
        operands=[Operand(queries, ROW), Operand(transposed, COLUMN, "×")],
        result=product,
        code=[
            assigning(scaled_dot_product_attention, "scores"),
            tapping(scaled_dot_product_attention, "scores"),
        ],
        notice="A score is the product of one query with one key, number by number, summed: how well the key "
        f"answers. Rows are queries, columns are keys.{unscaled}" + (most if bias is None else ""),
    )
    if bias is not None:
        yield _bias(head, product, bias, scores, most)


def _bias(head: Head, product: Matrix, bias: Array, scores: Array, most: str) -> Stage:
    added = Matrix("bias", bias, head.queries, head.keys, path=f"{head.path}.position_bias")
    return head.stage(
        "bias",
        "A bias by distance",
        "scores",
        formula=r"S_{ij} \mathrel{+}= b_{h,\,\text{bucket}(j - i)}",
        shape=("B", "H", "Q", "K"),
        part=(0, head.number),
        operands=[Operand(product), Operand(added, CELL, "+")],
        result=Matrix("scores", scores, head.queries, head.keys, path=f"{head.path}.scores"),
        code=[tapping(scaled_dot_product_attention, "position_bias"), whole(RelativeBias.forward)],
        notice="Positions come in here. Along each diagonal the distance is the same, and so is the bias: a "
        f"number for each of {head.way.config.n_position_buckets} ranges of distances, learned, the same in "
        f"all layers. In this head it lies between {number(float(bias.min()), 2)} and "
        f"{number(float(bias.max()), 2)}.{most}",
    )


def _weights(head: Head) -> Iterator[Stage]:
    way = head.way
    scores, weights = (way.record(f"{head.path}.{name}", 0, head.number) for name in ("scores", "weights"))
    mask = np.broadcast_to(way.record(f"{head.path}.mask", 0, 0), scores.shape)
    closed = ~mask
    before = Matrix("scores", scores, head.queries, head.keys, path=f"{head.path}.scores")
    masked = replace(
        before,
        name="masked",
        values=np.where(mask, scores, np.float32(-np.inf)),
        closed=closed,
        path=f"{head.path}.masked",
    )
    yield _masked(head, before, masked, mask)
    most = np.unravel_index(int(np.nanargmax(_finite(weights))), weights.shape)
    share = float(weights[most])
    yield head.stage(
        "weights",
        "Weights: softmax over the keys",
        "weights",
        formula=r"A_{ij} = \frac{e^{S_{ij}}}{\sum_{j'} e^{S_{ij'}}}",
        shape=("B", "H", "Q", "K"),
        part=(0, head.number),
        operands=[Operand(masked, ROW, "softmax of")],
        result=Matrix("A", weights, head.queries, head.keys, "share", f"{head.path}.weights", closed),
        code=[tapping(scaled_dot_product_attention, "weights"), _softmax_line(mask)],
        notice="Each row becomes shares that sum to 1"
        + (", and a closed cell gets exactly 0" if closed.any() else "")
        + f". The largest weight is {number(share, 2)}: {quoted(head.queries.labels[most[0]])} looks at "
        f"{quoted(head.keys.labels[most[1]])}.",
    )


def _masked(head: Head, before: Matrix, masked: Matrix, mask: Array) -> Stage:
    n = int((~mask.astype(bool)).sum())
    is_causal = head.way.stack == "decoder" and head.name == "self_attn"
    if is_causal:
        why = "A token may look at itself and at those before it: those after it are what it is to predict."
    elif head.name == "cross_attn":
        why = "The source is known as a whole, so every query may look at all of it."
    else:
        why = "An encoder may look both ways."
    closes = (
        f"{n} of the {mask.size} cells are closed: their score becomes −∞, which softmax makes 0."
        if n
        else "One sentence alone has no padding, so no cell is closed and the scores stay as they are."
    )
    shown = Matrix("mask", mask.astype(np.float32), before.rows, before.columns, "share", f"{head.path}.mask")
    return head.stage(
        "mask",
        "The mask",
        "mask",
        formula=r"S_{ij} = \begin{cases} S_{ij} & \text{where the mask is True: may attend} \\ -\infty & "
        r"\text{elsewhere} \end{cases}",
        shape=("B", "1", "1" if head.way.sizes(f"{head.path}.mask")[2] == 1 else "Q", "K"),
        operands=[Operand(before), Operand(shown, CELL, "where")],
        result=masked,
        code=[tapping(scaled_dot_product_attention, "mask"), _softmax_line(mask)],
        notice=f"{why} {closes}",
    )


def _softmax_line(mask: Array) -> Lines:
    """The line of `masked_softmax` that such a mask comes to."""
    if mask.all():
        return calling(masked_softmax, "softmax")
    return assigning(masked_softmax, "weights") if not mask.any(-1).all() else _open_rows()


def _open_rows() -> Lines:
    """The line for rows of which each has an open cell."""
    return calling(masked_softmax, "where")


def _values(head: Head) -> Stage:
    way, config = head.way, head.way.config
    weights = way.record(f"{head.path}.weights", 0, head.number)
    v = way.record(f"{head.path}.v", 0, head.shared)
    z = way.record(f"{head.path}.z", 0, head.number)
    row = len(weights) - 1
    order = np.argsort(-weights[row])[:2]
    said = " and ".join(
        f"{number(float(weights[row, key]), 2)} of the value of {quoted(head.keys.labels[key])}"
        for key in order
    )
    mask = np.broadcast_to(way.record(f"{head.path}.mask", 0, 0), weights.shape)
    return head.stage(
        "z",
        "What the head takes in: weights times values",
        "z",
        formula=r"Z = A V",
        shape=SHAPES["q"],
        part=(0, head.number),
        operands=[
            Operand(
                Matrix("A", weights, head.queries, head.keys, "share", f"{head.path}.weights", ~mask), ROW
            ),
            Operand(per_token("V", v, head.keys, f"{head.path}.v"), COLUMN, "×"),
        ],
        result=per_token("Z", z, head.queries, f"{head.path}.z"),
        code=[tapping(scaled_dot_product_attention, "z")],
        notice=f"A row of Z is an average of the values, by the weights of its row. That of "
        f"{quoted(head.queries.labels[row])} has {said}{', and less of the others' if len(weights[0]) > 2 else ''}. "
        f"It has {config.d_head} numbers, as wide as one head.",
    )


def _finite(values: Array) -> Array:
    """The numbers with the least in the place of those that are none, so that a largest one exists."""
    return np.nan_to_num(values, nan=-np.inf, posinf=np.inf, neginf=-np.inf)
