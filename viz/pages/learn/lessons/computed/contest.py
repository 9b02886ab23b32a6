"""A word of the output against a rival, and what its lead is without a head, a word, or several heads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from transformer.analysis.attention_maps import ATTENTION_LABELS, attention_maps, attentions
from transformer.analysis.interventions.edited_model import rewritten
from transformer.analysis.interventions.heads import Ablation, HeadPlace, Switch
from transformer.analysis.interventions.outcomes import Variant, falls, outcomes
from transformer.analysis.interventions.questions import Question, logit_row, suppressed_ids, text_of
from viz.pages.learn.lessons.computed.ablation import examined_layers, outputs
from viz.pages.learn.lessons.computed.written import possible_steps
from viz.pages.learn.lessons.format.questions import NumberQuestion, Text
from viz.pages.learn.lessons.format.subject import Subject

MOST_LEAD = 1_000.0
"""Largest lead, in logits, that can be typed."""
WORDLESS = "This model has no generator: it writes no word to ask about. Choose another model in the sidebar."
UNDECIDED = (
    "The model would have chosen none of these words itself, so there is no decision to take apart. Type "
    "another sentence, or choose another model in the sidebar."
)


class Contest(NamedTuple):
    """A word of the output against a rival.

    Attributes:
        step: the word's index in `run.steps`.
        question: asks for the word's logit minus the rival's: its lead.
        lead: that difference in the run itself.
    """

    step: int
    question: Question
    lead: float

    @property
    def row(self) -> int:
        """The row of the logits that the word is chosen from."""
        return self.question.rows[0]


def undecided(subject: Subject) -> str:
    """Why there is no decision of the model to ask about; empty if there is one."""
    if not subject.run.steps:
        return WORDLESS
    return "" if asked_steps(subject) else UNDECIDED


def asked_steps(subject: Subject) -> list[int]:
    """The steps that may be asked about: words that the model finds most probable there."""
    steps = subject.run.steps
    return [step for step in possible_steps(subject) if steps[step].top_ids[0] == steps[step].token_id]


def input_ids(subject: Subject) -> tuple[int, ...]:
    """The ids of what the model reads: the source or, without an encoder, the prompt and what follows it."""
    read = subject.run.encoder_input or subject.run.decoder_input
    assert read is not None
    return read.ids


def sentence_span(subject: Subject) -> tuple[int, int]:
    """The positions of the typed sentence in what the model reads: the first, and the one after the last."""
    read = subject.run.encoder_input or subject.run.decoder_input
    assert read is not None
    return read.first, read.first + len(subject.run.source.ids)


def against(subject: Subject, step: int, rival_id: int) -> Question:
    """Asks for a word's logit minus a rival's."""
    run, loaded = subject.run, subject.loaded
    own = run.steps[step].token_id
    names = [text_of(loaded, run, [token_id]) for token_id in (own, rival_id)]
    return Question(names[0], (logit_row(run, step),), (own,), rival_id, names[1])


def examined_heads(subject: Subject) -> list[HeadPlace]:
    """The heads that are switched off, by attention and layer; in deep models those of the last layers."""
    return [
        HeadPlace(attention, layer, head)
        for attention in attentions(subject.run.trace)
        for layer in examined_layers(subject, attention)
        for head in range(subject.config.n_heads)
    ]


def off(subject: Subject, places: Sequence[HeadPlace], how: Ablation = "zero") -> Variant:
    """The edits that switch heads off; "mean" is each head's mean over the tokens of this run."""
    (variant,) = Switch(subject.loaded, how, [subject.run]).off(places)
    return variant


def decided(subject: Subject) -> Contest:
    """The word with the largest lead that one head, switched off, gives to a rival.

    If no head does, the word and rival whose lead one head reduces to the smallest share.
    """
    return subject.kept("decided contest", lambda: _decided(subject))


