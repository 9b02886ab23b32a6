"""An answer with its receipt: everything that determines the numbers, so that they can be computed again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Literal, get_args

import numpy as np

from transformer.analysis.interventions.corpus import corpus_effects
from transformer.analysis.interventions.heads import (
    ABLATIONS,
    N_DRAWS,
    Ablation,
    Switch,
    head_effects,
    head_places,
)
from transformer.analysis.interventions.knock_outs import (
    KNOCK_OUTS,
    KnockOut,
    input_words,
    word_effects,
)
from transformer.analysis.interventions.knock_outs import N_DRAWS as N_WORD_DRAWS
from transformer.analysis.interventions.outcomes import OnProgress
from transformer.analysis.interventions.questions import (
    Question,
    against,
    against_next_best,
    last_word,
    suppressed_ids,
    word_questions,
)
from transformer.analysis.ranks import mean_interval
from transformer.errors import EditError, SentenceError
from transformer.files import source_of
from transformer.loaded import LoadedModel
from transformer.model.transformer import Transformer
from transformer.run import Run, run_sentence

Part = Literal["heads", "words"]
"""The parts that are taken away, one by one."""
PARTS: tuple[Part, ...] = get_args(Part)
NEXT_BEST = "next best"
"""The rival that is the most probable other token at the word's place."""


class ReceiptError(ValueError):
    """A receipt can't be read, or its numbers can't be computed again."""


@dataclass(frozen=True)
class Inquiry:
    """What is asked of a model, and how the answer is computed.

    Attributes:
        parts: what is taken away, one by one.
        how: an `Ablation` for heads, a `KnockOut` for words.
        text: the source or prompt; empty if there are pairs.
        target: the typed target; empty if the model generates it.
        word: the output word asked about: its text, or its index, which always names one; empty for
            `last_word`.
        rival: a word to compare with, `NEXT_BEST`, or empty for the word's own log-probability.
        pairs: instead of a text: sources and targets, over which the whole output's effect is averaged.
        reference: sentences from which "mean" and "resample" take outputs of heads.
        seed: seed of all draws.
    """

    parts: Part
    how: str
    text: str = ""
    target: str = ""
    word: str | int = ""
    rival: str = NEXT_BEST
    pairs: tuple[tuple[str, str], ...] = ()
    reference: tuple[str, ...] = ()
    seed: int = 0


@dataclass(frozen=True)
class Receipt:
    """An answer, and everything that determines it.

    Attributes:
        inquiry: what was asked.
        model: the model's name.
        weights: SHA-256 of its parameters.
        metric: what the numbers are, with their unit.
        output: the output that was asked about.
        baseline: the answer with every part in place; None over a corpus.
        names: the parts, in the model's order.
        effects: how much the answer falls without each part.
        intervals: the ends of each effect's 95 % bootstrap interval over sentences; empty for one sentence.
        n: number of sentences.
        draws: runs per part, of which an effect is the mean.
        code: where the effects were computed.
    """

    inquiry: Inquiry
    model: str
    weights: str
    metric: str
    output: str
    baseline: float | None
    names: tuple[str, ...]
    effects: tuple[float, ...]
    intervals: tuple[tuple[float, float], ...]
    n: int
    draws: int
    code: str

    def to_json(self) -> str:
        """The receipt as JSON text."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Receipt:
        """Read a receipt.

        Raises:
            ReceiptError: the text is not a receipt.
        """
        try:
            values = json.loads(text)
            inquiry = values["inquiry"]
            pairs = tuple((str(source), str(target)) for source, target in inquiry["pairs"])
            own = {field.name: values[field.name] for field in fields(cls)}
            asked = Inquiry(**inquiry | {"pairs": pairs, "reference": tuple(map(str, inquiry["reference"]))})
            return cls(
                **own
                | {
                    "inquiry": asked,
                    "names": tuple(map(str, own["names"])),
                    "effects": tuple(map(float, own["effects"])),
                    "intervals": tuple((float(low), float(high)) for low, high in own["intervals"]),
                }
            )
        except (ValueError, KeyError, TypeError) as error:
            raise ReceiptError(
                "This is not a receipt: give a file that `headlight why --out` or Why's Save menu wrote."
            ) from error

    def difference(self, other: Receipt) -> float:
        """The largest difference of any number from another receipt's; infinite if the parts differ."""
        if self.names != other.names:
            return float("inf")
        ours, theirs = np.array(self.effects), np.array(other.effects)
        return float(np.abs(ours - theirs).max(initial=0.0))


def answer(loaded: LoadedModel, inquiry: Inquiry, on_progress: OnProgress | None = None) -> Receipt:
    """Compute an answer.

    Raises:
        EditError: the inquiry makes no sense for this model.
        SentenceError: a sentence can't be run, or the output has no such word.
    """
    if not loaded.model.config.has_generator:
        raise EditError(f"{loaded.name} has no generator: it writes no words, so there is none to ask about.")
    _check(inquiry)
    if inquiry.pairs:
        return _over_corpus(loaded, inquiry, on_progress)
    run = run_sentence(loaded, inquiry.text, inquiry.target, top_k=8)
    return explain(loaded, run, inquiry, on_progress)


