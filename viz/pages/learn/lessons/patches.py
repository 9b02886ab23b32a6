"""Lesson 14: what a patch proves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from transformer.analysis.attention_maps import Attention
from transformer.analysis.interventions.heads import HeadPlace
from transformer.analysis.interventions.knock_outs import input_stack
from transformer.analysis.interventions.patch_places import Place
from transformer.analysis.interventions.patching import Direction
from viz.figures.grids import signed_grid
from viz.figures.numbers import number
from viz.markdown import quoted
from viz.pages.learn.lessons.computed.contest import head_name, undecided
from viz.pages.learn.lessons.computed.exchanged import Exchange, exchange, shares_of
from viz.pages.learn.lessons.format.parts import Contrast, Figure, Lesson, Onward, Step
from viz.pages.learn.lessons.format.questions import CellQuestion, NumberQuestion, TokenQuestion
from viz.pages.learn.lessons.format.subject import Subject
from viz.theme import Theme

NO_EXCHANGE = (
    "No word of this sentence could be exchanged for a similar one so that the model would write another "
    "word. Type another sentence, or choose another model in the sidebar."
)
MOST_PERCENT = 100_000.0
"""Largest share, in percent, that can be typed."""
SCALE = "0 is the answer of the run that is patched, 1 that of the other run"


def _exchange(subject: Subject) -> Exchange:
    found = exchange(subject)
    assert found is not None
    return found


def _unfit(subject: Subject) -> str:
    return undecided(subject) or ("" if exchange(subject) is not None else NO_EXCHANGE)


def _stream(subject: Subject) -> Place:
    return Place(input_stack(subject.config), None, "resid")


def _heads(subject: Subject) -> Place:
    return Place(input_stack(subject.config), "self_attn", "z")


def _shares(subject: Subject, place: Place, direction: Direction) -> NDArray[np.float64]:
    return shares_of(subject, _exchange(subject), place, direction)


def _tokens(subject: Subject) -> Sequence[str]:
    pair, stack = _exchange(subject).pair, input_stack(subject.config)
    return pair.clean.trace.tokens(stack)[0]


def _own(subject: Subject) -> str:
    return quoted(_exchange(subject).contest.question.label)


def _rival(subject: Subject) -> str:
    return quoted(_exchange(subject).contest.question.rival)


def _at_the_top(subject: Subject) -> list[float]:
    shares: list[float] = _shares(subject, _stream(subject), "noising")[-1].tolist()
    return shares


def best_head(subject: Subject) -> HeadPlace:
    """The head whose output from the other run moves the answer farthest towards that run's."""
    shares = _shares(subject, _heads(subject), "noising")
    layer, head = np.unravel_index(int(shares.argmax()), shares.shape)
    attention: Attention = input_stack(subject.config)
    return HeadPlace(attention, int(layer), int(head))


def restored(subject: Subject) -> float:
    """How far that head's own output brings the other run back: from 0 to 1."""
    place = best_head(subject)
    return float(_shares(subject, _heads(subject), "denoising")[place.layer, place.head])


def _few_tokens(subject: Subject) -> str:
    return "" if len(_tokens(subject)) > 1 else "There is one token only: everything is there."


def _reason_token(subject: Subject) -> str:
    found, tokens, top = _exchange(subject), _tokens(subject), np.array(_at_the_top(subject))
    best = int(top.argmax())
    left = number(float(top[found.position]), 2)
    moved = (
        "The difference is where it was at the beginning: no layer had to move it."
        if best == found.position
        else f"The words differ at {quoted(tokens[found.position])}, position {found.position}, and there "
        f"the share is {left} now. On the way up, attention has moved what matters to another token."
    )
    return (
        f"{quoted(tokens[best])} at position {best}: patching it there goes {number(float(top[best]), 2)} of "
        f"the way to the other run's answer. {moved}"
    )


def _reason_head(subject: Subject) -> str:
    place, shares = best_head(subject), _shares(subject, _heads(subject), "noising")
    name = head_name(place)
    return (
        f"{name.capitalize()}: its output alone goes {number(float(shares.max()), 2)} of the way, "
        f"the median head's {number(float(np.median(shares)), 2)}. As far as this patch moves the answer, "
        "the answer **needed** what the head brings here. That it is enough is not shown yet."
    )


