"""Lesson 2: how a model knows the order of the tokens."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray

from transformer.analysis.attention_maps import stacks
from transformer.analysis.edited import edited_records, effect_of, without_positions
from transformer.model.positions import rotary_wavelengths
from transformer.model.trace import Stack
from transformer.run import Run, force, read
from viz.figures.bars import token_bars
from viz.figures.numbers import number
from viz.figures.positions import encoding_map
from viz.markdown import quoted
from viz.pages.learn.lessons.computed.ablation import of_its_length
from viz.pages.learn.lessons.format.parts import Contrast, Figure, Lesson, Onward, Shown, Step
from viz.pages.learn.lessons.format.questions import EQUAL, NumberQuestion, TokenQuestion
from viz.pages.learn.lessons.format.subject import Subject

NEARLY_RIGHT = 0.1
"""Cosine below which two vectors are said to be nearly at right angles: an angle of 84° or more."""
ADDED = ("sinusoidal", "learned")
"""Kinds of positions that are added to the embeddings."""
HOW = {
    "sinusoidal": "adds sines and cosines of the position to each embedding, as the paper does",
    "learned": "adds a learned vector to each embedding, one for each position",
    "relative": "adds a learned number to each score, by the distance of query and key",
    "alibi": "lowers each score in proportion to the distance of query and key",
    "rotary": "turns each query and key by an angle that grows with the position",
}


def stack_of(subject: Subject) -> Stack:
    """The stack whose positions the lesson explains: the first."""
    return stacks(subject.run.trace)[0]


def encoding_of(subject: Subject) -> NDArray[np.float32]:
    """(T, D): the encoding added to the run's embeddings."""
    embedding = "src_embedding" if stack_of(subject) == "encoder" else "tgt_embedding"
    encoding: NDArray[np.float32] = subject.run.trace[f"{embedding}.positions"][0].numpy()
    return encoding


def middle(subject: Subject) -> int:
    """The position that the lesson asks about."""
    return len(subject.run.trace.tokens(stack_of(subject))[0]) // 2


def closeness(subject: Subject) -> list[float | None]:
    """How near the model puts each position to the middle one; None for that one and for masked positions.

    For added encodings, their cosine; for rotary positions, the mean cosine of the angles between them in the
    first layer that rotates; for biases by distance, that of head 0 of layer 0.
    """
    stack, at = stack_of(subject), middle(subject)
    trace, positions = subject.run.trace, subject.config.positions
    if positions in ADDED:
        encoding = encoding_of(subject).astype(np.float64)
        lengths = np.linalg.norm(encoding, axis=1)
        near = encoding @ encoding[at] / (lengths * lengths[at])
    elif subject.config.has_position_bias:
        near = trace[f"{stack}.layers.0.self_attn.position_bias"][0, 0, at].double().numpy()
    else:
        config = subject.config
        bases = [config.rotary_base(stack, layer) for layer in range(trace.n_layers(stack))]
        wavelengths = rotary_wavelengths(config, next(filter(None, bases))).numpy()
        distances = np.arange(len(trace.tokens(stack)[0])) - at
        near = np.cos(2 * np.pi * distances[:, None] / wavelengths).mean(axis=1)
    is_open = trace.attention(stack, 0, "self_attn").mask[0, 0, at]
    return [
        float(value) if position != at and is_open[position] else None for position, value in enumerate(near)
    ]


def swapped(subject: Subject) -> tuple[int, int] | None:
    """The positions of the first two different words; None if there are none."""
    words = np.flatnonzero(subject.is_word(stack_of(subject)))
    tokens = subject.run.trace.tokens(stack_of(subject))[0]
    return next(
        ((int(words[0]), int(other)) for other in words[1:] if tokens[other] != tokens[words[0]]), None
    )


def swapped_run(subject: Subject) -> Run:
    """A run of the source with the two words swapped, and the same target."""
    return subject.kept("swapped", lambda: _swapped_run(subject))


def _swapped_run(subject: Subject) -> Run:
    run, loaded, places = subject.run, subject.loaded, swapped(subject)
    assert run.encoder_input is not None
    assert places is not None
    one, other = (place - run.encoder_input.first for place in places)
    ids = list(run.source.ids)
    ids[one], ids[other] = ids[other], ids[one]
    source = loaded.source.describe_ids(ids)
    return (
        read(loaded, source)
        if run.decoder_input is None
        else force(loaded, source, run.target, ends=run.finished)
    )


