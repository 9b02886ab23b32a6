"""Lesson 6: masks for the future and for padding."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from transformer.analysis.attention_maps import (
    FUTURE,
    MODULES,
    Attention,
    attention_record,
    attentions,
)
from transformer.analysis.edited import edited_records
from transformer.model.masks import causal_mask
from viz.figures.masks import mask_matrix, weights_of_row
from viz.figures.numbers import number
from viz.markdown import quoted
from viz.pages.learn.lessons.format.parts import Contrast, Dial, Figure, Lesson, Onward, Shown, Step
from viz.pages.learn.lessons.format.questions import CellQuestion, NumberQuestion
from viz.pages.learn.lessons.format.subject import Subject

PADDING = 5
"""Padding tokens after the sentence in the lesson's batch."""
STAND_INS = (0.0, -1.0, -5.0, -10.0, -100.0, -math.inf)
"""The dial's values for masked scores."""


class Row(NamedTuple):
    """A query of the decoder's first layer with some keys masked.

    Attributes:
        head, query: its indices.
        scores: (T,) before the mask.
        is_open: (T,), True for keys that it may attend to.
        tokens: all T keys.
    """

    head: int
    query: int
    scores: NDArray[np.float32]
    is_open: NDArray[np.bool_]
    tokens: tuple[str, ...]


def decoder_row(subject: Subject) -> Row:
    """The row that would give the most weight to the future without a mask."""
    return subject.kept("row of a mask", lambda: _decoder_row(subject))


def _decoder_row(subject: Subject) -> Row:
    record = attention_record(subject.run.trace, "decoder", 0)
    is_open = record.mask[0, 0].numpy()
    lost = (record.scores[0].softmax(dim=-1).numpy() * ~is_open).sum(axis=-1)  # (H, T)
    head, query = np.unravel_index(int(lost.argmax()), lost.shape)
    return Row(
        int(head), int(query), record.scores[0, head, query].numpy(), is_open[query], record.query_tokens[0]
    )


def weights_with(row: Row, stand_in: float) -> NDArray[np.float64]:
    """The row's weights with masked scores set to `stand_in`; the model's mask sets minus infinity."""
    scores = np.where(row.is_open, row.scores, stand_in).astype(np.float64)
    exponentials = np.exp(scores - scores.max())
    weights: NDArray[np.float64] = exponentials / exponentials.sum()
    return weights


def _closed_share(row: Row, stand_in: float) -> float:
    return float(weights_with(row, stand_in)[~row.is_open].sum())


def _no_decoder(subject: Subject) -> str:
    if not subject.config.n_decoder_layers:
        return "This model has no decoder, so there is no future to hide: each token may look at all of them."
    if len(subject.run.target_ids) < 2:
        return "The decoder reads one token alone here, so nothing comes later."
    return ""


def _n(subject: Subject) -> int:
    return len(subject.run.target_ids)


def _sum_of_rows(n: int) -> str:
    """The sum of the cells that a causal mask of n rows leaves open, in LaTeX."""
    rows = " + ".join(map(str, range(1, n + 1))) if n < 5 else rf"1 + 2 + \dots + {n}"
    return rf"${rows} = \frac{{{n} \cdot {n + 1}}}{{2}} = {n * (n + 1) // 2}$"


def _closed(subject: Subject) -> NDArray[np.float64]:
    closed: NDArray[np.float64] = (~causal_mask(_n(subject))[0, 0]).double().numpy()
    return closed


def _with_padding(subject: Subject) -> Attention:
    """The attention whose keys are padded."""
    return attentions(subject.run.trace)[0]


def padded_weights(subject: Subject, *, is_masked: bool) -> NDArray[np.float32]:
    """(H, T, T + PADDING): weights of the first layer with padding after the sentence, masked or not."""
    return subject.kept(f"padded, masked {is_masked}", lambda: _padded_weights(subject, is_masked=is_masked))