def _decided(subject: Subject) -> Contest:
    run, steps = subject.run, asked_steps(subject)
    rows = [logit_row(run, step) for step in steps]
    ids = torch.tensor([run.steps[step].token_id for step in steps])[:, None]
    closed = list(suppressed_ids(subject.loaded, run))
    own = run.trace["logits"][0, rows].double()
    own_leads = own.gather(1, ids) - own  # (steps, V)
    before, after, rivals = [], [], []
    for logits in outputs(subject, [off(subject, [place]) for place in examined_heads(subject)]):
        leads = logits[:, rows].double()
        leads = leads.gather(2, ids.expand(len(leads), -1, -1)) - leads  # (heads, steps, V)
        leads[..., closed] = torch.inf
        leads.scatter_(2, ids.expand(len(leads), -1, -1), torch.inf)
        least, rival = leads.min(dim=-1)
        before.append(own_leads.expand(len(leads), -1, -1).gather(2, rival[..., None])[..., 0])
        after.append(least)
        rivals.append(rival)
    lead, left, rival = (torch.cat(parts).flatten() for parts in (before, after, rivals))  # (heads x steps,)
    lost = torch.where(left < 0, lead, -torch.inf)
    best = int(lost.argmax() if lost.isfinite().any() else (left / lead.clamp_min(1e-9)).argmin())
    step = steps[best % len(steps)]
    question = against(subject, step, int(rival[best]))
    return Contest(step, question, float(outcomes(subject.loaded, subject.run, [{}], [question])))


def lead_losses(subject: Subject, contest: Contest, how: Ablation = "zero") -> NDArray[np.float64]:
    """(examined heads,): how much of the lead each head costs when it is switched off."""

    def losses() -> NDArray[np.float64]:
        variants = [off(subject, [place], how) for place in examined_heads(subject)]
        found = falls(subject.loaded, subject.run, variants, [contest.question])
        fallen: NDArray[np.float64] = found[:, 0].numpy()
        return fallen

    return subject.kept(f"lead losses {contest.question} {how}", losses)


def lead_question(
    name: str, asks: Text, answer: Callable[[Subject], float], reason: Callable[[Subject], str]
) -> NumberQuestion:
    """Asks for the lead that the word has in a changed run."""
    return NumberQuestion(
        name=name,
        asks=asks,
        answer=answer,
        unit="logits of lead",
        least=-MOST_LEAD,
        most=lambda _: MOST_LEAD,
        step=0.1,
        within=0.5,
        share=0.1,
        reason=reason,
    )


def board_rows(subject: Subject) -> list[str]:
    """The rows of a board of heads: attentions and layers."""
    return list(dict.fromkeys(f"{place.attention} {place.layer}" for place in examined_heads(subject)))


def on_board(subject: Subject, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """One value per examined head as a board: (attentions and layers, heads)."""
    return values.reshape(-1, subject.config.n_heads)


def head_name(place: HeadPlace) -> str:
    """A head in words."""
    return f"head {place.head} of layer {place.layer} of the {ATTENTION_LABELS[place.attention].lower()}"


def pictured(subject: Subject, contest: Contest, keys: Sequence[int]) -> tuple[HeadPlace, int, int]:
    """The head that looks most sharply at some tokens of the input, and the cell: query and key.

    Only other tokens' rows count and, in a decoder, only those up to the one that the word is chosen from.
    """
    trace = subject.run.trace
    found: list[tuple[float, HeadPlace, int, int]] = []
    for attention in attentions(trace):
        if attention == "decoder" and "cross" in attentions(trace):
            continue  # its keys are the output
        for layer in examined_layers(subject, attention):
            weights = attention_maps(trace, attention, "weights", layer=layer).values[0][..., list(keys)]
            is_asked = np.ones(weights.shape[1], dtype=bool)
            if attention != "encoder":
                is_asked[contest.row + 1 :] = False
            if attention != "cross":
                is_asked[list(keys)] = False
            weights = np.where(is_asked[:, None], weights, -1.0)
            head, query, key = (int(at) for at in np.unravel_index(int(weights.argmax()), weights.shape))
            place = HeadPlace(attention, layer, head)
            found.append((float(weights.max()), place, query, keys[key]))
    _, place, query, key = max(found, key=lambda one: one[0])
    return place, query, key


def output_without(subject: Subject, places: Sequence[HeadPlace], how: Ablation = "zero") -> str:
    """The output as the model writes it with heads switched off."""
    return subject.kept(
        f"output without {places} {how}",
        lambda: rewritten(subject.loaded, subject.run, off(subject, places, how)).translation,
    )
