"""The sentence of each step: what moves, what it meets and what comes of it, with the run's numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Literal, TypeAlias, cast

import numpy as np

from viz.components.path import Array, Part, Role
from viz.figures.labels import visible
from viz.figures.numbers import number
from viz.pages.step_by_step.path.parts import is_norm, motion_of, row_of
from viz.pages.step_by_step.stages.stage import Stage
from viz.pages.step_by_step.stages.way import Way
from viz.text_session import reads_ids

Pieces: TypeAlias = list[tuple[Role | Literal[""], str]]


@dataclass(frozen=True)
class Told:
    """A step to be explained.

    Attributes:
        stage, parts, way: the step.
        token: the followed token, in quotation marks.
    """

    stage: Stage
    parts: Sequence[Part]
    way: Way
    token: str

    def part(self, role: Role) -> Part:
        """The first part with a role."""
        return next(part for part in self.parts if part.role == role)

    @property
    def title(self) -> str:
        """The stage's title, as the continuation of a sentence."""
        return self.stage.title[0].lower() + self.stage.title[1:]

    @property
    def out(self) -> Part:
        """The result."""
        return self.parts[-1]


def sentence_of(stage: Stage, parts: Sequence[Part], way: Way) -> Pieces:
    """The explanation of a step, in pieces."""
    token = quoted(way.tokens(stage.stack or way.writer)[row_of(stage, way)])
    told = Told(stage, parts, way, token)
    kind = stage.name.removeprefix("self-").removeprefix("cross-").removeprefix("target-")
    if kind in _BY_NAME:
        return _BY_NAME[kind](told)
    motion = motion_of(stage)
    if is_norm(stage) and motion == "change":
        return _norm(told)
    return _BY_MOTION.get(motion, _appeared)(told)


def phrase(template: str, **values: object) -> Pieces:
    """Fill in a sentence: `{name:in}` becomes a piece with the role "in". Values are taken as they are."""
    pieces: Pieces = []
    for literal, name, role, _ in Formatter().parse(template):
        if literal:
            pieces.append(("", literal))
        if name:
            pieces.append((cast(Role, role or ""), str(values[name])))
    return pieces


def quoted(token: str) -> str:
    """A token in quotation marks, isolated from the direction of the text around it."""
    return f"“\u2068{visible(token)}\u2069”"


