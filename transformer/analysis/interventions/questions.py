"""The question that an intervention answers: why this word of the output, alone or rather than a rival."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.decoding.request import suppress
from transformer.errors import SentenceError
from transformer.loaded import LoadedModel
from transformer.run import Run

NEXT_BEST = "next best"
"""Name of the rival that is the most probable other token at a word's place."""


@dataclass(frozen=True)
class Question:
    """Asks for the log-probability of an output word, or for its logit minus a rival's.

    Attributes:
        label: the word as shown.
        rows: rows of the logits that its tokens are chosen from.
        ids: its tokens; one per row.
        rival_id: a token to compare with, at a question of one row; None to ask for the log-probability.
        rival: the rival as shown; empty without one.
    """

    label: str
    rows: tuple[int, ...]
    ids: tuple[int, ...]
    rival_id: int | None = None
    rival: str = ""

    @property
    def unit(self) -> str:
        """Unit of the values: nats of log-probability, or of logit difference."""
        return "nats" if self.rival_id is None else "logits"

    @property
    def quantity(self) -> str:
        """The answer's name as an axis label, with its unit."""
        return "log-probability (nats)" if self.rival_id is None else "logit difference"

    def value(self, logits: Tensor, suppressed: Sequence[int]) -> Tensor:
        """The answer for N runs: (N, T, V) -> (N,) float64.

        Suppressed ids have no probability, as in decoding.
        """
        rows = logits[:, list(self.rows)].double()  # (N, tokens, V)
        if self.rival_id is not None:
            return rows[:, 0, self.ids[0]] - rows[:, 0, self.rival_id]
        logs = suppress(rows, suppressed).log_softmax(dim=-1)
        index = torch.tensor(self.ids, device=logits.device).expand(len(rows), -1)[..., None]
        return logs.gather(-1, index)[..., 0].sum(dim=-1)


def suppressed_ids(loaded: LoadedModel, run: Run) -> Sequence[int]:
    """The ids that the model must not generate."""
    coder = loaded.source if run.decoder_input is None else loaded.target
    return coder.special_tokens.suppressed


def logit_row(run: Run, step: int) -> int:
    """The row of the logits that a step's token is chosen from."""
    first = 0 if run.decoder_input is None else len(run.target_ids) - len(run.target.ids) - 1
    return first + run.steps[step].position


def word_questions(loaded: LoadedModel, run: Run) -> list[Question]:
    """One question per word of the output, including its end; empty without a generator.

    In a masked language model, one per step.
    """
    steps = range(len(run.steps))
    if run.decoder_input is None:
        return [_question(loaded, run, [step]) for step in steps]
    word_of = list(run.target.word_of)
    groups: dict[int, list[int]] = {}
    for step in steps:
        # The last step may choose a token that isn't read: it ends the target, or the positions.
        word = word_of[step] if step < len(word_of) else len(run.target.words) + step
        groups.setdefault(word, []).append(step)
    return [_question(loaded, run, group) for group in groups.values()]


def last_word(words: Sequence[Question]) -> int:
    """The index of the last word with a letter, which usually depends on most; 0 without one."""
    own = [i for i, one in enumerate(words) if any(map(str.isalpha, one.label)) and one.label[0] != "<"]
    return own[-1] if own else 0


def _question(loaded: LoadedModel, run: Run, steps: Sequence[int]) -> Question:
    ids = tuple(run.steps[step].token_id for step in steps)
    return Question(text_of(loaded, run, ids), tuple(logit_row(run, step) for step in steps), ids)


def text_of(loaded: LoadedModel, run: Run, ids: Sequence[int]) -> str:
    """The text of some output ids, or their tokens where that is blank."""
    coder = loaded.source if run.decoder_input is None else loaded.target
    return coder.decode(ids).strip() or " ".join(map(coder.token, ids))


def against_next_best(loaded: LoadedModel, run: Run, question: Question) -> Question:
    """The word's first token against the most probable one at its place that is not the same in capitals."""
    step = next(i for i in range(len(run.steps)) if logit_row(run, i) == question.rows[0])
    others = [one for one in run.steps[step].top_ids if one != question.ids[0]]
    # The word in capitals is no rival, as long as there is another.
    own = text_of(loaded, run, question.ids[:1]).casefold()
    rival = next((one for one in others if text_of(loaded, run, [one]).casefold() != own), others[0])
    return Question(question.label, question.rows[:1], question.ids[:1], rival, text_of(loaded, run, [rival]))


def against(loaded: LoadedModel, run: Run, question: Question, rival: str) -> Question:
    """The word against a typed one, at the first token in which the two differ.

    Raises:
        SentenceError: the rival is blank, is the word itself, or continues it.
    """
    coder = loaded.source if run.decoder_input is None else loaded.target
    ids = coder.encode(rival).ids
    if not ids:
        raise SentenceError("The rival has no word: type one.")
    for row, own, other in zip(question.rows, question.ids, ids, strict=False):
        if own != other:
            return Question(question.label, (row,), (own,), other, rival.strip())
    raise SentenceError(
        f"“{rival.strip()}” begins with the same tokens as the word itself: type one that differs within the "
        "word."
    )


def asked_question(loaded: LoadedModel, run: Run, word: str | int, rival: str) -> Question:
    """The question about an output word.

    Args:
        loaded: a model with a generator.
        run: its run.
        word: the word's text, or its index in the output; empty for `last_word`.
        rival: `NEXT_BEST`, a typed word, or empty to ask for the word's log-probability.

    Raises:
        SentenceError: the output has no such word, or several; or the rival can't be compared with it.
    """
    words = word_questions(loaded, run)
    if isinstance(word, int):
        found = words[word : word + 1] if word >= 0 else []
    elif word.strip():
        found = [one for one in words if one.label.casefold() == word.strip().casefold()]
    else:
        found = [words[last_word(words)]]
    if len(found) != 1:
        listed = ", ".join(f"{index} {one.label}" for index, one in enumerate(words))
        several = "has several" if found else "has no"
        raise SentenceError(f"The output {several} “{word}”. Give one of these, or its number: {listed}.")
    return with_rival(loaded, run, found[0], rival)


def with_rival(loaded: LoadedModel, run: Run, word: Question, rival: str) -> Question:
    """The question about a word, against a rival as in `asked_question`.

    Raises:
        SentenceError: the two can't be compared.
    """
    if rival == NEXT_BEST:
        return against_next_best(loaded, run, word)
    return against(loaded, run, word, rival) if rival else word