def moved_by_order(subject: Subject, *, with_positions: bool) -> float:
    """How far the encoder's vectors move, relative to their length, when the two words are swapped."""
    places = swapped(subject)
    assert places is not None
    edits = {} if with_positions else without_positions(subject.config)
    outputs = []
    for run in (subject.run, swapped_run(subject)):
        records = edited_records(subject.loaded, run, edits)
        outputs.append(records[next(path for path in reversed(records) if path.startswith("encoder."))][0])
    order = list(range(len(outputs[1])))
    order[places[0]], order[places[1]] = places[1], places[0]
    return float((outputs[1][order] - outputs[0]).norm() / outputs[0].norm())


def similarity(subject: Subject) -> float:
    """The mean absolute cosine between each token's embedding and the encoding of its position."""
    embedding = "src_embedding" if stack_of(subject) == "encoder" else "tgt_embedding"
    tokens = subject.run.trace[f"{embedding}.tokens"][0].double()
    cosines = torch.cosine_similarity(tokens, torch.from_numpy(encoding_of(subject)).double(), dim=-1)
    return float(cosines.abs().mean())


def _degrees(cosine: float) -> float:
    return math.degrees(math.acos(min(1.0, cosine)))


def _unknown(subject: Subject) -> str:
    if subject.config.positions == "none":
        return (
            "This model is told no positions at all: to it a sentence is a set of words. Choose another one "
            "in the sidebar."
        )
    return ""


def _no_swap(subject: Subject) -> str:
    if stack_of(subject) == "decoder":
        return (
            "In a decoder the mask of the future tells the order too: a token sees those before it and no "
            "others. So without positions it would still know something of it."
        )
    return "" if swapped(subject) else "There are no two different words to swap: type a longer sentence."


def _not_added(subject: Subject) -> str:
    if subject.config.positions in ADDED:
        return ""
    return f"This model adds nothing to its embeddings: it {HOW[subject.config.positions]}."


def _one_token(subject: Subject) -> str:
    return (
        "" if any(value is not None for value in closeness(subject)) else "There is only one position here."
    )


def _asks_near(subject: Subject) -> str:
    token = subject.run.trace.tokens(stack_of(subject))[0][middle(subject)]
    return (
        f"Think of {quoted(token)}, at position {middle(subject)}, and of nothing but positions: which "
        "other one does the model put nearest to it?"
    )


def _places(told: Mapping[int, float], value: float) -> str:
    """The positions with a given value, in words."""
    places = [str(at) for at, other in told.items() if abs(other - value) <= EQUAL * abs(value)]
    return f"position {places[0]}" if len(places) == 1 else f"positions {' and '.join(places)} alike"


def _reason_near(subject: Subject) -> str:
    values = closeness(subject)
    told = {position: value for position, value in enumerate(values) if value is not None}
    best, worst = (_places(told, value) for value in (max(told.values()), min(told.values())))
    what = {
        "sinusoidal": "the cosine between the two encodings is",
        "learned": "the cosine between the two learned vectors is",
        "relative": "head 0 of layer 0 adds to the score",
        "alibi": "head 0 of layer 0 adds to the score",
        "rotary": "the mean cosine of the angles between them is",
    }[subject.config.positions]
    return (
        f"{best[0].upper()}{best[1:]}: {what} {number(max(told.values()), 2)}; the farthest is {worst}, "
        f"with {number(min(told.values()), 2)}. This model {HOW[subject.config.positions]}."
    )


def _pictures(subject: Subject) -> Shown:
    values = np.array([np.nan if value is None else value for value in closeness(subject)])
    tokens = subject.run.trace.tokens(stack_of(subject))[0]
    figures = [
        Figure(
            lambda _, theme: token_bars(values, tokens, theme=theme, quantity="nearness to the middle one"),
            "How near the model puts each position to the one in the middle.",
            "lesson-nearness",
        )
    ]
    if subject.config.positions in ADDED:
        figures.append(
            Figure(
                lambda _, theme: encoding_map(encoding_of(subject), theme=theme, marked=middle(subject)),
                "What is added to each token of the sentence: rows are positions, columns dimensions.",
                "lesson-encoding",
            )
        )
    return Shown("", figures)


