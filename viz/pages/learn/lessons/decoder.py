"""Lesson 8: the decoder, its shifted target, and how it reads the source."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transformer.analysis.attention_maps import attention_maps
from transformer.decoding.greedy import next_token_probabilities
from transformer.run import Run
from viz.figures.bars import token_bars
from viz.markdown import quoted, table
from viz.pages.learn.lessons.computed.written import (
    changes_by_last,
    forced_wrong,
    later_probabilities,
    written_of,
)
from viz.pages.learn.lessons.format.parts import Contrast, Figure, Lesson, Onward, Shown, Step, Viewing
from viz.pages.learn.lessons.format.questions import ChoiceQuestion, NumberQuestion, TokenQuestion
from viz.pages.learn.lessons.format.subject import Subject


def writers(subject: Subject) -> list[float]:
    """For each decoder row: 1 if the token is its most probable next token, else 0."""
    trace = subject.run.trace
    probabilities = next_token_probabilities(
        trace["logits"][0], subject.loaded.target.special_tokens.suppressed
    )
    return (probabilities.argmax(dim=-1) == written_of(subject).token_id).float().tolist()


class Look(NamedTuple):
    """The most focused cross-attention head at the word's row."""

    layer: int
    head: int
    weights: NDArray[np.float32]


def look_of(subject: Subject) -> Look:
    """The head with the largest weight on a word of the source."""
    maps = attention_maps(subject.run.trace, "cross", "weights")
    rows = maps.values[:, :, written_of(subject).row]  # (L, H, S)
    words = subject.is_word("encoder")
    most = (rows * words if words.any() else rows).max(axis=-1)
    layer, head = np.unravel_index(int(most.argmax()), most.shape)
    return Look(int(layer), int(head), rows[layer, head])


def _no_generator(subject: Subject) -> str:
    return "" if subject.run.steps else "This model has no generator, so no row writes a token."


def _one_row(subject: Subject) -> str:
    return "" if len(subject.run.target_ids) > 1 else "The decoder reads one token alone here."


def _shifted(subject: Subject) -> str:
    """A table of each row's input and prediction."""
    coder, trace = subject.loaded.target, subject.run.trace
    probabilities = next_token_probabilities(trace["logits"][0], coder.special_tokens.suppressed)
    best, ids = probabilities.max(dim=-1)
    rows = [
        (quoted(token), str(position), quoted(coder.token(int(index))), f"{probability:.1%}")
        for position, (token, index, probability) in enumerate(
            zip(trace.tgt_tokens[0], ids.tolist(), best.tolist(), strict=True)
        )
    ]
    return table(("it reads", "position", "and says next", "with"), rows)


def _mixed(subject: Subject) -> str:
    if subject.config.merge_heads == "untransposed":
        return (
            "This model merges its heads untransposed, so that its rows mix: later tokens do change earlier "
            "rows."
        )
    return _one_row(subject)


def _no_source(subject: Subject) -> str:
    if subject.config.kind == "decoder-only":
        return (
            "This model has no encoder: prompt and continuation are one text, and there is no "
            "cross-attention."
        )
    return _no_generator(subject)


def _asks_row(subject: Subject) -> str:
    written = written_of(subject)
    return (
        "These are the tokens that the decoder reads, one per row. In which row is it decided that "
        f"{quoted(written.token)} comes next?"
    )


def _reason_row(subject: Subject) -> str:
    written = written_of(subject)
    token = subject.run.trace.tgt_tokens[0][written.row]
    probability = subject.run.steps[written.step].probability
    return (
        f"The row of {quoted(token)}, at position {written.row}: it gives {quoted(written.token)} a "
        f"probability of {probability:.1%}. In its own row {quoted(written.token)} has been read already. "
        + (
            "That is why the same text is read and asked for, one step apart: each row is to say what the "
            "next one reads. In a model with an encoder the target is **shifted right** for that: a special "
            "token is put before it."
            if subject.config.kind == "decoder-only"
            else "That is why the target is **shifted right**: it begins with a special token, and each row "
            "is to say what the next one reads."
        )
    )


def _reason_parallel(subject: Subject) -> str:
    n = len(subject.run.target_ids)
    return (
        f"By {changes_by_last(subject)[:-1].max():g}: the mask hides the last token from the {n - 1} rows "
        "before it. So in training, where the whole target is known, **one forward trains all rows at "
        "once**, each as if it stood at the end. That is teacher forcing. When a sentence is written the "
        "next word isn't known yet, so it takes one forward per token."
    )


def _asks_look(subject: Subject) -> str:
    look, written = look_of(subject), written_of(subject)
    return (
        f"When {quoted(written.token)} is written, which token of the source does head {look.head} of layer "
        f"{look.layer} look at most?"
    )


def _reason_look(subject: Subject) -> str:
    look, written = look_of(subject), written_of(subject)
    source = subject.run.trace.src_tokens[0]
    best = int(look.weights.argmax())
    return (
        f"{quoted(source[best])}, with {look.weights[best]:.0%}. Mind the row: it is that of "
        f"{quoted(subject.run.trace.tgt_tokens[0][written.row])}, the token *before* "
        f"{quoted(written.token)}. Whoever reads rows as the words that stand there is off by one."
    )


def _nothing_follows(subject: Subject) -> str:
    if why := _no_generator(subject):
        return why
    run, step = subject.run, written_of(subject).step
    n_given = len(run.target.ids) + run.finished
    if len(run.steps[step].top_ids) < 2 or n_given <= step + 1:
        return "No token follows this one here: type a longer sentence."
    return ""