def explain(
    loaded: LoadedModel, run: Run, inquiry: Inquiry, on_progress: OnProgress | None = None
) -> Receipt:
    """The answer for a run that is there already; see `answer`."""
    _check(inquiry)
    question = asked_question(loaded, run, inquiry.word, inquiry.rival)
    names: Sequence[str]
    if inquiry.parts == "heads":
        names = list(map(str, head_places(loaded.model.config)))
        effects = head_effects(loaded, run, [question], _switch(loaded, inquiry), on_progress)
        draws, code = N_DRAWS if inquiry.how == "resample" else 1, source_of(head_effects)
    else:
        how: KnockOut = inquiry.how  # type: ignore[assignment]
        names = input_words(loaded, run).labels
        effects = word_effects(loaded, run, [question], how, seed=inquiry.seed, on_progress=on_progress)
        draws, code = N_WORD_DRAWS if how == "resampled" else 1, source_of(word_effects)
    versus = f" minus that of {question.rival!r}" if question.rival_id is not None else ""
    kind = "logit" if question.rival_id is not None else "log-probability"
    return Receipt(
        inquiry=inquiry,
        model=loaded.name,
        weights=fingerprint(loaded.model),
        metric=f"fall of the {kind} of {question.label!r}{versus}, in {question.unit}",
        output=run.translation,
        baseline=float(question.value(run.trace["logits"], suppressed_ids(loaded, run))[0]),
        names=tuple(names),
        effects=tuple(effects[:, 0].tolist()),
        intervals=(),
        n=1,
        draws=draws,
        code=code,
    )


def _over_corpus(loaded: LoadedModel, inquiry: Inquiry, on_progress: OnProgress | None) -> Receipt:
    if inquiry.parts != "heads":
        raise EditError("Over several sentences only heads can be switched off: their words differ.")
    effects = corpus_effects(loaded, inquiry.pairs, _switch(loaded, inquiry), on_progress)
    low, high = mean_interval(effects, seed=inquiry.seed)
    return Receipt(
        inquiry=inquiry,
        model=loaded.name,
        weights=fingerprint(loaded.model),
        metric="fall of the output's log-probability, in nats per token, mean over sentences",
        output="",
        baseline=None,
        names=tuple(map(str, head_places(loaded.model.config))),
        effects=tuple(effects.mean(axis=0).tolist()),
        intervals=tuple(zip(low.tolist(), high.tolist(), strict=True)),
        n=len(effects),
        draws=N_DRAWS if inquiry.how == "resample" else 1,
        code=source_of(corpus_effects),
    )


def asked_question(loaded: LoadedModel, run: Run, word: str | int, rival: str) -> Question:
    """The question about an output word, by its text or index.

    Raises:
        SentenceError: the output has no such word, or several; or the rival can't be compared with it.
    """
    words = word_questions(loaded, run)
    if isinstance(word, int):
        found = words[word : word + 1] if word >= 0 else []
    elif word.strip():
        found = [one for one in words if one.label.casefold() == word.strip().casefold()]
    else:
        found = [words[last_word(words)]]
    if len(found) != 1:
        listed = ", ".join(f"{index} {one.label}" for index, one in enumerate(words))
        several = "has several" if found else "has no"
        raise SentenceError(f"The output {several} “{word}”. Give one of these, or its number: {listed}.")
    return with_rival(loaded, run, found[0], rival)


def with_rival(loaded: LoadedModel, run: Run, word: Question, rival: str) -> Question:
    """The question about a word, against a rival as in `Inquiry`.

    Raises:
        SentenceError: the two can't be compared.
    """
    if rival == NEXT_BEST:
        return against_next_best(loaded, run, word)
    return against(loaded, run, word, rival) if rival else word


def _check(inquiry: Inquiry) -> None:
    possible = {"heads": ABLATIONS, "words": KNOCK_OUTS}
    if inquiry.parts not in possible:
        raise EditError(f"Parts are {' or '.join(PARTS)}, not {inquiry.parts}.")
    if inquiry.how not in possible[inquiry.parts]:
        raise EditError(
            f"The {inquiry.parts} can't be replaced by {inquiry.how!r}: choose one of "
            f"{', '.join(possible[inquiry.parts])}."
        )


def _switch(loaded: LoadedModel, inquiry: Inquiry) -> Switch:
    how: Ablation = inquiry.how  # type: ignore[assignment]
    texts = inquiry.reference if how != "zero" else ()
    if how != "zero" and not texts:
        raise EditError(f"“{how}” needs other sentences, from which outputs are taken: give at least one.")
    return Switch(loaded, how, [run_sentence(loaded, one) for one in texts], inquiry.seed)


def fingerprint(model: Transformer) -> str:
    """SHA-256 of a model's parameters, by name."""
    found = hashlib.sha256()
    for name, parameter in sorted(model.named_parameters()):
        found.update(name.encode())
        found.update(parameter.detach().float().cpu().contiguous().numpy().data)
    return found.hexdigest()


def readable(receipt: Receipt, most: int) -> list[tuple[str, float, tuple[float, float] | None]]:
    """The parts that cost most, first those that cost most: name, effect, interval if there is one."""
    order = np.argsort(-np.array(receipt.effects), kind="stable")[:most]
    return [
        (
            receipt.names[index],
            receipt.effects[index],
            receipt.intervals[index] if receipt.intervals else None,
        )
        for index in order
    ]
