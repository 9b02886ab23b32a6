"""Lesson 1: tokens, ids and embeddings."""

from __future__ import annotations

import re

import numpy as np
import plotly.graph_objects as go
import torch
from numpy.typing import NDArray

from transformer.text.coder import Coder
from viz.figures.bars import token_bars
from viz.figures.embeddings import embedding_map
from viz.figures.numbers import number
from viz.markdown import quoted, table
from viz.pages.learn.lessons.format.parts import Contrast, Figure, Lesson, Onward, Shown, Step
from viz.pages.learn.lessons.format.questions import NumberQuestion, TokenQuestion
from viz.pages.learn.lessons.format.subject import Subject
from viz.theme import Theme

N_CANDIDATES = 6
N_NEIGHBOURS = 8
MOST_LISTED = 24
_WORDS = re.compile(r"\w+(?:['’-]\w+)*")


def is_encoder(subject: Subject) -> bool:
    """True if an encoder reads the sentence, False if a decoder does."""
    return subject.run.encoder_input is not None


def ids_of(subject: Subject) -> tuple[int, ...]:
    """The ids that the first stack reads, special tokens included, without those that a decoder generated."""
    if subject.run.encoder_input is not None:
        return subject.run.encoder_input.ids
    return subject.run.target_ids[: len(subject.run.target_ids) - len(subject.run.target.ids)]


def coder_of(subject: Subject) -> Coder:
    """The coder that made the ids."""
    return subject.loaded.source if is_encoder(subject) else subject.loaded.target


def table_of(subject: Subject) -> NDArray[np.float32]:
    """(V, D): the embedding matrix, unscaled."""
    model = subject.loaded.model
    weight = (model.src_embedding if is_encoder(subject) else model.tgt_embedding).weight
    table: NDArray[np.float32] = weight.detach().float().cpu().numpy()
    return table


def place_of(subject: Subject) -> int:
    """The position of the token to follow: the longest word, as the most telling."""
    words = np.flatnonzero(subject.is_word("encoder" if is_encoder(subject) else "decoder"))
    words = words[words < len(ids_of(subject))]
    tokens = subject.run.trace.tokens("encoder" if is_encoder(subject) else "decoder")[0]
    return int(max(words, key=lambda place: len(tokens[place]), default=0))


def cosines(subject: Subject) -> NDArray[np.float64]:
    """(V,): the cosine of each token of the vocabulary with the token followed."""
    return subject.kept("cosines", lambda: _cosines(table_of(subject), ids_of(subject)[place_of(subject)]))


def _cosines(table: NDArray[np.float32], token_id: int) -> NDArray[np.float64]:
    lengths = np.linalg.norm(table, axis=1).astype(np.float64)
    products = table.astype(np.float64) @ table[token_id]
    result: NDArray[np.float64] = products / np.maximum(lengths * lengths[token_id], 1e-30)
    return result


def neighbours(subject: Subject) -> NDArray[np.int64]:
    """The nearest tokens of the vocabulary, nearest first, without the token itself."""
    near = cosines(subject).copy()
    near[ids_of(subject)[place_of(subject)]] = -np.inf
    order: NDArray[np.int64] = np.argsort(-near, kind="stable")[:N_NEIGHBOURS]
    return order


def candidates(subject: Subject) -> list[int]:
    """The nearest neighbour and other tokens drawn at random, ordered by id."""
    token_id, nearest = ids_of(subject)[place_of(subject)], int(neighbours(subject)[0])
    special = {*coder_of(subject).special_tokens.ids, token_id}
    ordinary = [index for index in range(len(table_of(subject))) if index not in special and index != nearest]
    generator = torch.Generator().manual_seed(token_id)
    drawn = torch.randperm(len(ordinary), generator=generator)[: N_CANDIDATES - 1].tolist()
    return sorted([nearest, *(ordinary[place] for place in drawn)])


def _name(subject: Subject, index: int) -> str:
    return coder_of(subject).token(index)


def _followed(subject: Subject) -> str:
    return quoted(_name(subject, ids_of(subject)[place_of(subject)]))