def _course(subject: Subject) -> int:
    """The index of the right option: falls, stays or rises."""
    own, wrong = later_probabilities(subject)
    return 1 if abs(wrong - own) < 0.01 else 0 if wrong < own else 2


def _reason_course(subject: Subject) -> str:
    own, wrong = later_probabilities(subject)
    return (
        f"From {own:.1%} to {wrong:.1%} (geometric mean of the tokens that follow). They are the same "
        "tokens, and only one word before them is another."
    )


def _own_words(subject: Subject) -> Shown:
    return Shown(
        "Each row has read the model's own words so far.\n\n"
        + _table(subject, subject.run, written_of(subject).step)
    )


def _wrong_word(subject: Subject) -> Shown:
    run, wrong = forced_wrong(subject)
    return Shown(
        f"Here {quoted(subject.loaded.target.token(wrong))} was given in the place of "
        f"{quoted(written_of(subject).token)}. The model has to continue from there: in training it never "
        "meets its own mistakes, in use it "
        "does.\n\n" + _table(subject, run, written_of(subject).step)
    )


def _table(subject: Subject, run: Run, first: int) -> str:
    coder = subject.loaded.target
    rows = [
        (
            quoted(coder.token(step.token_id)),
            f"{step.probability:.1%}",
            quoted(coder.token(step.top_ids[0])),
        )
        for step in run.steps[first : first + 8]
    ]
    return table(("token", "its probability", "the model's first choice"), rows)


LESSON = Lesson(
    number=8,
    title="The decoder and its shifted target",
    asks=(
        "Why is the target shifted right?",
        "Is training parallel?",
        "Teacher forcing or inference: what is the difference?",
    ),
    unfit=lambda subject: (
        ""
        if subject.config.n_decoder_layers
        else "This model is an encoder alone: it reads a sentence as a whole and writes none. Choose a "
        "model with a decoder in the sidebar, or go on to lesson 12."
    ),
    steps=(
        Step(
            "Which row writes which word?",
            "A **decoder** writes the target. It reads what has been written so far, one token per row, and "
            "gives in each row a probability of every token of the vocabulary: what comes *next*. Training "
            "tells it what would have been right there.",
            TokenQuestion(
                name="row",
                asks=_asks_row,
                tokens=lambda subject: subject.run.trace.tgt_tokens[0],
                values=writers,
                unit="writes it (1) or not (0)",
                reason=_reason_row,
                pointless=_no_generator,
            ),
            lambda subject: Shown(_shifted(subject)),
        ),
        Step(
            "All rows at once",
            "The causal mask of lesson 6 closes the future to each row. What is that good for in training?",
            NumberQuestion(
                name="parallel",
                asks=lambda subject: (
                    "Suppose that the last token that the decoder reads were another one. By how much would "
                    f"the outputs of the {len(subject.run.target_ids) - 1} rows before it change, at the "
                    "most?"
                ),
                answer=lambda subject: float(changes_by_last(subject)[:-1].max()),
                unit="largest change",
                is_quantity=True,
                most=lambda _: 1_000,
                step=0.1,
                within=1e-5,
                reason=_reason_parallel,
                pointless=_mixed,
            ),
            Figure(
                lambda subject, theme: token_bars(
                    changes_by_last(subject),
                    subject.run.trace.tgt_tokens[0],
                    theme=theme,
                    quantity="largest change of a row",
                ),
                "What changes in each row when the last token is another one.",
                "lesson-last-token",
            ),
        ),
        Step(
            "How it reads the source",
            "In **cross-attention** the queries come from the decoder, the keys and values from the "
            "encoder's output: each row of the target looks at the tokens of the source.",
            TokenQuestion(
                name="look",
                asks=_asks_look,
                tokens=lambda subject: subject.run.trace.src_tokens[0],
                values=lambda subject: look_of(subject).weights.tolist(),
                unit="attention weight",
                reason=_reason_look,
                pointless=_no_source,
            ),
            Viewing(
                lambda subject: {
                    "view": "layer",
                    "attention": "cross",
                    "layer": look_of(subject).layer,
                    "head": look_of(subject).head,
                    "cell": (written_of(subject).row, int(look_of(subject).weights.argmax())),
                },
                views=("layer", "map"),
            ),
        ),
        Step(
            "A wrong word",
            "In training the decoder is given the right words so far, whatever it would have said: "
            "**teacher forcing**. In use, which is called **inference**, it is given its own.",
            ChoiceQuestion(
                name="wrong",
                asks=lambda subject: (
                    f"Suppose that {quoted(subject.loaded.target.token(forced_wrong(subject)[1]))} stood in "
                    f"the place of {quoted(written_of(subject).token)}. What becomes of the probability of "
                    "the words that follow, on average?"
                ),
                options=lambda _: ("it falls", "it changes by less than 1 percentage point", "it rises"),
                answer=_course,
                reason=_reason_course,
                pointless=_nothing_follows,
            ),
            contrast=Contrast("The words so far", {"Its own": _own_words, "One wrong word": _wrong_word}),
        ),
    ),
    takeaway=(
        "Each row says the next token, of its own past alone: so all are trained at once, and written one "
        "by one."
    ),
    onward=(
        Onward(
            "Type a target yourself and see every step, on Decode",
            "decode",
            lambda _: {"section": "Teacher forcing"},
        ),
    ),
)
