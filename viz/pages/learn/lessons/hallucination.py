"""Lesson 16: what of a word came from the source, and what from the words before it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from transformer.analysis.attribution.source_share import LEAST_GAIN
from viz.figures.bars import token_bars
from viz.figures.numbers import number
from viz.markdown import quoted
from viz.pages.learn.lessons.computed.contest import WORDLESS
from viz.pages.learn.lessons.computed.foreign import Sourced, foreign, foreign_words, own_words
from viz.pages.learn.lessons.format.parts import Contrast, Figure, Lesson, Onward, Shown, Step
from viz.pages.learn.lessons.format.questions import NumberQuestion, TokenQuestion
from viz.pages.learn.lessons.format.subject import Subject

NO_PREFIX = (
    "This model has no decoder: its words do not follow any of its own, so all that it says comes from what "
    "it reads. Choose a model with a decoder in the sidebar."
)


def _unfit(subject: Subject) -> str:
    if not subject.run.steps:
        return WORDLESS
    if subject.run.decoder_input is None:
        return NO_PREFIX
    return ""


def _taken(subject: Subject) -> str:
    if subject.run.encoder_input is not None:
        return "they are masked in every attention"
    return "unknown words are put in their place"


def _labels(sourced: Sourced) -> tuple[str, ...]:
    return tuple(word.label for word in sourced.words)


def kept_without(sourced: Sourced) -> NDArray[np.float64]:
    """Each word's log-probability without the source, in nats."""
    kept: NDArray[np.float64] = sourced.shares.log_probabilities - sourced.shares.gains
    return kept


def _few(sourced: Sourced) -> str:
    return "" if len(sourced.words) > 1 else "The output has one word only: there is nothing to compare."


def _chance(nats: float) -> str:
    return f"{np.exp(nats):.1%}"


def _reason_least(subject: Subject) -> str:
    sourced = own_words(subject)
    gains, kept = sourced.shares.gains, kept_without(sourced)
    best, most = int(gains.argmin()), int(gains.argmax())
    with_source = float(sourced.shares.log_probabilities[best])
    return (
        f"{quoted(sourced.words[best].label)}: with the source its probability is {_chance(with_source)}, "
        f"and {_chance(float(kept[best]))} with nothing but the words before it. The difference of the "
        f"logarithms, {number(float(gains[best]), 2)} nats, is what the source adds. It adds most to "
        f"{quoted(sourced.words[most].label)}: {number(float(gains[most]), 2)} nats."
    )


def _count(subject: Subject) -> int:
    return int((~foreign_words(subject).shares.needs_no_source_word).sum())


def _mean_gain(sourced: Sourced) -> float:
    return float(sourced.shares.gains.sum()) / sum(len(word.ids) for word in sourced.words)


def _reason_count(subject: Subject) -> str:
    own, other = own_words(subject), foreign_words(subject)
    n_own = int((~own.shares.needs_no_source_word).sum())
    return (
        f"{_count(subject)} of {len(other.words)}; in the model's own translation {n_own} of "
        f"{len(own.words)}. On average the source adds {number(_mean_gain(own), 2)} nats per token to its "
        f"own translation and {number(_mean_gain(other), 2)} to this one. A word that the source supports "
        "may still be wrong; but a whole sentence that it adds nothing to is about something else. That is "
        "how a hallucination is caught."
    )


def _surest(subject: Subject) -> int:
    """The most probable word of the forced output."""
    return int(foreign_words(subject).shares.log_probabilities.argmax())


def _alone(subject: Subject) -> float:
    """The probability of that word without the source."""
    return float(np.exp(kept_without(foreign_words(subject))[_surest(subject)]))


def _asks_alone(subject: Subject) -> str:
    sourced, best = foreign_words(subject), _surest(subject)
    return (
        f"{quoted(sourced.words[best].label)} is the most probable word of the forced output, with "
        f"{_chance(float(sourced.shares.log_probabilities[best]))}. What is its probability without the "
        "source, when only the words before it are left?"
    )


def _reason_alone(subject: Subject) -> str:
    sourced, best = foreign_words(subject), _surest(subject)
    gain = float(sourced.shares.gains[best])
    if gain < 0:
        verdict = "The source speaks against it, if anything: what makes it probable is the words before it."
    elif gain < LEAST_GAIN:
        verdict = "The source hardly adds to it: what makes it probable is the words before it."
    else:
        verdict = "So the source speaks for it: here the two sentences have something in common."
    return (
        f"{_alone(subject):.1%}: the source adds {number(gain, 2)} nats. {verdict} A "
        f"token picked at random has {1 / subject.config.tgt_vocab_size:.2g}. So the probability of a word "
        "does not tell what the word rests on; taking the source away does."
    )


