"""Lesson 4: why scores are divided by the square root of d_head."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from transformer.analysis.attention_maps import attention_maps, attention_record
from viz.figures.norms import value_distribution
from viz.figures.numbers import number
from viz.figures.scale import softmax_by_divisor
from viz.markdown import quoted
from viz.pages.learn.lessons.computed.row import Row, row_of
from viz.pages.learn.lessons.format.parts import Dial, Figure, Lesson, Onward, Shown, Step
from viz.pages.learn.lessons.format.questions import ChoiceQuestion, NumberQuestion
from viz.pages.learn.lessons.format.subject import Subject

MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0, 16.0)
"""The dial's divisors in multiples of √d_head; 1 is added."""
N_DRAWN, N_KEYS = 1_000, 8
"""Queries drawn for a head as training begins, and keys that each looks at."""
TRAINED = (
    "Below is the row of your sentence in the chosen model. A trained head has fitted its queries and keys "
    "to its own divisor, so its slope may be largest at another one."
)


def products_of(row: Row) -> NDArray[np.float64]:
    """The undivided products of the row's query with its open keys."""
    return row.k[row.is_open].astype(np.float64) @ row.q


def divisors_of(row: Row) -> list[float]:
    """The dial's divisors."""
    return sorted({1.0, *(round(multiple * math.sqrt(len(row.q)), 2) for multiple in MULTIPLES)})


def weights_of(row: Row, divisor: float) -> NDArray[np.float64]:
    """The row's weights if its products were divided by `divisor`."""
    scores = products_of(row) / divisor
    exponentials = np.exp(scores - scores.max())
    weights: NDArray[np.float64] = exponentials / exponentials.sum()
    return weights


def _root(subject: Subject) -> float:
    return math.sqrt(len(row_of(subject).q))


def _all_products(subject: Subject) -> NDArray[np.float32]:
    """(H, cells): all undivided products of the layer's unmasked cells."""
    row = row_of(subject)
    maps = attention_maps(subject.run.trace, row.attention, "weights", layer=0)
    record = attention_record(subject.run.trace, row.attention, 0)
    shared = record.q.shape[1] // record.k.shape[1]
    k = record.k[0].repeat_interleave(shared, dim=0)
    products: NDArray[np.float32] = (record.q[0] @ k.transpose(-2, -1)).numpy()[:, maps.allowed]
    return products


def _reason_spread(subject: Subject) -> str:
    products, root = _all_products(subject), _root(subject)
    return (
        rf"$\sqrt{{{len(row_of(subject).q)}}} = {root:.2f}$: the variances of unrelated terms add up. The "
        "products of this run, whose queries and keys may well be related, have a standard deviation of "
        f" {products.std():.2f}; divided by {root:.2f} it is {products.std() / root:.2f}."
    )


def _alone(subject: Subject) -> str:
    row = row_of(subject)
    return "" if row.is_open.sum() > 1 else "This query may look at one key alone: its weight is always 1."


def _asks_largest(subject: Subject) -> str:
    row = row_of(subject)
    return (
        f"{quoted(row.token)} gives {quoted(row.tokens[row.first])} a weight of "
        f"{row.weights[row.first]:.2f}, the largest of its row, with products that are {_how(subject)}. "
        f"What would the largest weight be {_otherwise(subject)}?"
    )


def _own(subject: Subject) -> float:
    """The divisor that the model itself uses."""
    return 1 / subject.config.attention_factor


def _capped(subject: Subject) -> str:
    cap = subject.config.attention_soft_cap
    return (
        f"This model bends its scores by a soft cap of {cap:g}, so a divisor alone does not say how large "
        "they are. Choose another one in the sidebar."
        if cap
        else ""
    )


def _how(subject: Subject) -> str:
    if not subject.config.attention_scale:
        return "not divided"
    # Not as a number: it is the answer to the first question, next to which it stands on paper.
    is_usual = math.isclose(_own(subject), _root(subject))
    return f"divided by {'√d_head' if is_usual else f'{_own(subject):.2f}'}"


def _otherwise(subject: Subject) -> str:
    return "if nothing were divided" if subject.config.attention_scale else "if they were divided by √d_head"


def _other_divisor(subject: Subject) -> float:
    return 1.0 if subject.config.attention_scale else _root(subject)


def _in_powers(exponent: float) -> str:
    """e to a power, in LaTeX; as a power of ten if very large or small."""
    tens, rest = divmod(exponent / math.log(10), 1)
    return f"{10**rest:.2f} \\cdot 10^{{{tens:.0f}}}" if abs(tens) > 3 else f"{math.exp(exponent):.3g}"


def _reason_largest(subject: Subject) -> str:
    row = row_of(subject)
    own = weights_of(row, _own(subject)).max()
    other = weights_of(row, _other_divisor(subject)).max()
    products = np.sort(products_of(row))
    difference = float(products[-1] - products[-2])
    return (
        f"It would be {other:.4f} in the place of {own:.4f}. The two largest products are "
        f"{number(products[-1], 2)} and {number(products[-2], 2)}. Softmax turns a difference of scores "
        "into a ratio of weights: undivided, "
        rf"$e^{{{number(difference, 2)}}} \approx {_in_powers(difference)}$ to 1."
    )


def slopes_at_first(width: int, divisors: Sequence[float]) -> list[float]:
    """For each divisor, the mean slope of the largest weight in heads as training begins.

    Queries and keys are drawn with mean 0 and variance 1, `N_DRAWN` rows of `N_KEYS` keys, always the same.

    Args:
        width: d_head.
        divisors: what the products are divided by.
    """
    generator = torch.Generator().manual_seed(0)
    q = torch.randn(N_DRAWN, 1, width, generator=generator)
    k = torch.randn(N_DRAWN, N_KEYS, width, generator=generator)
    products = (q * k).sum(dim=-1)  # (N_DRAWN, N_KEYS)
    largest = [(products / divisor).softmax(dim=-1).amax(dim=-1) for divisor in divisors]
    return [float((weight * (1 - weight)).mean()) for weight in largest]


