"""Checks whether the model agrees with the assumed answers, and describes the measurements."""

from __future__ import annotations

from collections.abc import Sequence

from transformer.analysis.doctor.answers import (
    CLEAR_BITS,
    CLEAR_ERRORS,
    WeighedQuestion,
    Weighing,
    Weight,
)
from transformer.analysis.doctor.findings import Finding, fine, share
from transformer.checkpoints.importing.report import Question

RULE = (
    f"An answer is marked when all others cost at least {CLEAR_BITS:g} bits per token more, and that "
    f"difference is at least {CLEAR_ERRORS:g} of its standard errors."
)
_MOVED = "how far the answer moves the output, as a share of the largest number in it"


def about(weighing: Weighing) -> str:
    """One or more sentences that explain the numbers next to the answers."""
    if not weighing.about:
        return f"Next to each answer: {_MOVED}."
    measured = f"Next to each answer: {weighing.about}, in bits per token, and {_MOVED}"
    if weighing.tells:
        return f"{measured}. A trained model with a wrong setting is usually much less sure. {RULE}"
    return (
        f"{measured}. Drawn ids are no sentences, so no answer is marked: type real ones, as ids if there is "
        "no tokenizer."
    )


def figure(weight: Weight, question: WeighedQuestion) -> str:
    """An answer's measurements in a few words, such as "1.43 bits per token, preferred by the model"."""
    if weight.why_not:
        return weight.why_not
    bits = "" if weight.bits is None else f"{weight.bits:.2f} bits per token"
    if weight.value == question.taken:
        moved = ""
    elif weight.change is None:
        moved = "another output"
    elif weight.change == 0:
        return "changes nothing here"
    else:
        moved = f"moves the output by {share(weight.change)}".replace("by below", "by less than")
    preferred = "preferred by the model" if weight.value in question.preferred else ""
    return ", ".join(part for part in (bits, preferred, moved) if part)


def answer_findings(questions: Sequence[Question], weighing: Weighing | None) -> list[Finding]:
    """Check whether the model is clearly more surprised by an answer taken than by another.

    Args:
        questions: the open questions.
        weighing: the measurements of their answers; None if they could not be tried.
    """
    if not questions:
        return fine("Nothing had to be assumed")
    if weighing is None:
        return []
    doubtful = [one for one in weighing.questions if one.preferred and one.taken not in one.preferred]
    if doubtful:
        worst, *rest = sorted(doubtful, key=_saved, reverse=True)
        return [_doubt(worst, [one.name for one in rest])]
    agreed = [one.name for one in weighing.questions if one.preferred]
    if agreed:
        return fine("The model agrees with what was assumed", f"shown by {', '.join(agreed)}")
    return fine("The model prefers no other answers", "none is clearly better than the others")


def _saved(question: WeighedQuestion) -> float:
    """Bits per token that the preferred answer saves."""
    taken, best = question.of(question.taken), question.of(question.preferred[0])
    return ((taken and taken.bits) or 0.0) - ((best and best.bits) or 0.0)


def _doubt(question: WeighedQuestion, others: list[str]) -> Finding:
    """A warning about one answer only, because the others may depend on it."""
    taken, best = question.of(question.taken), question.of(question.preferred[0])
    assert taken is not None
    assert best is not None
    values = " or ".join(str(value) for value in question.preferred)
    again = f" Then look again at {', '.join(others)}." if others else ""
    return Finding(
        "warning",
        f"The model prefers {question.name} = {values}",
        f"{best.bits:.2f} bits per token, with {question.taken} {taken.bits:.2f}",
        "What the files don't tell was answered in another way than the numbers of the model suggest: it is "
        "much surer of its words with another answer. With a wrong answer every picture is wrong.",
        f"Look into the program that the model was trained with, or open it again with "
        f"{question.name}={question.preferred[0]}.{again}",
    )
