"""Computes the answer to an inquiry, with its receipt."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from transformer.analysis.attention_maps import STACKS, words_of
from transformer.analysis.attribution.integrated_gradients import Baseline, integrated_gradients
from transformer.analysis.attribution.pictures import PictureName, scores_by_token
from transformer.analysis.interventions.corpus import OutputEffects, corpus_effects, output_effects
from transformer.analysis.interventions.direct import direct_effects
from transformer.analysis.interventions.heads import Ablation, Switch, head_effects, head_places
from transformer.analysis.interventions.knock_outs import N_DRAWS, KnockOut, input_words, word_effects
from transformer.analysis.interventions.outcomes import OnProgress
from transformer.analysis.interventions.patch_places import place_named
from transformer.analysis.interventions.patching import Direction, patch_grid, run_pair
from transformer.analysis.interventions.questions import Question, asked_question, suppressed_ids
from transformer.analysis.ledgers.logit import logit_ledger
from transformer.analysis.ranks import mean_interval
from transformer.analysis.receipts.receipt import HOW, PARTS, Inquiry, Part, Receipt
from transformer.errors import EditError
from transformer.files import source_of
from transformer.loaded import LoadedModel
from transformer.model.transformer import Transformer
from transformer.run import Run, run_sentence


class _Found(NamedTuple):
    """The numbers of an answer, one per part.

    Attributes:
        names, numbers: of the parts.
        metric: what the numbers are.
        computed: the function that computed them.
        draws: runs per part.
        question: what they answer, where it is not the question as asked.
    """

    names: Sequence[str]
    numbers: NDArray[np.float64]
    metric: str
    computed: Callable[..., object]
    draws: int = 1
    question: Question | None = None


def answer(loaded: LoadedModel, inquiry: Inquiry, on_progress: OnProgress | None = None) -> Receipt:
    """Compute an answer.

    Raises:
        EditError: the inquiry makes no sense for this model.
        SentenceError: a sentence can't be run, or the output has no such word.
    """
    if not loaded.model.config.has_generator:
        raise EditError(f"{loaded.name} has no generator: it writes no words, so there is none to ask about.")
    _check(inquiry)
    if len(inquiry.pairs) > 1:
        switch = _switch(loaded, inquiry)
        found = corpus_effects(loaded, inquiry.pairs, switch, on_progress)
        return _of_outputs(loaded, inquiry, found, switch.n_draws)
    text, target = inquiry.pairs[0] if inquiry.pairs else (inquiry.text, inquiry.target)
    return explain(loaded, run_sentence(loaded, text, target, top_k=8), inquiry, on_progress)


def explain(
    loaded: LoadedModel, run: Run, inquiry: Inquiry, on_progress: OnProgress | None = None
) -> Receipt:
    """The answer for a run that is there already, that of the only pair if there are pairs; see `answer`."""
    _check(inquiry)
    if inquiry.pairs:
        switch = _switch(loaded, inquiry)
        effects = output_effects(loaded, run, switch, on_progress)
        return _of_outputs(loaded, inquiry, effects, switch.n_draws, run.translation)
    question = asked_question(loaded, run, inquiry.word, inquiry.rival)
    found = _COMPUTE[inquiry.parts](loaded, run, question, inquiry, on_progress)
    suppressed = suppressed_ids(loaded, run)
    return Receipt(
        inquiry=inquiry,
        model=loaded.name,
        weights=fingerprint(loaded.model),
        metric=found.metric,
        output=run.translation,
        baseline=float((found.question or question).value(run.trace["logits"], suppressed)[0]),
        names=tuple(found.names),
        effects=tuple(found.numbers.tolist()),
        intervals=(),
        n=1,
        draws=found.draws,
        code=source_of(found.computed),
    )


def fingerprint(model: Transformer) -> str:
    """SHA-256 of a model's parameters, by name."""
    found = hashlib.sha256()
    for name, parameter in sorted(model.named_parameters()):
        found.update(name.encode())
        found.update(parameter.detach().float().cpu().contiguous().numpy().data)
    return found.hexdigest()


def _check(inquiry: Inquiry) -> None:
    if inquiry.parts not in HOW:
        raise EditError(f"Nothing is computed for {inquiry.parts!r}: ask for {', '.join(PARTS)}.")
    if inquiry.how not in HOW[inquiry.parts]:
        raise EditError(
            f"The numbers for {inquiry.parts} can't be computed by {inquiry.how!r}: choose one of "
            f"{', '.join(HOW[inquiry.parts])}."
        )
    if inquiry.pairs and inquiry.parts != "heads":
        raise EditError("Over several sentences only heads can be switched off: their words differ.")


def _of_outputs(
    loaded: LoadedModel, inquiry: Inquiry, found: OutputEffects, draws: int, output: str = ""
) -> Receipt:
    n = len(found.effects)
    ends = mean_interval(found.effects, seed=inquiry.seed) if n > 1 else ()
    return Receipt(
        inquiry=inquiry,
        model=loaded.name,
        weights=fingerprint(loaded.model),
        metric="fall of the output's log-probability, in nats per token" + ", mean over sentences" * (n > 1),
        output=output,
        baseline=float(found.log_probabilities.mean()),
        names=tuple(map(str, head_places(loaded.model.config))),
        effects=tuple(found.effects.mean(axis=0).tolist()),
        intervals=tuple(zip(*(end.tolist() for end in ends), strict=True)),
        n=n,
        draws=draws,
        code=source_of(output_effects),
    )


