"""Lesson 3: one head by hand, from the query to the output."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from transformer.analysis.attention_maps import MODULES
from viz.figures.numbers import in_sum, number
from viz.markdown import quoted, table
from viz.pages.learn.lessons.computed.row import Row, row_of
from viz.pages.learn.lessons.computed.row_pictures import all_rows, row_bars, score_terms
from viz.pages.learn.lessons.format.parts import Contrast, Figure, Lesson, Onward, Shown, Step, Viewing
from viz.pages.learn.lessons.format.questions import NumberQuestion, Text, TokenQuestion
from viz.pages.learn.lessons.format.subject import Subject

WITHIN, SHARE = 0.02, 0.05
"""Absolute and relative tolerance for a result computed by hand from rounded numbers."""


def _chosen_cell(row: Row) -> dict[str, object]:
    """The viewer's initial choice."""
    return {"attention": row.attention, "layer": 0, "head": row.head, "cell": (row.query, row.first)}


def _scaled(subject: Subject) -> str:
    """Why the score isn't the product divided by √d_head; empty if it is."""
    config = subject.config
    if config.attention_scale is not True:
        if not config.attention_scale:
            return "This model doesn't divide its scores."
        return f"This model doesn't divide its scores, it multiplies them by {config.attention_factor:g}."
    cap = config.attention_soft_cap
    return f"This model bends its scores by a soft cap of {cap:g} besides." if cap else ""


def _few(row: Row) -> str:
    return "" if row.is_open.sum() > 1 else "This query may look at one key alone, which gets all its weight."


def _asks_where(subject: Subject) -> str:
    row = row_of(subject)
    stack, _ = MODULES[row.attention]
    return (
        f"In layer 0 of the {stack}, head {row.head}, the token {quoted(row.token)} at position {row.query} "
        "asks all tokens. Which one do you think it will look at most?"
    )


def _reason_where(subject: Subject) -> str:
    row = row_of(subject)
    best = quoted(row.tokens[row.first])
    return (
        f"{best} gets {row.weights[row.first]:.0%} of the attention. Its key answers this head's query "
        f"best: their score is {number(row.scores[row.first], 2)}, the next is "
        f"{number(row.scores[row.second], 2)}, that of {quoted(row.tokens[row.second])}. Nobody told the "
        "head to look there: it follows from the numbers in W_Q and W_K, which begin at random and which "
        "only training moves.\n\n" + _two_ways(row)
    )


def _two_ways(row: Row) -> str:
    """Why query and key are different vectors, in this run's numbers."""
    if row.first == row.query:
        return ""
    one, other = quoted(row.token), quoted(row.tokens[row.first])
    return (
        f"And why not one vector for both? The query of {one} times the key of {other} is "
        f"{number(row.product, 2)}; the query of {other} times the key of {one} is "
        f"{number(row.product_back, 2)}. With one vector for both the two would be equal: a token could not "
        "find another without being found by it just as well."
    )


def _asks_score(subject: Subject) -> str:
    return f"{_product(subject)} The head divides that by {_divisor(subject)}. What is the score?"


def _asks_score_as_in_paper(subject: Subject) -> str:
    return (
        f"{_product(subject)} What would the score be if that were divided by {_divisor(subject)}, as in the "
        "paper?"
    )


def _product(subject: Subject) -> str:
    row = row_of(subject)
    return (
        f"The query of {quoted(row.token)} and the key of {quoted(row.tokens[row.first])} have {len(row.q)} "
        f"numbers each. Multiplied number by number and added up they give **{number(row.product, 2)}**."
    )


def _divisor(subject: Subject) -> str:
    width = len(row_of(subject).q)
    return rf"$\sqrt{{d_{{head}}}} = \sqrt{{{width}}} = {math.sqrt(width):.2f}$"


def _score_as_in_paper(subject: Subject) -> float:
    row = row_of(subject)
    return row.product / math.sqrt(len(row.q))