def _padded_weights(subject: Subject, *, is_masked: bool) -> NDArray[np.float32]:
    stack, name = MODULES[_with_padding(subject)]
    path = f"{stack}.layers.0.{name}"
    length = len(subject.run.trace.tokens(stack)[0])

    def uncover(mask: Tensor) -> Tensor:
        mask[..., -PADDING:] = True
        return mask & causal_mask(mask.shape[-1], device=mask.device) if stack == "decoder" else mask

    edits = {} if is_masked else {f"{path}.mask": uncover}
    weights = edited_records(subject.loaded, subject.run, edits, padding=PADDING)[f"{path}.weights"][0]
    rows: NDArray[np.float32] = weights[:, :length].numpy()
    return rows


def _to_padding(subject: Subject, *, is_masked: bool) -> float:
    """The share of the first layer's attention that goes to the padding."""
    weights = padded_weights(subject, is_masked=is_masked)
    return float(weights[..., -PADDING:].sum(axis=-1, dtype=np.float64).mean())


def _no_padding(subject: Subject) -> str:
    if subject.config.pad_id < 0:
        return "This model has no padding token: it was trained on texts cut to one length."
    if not subject.config.n_encoder_layers:
        return "In a decoder padding comes after the sentence, where the mask of the future hides it anyway."
    room = subject.config.max_len - len(subject.run.trace.src_tokens[0])
    return "" if room >= PADDING else "Your sentence leaves no room for padding: it fills all positions."


def _padding_row(subject: Subject, *, is_masked: bool) -> Shown:
    weights = padded_weights(subject, is_masked=is_masked).mean(axis=0)
    stack, _ = MODULES[_with_padding(subject)]
    tokens = subject.run.trace.tokens(stack)[0]
    pad = subject.loaded.source.token(subject.config.pad_id)
    query = int(np.flatnonzero(subject.is_word(stack))[:1].sum())
    share = _to_padding(subject, is_masked=is_masked)
    return Shown(
        f"Over all rows and heads of the first layer, **{share:.1%}** of the attention goes to the padding.",
        (
            Figure(
                lambda _, theme: weights_of_row(
                    weights[query],
                    np.arange(weights.shape[1]) >= len(tokens),
                    [*tokens, *[pad] * PADDING],
                    theme=theme,
                ),
                f"The weights of the token at position {query}, the mean of the heads; orange: the padding.",
                f"lesson-padding-{'masked' if is_masked else 'open'}",
            ),
        ),
    )


def _listed(row: Row) -> str:
    """The largest open scores, in words."""
    largest = sorted(row.scores[row.is_open], reverse=True)
    return ", ".join(number(score, 1) for score in largest[:4]) + (" and less" if len(largest) > 4 else "")


def _n_closed(row: Row) -> str:
    n = int((~row.is_open).sum())
    return f"{n} {'is' if n == 1 else 'are'}"


def _stand_in(subject: Subject, stand_in: float) -> Shown:
    row = decoder_row(subject)
    return Shown(
        "With closed scores set to "
        f"**{'−∞' if stand_in == -math.inf else f'{stand_in:g}'.replace('-', '−')}**, the future gets "
        f"**{_closed_share(row, stand_in):.3%}** of this row's attention.",
        (
            Figure(
                lambda _, theme: weights_of_row(
                    weights_with(row, stand_in), ~row.is_open, row.tokens, theme=theme
                ),
                "The weights of the row; orange: what it must not see.",
                "lesson-stand-in",
            ),
        ),
    )


