"""Activation patching: two runs that differ in a word, and where that difference decides the output.

A run is continued with a tensor of another run, one place at a time (Vig et al. 2020, arXiv:2004.12265; Meng
et al. 2022, arXiv:2202.05262; read with care: Heimersheim and Nanda 2024, arXiv:2404.15255).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor

from transformer.analysis.interventions.edits import replace as patch
from transformer.analysis.interventions.outcomes import OnProgress, Variant, outcomes
from transformer.analysis.interventions.patch_places import Place
from transformer.analysis.interventions.questions import Question, logit_row, suppressed_ids, text_of
from transformer.decoding.greedy import next_token_probabilities
from transformer.decoding.request import suppress
from transformer.errors import EditError, SentenceError
from transformer.loaded import LoadedModel
from transformer.model.config import TransformerConfig
from transformer.model_input import encode_sentence
from transformer.run import Run, force, read

Direction = Literal["noising", "denoising"]
"""Which run is patched.

"noising" puts the other sentence's tensors into the sentence's own run: what breaks the answer, and so was
needed for it. "denoising" puts the sentence's own tensors into the other run: what restores the answer, and
so is enough for it.
"""
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
LEAST_DIFFERENCE = 0.1
"""Least difference of the two runs' answers, in logits; a share of less is noise."""


@dataclass(frozen=True)
class Pair:
    """Two runs of equally many tokens, with the same target up to the question.

    Attributes:
        clean: run of the sentence that is asked about.
        corrupt: run of the other sentence.
        question: the word against a rival, by logit difference.
        clean_value, corrupt_value: the answers of the two runs.
    """

    clean: Run
    corrupt: Run
    question: Question
    clean_value: float
    corrupt_value: float

    def patched(self, direction: Direction) -> Run:
        """The run that is patched."""
        return self.clean if direction == "noising" else self.corrupt

    def donor(self, direction: Direction) -> Run:
        """The run that the tensors are from."""
        return self.corrupt if direction == "noising" else self.clean

    @property
    def exchanged(self) -> list[int]:
        """Positions of the input whose tokens differ."""
        both = zip(_input_ids(self.clean), _input_ids(self.corrupt), strict=True)
        return [position for position, (own, other) in enumerate(both) if own != other]


@dataclass(frozen=True)
class PatchGrid:
    """The effect of each patch.

    Attributes:
        place: what was patched.
        direction: which run was patched.
        shares: (rows, columns) float64; 0 where the patch changes nothing, 1 where it turns the answer into
            that of the donor. It may lie outside, where a part works against the others.
    """

    place: Place
    direction: Direction
    shares: Tensor


def run_pair(loaded: LoadedModel, run: Run, other: str, question: Question) -> Pair:
    """Run another sentence with the target of a run up to a question, to patch between the two.

    Args:
        loaded: a model with a generator.
        run: the sentence's run.
        other: the other sentence as typed.
        question: the word; without a rival, it is compared with the one that the other run prefers there.

    Raises:
        SentenceError: the other sentence can't be run, is the same, or has another number of tokens.
        EditError: the answers of both runs differ too little.
    """
    source = encode_sentence(loaded, "source", other, "other sentence")
    own, theirs = len(run.source.ids), len(source.ids)
    if own != theirs:
        pieces = " | ".join(map(loaded.source.token, source.ids))
        raise SentenceError(
            f"The sentence has {own} tokens and the other one {theirs} ({pieces}). A patch needs a "
            "counterpart for each position: exchange a word for one of as many tokens."
        )
    if run.source.ids == source.ids:
        raise SentenceError("Both sentences are the same: exchange a word in the other one.")
    if run.decoder_input is None:
        return pair_of(loaded, run, read(loaded, source), question)
    prefix = loaded.target.describe_ids(run.target.ids[: max(question.rows) - logit_row(run, 0)])
    clean, corrupt = (force(loaded, one, prefix, ends=False) for one in (run.source, source))
    return pair_of(loaded, clean, corrupt, question)


def pair_of(loaded: LoadedModel, clean: Run, corrupt: Run, question: Question) -> Pair:
    """Two runs of equally many tokens as a pair; see `run_pair`.

    Raises:
        EditError: their answers differ too little.
    """
    if question.rival_id is None:
        question = _against_other(loaded, clean, corrupt, question)
    values = [_value(loaded, run, question) for run in (clean, corrupt)]
    if not abs(values[0] - values[1]) >= LEAST_DIFFERENCE:
        raise EditError(
            f"“{question.label}” rather than “{question.rival}” has a logit difference of {values[0]:.2f} in "
            f"the sentence and of {values[1]:.2f} in the other one. A patch shows what makes the answers "
            f"differ, so they must differ by at least {LEAST_DIFFERENCE}: exchange another word, or ask "
            "about another one."
        )
    return Pair(clean, corrupt, question, *values)


def patch_grid(
    loaded: LoadedModel,
    pair: Pair,
    place: Place,
    direction: Direction = "noising",
    on_progress: OnProgress | None = None,
) -> PatchGrid:
    """Patch every cell of a grid, each alone.

    Args:
        loaded: the model of both runs.
        pair: the runs.
        place: what to patch: one of `places`, or of its `in_layers`.
        direction: see `Direction`.
        on_progress: see `OnProgress`.
    """
    differ = _differing(pair, place, loaded.model.config)
    cells = [(row, column) for row, column in differ.nonzero().tolist()]
    variants = [patch_of(loaded, pair, place, direction, row, column) for row, column in cells]
    shares = torch.zeros(differ.shape, dtype=torch.float64)
    shares[differ] = patch_shares(loaded, pair, variants, direction, on_progress)
    return PatchGrid(place, direction, shares)