def counted(n: int, what: str) -> str:
    """A number of things: "1 word", "2 words"."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _length(values: Array) -> str:
    return number(float(np.linalg.norm(values)), 2)


def _best(part: Part) -> int:
    return int(np.nan_to_num(part.values, nan=-np.inf).argmax())


def _width(part: Part) -> str:
    return counted(part.values.shape[-1], "number")


def _norm(told: Told) -> Pieces:
    x = told.part("in")
    return phrase(
        "{x:in} is {before} long. {norm:with} rescales its numbers, and {out:out} is {after} long. "
        "No other token takes part.",
        x=x.name,
        before=_length(x.values),
        norm="The norm",
        out=told.out.name,
        after=_length(told.out.values),
    )


def _matched(told: Told) -> Pieces:
    best, out, x = _best(told.out), told.out, told.part("in").name
    top, for_ = number(float(out.values[best]), 2), quoted(out.labels[best])
    if told.stage.stack is None:
        return phrase(
            "{x:in} of {token} meets {rows:with}, of which the best {n} are shown. Each product is "
            "{out:out}; the highest is {top}, for {for_}.",
            x=x,
            token=told.token,
            rows="the vector of each vocabulary entry",
            n=len(out.labels),
            out="a logit",
            top=top,
            for_=for_,
        )
    return phrase(
        "{x:in} of {token} meets {keys:with}: multiplied number by number and summed, each gives {out:out}. "
        "The highest is {top}, for {for_}.",
        x=x,
        token=told.token,
        keys=f"the key of each of {counted(len(out.labels), 'token')}",
        out="a score",
        top=top,
        for_=for_,
    )


def _weighed(told: Told) -> Pieces:
    best, out = _best(told.out), told.out
    is_last = told.stage.stack is None
    return phrase(
        "Softmax{over} turns {x:in} into {out:out}{total}: the largest is {top}, for {for_}.",
        over=" over the whole vocabulary" if is_last else "",
        x="the logits" if is_last else "the scores",
        out=out.name,
        total="" if is_last else " that sum to 1",
        top=number(float(out.values[best]), 2),
        for_=quoted(out.labels[best]),
    )


def _column(told: Told) -> Pieces:
    out, before = told.out, told.part("in")
    if out.is_share:
        return _weighed(told)
    if told.stage.name.endswith("mask"):
        closed = 0 if out.closed is None else int(out.closed.sum())
        if not closed:
            template = "The mask closes no key to this query: {x:in} stay {out:out}."
            return phrase(template, x="the scores", out="as they are")
        n = len(out.labels)
        template = "The mask closes {closed} of {keys} to {token}: of {x:in}, those become {out:out}."
        return phrase(
            template, closed=closed, keys=counted(n, "key"), token=told.token, x="the scores", out="−∞"
        )
    how = "the bias by distance is added" if told.stage.name.endswith("bias") else "the soft cap is applied"
    change = number(float(np.abs(out.values - before.values).max()), 2)
    template = "To {x:in}, {how}: {out:out}. The largest change is {change}."
    return phrase(template, x=before.name, how=how, out=out.name, change=change)


def _sum(told: Told) -> Pieces:
    x, out = told.part("in"), told.out
    pieces = phrase("{x:in} ({length} long)", x=x.name, length=_length(x.values))
    for part in told.parts[1:-1]:
        pieces += phrase(" plus {x:with} ({length} long)", x=part.name, length=_length(part.values))
    return [*pieces, *phrase(", number by number: {out:out}, on the same scale.", out=f"the new {out.name}")]


def _changed(told: Told) -> Pieces:
    x, out = told.part("in"), told.out
    if x.values.size != out.values.size:
        template = "{x:in}: {title}. {out:out} has {n}."
        return phrase(template, x=x.name, title=told.title, out=out.name, n=_width(out))
    before, after = (number(float(np.abs(part.values).max()), 2) for part in (x, out))
    template = (
        "{x:in}: {title}. The largest number goes from {before} to {after} in {out:out}, on the same scale."
    )
    return phrase(template, x=x.name, title=told.title, before=before, after=after, out=out.name)


def _projected(told: Told) -> Pieces:
    x, out = told.part("in"), told.out
    weights = next((part for part in told.parts if part.form == "weights"), None)
    if weights is None:
        return phrase("{x:in}: {title}, giving {out:out}.", x=x.name, title=told.title, out=out.name)
    function = told.stage.operands[0].sign.removesuffix(" of")
    return phrase(
        "{x:in} ({before}) passes through {weights:with}{function}: each row of the matrix gives one number "
        "of {out:out} ({after}){gated}.",
        x=x.name,
        before=_width(x),
        weights=weights.name,
        function=f" and {function}" if function.isalpha() else "",
        out=out.name,
        after=_width(out),
        gated="" if told.parts[0] is x else f", times that of {told.parts[0].name}",
    )


VECTORS = {
    "q": ("the query q", "what {} looks for"),
    "k": ("its key", "what it offers to be found by"),
    "v": ("its value", "what it hands over when it is looked at"),
}


def _vector(told: Told) -> Pieces:
    letter = told.stage.name.rpartition("-")[2]
    name, purpose = VECTORS[letter]
    return phrase(
        "{x:in} times the learned {weights:with} gives {out:out}: {purpose}, in {n}.",
        x=f"{told.part('in').name} of {told.token if letter == 'q' else 'every token'}",
        weights=told.part("with").name,
        out=name,
        purpose=purpose.format(told.token) if letter == "q" else purpose,
        n=_width(told.out),
    )


def _taken(told: Told) -> Pieces:
    weights = told.part("in")
    order = np.argsort(-weights.values)[:2]
    taken = (f"{number(float(weights.values[at]), 2)} of {quoted(weights.labels[at])}" for at in order)
    return phrase(
        "{weights:in} takes its share of {values:with}, and the shares add up to {out:out}: {taken}{rest}.",
        weights="Each weight",
        values="that token's value",
        out="z",
        taken=" and ".join(taken),
        rest=", and less of the others" if len(weights.values) > 2 else "",
    )


def _joined(told: Told) -> Pieces:
    n, width = told.part("in").values.shape if told.parts[0].role == "in" else (told.way.config.n_heads, 0)
    first = told.way.head * width
    return phrase(
        "{heads:in} go side by side into {out:out}.{own}",
        heads=f"The z of all {counted(n, 'head')}",
        out=f"one vector of {_width(told.out)}",
        own=f" Head {told.way.head}, the one followed, fills {first} to {first + width - 1}."
        if width
        else "",
    )


def _attended(told: Told) -> Pieces:
    return phrase(
        "{x:in} pass through {weights:with}, which mixes them: {out:out} to {token}, {length} long.",
        x="All heads together",
        weights="W_O",
        out="what the attention adds",
        token=told.token,
        length=_length(told.out.values),
    )


def _text(told: Told) -> Pieces:
    if reads_ids(told.way.loaded):
        n = counted(len(told.out.labels), "id")
        return phrase("The ids as they were typed: {out:out}.", out=n)
    n = counted(len(told.out.labels), "word")
    return phrase("The text as it was typed: {out:out}, punctuation included.", out=n)


def _tokens(told: Told) -> Pieces:
    n = counted(len(told.out.labels), "token")
    return phrase("{out:out}. The path follows the framed one, {token:out}.", out=n, token=told.token)


def _id(told: Told) -> Pieces:
    place = f"{int(told.out.values[0]):,}"
    template = "{token} is entry {out:out} of the vocabulary: a place, not a size."
    return phrase(template, token=told.token, out=place)


def _embedded(told: Told) -> Pieces:
    template = "{x:in} picks its row of the embedding matrix: {out:out}, the same wherever the token stands."
    n = counted(told.out.values.size, "learned number")
    return phrase(template, x=f"The id of {told.token}", out=n)


def _placed(told: Told) -> Pieces:
    at = f"Position {row_of(told.stage, told.way)}"
    return phrase("{out:out} has a vector of its own, whatever token is there.", out=at)


def _layers(told: Told) -> Pieces:
    x = told.part("in")
    return phrase(
        "{x:in} passes through {title} in the same steps. {out:out} is {after} long, after {before}.",
        x=f"{x.name} of {told.token}",
        title=told.title,
        out="The new x",
        after=_length(told.out.values),
        before=_length(x.values),
    )


def _remembered(told: Told) -> Pieces:
    whose = f"The encoder's last vector of {told.token}"
    template = "{x:in} becomes {out:out}, which every layer of the decoder reads."
    return phrase(template, x=whose, out="its row of the memory M")


def _chosen(told: Told) -> Pieces:
    best, chosen = told.part("in"), told.out.labels[0]
    share, first = f"{float(best.values[0]):.1%}", best.labels[0]
    if chosen == first:
        template = "{x:in}, at {share}, is taken: {out:out}."
        return phrase(template, x="The most probable token", share=share, out=quoted(chosen))
    template = "The given token is {out:out}; the most probable is {x:in}, at {share}."
    return phrase(template, out=quoted(chosen), x=quoted(first), share=share)


def _again(told: Told) -> Pieces:
    n = counted(len(told.out.labels), "token")
    return phrase("The decoder has read {out:out} when it predicts the next one.", out=n)


def _appeared(told: Told) -> Pieces:
    return phrase("{out:out}: {title}.", out=told.out.name, title=told.title)


Tell: TypeAlias = Callable[[Told], Pieces]
_BY_NAME: Mapping[str, Tell] = {
    "text": _text,
    "tokens": _tokens,
    "ids": _id,
    "embedding": _embedded,
    "positions": _placed,
    **dict.fromkeys(("q", "k", "v"), _vector),
    "z": _taken,
    "heads": _joined,
    "out": _attended,
    **dict.fromkeys(("layers-before", "layers-after", "encoder-layers", "decoder-layers"), _layers),
    "memory": _remembered,
    "choice": _chosen,
    "round": _again,
}
_BY_MOTION: Mapping[str, Tell] = {
    "match": _matched,
    "column": _column,
    "sum": _sum,
    "change": _changed,
    "project": _projected,
    "each": _projected,
}
