"""From the text to the vectors that enter the first layer (paper, sections 3.4 and 3.5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from transformer.model.embedding import Embedding
from transformer.model.positions import LearnedPositions, SinusoidalPositions
from transformer.model.trace import Stack
from transformer.model_input import beginning
from viz.figures.labels import visible
from viz.figures.numbers import number
from viz.markdown import quoted
from viz.pages.step_by_step.stages.norms import norm_stage
from viz.pages.step_by_step.stages.source import assigning, calling, tapping, whole
from viz.pages.step_by_step.stages.stage import ALL, CELL, COLUMN, ROW, Axis, Matrix, Operand, Stage
from viz.pages.step_by_step.stages.way import (
    Way,
    biased,
    column,
    factor,
    numbered,
    per_token,
    single,
    words_of,
)
from viz.text_session import reads_ids

POSITIONS = {
    "relative": "No position is added here: each self-attention adds a bias by distance to its scores.",
    "alibi": "No position is added here: each self-attention lowers its scores in proportion to distance.",
    "rotary": "No position is added here: each self-attention turns its queries and keys by their positions.",
    "none": "No position is added anywhere: this model does not know the order of its tokens.",
}


def reading(way: Way, stack: Stack) -> Iterator[Stage]:
    """The stages from a stack's tokens to the vectors that enter its first layer."""
    is_target = stack == "decoder" and way.config.kind == "encoder-decoder"
    path = "src_embedding" if stack == "encoder" else "tgt_embedding"
    named = "target-" if is_target else ""
    stages = [] if is_target else [_text(way, stack, path)]
    stages.append(_tokens(way, stack, path, is_target=is_target))
    stages += [_ids(way, stack, path), *_embedded(way, stack, path)]
    note = POSITIONS.get(way.config.positions, "")
    bases = way.config.of_stack(way.config.position_bases, stack)
    if not all(bases):
        still = [str(i) for i, base in enumerate(bases) if not base]
        note += f" The {stack}'s layers {', '.join(still)} turn nothing."
    if note:
        stages[-1] = replace(stages[-1], notice=f"{stages[-1].notice} {note}")
    stages += _places(way, stack, path)
    for stage in stages:
        yield replace(stage, name=named + stage.name)


def _text(way: Way, stack: Stack, block: str) -> Stage:
    sentence = way.run.source
    text = " ".join(sentence.words)
    unit = way.coder(stack).unit
    n = len(sentence.words)
    notice = (
        "This model came without a tokenizer, which turns text into ids, so the ids themselves are typed: "
        f"{quoted(text, 120)}, {n} in all."
        if reads_ids(way.loaded)
        else f"{quoted(text, 120)} is split into {n} words and signs of punctuation. A model calculates "
        f"with numbers, so text has to become numbers first, one {unit} at a time."
    )
    return Stage(
        name="text",
        title="The text",
        stack=stack,
        block=block,
        result=_typed(way),
        code=[whole(type(way.coder(stack)).encode)],
        notice=notice,
    )


def _typed(way: Way) -> Matrix:
    words = [visible(word) for word in way.run.source.words]
    return words_of("text", words, numbered("id" if reads_ids(way.loaded) else "word", len(words)), "text")


def _tokens(way: Way, stack: Stack, block: str, *, is_target: bool) -> Stage:
    coder, tokens = way.coder(stack), way.tokens(stack)
    rows = numbered("position", len(tokens))
    if is_target:
        begins = " ".join(quoted(token) for token in tokens[: len(way.loaded.start_ids)])
        chosen = "the model has written" if way.run.generated else "was given"
        notice = (
            f"The decoder reads {begins} and then the target that {chosen}, shifted right by that: row i is "
            "there to predict the token of row i + 1. All rows run at once; the causal mask keeps each from "
            "seeing those after it."
        )
        code = [calling(beginning, "Input")]
        operands = []
    else:
        n_unknown = sum(way.run.source.unknown)
        special = (
            len(tokens) - len(way.run.source.ids) - len(way.run.target.ids if stack == "decoder" else [])
        )
        unknown = f" {n_unknown} of them the vocabulary does not have." if n_unknown else ""
        framed = (
            f" {special} special token{'s are' if special > 1 else ' is'} added to those of the sentence."
            if special
            else " No special token is added."
        )
        written = _written(way) if stack == "decoder" else ""
        kind = "" if coder.unit == "token" else f", {coder.unit}s"
        notice = (
            f"{len(tokens)} tokens{kind} of a vocabulary of {len(coder.vocabulary):,}.{unknown}"
            f"{framed}{written} Each token has a row from here on, up to the end."
        )
        code = [whole(type(coder).frame_tokens)]
        operands = [Operand(_typed(way))]
    return Stage(
        name="tokens",
        title="Tokens of the target" if is_target else "Tokens",
        stack=stack,
        block=block,
        operands=operands,
        result=words_of("tokens", list(map(visible, tokens)), rows, f"{block}.words"),
        code=code,
        notice=notice,
    )


