"""Queries, keys and values of one head, with the norms and rotary positions that follow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from transformer.model.attention import MultiHeadAttention, scaled_dot_product_attention
from transformer.model.positions import rotary_wavelengths, rotate, rotation
from viz.figures.numbers import number
from viz.markdown import quoted
from viz.pages.step_by_step.stages.head import SHAPES, Head
from viz.pages.step_by_step.stages.norms import norm_stage
from viz.pages.step_by_step.stages.source import assigning, calling, tapping, whole
from viz.pages.step_by_step.stages.stage import ALL, COLUMN, ROW, Axis, Matrix, Operand, Stage
from viz.pages.step_by_step.stages.way import biased, numbered, per_token

NOTES = {
    "q": "what each token looks for",
    "k": "what each token offers to be found by",
    "v": "what each token hands over when it is looked at",
}


def projection(head: Head, letter: str) -> Iterator[Stage]:
    """The stages that compute Q, K or V, by its letter in lower case."""
    number_ = head.number if letter == "q" else head.shared
    yield _projected(head, letter, number_)
    if head.records(f"{letter}_norm.result"):
        yield _normed(head, letter, number_)
        if _is_joint(head, letter):
            yield _split(head, letter, number_)
    if head.records(f"{letter}_unrotated"):
        yield _turned(head, letter, number_)


def _projected(head: Head, letter: str, number_: int) -> Stage:
    """The input times this head's columns of the weight matrix."""
    way, config = head.way, head.way.config
    names = [f"{letter}_norm.input", f"{letter}_unrotated", letter]
    recorded = next(name for name in names if head.records(name))
    read, tokens = (head.x, head.queries) if letter == "q" else (head.memory, head.keys)
    is_joint = _is_joint(head, letter)
    part = slice(None) if is_joint else _columns(head, number_)
    shown = (0,) if is_joint else (0, number_)
    values = way.record(f"{head.path}.{recorded}", *shown)
    dimensions = numbered("dimension", values.shape[1])
    weight = f"{head.path}.w_{letter}.weight"
    matrix = Matrix(
        f"W_{letter.upper()}",
        way.weight(weight, part).T,
        numbered("dimension", config.d_model),
        dimensions,
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
    function = _function(letter)
    code = [tapping(function, recorded)] if "norm" not in recorded else []
    if letter != "v":
        code.insert(0, assigning(function, letter))
    return head.stage(
        letter,
        f"{called} of all heads"
        if is_joint
        else f"{called} of head {number_}" + (" of the keys and values" if number_ != head.number else ""),
        recorded,
        formula=rf"{upper} = {reads} W^{upper}{said}, \quad d_\text{{head}} = {config.d_head}",
        shape=_joint_shape(letter) if is_joint else SHAPES[letter],
        part=shown,
        operands=[
            Operand(replace(read, name=reads, rows=tokens), ROW),
            Operand(matrix, COLUMN, "×"),
            *biased(way, bias, part, COLUMN, dimensions),
        ],
        result=per_token(upper, values, tokens, f"{head.path}.{recorded}"),
        code=code,
        notice=f"A row of {upper} is {NOTES[letter]}: {values.shape[1]} numbers, each a sum of "
        f"{config.d_model} products. The matrix is learned and the same for every token.{of} The longest row "
        f"is that of {token}, {number(float(sizes[at]), 2)}.",
    )


def _normed(head: Head, letter: str, number_: int) -> Stage:
    what, is_joint = {"q": "queries", "k": "keys"}[letter], _is_joint(head, letter)
    stage = norm_stage(
        head.way,
        f"{head.path}.{letter}_norm",
        head.way.stack,
        block=head.block,
        name=f"{head.name.removesuffix('_attn')}-{letter}-norm",
        title=f"A norm for the {what}",
        tokens=head.queries if letter == "q" else head.keys,
        part=(0,) if is_joint else (0, number_),
        note=f" So no score can grow by long {what} alone."
        + (" A row has the numbers of all heads." if is_joint else ""),
    )
    if is_joint:
        return replace(stage, shape=_joint_shape(letter))
    # The next stage's name and path for the same numbers.
    following = f"{letter}_unrotated" if head.records(f"{letter}_unrotated") else letter
    path = f"{head.path}.{following}"
    return replace(stage, path=path, result=replace(stage.result, name=letter.upper(), path=path))


def _is_joint(head: Head, letter: str) -> bool:
    """True for queries or keys that are normed before they are split into heads."""
    return letter != "v" and head.way.config.query_key_norm == "across_heads"


def _function(letter: str) -> Callable[..., Any]:
    """The function that computes queries, or keys and values."""
    return MultiHeadAttention.forward if letter == "q" else MultiHeadAttention._keys_and_values


def _joint_shape(letter: str) -> tuple[str, ...]:
    batch, _, length, _ = SHAPES[letter]
    return batch, length, "H d_head" if letter == "q" else "H_kv d_head"


def _columns(head: Head, number_: int) -> slice:
    d_head = head.way.config.d_head
    return slice(number_ * d_head, (number_ + 1) * d_head)


def _split(head: Head, letter: str, number_: int) -> Stage:
    """One head's part of normed queries or keys."""
    normed, tokens = f"{head.path}.{letter}_norm.result", head.queries if letter == "q" else head.keys
    whole_rows, own = head.way.record(normed, 0), _columns(head, number_)
    recorded = f"{letter}_unrotated" if head.records(f"{letter}_unrotated") else letter
    what = {"q": "queries", "k": "keys"}[letter]
    return head.stage(
        f"{letter}-split",
        f"The {what} of head {number_}",
        recorded,
        formula=rf"{letter.upper()}_{{:,\,{own.start} : {own.stop}}}",
        shape=SHAPES[letter],
        part=(0, number_),
        operands=[Operand(per_token(letter.upper(), whole_rows, tokens, normed), ROW, "columns of")],
        result=per_token(letter.upper(), whole_rows[:, own], tokens, f"{head.path}.{recorded}"),
        code=[whole(MultiHeadAttention.split_heads), tapping(_function(letter), recorded)],
        notice=f"Head {number_} has columns {own.start} to {own.stop - 1}. The norm before saw the numbers "
        "of all heads at once, so each head's length depends on the others.",
    )


def _turned(head: Head, letter: str, number_: int) -> Stage:
    """Rotary positions, before and after the rotation."""
    way, config = head.way, head.way.config
    before, after = f"{head.path}.{letter}_unrotated", f"{head.path}.{letter}"
    tokens = head.queries if letter == "q" else head.keys
    x, turned = way.record(before, 0, number_), way.record(after, 0, number_)
    base = config.rotary_base(way.stack, way.layer)
    angles = rotation(0, len(x), rotary_wavelengths(config, base), like=way.run.trace[before])
    n_turned = config.rotary_dims or config.d_head
    pairs = numbered("pair", n_turned // 2)
    cos, sin = (
        Matrix(name, values.numpy(), tokens, pairs, path=f"{way.stack}.{name}")
        for name, values in (("cos", angles.cos), ("sin", angles.sin))
    )
    function = _function(letter)
    upper, last = letter.upper(), len(x) - 1
    moved = float(np.linalg.norm(turned[last] - x[last]))
    based = f" The base of this layer's wavelengths is {base:g}." if config.position_bases else ""
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
            assigning(rotate, "rotated"),
            calling(function, "rotate"),
            tapping(function, letter),
        ],
        notice="Each pair of neighbouring numbers is turned like a clock's hand, the first pairs fast and "
        f"the last ones slowly. Row 0 stays as it is; row {last} moves by {number(moved, 2)}. No row changes "
        f"its length. {_in_score(n_turned, config.d_head)}{based}",
    )


def _in_score(n_turned: int, d_head: int) -> str:
    if n_turned < d_head:
        return (
            f"Only the first {n_turned} of a head's {d_head} numbers are turned: their part of a score "
            "depends on how far apart query and key stand, and the others' on their words alone."
        )
    return "A score then depends on how far apart query and key stand, not on where."


def groups(head: Head) -> Stage:
    """Grouped queries: the key-value head that this head uses."""
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