def _slopes(subject: Subject) -> list[float]:
    return slopes_at_first(len(row_of(subject).q), _offered(subject))


def _offered(subject: Subject) -> list[float]:
    """Three divisors: 1, the paper's √d_head, and d_head itself."""
    return [1.0, _root(subject), float(len(row_of(subject).q))]


def _narrow(subject: Subject) -> str:
    """Why the width of a head makes no difference; empty if it does."""
    width = len(row_of(subject).q)
    return "" if width > 4 else f"With heads only {width} wide the three divisors hardly differ."


def _reason_slope(subject: Subject) -> str:
    told = "; ".join(
        f"divided by {divisor:.3g} it has a slope of {slope:.3f}"
        for divisor, slope in zip(_offered(subject), _slopes(subject), strict=True)
    )
    return (
        f"A weight w changes with its own score by w (1 − w). Over {N_DRAWN:,} drawn queries the largest "
        f"weight behaves like this: {told}. Undivided, one weight is nearly 1 and its slope nearly 0: no "
        "gradient comes through, and the head can't learn to look elsewhere. Divided by too much, all "
        "weights are equal, and a head can hardly choose. This depends on the number of tokens: with two or "
        "three the largest slope is at d_head, with 40 and a narrow head at 1."
    )


def _at(subject: Subject, divisor: float) -> Shown:
    row = row_of(subject)
    weights = weights_of(row, divisor)
    entropy = float(-(weights * np.log2(np.maximum(weights, 1e-300))).sum())
    largest = weights.max()
    tokens = [token for token, is_open in zip(row.tokens, row.is_open, strict=True) if is_open]
    return Shown(
        f"Divided by **{divisor:g}**: the largest weight is **{largest:.4f}**, its slope "
        f"{largest * (1 - largest):.4f}, and the attention is spread over about **{2**entropy:.1f}** of "
        f"{len(weights)} tokens.",
        (
            Figure(
                lambda _, theme: softmax_by_divisor(
                    products_of(row), divisors_of(row), divisor, tokens, theme=theme
                ),
                "Above: the weights of the row. Below: its largest weight and the slope of that, for all "
                "divisors.",
                "lesson-scale",
            ),
        ),
    )


LESSON = Lesson(
    number=4,
    title="Why divide by √d_head?",
    asks=("Why is there a square root in equation 1?",),
    unfit=_capped,
    steps=(
        Step(
            "Long vectors have large products",
            "A score is a sum of as many terms as the head is wide. Suppose that all numbers of queries and "
            "keys have mean 0, variance 1 and nothing to do with each other. The **standard deviation**, "
            "the root of the variance, says how far numbers typically are from their mean.",
            NumberQuestion(
                name="spread",
                asks=lambda subject: (
                    f"The heads of this model are {len(row_of(subject).q)} wide. What is then the standard "
                    "deviation of a product of a query with a key, before it is divided?"
                ),
                answer=_root,
                unit="standard deviation",
                is_quantity=True,
                most=lambda _: 100_000,
                step=0.1,
                within=0.1,
                reason=_reason_spread,
            ),
            Figure(
                lambda subject, theme: value_distribution(
                    {
                        "q · k": _all_products(subject),
                        "q · k / √d_head": _all_products(subject) / np.float32(_root(subject)),
                    },
                    theme=theme,
                ),
                "How the products of layer 0 spread, undivided and divided.",
                "lesson-products",
            ),
        ),
        Step(
            "What softmax makes of it",
            "Softmax looks at differences only, and exponentially: each 1 more is 2.7 times the weight.",
            NumberQuestion(
                name="largest",
                asks=_asks_largest,
                answer=lambda subject: float(weights_of(row_of(subject), _other_divisor(subject)).max()),
                unit="weight",
                is_quantity=True,
                most=lambda _: 1,
                step=0.01,
                within=0.05,
                reason=_reason_largest,
                pointless=_alone,
            ),
        ),
        Step(
            "And why that is bad for learning",
            lambda subject: (
                "A model learns from how much a small change of a score would change the weights. If it "
                "would change nothing, there is nothing to learn from. Go back to the beginning of training, "
                f"when queries and keys, {len(row_of(subject).q)} wide, are random numbers of variance 1, "
                f"and let each query look at {N_KEYS} tokens."
            ),
            ChoiceQuestion(
                name="slope",
                asks=(
                    "With which divisor does the largest weight of such an untrained head change most, when "
                    "its score changes a little?"
                ),
                options=lambda subject: [
                    "1: nothing is divided",
                    "√d_head",
                    f"d_head = {len(row_of(subject).q)}",
                ],
                answer=lambda subject: int(np.argmax(_slopes(subject))),
                reason=_reason_slope,
                pointless=_narrow,
            ),
            shown=Shown(TRAINED),
            contrast=Dial(
                "What the products are divided by",
                lambda subject: divisors_of(row_of(subject)),
                lambda subject: round(_root(subject), 2),
                _at,
            ),
        ),
    ),
    takeaway=(
        "Dividing by √d_head keeps scores of one size however wide a head is, so that softmax can still "
        "change its mind."
    ),
    onward=(
        Onward(
            "See the score of a cell, term by term, on Explore",
            "explore",
            lambda subject: {
                "attention": row_of(subject).attention,
                "layer": "0",
                "head": str(row_of(subject).head),
                "cell": f"{row_of(subject).query},{row_of(subject).first}",
                "measure": "scores",
            },
        ),
    ),
)