def _reason_enough(subject: Subject) -> str:
    shares = _shares(subject, _heads(subject), "noising")
    return (
        f"{restored(subject):.0%}; in the other direction it was {float(shares.max()):.0%}. Noising asks "
        "whether a part is **needed**: if another part does the same work, the answer survives, and the part "
        "looks idle. Denoising asks whether it is **enough**: a part that only works together with others "
        "restores little. The two are the same only where the effects of parts add up, which they need not."
    )


def _grid(of_heads: bool, direction: Direction) -> Figure:
    def figure(subject: Subject, theme: Theme) -> go.Figure:
        place = _heads(subject) if of_heads else _stream(subject)
        shares = _shares(subject, place, direction)
        columns = [f"head {head}" for head in range(shares.shape[1])] if of_heads else _tokens(subject)
        return signed_grid(
            shares,
            place.row_labels(subject.config),
            columns,
            theme=theme,
            quantity="share of the way (0 to 1)",
            axes=("after" if not of_heads else "layer", "head" if of_heads else "token"),
        )

    def caption(subject: Subject) -> str:
        what = "One head's output" if of_heads else "The residual stream of one token"
        return f"{what} from the other run, one patch per cell. {SCALE}."

    name = f"lesson-patches-{'heads' if of_heads else 'stream'}-{direction}"
    return Figure(figure, caption, name)


def _contrast(*, of_heads: bool) -> Contrast:
    return Contrast(
        "Patch",
        {
            "into this sentence's run (noising)": _grid(of_heads, "noising"),
            "into the other sentence's run (denoising)": _grid(of_heads, "denoising"),
        },
    )


LESSON = Lesson(
    number=14,
    title="What does a patch prove?",
    asks=("Where in the model is the reason for a word?", "Is a part needed, or is it enough?"),
    unfit=_unfit,
    prepared={"en-it": "My friend sold her car."},
    steps=(
        Step(
            "Two sentences, one word",
            lambda subject: (
                f"Your sentence is {quoted(subject.text, 200)}. One word is exchanged, so that both have the "
                f"same number of tokens: {quoted(_exchange(subject).text, 200)}. Both are run with the same "
                f"words written so far. In the first {_own(subject)} leads over {_rival(subject)} by "
                f"{number(_exchange(subject).pair.clean_value, 2)} logits, in the other by "
                f"{number(_exchange(subject).pair.corrupt_value, 2)}. Now the first run is continued with "
                "one vector of the other: a **patch**. How far it moves that number is told as a share: "
                f"{SCALE}."
            ),
            TokenQuestion(
                name="token",
                asks=lambda subject: (
                    f"The vector of one token, after the last layer of the {input_stack(subject.config)}, is "
                    "taken from the other run. For which token does that move the answer most?"
                ),
                tokens=_tokens,
                values=_at_the_top,
                unit="share of the way",
                reason=_reason_token,
                pointless=_few_tokens,
            ),
            contrast=_contrast(of_heads=False),
        ),
        Step(
            "Who carries it?",
            "Only attention moves anything from one token to another. Now the patch is the output of one "
            "head, at all tokens; all else is this sentence's run.",
            CellQuestion(
                name="head",
                asks="Each cell is a head. Whose output, taken from the other run, moves the answer most?",
                rows=lambda subject: _heads(subject).row_labels(subject.config),
                columns=lambda subject: [f"head {head}" for head in range(subject.config.n_heads)],
                axes=("layer", "head"),
                values=lambda subject: _shares(subject, _heads(subject), "noising"),
                unit="share of the way",
                reason=_reason_head,
            ),
        ),
        Step(
            "Needed, or enough?",
            lambda subject: (
                "The same patch can be made the other way round: into the other sentence's run goes the "
                f"output of that head from yours. All else says {_rival(subject)}; this head alone says "
                f"{_own(subject)}."
            ),
            NumberQuestion(
                name="enough",
                asks="How many percent of the way back does the head that you looked for bring the answer?",
                answer=lambda subject: 100 * restored(subject),
                unit="percent",
                least=-MOST_PERCENT,
                most=lambda _: MOST_PERCENT,
                step=1,
                within=10,
                reason=_reason_enough,
            ),
            contrast=_contrast(of_heads=True),
        ),
    ),
    takeaway=(
        "A patch into a sentence's own run shows what its answer needs, and one into the other run what is "
        "enough for it; to know both, make both."
    ),
    onward=(Onward("Knock-outs and patches of your own, on Why", "why"),),
)