def _bars(of_own: bool, what: str) -> Shown:
    def sourced(subject: Subject) -> Sourced:
        return own_words(subject) if of_own else foreign_words(subject)

    def values(subject: Subject) -> NDArray[np.float64]:
        found = sourced(subject)
        return found.shares.gains if what == "gain" else np.exp(found.shares.log_probabilities)

    quantity = "added by the source (nats)" if what == "gain" else "probability"
    figure = Figure(
        lambda subject, theme: token_bars(
            values(subject),
            _labels(sourced(subject)),
            theme=theme,
            quantity=quantity,
            axis="word of the output",
        ),
        f"{'The model’s own output' if of_own else 'The other sentence’s output, forced on this source'}, "
        "word by word.",
        f"lesson-source-{'own' if of_own else 'forced'}-{what}",
    )

    def shares(subject: Subject) -> str:
        share = sourced(subject).shares.source
        if share is None or what != "gain":
            return ""
        return (
            "Another measure, of the inside of the model (ALTI+, Ferrando and others 2022), follows the "
            f"vectors through all layers: on average **{share.mean():.0%}** of what these words are chosen "
            "from came from the source, the rest from the words before. That is a share of what was mixed, "
            "not of what mattered."
        )

    return Shown(shares, (figure,))


LESSON = Lesson(
    number=16,
    title="Source or prefix: catching a hallucination",
    asks=("Does a word come from the source, or from the words before it?", "How is a hallucination caught?"),
    unfit=_unfit,
    steps=(
        Step(
            "Two sources of every word",
            lambda subject: (
                f"The model reads {quoted(subject.text, 200)} and writes {quoted(_output(subject), 200)}. "
                "Each word is chosen from two things: the source, and the **prefix**, which is what was "
                f"written before. Now all words of the source are taken away at once: {_taken(subject)}. The "
                "output stays as it is, and each of its words gets a new probability."
            ),
            TokenQuestion(
                name="least",
                asks="Which word of the output loses least without the source?",
                tokens=lambda subject: _labels(own_words(subject)),
                values=lambda subject: own_words(subject).shares.gains.tolist(),
                unit="nats added by the source",
                best="smallest",
                reason=_reason_least,
                pointless=lambda subject: _few(own_words(subject)),
            ),
        ),
        Step(
            "A translation of something else",
            lambda subject: (
                f"For {quoted(foreign(subject).text, 200)} the model writes "
                f"{quoted(foreign(subject).run.translation, 200)}. This is now forced on your sentence: the "
                "model reads your source, and is asked how probable each of those words is. It is a "
                "hallucination made to order: fluent, and about something else."
            ),
            NumberQuestion(
                name="supported",
                asks=lambda subject: (
                    f"How many of its {len(foreign_words(subject).words)} words does your source make at "
                    "least twice as probable as they are without it?"
                ),
                answer=_count,
                unit="words",
                most=lambda subject: len(foreign_words(subject).words),
                step=1,
                reason=_reason_count,
            ),
            contrast=Contrast(
                "What the source adds to",
                {"the model's own output": _bars(True, "gain"), "the forced one": _bars(False, "gain")},
            ),
        ),
        Step(
            "What the prefix makes probable",
            "A probability is what the model thinks of the next word *given the words before it*. In the "
            "forced output those words are wrong already.",
            NumberQuestion(
                name="alone",
                asks=_asks_alone,
                answer=lambda subject: 100 * _alone(subject),
                unit="percent",
                most=lambda _: 100.0,
                step=0.1,
                within=2,
                share=0.25,
                reason=_reason_alone,
            ),
            contrast=Contrast(
                "Show for each word of the forced output",
                {
                    "its probability": _bars(False, "probability"),
                    "what the source adds": _bars(False, "gain"),
                },
            ),
        ),
    ),
    takeaway=(
        "How probable a word is and how much of that it owes to the source are two questions: a "
        "hallucination is what the source does not speak for."
    ),
    onward=(
        Onward("Each word of the source taken away, on Why", "why"),
        Onward("Type a target of your own, on Decode", "decode"),
    ),
)


def _output(subject: Subject) -> str:
    return subject.loaded.target.decode(subject.run.target.ids)