def _reason_score(subject: Subject) -> str:
    row = row_of(subject)
    width = math.sqrt(len(row.q))
    bias = (
        ""
        if not subject.config.has_position_bias
        else " (the model then adds its bias for the distance: "
        f"{number(row.scores[row.first] - row.product / width, 2)})"
    )
    return f"{number(row.product, 2)} / {width:.2f} = {number(row.product / width, 2)}{bias}."


def _reason_score_as_in_paper(subject: Subject) -> str:
    row, config = row_of(subject), subject.config
    own = ""
    if not config.attention_scale:
        own = " Models like T5 have learned weights so small that nothing has to be divided."
    elif config.attention_scale is not True:
        own = f" In this model it is {number(row.product * config.attention_factor, 2)}."
    root = math.sqrt(len(row.q))
    return f"{number(row.product, 2)} / {root:.2f} = {number(row.product / root, 2)}.{own}"


def _asks_ratio(subject: Subject) -> str:
    row = row_of(subject)
    one, other = row.first, row.second
    difference = row.scores[one] - row.scores[other]
    return (
        f"{quoted(row.tokens[one])} has the score {number(row.scores[one], 2)}, and "
        f"{quoted(row.tokens[other])} {number(row.scores[other], 2)}: {number(difference, 2)} less. Softmax "
        "takes "
        r"$e^{\text{score}}$ of each and divides by their sum, so a difference of scores becomes a "
        f"**ratio** of weights. How many times the weight of {quoted(row.tokens[other])} does "
        f"{quoted(row.tokens[one])} get?"
    )


def _ratio(subject: Subject) -> float:
    row = row_of(subject)
    return float(np.exp(np.float64(row.scores[row.first]) - row.scores[row.second]))


def _reason_ratio(subject: Subject) -> str:
    row = row_of(subject)
    one, other = row.weights[row.first], row.weights[row.second]
    return (
        rf"$e^{{{number(row.scores[row.first] - row.scores[row.second], 3)}}} = {_ratio(subject):.3g}$, and "
        f"indeed the weights are {one:.4f} and {other:.4f}. All {int(row.is_open.sum())} weights of the row "
        "sum to 1."
    )


def _asks_output(subject: Subject) -> str:
    row = row_of(subject)
    order = np.argsort(row.weights)[::-1][:3]
    rows = [(quoted(row.tokens[key]), f"{row.weights[key]:.3f}", number(row.v[key, 0])) for key in order]
    rest = float(np.delete(row.weights, order) @ np.delete(row.v[:, 0], order))
    return (
        "Each token also hands over a **value**. The head puts out their sum, each times its weight. Here "
        f"is the first of the {row.v.shape[1]} numbers of the values:\n"
        "\n"
        + table(("token", "weight", "value, first number"), rows)
        + f"\n\nAll others together add {number(rest, 3)}. What is the first number that the head puts out "
        f"for {quoted(row.token)}?"
    )


def _reason_output(subject: Subject) -> str:
    row = row_of(subject)
    terms = " + ".join(
        f"{row.weights[key]:.3f} · {in_sum(row.v[key, 0])}" for key in np.argsort(row.weights)[::-1][:3]
    )
    return f"{terms} + the rest = {number(row.z[0], 3)}."


def _asks_for_score(
    name: str,
    asks: Text,
    reason: Callable[[Subject], str],
    answer: Callable[[Subject], float],
    pointless: Callable[[Subject], str] = lambda _: "",
    instead: NumberQuestion | None = None,
) -> NumberQuestion:
    return NumberQuestion(
        name=name,
        asks=asks,
        answer=answer,
        unit="score",
        is_quantity=True,
        least=-10_000,
        most=lambda _: 10_000,
        step=0.01,
        within=WITHIN,
        share=SHARE,
        reason=reason,
        pointless=pointless,
        instead=instead,
    )