def _differing(pair: Pair, place: Place, config: TransformerConfig) -> Tensor:
    """Cells in which the two runs differ, (rows, columns) bool; patching another changes nothing."""
    rows = []
    for row, path in enumerate(place.paths(config)):
        differs = (pair.clean.trace[path] != pair.corrupt.trace[path])[0].any(dim=-1)  # (T,) or (H, T)
        if place.layer is not None:
            differs = differs[row]
        elif differs.dim() == 2:
            differs = differs.any(dim=1 if place.by_head else 0)
        rows.append(differs)
    return torch.stack(rows)


def patch_of(
    loaded: LoadedModel, pair: Pair, place: Place, direction: Direction, row: int, column: int
) -> Variant:
    """The edit of one cell of a grid."""
    path = place.paths(loaded.model.config)[row]
    head, position = place.cell(row, column)
    positions = None if position is None else [position]
    return patch(pair.donor(direction), head=head, positions=positions).at(path, loaded)


def patch_shares(
    loaded: LoadedModel,
    pair: Pair,
    variants: Sequence[Variant],
    direction: Direction,
    on_progress: OnProgress | None = None,
) -> Tensor:
    """How far each variant of the patched run gets from its answer (0) to the donor's (1): (variants,).

    float64; exactly 0 for a variant without edits.
    """
    edited = torch.tensor([bool(variant) for variant in variants], dtype=torch.bool)
    patched = pair.patched(direction)
    given = [{}, *(variant for variant in variants if variant)]
    found = outcomes(loaded, patched, given, [pair.question], on_progress)[:, 0]
    # A batch rounds otherwise than a single run, so it is compared with its own first row.
    own, donor = found[0], _value(loaded, pair.donor(direction), pair.question)
    shares = torch.zeros(len(variants), dtype=torch.float64)
    shares[edited] = (found[1:] - own) / (donor - own)
    return shares


class Answer(NamedTuple):
    """What a run says to a question of one token.

    Attributes:
        best: the token that it writes there.
        best_probability: probability of that token.
        probability: probability of the word's token.
        rival_probability: probability of the rival's.
        difference: difference of their logits.
    """

    best: str
    best_probability: float
    probability: float
    rival_probability: float
    difference: float


def answer_of(loaded: LoadedModel, run: Run, question: Question) -> Answer:
    """The answer of one run to a pair's question."""
    assert question.rival_id is not None
    (row,), (index,) = question.rows, question.ids
    suppressed = suppressed_ids(loaded, run)
    probabilities = next_token_probabilities(run.trace["logits"][0, row], suppressed)
    best = int(probabilities.argmax())
    return Answer(
        text_of(loaded, run, [best]),
        float(probabilities[best]),
        float(probabilities[index]),
        float(probabilities[question.rival_id]),
        _value(loaded, run, question),
    )


def vectors_at(
    loaded: LoadedModel, pair: Pair, place: Place, row: int, column: int
) -> tuple[float, float, float]:
    """What the two runs have in a cell: the length of each vector, and their cosine (0 for a zero vector).

    The vector has all positions, or all heads, where a cell has them.
    """
    path = place.paths(loaded.model.config)[row]
    head, position = place.cell(row, column)
    heads = slice(None) if head is None else slice(head, head + 1)
    rows = slice(None) if position is None else slice(position, position + 1)
    own, other = (
        (tensor[heads, rows] if tensor.dim() == 3 else tensor[rows]).flatten().double()
        for tensor in (pair.clean.trace[path][0], pair.corrupt.trace[path][0])
    )
    lengths = float(own.norm()), float(other.norm())
    product = lengths[0] * lengths[1]
    return *lengths, float(own @ other) / product if product else 0.0


def _value(loaded: LoadedModel, run: Run, question: Question) -> float:
    return float(question.value(run.trace["logits"], suppressed_ids(loaded, run))[0])


def _against_other(loaded: LoadedModel, clean: Run, corrupt: Run, question: Question) -> Question:
    """The word against the other run's, at its first token where the two differ, or against the next best."""
    never = list(suppressed_ids(loaded, clean))
    for row, own in zip(question.rows, question.ids, strict=True):
        best = _best(corrupt, row, never)
        if best != own:
            return _versus(loaded, clean, question, row, own, best)
    row, own = question.rows[0], question.ids[0]
    return _versus(loaded, clean, question, row, own, _best(clean, row, [*never, own]))


def _best(run: Run, row: int, never: Sequence[int]) -> int:
    return int(suppress(run.trace["logits"][0, row], never).argmax())


def _versus(loaded: LoadedModel, run: Run, question: Question, row: int, own: int, rival: int) -> Question:
    return replace(question, rows=(row,), ids=(own,), rival_id=rival, rival=text_of(loaded, run, [rival]))


def _input_ids(run: Run) -> tuple[int, ...]:
    read_first = run.encoder_input or run.decoder_input
    assert read_first is not None
    return read_first.ids