def _switch(loaded: LoadedModel, inquiry: Inquiry, run: Run | None = None) -> Switch:
    """The ablation; the sentence asked about, as a reference, is the run itself with its typed target."""
    texts = inquiry.reference if inquiry.how != "zero" else ()
    if inquiry.how != "zero" and not texts:
        raise EditError(f"“{inquiry.how}” needs other sentences, whose outputs it takes: give at least one.")
    runs = [run if run and one == inquiry.text else run_sentence(loaded, one) for one in texts]
    return Switch(loaded, cast("Ablation", inquiry.how), runs, inquiry.seed)


def _heads(
    loaded: LoadedModel, run: Run, question: Question, inquiry: Inquiry, on_progress: OnProgress | None
) -> _Found:
    switch = _switch(loaded, inquiry, run)
    effects = head_effects(loaded, run, [question], switch, on_progress)[:, 0].numpy()
    names = list(map(str, head_places(loaded.model.config)))
    return _Found(names, effects, f"fall of {_asked(question)}", head_effects, switch.n_draws)


def _direct(
    loaded: LoadedModel, run: Run, question: Question, inquiry: Inquiry, on_progress: OnProgress | None
) -> _Found:
    switch = _switch(loaded, inquiry, run)
    effects = direct_effects(loaded, run, [question], switch, on_progress)[:, 0].numpy()
    known = np.flatnonzero(~np.isnan(effects))
    every = head_places(loaded.model.config)
    metric = f"direct fall of {_asked(question)}"
    return _Found([str(every[i]) for i in known], effects[known], metric, direct_effects, switch.n_draws)


def _words(
    loaded: LoadedModel, run: Run, question: Question, inquiry: Inquiry, on_progress: OnProgress | None
) -> _Found:
    how = cast("KnockOut", inquiry.how)
    effects = word_effects(loaded, run, [question], how, seed=inquiry.seed, on_progress=on_progress)[:, 0]
    draws = N_DRAWS if how == "resampled" else 1
    names = input_words(loaded, run).labels
    return _Found(names, effects.numpy(), f"fall of {_asked(question)}", word_effects, draws)


def _pictures(
    loaded: LoadedModel, run: Run, question: Question, inquiry: Inquiry, on_progress: OnProgress | None
) -> _Found:
    gradients = integrated_gradients(
        loaded, run, question, cast("Baseline", inquiry.baseline), on_progress=on_progress
    )
    known = scores_by_token(loaded, run, question, gradients)
    scores = known.get(cast("PictureName", inquiry.how))
    if scores is None:
        raise EditError(f"This model has no picture {inquiry.how!r}: its heads can't be told apart.")
    names, numbers = [], []
    for stack in (stack for stack in STACKS if stack in scores):
        words = words_of(run, stack)
        names += [f"{stack} {place} {label}" for place, label in enumerate(words.labels)]
        numbers.append(np.add.reduceat(scores[stack], words.starts))
    metric = f"score of each word in the picture {inquiry.how}, for {_asked(question)}"
    return _Found(names, np.concatenate(numbers), metric, scores_by_token)


def _sums(
    loaded: LoadedModel, run: Run, question: Question, inquiry: Inquiry, on_progress: OnProgress | None
) -> _Found:
    ledger = logit_ledger(loaded, run, question)
    names = [" ".join(str(one) for one in part if one not in (None, "")) for part in ledger.parts]
    return _Found(names, ledger.values, f"term of {_asked(question, is_logit=True)}", logit_ledger)


def _patches(
    loaded: LoadedModel, run: Run, question: Question, inquiry: Inquiry, on_progress: OnProgress | None
) -> _Found:
    config = loaded.model.config
    place = place_named(config, inquiry.place)
    pair = run_pair(loaded, run, inquiry.other, question)
    grid = patch_grid(loaded, pair, place, cast("Direction", inquiry.how), on_progress)
    names = [
        f"{row}, {place.axes[1]} {index}"
        for row in place.row_labels(config)
        for index in range(grid.shares.shape[1])
    ]
    metric = f"share of the way from one run to the other, in {_asked(pair.question)}"
    return _Found(names, grid.shares.flatten().numpy(), metric, patch_grid, question=pair.question)


def _asked(question: Question, *, is_logit: bool = False) -> str:
    versus = f" minus that of {question.rival!r}" if question.rival_id is not None else ""
    kind = "logit" if is_logit or question.rival_id is not None else "log-probability"
    unit = "" if kind == "logit" else ", in nats"
    return f"the {kind} of {question.label!r}{versus}{unit}"


_Compute = Callable[[LoadedModel, Run, Question, Inquiry, OnProgress | None], _Found]
_COMPUTE: Mapping[Part, _Compute] = {
    "heads": _heads,
    "direct": _direct,
    "words": _words,
    "pictures": _pictures,
    "sums": _sums,
    "patches": _patches,
}