def _length(subject: Subject) -> float:
    return float(np.linalg.norm(table_of(subject)[ids_of(subject)[place_of(subject)]]))


def _scale(subject: Subject) -> float:
    return subject.config.embedding_factor


def _narrow(subject: Subject) -> str:
    """The width of the table's rows, in words, if they are narrower than the stream."""
    width = subject.config.d_embedding
    return f"; rows of this model's table have {width}, which a matrix then widens" if width else ""


def _scaled_words(subject: Subject) -> str:
    if subject.config.embedding_scale is not True and subject.config.embedding_scale:
        return f"This model multiplies it by {_scale(subject):g}."
    if subject.config.embedding_scale:
        return (
            f"As in the paper, it is multiplied by √d_model = √{subject.config.d_model} = "
            f"{_scale(subject):.2f}."
        )
    return "This model does not multiply it by anything."


def _reason_count(subject: Subject) -> str:
    ids = ids_of(subject)
    n_words = len(_WORDS.findall(subject.text))
    pieces = " ".join(f"{quoted(_name(subject, index))}" for index in ids[:MOST_LISTED])
    kind = {
        "word": "This model knows whole words and signs, and calls what it does not know unknown.",
        "sub-word": (
            "This model knows sub-words: frequent words are one token, rare ones several, and none is "
            "unknown."
        ),
        "token": "This model came without a tokenizer: you type the ids themselves.",
    }[coder_of(subject).unit]
    return (
        f"{len(ids)}: {pieces}{' …' if len(ids) > MOST_LISTED else ''}. Your sentence has {n_words} "
        f"word{'s' * (n_words != 1)}; signs count too, and the model's own marks, such as an end. {kind}"
    )


def _listed(subject: Subject) -> str:
    """The tokens with their ids."""
    ids = ids_of(subject)
    rows = [
        (quoted(_name(subject, index)), str(position), f"{index:,}")
        for position, index in enumerate(ids[:MOST_LISTED])
    ]
    more = f"\n\nand {len(ids) - MOST_LISTED} more" if len(ids) > MOST_LISTED else ""
    return (
        "This is what the model reads: of each token only its number in the vocabulary, and where it stands."
        "\n\n" + table(("token", "position", "id"), rows) + more
    )


def _reason_neighbour(subject: Subject) -> str:
    near = cosines(subject)
    listed = ", ".join(
        f"{quoted(_name(subject, int(i)))} ({number(near[i], 2)})" for i in neighbours(subject)[:5]
    )
    return (
        f"Its neighbours are {listed}: the cosines of the angles between their vectors. Nobody told the "
        "model what the words mean. Those that can stand in the same places got vectors that point the same "
        "way, because that helped to predict."
    )


def _nearest(subject: Subject, table: NDArray[np.float32], what: str) -> Figure:
    near = _cosines(table, ids_of(subject)[place_of(subject)])
    near[ids_of(subject)[place_of(subject)]] = -np.inf
    best = np.argsort(-near, kind="stable")[:N_NEIGHBOURS]
    names = [_name(subject, int(index)) for index in best]
    return Figure(
        lambda _, theme: token_bars(near[best], names, theme=theme, quantity="cosine"),
        f"The {len(best)} nearest tokens of all {len(table):,}, by {what}.",
        "lesson-neighbours",
    )


def _drawn_table(subject: Subject) -> NDArray[np.float32]:
    """A random embedding matrix of the same size, as before training."""
    table = table_of(subject)
    drawn = torch.randn(table.shape, generator=torch.Generator().manual_seed(0)) / table.shape[1] ** 0.5
    result: NDArray[np.float32] = drawn.numpy()
    return result


def _map(subject: Subject, theme: Theme) -> go.Figure:
    own = list(dict.fromkeys(ids_of(subject)))
    shown = [*own, *(int(index) for index in neighbours(subject) if int(index) not in own)]
    names = [_name(subject, index) for index in shown]
    return embedding_map(table_of(subject)[shown], names, n_marked=len(own), theme=theme)


