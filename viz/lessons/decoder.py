"""Lesson 8: the decoder, its shifted target, and how it reads the source."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from transformer.analysis.attention_maps import attention_maps
from transformer.decoding.greedy import next_token_probabilities
from transformer.model_input import padded
from transformer.run import Run, force
from viz.lessons.parts import (
    ChoiceQuestion,
    Contrast,
    Lesson,
    NumberQuestion,
    Onward,
    Shown,
    Step,
    TokenQuestion,
    Viewing,
)
from viz.lessons.subject import Subject, quoted, table


class Written(NamedTuple):
    """A token of the target, and the row that writes it.

    Attributes:
        step: of the target.
        row: of the decoder: the position of the token before it.
        token_id, token: which.
    """

    step: int
    row: int
    token_id: int
    token: str


def written_of(subject: Subject) -> Written:
    """A word from the middle of the target; its first token where there is none."""
    run, coder = subject.run, subject.loaded.target
    words = [any(map(str.isalnum, coder.token(step.token_id))) for step in run.steps]
    ends = [step.token_id in subject.loaded.end_ids for step in run.steps]
    possible = [step for step, is_word in enumerate(words) if is_word and not ends[step]] or [0]
    step = possible[len(possible) // 2]
    token_id = run.steps[step].token_id
    row = len(run.target_ids) - len(run.target.ids) - 1 + step
    return Written(step, row, token_id, coder.token(token_id))


def writers(subject: Subject) -> list[float]:
    """For each of the decoder's rows: 1 if the token is the most probable after it, and else 0."""
    trace = subject.run.trace
    probabilities = next_token_probabilities(
        trace["logits"][0], subject.loaded.target.special_tokens.suppressed
    )
    return (probabilities.argmax(dim=-1) == written_of(subject).token_id).float().tolist()


def change_by_last(subject: Subject) -> float:
    """The largest change of any row but the last, when the last token that the decoder reads is another."""
    return subject.kept("change by last", lambda: _change_by_last(subject))


@torch.inference_mode()
def _change_by_last(subject: Subject) -> float:
    run, loaded = subject.run, subject.loaded
    other = list(run.target_ids)
    other[-1] = other[0]
    src = None if run.encoder_input is None else padded(loaded, [run.encoder_input.ids])
    outputs = [loaded.model(src, padded(loaded, [ids])) for ids in (run.target_ids, other)]
    return float((outputs[0] - outputs[1])[0, :-1].abs().max())


class Look(NamedTuple):
    """The head of the cross-attention that is surest, as the word is written."""

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


def forced_wrong(subject: Subject) -> tuple[Run, int]:
    """The run with one wrong word: the second best in the place of the written one; and that word's id."""
    return subject.kept("forced wrong", lambda: _forced_wrong(subject))


def _forced_wrong(subject: Subject) -> tuple[Run, int]:
    written, run = written_of(subject), subject.run
    wrong = next(index for index in run.steps[written.step].top_ids if index != written.token_id)
    ids = list(run.target.ids)
    ids[written.step] = wrong
    return force(subject.loaded, run.source, subject.loaded.target.of_ids(ids), ends=run.finished), wrong


def _no_generator(subject: Subject) -> str:
    return "" if subject.run.steps else "This model has no generator, so no row writes a token."


def _one_row(subject: Subject) -> str:
    return "" if len(subject.run.target_ids) > 1 else "The decoder reads one token alone here."


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
        f"{quoted(written.token)} comes next? Click that row's token."
    )


def _reason_row(subject: Subject) -> str:
    written = written_of(subject)
    token = subject.run.trace.tgt_tokens[0][written.row]
    probability = subject.run.steps[written.step].probability
    return (
        f"The row of {quoted(token)}, at position {written.row}: it gives {quoted(written.token)} a "
        f"probability of {probability:.1%}. In its own row {quoted(written.token)} has been read already. "
        "That is why the target is **shifted right**: it begins with a special token, and each row is to "
        "say what the next one reads."
    )


def _reason_parallel(subject: Subject) -> str:
    n = len(subject.run.target_ids)
    return (
        f"By {change_by_last(subject):g}: the mask hides the last token from the {n - 1} rows before it. So "
        "in training, where the whole target is known, **one forward trains all rows at once**, each as if "
        "it stood at the end. That is teacher forcing. When a sentence is written the next word isn't known "
        "yet, so it takes one forward per token."
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
    step = written_of(subject).step
    if len(subject.run.steps[step].top_ids) < 2 or len(subject.run.target.ids) <= step:
        return "No token follows this one here: type a longer sentence."
    return ""


def later_probabilities(subject: Subject) -> tuple[float, float]:
    """The geometric mean of what follows the word: after the model's own words, and after the wrong one."""
    step = written_of(subject).step + 1
    own, wrong = (
        np.exp(np.mean(np.log([max(one.probability, 1e-30) for one in run.steps[step:]])))
        for run in (subject.run, forced_wrong(subject)[0])
    )
    return float(own), float(wrong)


def _course(subject: Subject) -> int:
    """Which of falls, stays and rises is right."""
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
            "A decoder gives, in each row, a probability of every token of the vocabulary: what comes "
            "*next*.",
            TokenQuestion(
                name="row",
                asks=_asks_row,
                tokens=lambda subject: subject.run.trace.tgt_tokens[0],
                values=writers,
                unit="writes it (1) or not (0)",
                reason=_reason_row,
                pointless=_no_generator,
            ),
        ),
        Step(
            "All rows at once",
            "",
            NumberQuestion(
                name="parallel",
                asks=lambda subject: (
                    "Suppose that the last token that the decoder reads were another one. By how much would "
                    f"the outputs of the {len(subject.run.target_ids) - 1} rows before it change, at the "
                    "most?"
                ),
                answer=change_by_last,
                unit="largest change",
                least=0,
                most=lambda _: 1_000,
                step=0.1,
                within=1e-5,
                reason=_reason_parallel,
                pointless=_mixed,
            ),
        ),
        Step(
            "How it reads the source",
            "In **cross-attention** the queries come from the decoder, the keys and values from the "
            "encoder's output.",
            TokenQuestion(
                name="look",
                asks=_asks_look,
                tokens=lambda subject: subject.run.trace.src_tokens[0],
                values=lambda subject: look_of(subject).weights.tolist(),
                unit="attention weight",
                reason=_reason_look,
                pointless=_no_source,
            ),
            Shown(
                "",
                (
                    Viewing(
                        lambda subject: {
                            "attention": "cross",
                            "layer": look_of(subject).layer,
                            "head": look_of(subject).head,
                            "cell": (written_of(subject).row, int(look_of(subject).weights.argmax())),
                        }
                    ),
                ),
            ),
        ),
        Step(
            "A wrong word",
            "In training the decoder is given the right words so far, whatever it would have said: teacher "
            "forcing. In use it is given its own.",
            ChoiceQuestion(
                name="wrong",
                asks=lambda subject: (
                    f"Suppose that {quoted(subject.loaded.target.token(forced_wrong(subject)[1]))} stood in "
                    f"the place of {quoted(written_of(subject).token)}. What becomes of the probability of "
                    "the words that follow, on average?"
                ),
                options=lambda _: ("it falls", "it stays within 1 %", "it rises"),
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
    onward=(Onward("Type a target yourself and see every step, on Decode", "decode"),),
)