LESSON = Lesson(
    number=6,
    title="Masks: what must not be seen",
    asks=("Why are there masks?", "Why minus infinity, before the softmax?"),
    steps=(
        Step(
            "The future",
            "A decoder learns to say the next token. In training it is given the whole target at once, so "
            "the answer of each row stands in the next column. The **causal mask** closes it.",
            CellQuestion(
                name="future",
                asks=(
                    "A row is a token that looks, a column one that is looked at. Which cells must be "
                    "closed? One is enough."
                ),
                rows=lambda subject: subject.run.trace.tgt_tokens[0],
                columns=lambda subject: subject.run.trace.tgt_tokens[0],
                axes=("query", "key"),
                values=_closed,
                unit="closed (1) or open (0)",
                reason=lambda subject: (
                    "Closed is every column to the right of its row's own: the tokens that come later. Of "
                    f"{_n(subject)} × {_n(subject)} cells {int(_closed(subject).sum())} are closed."
                ),
                pointless=_no_decoder,
            ),
        ),
        Step(
            "How many are open?",
            "What is left open is what each row may use.",
            NumberQuestion(
                name="open",
                asks=lambda subject: (
                    f"The decoder reads {_n(subject)} tokens here, so there are {_n(subject)} × "
                    f"{_n(subject)} cells. How many of them are open?"
                ),
                answer=lambda subject: float(causal_mask(_n(subject)).sum()),
                unit="open cells",
                most=lambda subject: float(_n(subject) ** 2),
                reason=lambda subject: (
                    f"{_sum_of_rows(_n(subject))}: a little more than half. That is why one forward trains "
                    "all rows at once: each has its own, shorter past."
                ),
                pointless=_no_decoder,
            ),
            Figure(
                lambda subject, theme: mask_matrix(
                    {FUTURE: _closed(subject).astype(np.bool_)},
                    subject.run.trace.tgt_tokens[0],
                    subject.run.trace.tgt_tokens[0],
                    theme=theme,
                ),
                "The causal mask of your target: a row may look at itself and at what is before it.",
                "lesson-causal-mask",
            ),
        ),
        Step(
            "Why minus infinity, before the softmax?",
            "A closed cell must get weight 0, and the open ones must still sum to 1. So the *score* is set "
            "to a number that softmax turns into 0. What number is that?",
            NumberQuestion(
                name="zero",
                asks=lambda subject: (
                    "Suppose someone sets closed scores to 0. How much of its attention, in percent, would "
                    f"{quoted(decoder_row(subject).tokens[decoder_row(subject).query])} (position "
                    f"{decoder_row(subject).query}, head {decoder_row(subject).head} of layer 0) give to "
                    f"tokens that it must not see? Its open scores are {_listed(decoder_row(subject))}; "
                    f"{_n_closed(decoder_row(subject))} closed."
                ),
                answer=lambda subject: 100 * _closed_share(decoder_row(subject), 0.0),
                unit="percent",
                most=lambda _: 100,
                step=1,
                within=10,
                reason=lambda subject: (
                    f"{_closed_share(decoder_row(subject), 0.0):.1%}. e⁰ is 1, and that is not nothing; "
                    "only e to minus infinity is. Setting weights to 0 *after* the softmax won't do either: "
                    "the rest would no longer sum to 1, and the closed scores would have taken part in the "
                    "sum."
                ),
                pointless=_no_decoder,
            ),
            contrast=Dial(
                "What closed scores are set to", lambda _: STAND_INS, lambda _: -math.inf, _stand_in
            ),
        ),
        Step(
            "Padding",
            "Several sentences go through a model at once, as a **batch**, padded to equal length. "
            "What fills them up, the **padding**, means nothing and must change nothing: the **padding "
            "mask** closes its columns.",
            NumberQuestion(
                name="padding",
                asks=(
                    f"Suppose that your sentence is followed by {PADDING} tokens of padding. Without a "
                    "mask, how much of the attention of the first layer would go to them, in percent?"
                ),
                answer=lambda subject: 100 * _to_padding(subject, is_masked=False),
                unit="percent",
                most=lambda _: 100,
                step=1,
                within=10,
                reason=lambda subject: (
                    f"{_to_padding(subject, is_masked=False):.1%} without the mask, "
                    f"{_to_padding(subject, is_masked=True):.0%} with it. The output of a sentence would "
                    "then depend on how long the others of its batch happen to be."
                ),
                pointless=_no_padding,
            ),
            contrast=Contrast(
                "The padding's columns",
                {
                    "Open": lambda subject: _padding_row(subject, is_masked=False),
                    "Closed": lambda subject: _padding_row(subject, is_masked=True),
                },
            ),
        ),
    ),
    takeaway=(
        "A mask sets closed scores to minus infinity, so that softmax gives them nothing and the rest all."
    ),
    onward=(Onward("Every mask of a batch of sentences, on Masks", "masks"),),
)
