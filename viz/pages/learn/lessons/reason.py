"""Lesson 13: whether a head that seems to explain a word is the reason for it."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from transformer.analysis.attention_maps import attention_maps, closed_cells
from transformer.analysis.interventions.heads import Ablation, HeadPlace
from transformer.analysis.interventions.knock_outs import input_stack, input_words, without_tokens
from transformer.analysis.interventions.outcomes import falls
from viz.figures.attention import attention_heatmap
from viz.figures.grids import signed_grid
from viz.figures.numbers import number
from viz.markdown import quoted
from viz.pages.learn.lessons.computed.contest import (
    board_rows,
    decided,
    examined_heads,
    head_name,
    lead_losses,
    lead_question,
    on_board,
    output_without,
    pictured,
    sentence_span,
    undecided,
)
from viz.pages.learn.lessons.format.parts import Contrast, Figure, Lesson, Onward, Shown, Step
from viz.pages.learn.lessons.format.questions import CellQuestion, TokenQuestion
from viz.pages.learn.lessons.format.subject import Subject
from viz.theme import Theme


def _own(subject: Subject) -> str:
    return quoted(decided(subject).question.label)


def _rival(subject: Subject) -> str:
    return quoted(decided(subject).question.rival)


def _words(subject: Subject) -> tuple[str, ...]:
    return input_words(subject.loaded, subject.run).labels


def word_losses(subject: Subject) -> list[float | None]:
    """How much of the lead each input word is worth; None for one that has no part in it."""

    def losses() -> list[float | None]:
        contest, loaded, run = decided(subject), subject.loaded, subject.run
        words = input_words(loaded, run)
        spans = [words.tokens(word) for word in range(len(words.labels))]
        if input_stack(subject.config) == "decoder":
            is_asked = [span[0] <= contest.row for span in spans]  # later words come too late
        elif run.decoder_input is None:
            is_asked = [contest.row not in span for span in spans]  # its own word is what is predicted there
        else:
            is_asked = [True] * len(spans)
        start, stop = sentence_span(subject)
        is_asked = [one and start <= span[0] < stop for one, span in zip(is_asked, spans, strict=True)]
        variants = [
            without_tokens(loaded, run, span, "unknown")
            for span, one in zip(spans, is_asked, strict=True)
            if one
        ]
        found = iter(falls(loaded, run, variants, [contest.question])[:, 0].tolist())
        return [next(found) if one else None for one in is_asked]

    return subject.kept("word losses", losses)


def deciding_word(subject: Subject) -> int:
    """The word that is worth most of the lead; the first if there is none to take away."""
    losses = np.array([-np.inf if loss is None else loss for loss in word_losses(subject)])
    return int(losses.argmax())


def convincing(subject: Subject) -> tuple[HeadPlace, int, int]:
    """The head with the sharpest look at the deciding word, and the cell of that look."""
    keys = input_words(subject.loaded, subject.run).tokens(deciding_word(subject))
    return pictured(subject, decided(subject), keys)


def costliest(subject: Subject) -> HeadPlace:
    """The head that costs most of the lead."""
    return examined_heads(subject)[int(lead_losses(subject, decided(subject)).argmax())]


def lead_without(subject: Subject, place: HeadPlace, how: Ablation = "zero") -> float:
    """The lead with one head switched off."""
    contest = decided(subject)
    loss = lead_losses(subject, contest, how)[examined_heads(subject).index(place)]
    return contest.lead - float(loss)


def _few_words(subject: Subject) -> str:
    n = sum(loss is not None for loss in word_losses(subject))
    return "" if n > 1 else "Only one word of the input can matter here: there is nothing to compare."


def _reason_word(subject: Subject) -> str:
    losses = word_losses(subject)
    best = deciding_word(subject)
    loss = losses[best]
    assert loss is not None
    return (
        f"{quoted(_words(subject)[best])}: without it {_own(subject)} loses {number(loss, 2)} logits of its "
        f"lead of {number(decided(subject).lead, 2)}. Nothing was assumed about how the model works: a word "
        "was taken away, and the model computed again."
    )


def _asks_picture(subject: Subject) -> str:
    place, query, key = convincing(subject)
    maps = attention_maps(subject.run.trace, place.attention, "weights", layer=place.layer)
    weight = float(maps.values[0, place.head, query, key])
    first = head_name(place)
    return (
        f"{first.capitalize()} has the sharpest picture of that word: "
        f"the row of {quoted(maps.query_tokens[query])} gives it a weight of {weight:.0%}. "
        f"{_own(subject)} leads by {number(decided(subject).lead, 2)} logits. By how many does it lead when "
        "this head puts out zeros? (Below 0, the other word is ahead.)"
    )


def _effect(subject: Subject, place: HeadPlace) -> str:
    lead = lead_without(subject, place)
    now = f"{_own(subject)} is still ahead" if lead > 0 else f"{_rival(subject)} is ahead"
    return f"{number(lead, 2)} logits: {now}"


def _reason_picture(subject: Subject) -> str:
    place, _, _ = convincing(subject)
    return (
        f"{_effect(subject, place)}. The picture is right, the head does look there; but whether the output "
        "needs what it brings is another question, and only taking it away answers it."
    )


def _picture(subject: Subject, place: HeadPlace) -> Shown:
    maps = attention_maps(subject.run.trace, place.attention, "weights", layer=place.layer)

    def draw(_: Subject, theme: Theme) -> go.Figure:
        return attention_heatmap(
            maps.values[0, place.head],
            maps.query_tokens,
            maps.key_tokens,
            theme=theme,
            closed=closed_cells(maps),
        )

    name = head_name(place)
    return Shown(
        f"Without {name}: **{number(lead_without(subject, place), 2)}** logits, and the model writes "
        f"{quoted(output_without(subject, [place]), 200)}.",
        (Figure(draw, f"{name.capitalize()}.", "lesson-reason-head"),),
    )


def _reason_head(subject: Subject) -> str:
    losses, place = lead_losses(subject, decided(subject)), costliest(subject)
    name, shown = head_name(place), convincing(subject)[0]
    shown_loss = decided(subject).lead - lead_without(subject, shown)
    return (
        f"{name.capitalize()} costs {number(float(losses.max()), 2)} logits; the median head costs "
        f"{number(float(np.median(losses)), 2)}. "
        + (
            "Here it is the head with the sharpest picture too. That it is the reason you know only now. "
            if place == shown
            else f"The head with the sharpest picture costs {number(shown_loss, 2)}. "
        )
        + f"Without the costliest, the model writes {quoted(output_without(subject, [place]), 200)}."
    )


def _reason_mean(subject: Subject) -> str:
    place = costliest(subject)
    zero, mean = (lead_without(subject, place, how) for how in ("zero", "mean"))
    verdict = (
        "Both kinds agree on which word wins."
        if (zero > 0) == (mean > 0)
        else "One kind of ablation says that the head decides the word; the other says that it does not."
    )
    return (
        f"{number(mean, 2)} logits, where it is {number(zero, 2)} with zeros. {verdict} Zeros are a vector "
        "that no later layer has ever seen from this head, so part of the damage is the surprise; a mean "
        "still carries what all tokens have in common. So an effect is the effect of a *replacement*, and a "
        "report of one says which."
    )


def _by(how: Ablation) -> Figure:
    def draw(subject: Subject, theme: Theme) -> go.Figure:
        values: NDArray[np.float64] = on_board(subject, lead_losses(subject, decided(subject), how))
        return signed_grid(
            values,
            board_rows(subject),
            [f"head {head}" for head in range(values.shape[1])],
            theme=theme,
            quantity="cost (logits of the lead)",
            axes=("layer", "head"),
        )

    caption = f"What each head costs if its output is replaced by {'zeros' if how == 'zero' else 'its mean'}."
    return Figure(draw, caption, f"lesson-reason-{how}")


LESSON = Lesson(
    number=13,
    title="Is attention the reason?",
    asks=("Is the head that looks at the right word the reason for the answer?", "Off: what does that mean?"),
    unfit=undecided,
    prepared={"en-it": "My friend sold her car."},
    steps=(
        Step(
            "The word that decides",
            lambda subject: (
                f"The model writes {quoted(subject.run.translation, 200)}. Why {_own(subject)} there, rather "
                f"than {_rival(subject)}? The logit of {_own(subject)} is "
                f"{number(decided(subject).lead, 2)} above that of {_rival(subject)}: that is its **lead**. "
                "Each word of the input is now taken away, by giving the model the embedding of an unknown "
                "word in its place."
            ),
            TokenQuestion(
                name="word",
                asks=lambda subject: f"Without which word does {_own(subject)} lose most of its lead?",
                tokens=_words,
                values=word_losses,
                unit="logits lost",
                reason=_reason_word,
                pointless=_few_words,
            ),
        ),
        Step(
            "The picture that convinces",
            "Somebody shows you a head that looks at exactly that word, from another one, and says: this is "
            "how the model knows. Then let us take the head away: its output is set to zero.",
            lead_question(
                name="picture",
                asks=_asks_picture,
                answer=lambda subject: lead_without(subject, convincing(subject)[0]),
                reason=_reason_picture,
            ),
            lambda subject: _picture(subject, convincing(subject)[0]),
        ),
        Step(
            "The head that matters",
            lambda subject: (
                "Now every head is switched off in its turn, in all attentions. Its cost is how much of the "
                f"lead of {_own(subject)} over {_rival(subject)} goes with it. This is its **total effect**: "
                "later layers have had their chance to make up for it."
            ),
            CellQuestion(
                name="head",
                asks="Each cell is a head. Which one costs most of the lead?",
                rows=board_rows,
                columns=lambda subject: [f"head {head}" for head in range(subject.config.n_heads)],
                axes=("layer", "head"),
                values=lambda subject: on_board(subject, lead_losses(subject, decided(subject))),
                unit="cost in logits",
                reason=_reason_head,
            ),
            contrast=Contrast(
                "Look at",
                {
                    "the head that costs most": lambda subject: _picture(subject, costliest(subject)),
                    "the head with the sharpest picture": lambda subject: _picture(
                        subject, convincing(subject)[0]
                    ),
                },
            ),
        ),
        Step(
            "Off: but what instead?",
            "A head cannot put out nothing: later layers read some vector in its place. So far that was "
            "zero. It may as well be the head's mean over all tokens of this run, which says nothing about "
            "any one of them.",
            lead_question(
                name="mean",
                asks=lambda subject: (
                    f"Take the head that costs most with zeros. By how many logits does {_own(subject)} lead "
                    "when that head's output is its mean instead?"
                ),
                answer=lambda subject: lead_without(subject, costliest(subject), "mean"),
                reason=_reason_mean,
            ),
            contrast=Contrast("Replace by", {"zeros": _by("zero"), "the mean": _by("mean")}),
        ),
    ),
    takeaway=(
        "A picture of attention is a question; the answer is what changes without the head, and that depends "
        "on what takes its place."
    ),
    onward=(
        Onward("All heads for every word, in three ways, on Why", "why"),
        Onward(
            "The head that costs most, on Explore",
            "explore",
            lambda subject: {
                "attention": costliest(subject).attention,
                "layer": str(costliest(subject).layer),
                "head": str(costliest(subject).head),
            },
        ),
    ),
)