def _written(way: Way) -> str:
    """Describe the tokens that follow the prompt of a model without an encoder."""
    n = len(way.run.target.ids)
    last = "The last one" if n == 1 else f"The last {n}"
    by = "the model has written itself" if way.run.generated else "continue the prompt as they were typed"
    return f" {last} {by}." if n else ""


def _ids(way: Way, stack: Stack, block: str) -> Stage:
    ids, tokens = way.ids(stack), way.axis(stack)
    first = way.tokens(stack)[0]
    rows = numbered("position", len(ids))
    words = words_of("tokens", tokens.labels, rows, f"{block}.words")
    return Stage(
        name="ids",
        title="Ids",
        stack=stack,
        block=block,
        operands=[Operand(words)],
        result=_id_column(way, stack, block),
        code=[whole(type(way.coder(stack)).encode)],
        notice=f"An id is a place in the vocabulary: {quoted(first)} is {ids[0]:,}. That 7 is larger than 3 "
        "means nothing; equal tokens have equal ids.",
    )


def _id_column(way: Way, stack: Stack, block: str) -> Matrix:
    ids = np.array(way.ids(stack))
    return column("ids", ids, way.axis(stack), f"{block}.ids", "ids")


def _embedded(way: Way, stack: Stack, path: str) -> Iterator[Stage]:
    tokens, config, ids = way.axis(stack), way.config, np.array(way.ids(stack))
    rows = way.weight(f"{path}.weight", ids)
    scaled = way.record(f"{path}.tokens", 0)
    recorded = f"{path}.tokens"
    size = config.embedding_width
    vocabulary = way.n_rows(f"{path}.weight")
    looked_up = per_token("E[ids]", rows, tokens, f"{path}.weight")
    at = int(np.argmax(np.linalg.norm(rows, axis=1)))
    shared = ""
    if config.share_embeddings:
        shared = " Source and target words share this matrix."
    if config.tie_generator and config.has_generator and stack == way.writer:
        shared += " At the end the same matrix makes the logits (tied weights)."
    is_scaled = config.embedding_scale
    yield Stage(
        name="embedding",
        title="Rows of the embedding matrix",
        stack=stack,
        block=path,
        formula=r"x_i = E_{\text{id}_i}",
        path="" if is_scaled else recorded,
        operands=[Operand(_id_column(way, stack, path), ROW)],
        result=looked_up,
        code=[tapping(Embedding.forward, "tokens")],
        notice=f"The embedding matrix has {vocabulary:,} rows of {size:,} learned numbers. An id picks its "
        f"row, and nothing is calculated: the same token gets the same row wherever it stands. The longest "
        f"of these vectors is that of {quoted(way.tokens(stack)[at])}, "
        f"{number(float(np.linalg.norm(rows[at])), 2)}.{shared}",
    )
    if is_scaled:
        scale = config.embedding_factor
        is_root = config.embedding_scale is True
        said = rf"\sqrt{{d_\text{{model}}}}, \quad \sqrt{{{config.d_model}}} = {scale:.4g}"
        is_added = config.positions in ("sinusoidal", "learned")
        less = " Without it the positions, which are added next, would drown them." if is_added else ""
        yield Stage(
            name="scaled",
            title="Times the square root of d_model" if is_root else "Times a factor of the model",
            stack=stack,
            block=path,
            formula=r"x_i = E_{\text{id}_i} " + (said if is_root else rf"\cdot {scale:g}"),
            path=recorded,
            operands=[
                Operand(looked_up),
                Operand(factor("√d_model" if is_root else "scale", scale, f"{path}.scale"), ALL, "×"),
            ],
            result=per_token("X", scaled, tokens, recorded),
            code=[assigning(Embedding.__init__, "self.scale"), tapping(Embedding.forward, "tokens")],
            notice=f"Every number becomes {scale:.4g} times as large: a typical one is "
            f"{number(float(np.sqrt(np.mean(scaled**2))), 2)} now and was "
            f"{number(float(np.sqrt(np.mean(rows**2))), 3)}.{less}",
        )