LESSON = Lesson(
    number=3,
    title="One head by hand",
    asks=("What are query, key and value?", "Why are there three projections?"),
    steps=(
        Step(
            "Every token asks, every token answers",
            "Attention is how tokens take in what others hold. Each token makes three vectors of its own: a "
            "**query**, what it looks for; a **key**, by which others find it; and a **value**, what it "
            "hands over where it is found. Each is a **projection**: the token's vector times a matrix of "
            "learned numbers, W_Q, W_K or W_V. Three, because what a token looks for, how it is found, and "
            "what it then has to say are three different things: an adjective looks for its noun, and not "
            "for adjectives like itself.\n"
            "\n"
            "One such comparison, with matrices of its own, is a **head**. A **layer** has several; heads, "
            "layers and positions are counted from 0.",
            TokenQuestion(
                name="where",
                asks=_asks_where,
                tokens=lambda subject: row_of(subject).tokens,
                values=lambda subject: [
                    float(weight) if is_open else None
                    for weight, is_open in zip(row_of(subject).weights, row_of(subject).is_open, strict=True)
                ],
                unit="attention weight",
                reason=_reason_where,
                pointless=lambda subject: _few(row_of(subject)),
            ),
            Shown(
                "This is the head with all its rows. Yours is one of them; point at a cell to see its "
                "numbers.",
                (Viewing(lambda subject: _chosen_cell(row_of(subject))),),
            ),
        ),
        Step(
            "The score: query times key",
            "How well a key answers a query is one number, their **dot product**: large where both have "
            "large numbers of the same sign in the same places. The paper divides it by √d_head, for a "
            "reason that the next lesson shows.",
            _asks_for_score(
                "score",
                _asks_score,
                _reason_score,
                _score_as_in_paper,
                pointless=_scaled,
                instead=_asks_for_score(
                    "score-as-in-paper",
                    _asks_score_as_in_paper,
                    _reason_score_as_in_paper,
                    _score_as_in_paper,
                ),
            ),
            Figure(
                score_terms,
                "Each dimension's part of the score, and their sum so far, which ends at the score.",
                "lesson-score",
            ),
        ),
        Step(
            "From scores to weights",
            "Scores can be any numbers. **Softmax** makes weights of them: all positive, and a row sums to "
            "1, so that they say how much of each token's value is taken.",
            NumberQuestion(
                name="ratio",
                asks=_asks_ratio,
                answer=_ratio,
                unit="times",
                least=1,
                most=lambda _: 1e30,
                step=0.1,
                within=WITHIN,
                share=SHARE,
                reason=_reason_ratio,
                pointless=lambda subject: _few(row_of(subject)),
            ),
            contrast=Contrast(
                "Of this row",
                {
                    "its scores": lambda subject: row_bars(subject, of_weights=False),
                    "its weights": lambda subject: row_bars(subject, of_weights=True),
                },
            ),
        ),
        Step(
            "What is handed over",
            "",
            NumberQuestion(
                name="output",
                asks=_asks_output,
                answer=lambda subject: float(row_of(subject).z[0]),
                unit="first number of z",
                is_quantity=True,
                least=-1_000,
                most=lambda _: 1_000,
                step=0.001,
                within=WITHIN,
                share=SHARE,
                reason=_reason_output,
            ),
            Shown(
                "Do that for all numbers of the value, for all tokens and all heads, and you have computed "
                r"equation 1 of the paper: $\text{softmax}\left(\frac{QK^\top}{\sqrt{d_k}}\right)V$."
            ),
            Contrast(
                "What would be lost if nothing were compared?",
                {
                    "This head": lambda subject: all_rows(subject, equal=False),
                    "All weights equal": lambda subject: Shown(
                        "Without queries and keys each token gets the same average of all values: a bag of "
                        "words, in which nobody knows what belongs to what.",
                        (all_rows(subject, equal=True),),
                    ),
                },
            ),
        ),
    ),
    takeaway=(
        "A head compares each token's query with all keys, and takes in their values by how well they answer."
    ),
    onward=(
        Onward(
            "See every number of this head on Explore",
            "explore",
            lambda subject: {
                "attention": row_of(subject).attention,
                "layer": "0",
                "head": str(row_of(subject).head),
                "cell": f"{row_of(subject).query},{row_of(subject).first}",
            },
        ),
    ),
)