LESSON = Lesson(
    number=1,
    title="Tokens, ids, embeddings",
    asks=("What does a model read?", "What is an embedding?"),
    steps=(
        Step(
            "A sentence in pieces",
            "A model reads no letters. A **tokenizer** cuts the text into **tokens** of a fixed vocabulary: "
            "words, parts of words and signs. Most models add marks of their own, such as one for the end.",
            NumberQuestion(
                name="count",
                asks="How many tokens does your sentence become, the model's own marks included?",
                answer=lambda subject: float(len(ids_of(subject))),
                unit="tokens",
                least=1,
                most=lambda _: 10_000,
                reason=_reason_count,
            ),
            lambda subject: Shown(_listed(subject)),
        ),
        Step(
            "From ids to vectors",
            lambda subject: (
                f"Each token has an **id**, its row in a table of {table_of(subject).shape[0]:,} × "
                f"{table_of(subject).shape[1]:,} learned numbers: the **embedding**. {_followed(subject)} "
                f"has the id {ids_of(subject)[place_of(subject)]:,}. That number means nothing; its row, "
                "the token's **vector**, is all that the model knows of the word. How near two vectors are "
                "is told by the **cosine** of the angle between them: 1 where they point the same way, 0 "
                "where they are at right angles, −1 where they are opposite."
            ),
            TokenQuestion(
                name="neighbour",
                asks=lambda subject: (
                    f"Which of these tokens has the vector nearest to that of {_followed(subject)}?"
                ),
                tokens=lambda subject: [_name(subject, index) for index in candidates(subject)],
                values=lambda subject: [float(cosines(subject)[index]) for index in candidates(subject)],
                unit="cosine",
                reason=_reason_neighbour,
            ),
            contrast=Contrast(
                "Embeddings",
                {
                    "of this model": lambda subject: _nearest(
                        subject, table_of(subject), "this model's embedding"
                    ),
                    "before training": lambda subject: _nearest(
                        subject, _drawn_table(subject), "random numbers, as before training"
                    ),
                },
            ),
        ),
        Step(
            "Long and short, near and far",
            lambda subject: (
                "A vector also has a **length**: the root of the sum of its squared numbers. How many "
                f"numbers a token's vector has is called d_model, here {subject.config.d_model}"
                f"{_narrow(subject)}. Before the first layer reads an embedding, many models make it longer."
            ),
            NumberQuestion(
                name="scale",
                asks=lambda subject: (
                    f"The vector of {_followed(subject)} has the length {_length(subject):.2f}. "
                    f"{_scaled_words(subject)} How long is it then?"
                ),
                answer=lambda subject: _length(subject) * _scale(subject),
                unit="length",
                is_quantity=True,
                most=lambda _: 1e6,
                step=0.1,
                within=0.05,
                share=0.03,
                reason=lambda subject: (
                    f"{_length(subject):.2f} × {_scale(subject):.2f} = "
                    f"{_length(subject) * _scale(subject):.2f}. "
                    + (
                        "Rows begin in training with a length of about 1, and positions with one of about "
                        "√(d_model / 2): the factor makes both of about one size (section 3.4 of the paper)."
                        if subject.config.embedding_scale is True
                        else "Other models, the paper's among them, multiply it by √d_model here."
                    )
                ),
            ),
            Shown(
                "Here are your tokens and the neighbours of one of them, as points: the two directions of "
                "the table in which these rows differ most. Near on the map is near among the vectors, as "
                "far as a plane can show it.",
                (
                    Figure(
                        _map,
                        "The tokens of the sentence (filled) and the nearest neighbours (hollow).",
                        "lesson-embedding-map",
                    ),
                ),
            ),
        ),
    ),
    takeaway=(
        "To a model a word is a row of numbers, and what it has learned of the word is where that row points."
    ),
    onward=(
        Onward("The tokens and ids of any sentence, on Explore", "explore"),
        Onward(
            "How large embeddings and positions are, on Positions",
            "positions",
            lambda _: {"section": "In the sentence"},
        ),
    ),
)