def _places(way: Way, stack: Stack, path: str) -> Iterator[Stage]:
    """Segments, positions, their sum with the embeddings, and the norm or projection after it."""
    tokens, trace, config = way.axis(stack), way.run.trace, way.config
    parts = [per_token("X", way.record(f"{path}.tokens", 0), tokens, f"{path}.tokens")]
    operands = [Operand(parts[0])]
    if f"{path}.segments" in trace:
        segment = way.record(f"{path}.segments", 0)
        row = Matrix("S", segment, single(), numbered("dimension", segment.shape[1]), path=f"{path}.segments")
        yield _segments(way, stack, path, row)
        operands.append(Operand(row, COLUMN, "+"))
    if f"{path}.positions" in trace:
        places = Axis("position", tuple(map(str, range(len(tokens.labels)))))
        added = per_token("P", way.record(f"{path}.positions", 0), places, f"{path}.positions")
        yield _positions(way, stack, path, added)
        operands.append(Operand(replace(added, rows=tokens), CELL, "+"))
    norm = f"{path}.norm"
    has_norm = f"{norm}.result" in trace
    last = "unprojected" if config.d_embedding else "out"
    if len(operands) > 1:
        recorded = f"{norm}.input" if has_norm else f"{path}.{last}"
        total = way.record(recorded, 0)
        share = [float(np.linalg.norm(op.matrix.values)) / np.sqrt(len(op.matrix.values)) for op in operands]
        yield Stage(
            name="sum",
            title="The sum",
            stack=stack,
            block=path,
            formula="X" + "".join(f" + {op.matrix.name}" for op in operands[1:]) + r"\;\to\; X",
            path=recorded,
            operands=operands,
            result=per_token("X", total, tokens, recorded),
            code=[
                *(tapping(Embedding.forward, op.matrix.path.rpartition(".")[2]) for op in operands[1:]),
                *([] if has_norm else [tapping(Embedding.forward, last)]),
            ],
            notice="One vector now says both what the token is and where it stands. They are added, not put "
            f"side by side: on average the embeddings are {number(share[0], 2)} long and what is added last "
            f"is {number(share[-1], 2)} long, so neither hides the other by itself.",
        )
    if has_norm:
        yield norm_stage(
            way,
            norm,
            stack,
            block=norm,
            name="embedding-norm",
            title="The norm after the embedding",
            tokens=tokens,
        )
    if config.d_embedding:
        yield _projected(way, stack, path)


def _projected(way: Way, stack: Stack, path: str) -> Stage:
    """Narrow embeddings, projected to the width of the stream."""
    config, tokens = way.config, way.axis(stack)
    narrow = per_token("X", way.record(f"{path}.unprojected", 0), tokens, f"{path}.unprojected")
    out, weight = way.record(f"{path}.out", 0), f"{path}.projection.weight"
    wide = numbered("dimension", config.d_model)
    matrix = Matrix("W", way.weight(weight).T, numbered("dimension", config.d_embedding), wide, path=weight)
    return Stage(
        name="projection",
        title="Widened to the stream",
        stack=stack,
        block=path,
        formula=r"X \leftarrow X W + b",
        path=f"{path}.out",
        operands=[
            Operand(narrow, ROW),
            Operand(matrix, COLUMN, "×"),
            *biased(way, f"{path}.projection.bias", slice(None), COLUMN, wide),
        ],
        result=per_token("X", out, tokens, f"{path}.out"),
        code=[tapping(Embedding.forward, "unprojected"), tapping(Embedding.forward, "out")],
        notice=f"Embeddings of this model have {config.d_embedding:,} numbers, the stream "
        f"{config.d_model:,}: one matrix, the same for all tokens, widens them. So the large vocabulary "
        "needs few weights.",
    )


def _segments(way: Way, stack: Stack, path: str, row: Matrix) -> Stage:
    recorded = f"{path}.segments"
    return Stage(
        name="segments",
        title="The segment",
        stack=stack,
        block=path,
        formula="S = S_0",
        path=recorded,
        shape=("B", "1", "D"),
        result=row,
        code=[tapping(Embedding.forward, "segments")],
        notice=f"The model knows {way.config.n_segments} kinds of sentence, with a learned vector each. One "
        "sentence alone is of the first kind, so every token gets the same vector, "
        f"{number(float(np.linalg.norm(row.values)), 2)} long.",
    )


def _positions(way: Way, stack: Stack, path: str, added: Matrix) -> Stage:
    config, recorded = way.config, f"{path}.positions"
    if config.positions == "sinusoidal":
        power = {
            "interleaved": "2i / d",
            "halves": "2i / d",
            "halves_to_base": "i / (d / 2 - 1)",
        }[config.sinusoid_layout]
        places = ("2i", "2i + 1") if config.sinusoid_layout == "interleaved" else ("i", "d / 2 + i")
        pos = f"(pos + {config.position_offset})" if config.position_offset else "pos"
        formula = (
            rf"PE(pos, {places[0]}) = \sin\left({pos} / base^{{{power}}}\right), \quad "
            rf"PE(pos, {places[1]}) = \cos\left({pos} / base^{{{power}}}\right)"
        )
        module = whole(SinusoidalPositions.forward)
        halves = config.sinusoid_layout != "interleaved"
        order = " Here all sines stand before all cosines." if halves else ""
        shift = config.position_offset
        first = f" The first token gets the position {shift} of the formula." if shift else ""
        about = f"Nothing in it is learned, and it does not look at the words.{order}{first}"
    else:
        formula, module = r"P_{pos} = W^{P}_{pos}", whole(LearnedPositions.forward)
        about = f"Each of the {config.max_len:,} positions has a learned vector."
    at = min(1, len(added.values) - 1)
    near = float(np.linalg.norm(added.values[at] - added.values[0]))
    far = float(np.linalg.norm(added.values[-1] - added.values[0]))
    return Stage(
        name="positions",
        title="Positions",
        stack=stack,
        block=path,
        formula=formula,
        path=recorded,
        shape=("1", "T", "D"),
        result=added,
        code=[tapping(Embedding.forward, "positions"), module],
        notice=f"A vector for each position, whatever token stands there. {about} Position {at} is "
        f"{number(near, 2)} away from position 0, and the last one {number(far, 2)}.",
    )