def _asks_swap(subject: Subject) -> str:
    places = swapped(subject)
    assert places is not None
    tokens = subject.run.trace.tokens("encoder")[0]
    return (
        f"Swap {quoted(tokens[places[0]])} and {quoted(tokens[places[1]])}, and take the positions away "
        "from the model. Each token's vector at the end of the encoder is compared with its own before. By "
        "how many percent of their length do they move?"
    )


def _reason_swap(subject: Subject) -> str:
    return (
        f"By {moved_by_order(subject, with_positions=False):.1%}; with positions by "
        f"{of_its_length(moved_by_order(subject, with_positions=True))}. Attention is a sum over "
        "all tokens, and a sum has no order: without positions a sentence is a bag of words, and the dog "
        "that bites the man is the man who bites the dog."
    )


def _effects(subject: Subject, *, with_positions: bool) -> Shown:
    effect = effect_of(
        subject.loaded, subject.run, {} if with_positions else without_positions(subject.config)
    )
    if not len(effect.probabilities):
        return Shown(f"The output moves by {of_its_length(effect.change)}.")
    words = "As it is, the" if with_positions else "Without positions the"
    return Shown(f"{words} tokens of this run have a probability of **{effect.mean:.1%}** (geometric mean).")


LESSON = Lesson(
    number=2,
    title="Where a token stands",
    asks=(
        "How does a model know the order of the words?",
        "Why are positions added and not put beside the embedding?",
    ),
    unfit=_unknown,
    steps=(
        Step(
            "Near and far",
            lambda subject: (
                "Attention itself knows no order. So a model is told where each token stands: this one "
                f"{HOW[subject.config.positions]}. For that to be of use, near positions must look alike."
            ),
            TokenQuestion(
                name="near",
                asks=_asks_near,
                tokens=lambda subject: subject.run.trace.tokens(stack_of(subject))[0],
                values=closeness,
                unit="nearness",
                reason=_reason_near,
                pointless=_one_token,
            ),
            _pictures,
        ),
        Step(
            "Shuffle the words",
            "What would a model be that is told no positions? If two words swap places, which numbers "
            "change?",
            NumberQuestion(
                name="swap",
                asks=_asks_swap,
                answer=lambda subject: 100 * moved_by_order(subject, with_positions=False),
                unit="percent",
                most=lambda _: 1_000,
                step=1,
                within=1,
                reason=_reason_swap,
                pointless=_no_swap,
            ),
            contrast=Contrast(
                "The model",
                {
                    "with positions": lambda subject: _effects(subject, with_positions=True),
                    "without": lambda subject: _effects(subject, with_positions=False),
                },
            ),
        ),
        Step(
            "Added, or put beside?",
            "The encoding is *added* to the embedding, and not put beside it. Is it then not lost in the "
            "sum? A matrix such as W_Q can read one and overlook the other unless both point the same way. "
            "Random vectors of many dimensions are nearly at right angles; are these?",
            NumberQuestion(
                name="angle",
                asks=(
                    "How large is the cosine between a token's embedding and the encoding of its position "
                    "here, on average and without its sign? (0 is a right angle, 1 the same direction.)"
                ),
                answer=similarity,
                unit="mean absolute cosine",
                is_quantity=True,
                most=lambda _: 1,
                step=0.01,
                within=0.1,
                reason=lambda subject: (
                    f"{similarity(subject):.2f}, an angle of {_degrees(similarity(subject)):.0f}°. Two "
                    f"random vectors of {subject.config.d_model} numbers would have "
                    f"{math.sqrt(2 / (math.pi * subject.config.d_model)):.2f}, nearly a right angle. "
                    + (
                        "So the two are as good as unrelated: adding costs no width, and loses little."
                        if similarity(subject) < NEARLY_RIGHT
                        else "So the two share some directions. Adding costs no width, and in training the "
                        "layers learn what to read."
                    )
                    + " Putting them beside each other would be the same as adding two embeddings of which "
                    "each is zero where the other is not: a special case, which training may choose."
                ),
                pointless=_not_added,
            ),
        ),
    ),
    takeaway="Attention sees a set; positions make a sentence of it.",
    onward=(Onward("Every wave and every angle, on Positions", "positions"),),
)
