"""Every figure of Why this word?, Heads and word alignment is the same on CUDA as on the CPU.

Runs are recorded on the CPU, and weights are on the device: whatever combines the two must move one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.devices.comparing import ATOL, RTOL, moved
from tests.support.runs import ran
from transformer.analysis.alignment.aligning import align
from transformer.analysis.attention_maps import attention_record, attentions, n_layers
from transformer.analysis.attribution.alti import alti
from transformer.analysis.attribution.integrated_gradients import BASELINES, integrated_gradients
from transformer.analysis.attribution.pictures import came_from
from transformer.analysis.attribution.rollout import rollout
from transformer.analysis.attribution.source_share import source_share
from transformer.analysis.attribution.value_norms import moved_norms, value_norms
from transformer.analysis.interventions.corpus import corpus_effects
from transformer.analysis.interventions.direct import direct_effects
from transformer.analysis.interventions.edited_model import rewritten
from transformer.analysis.interventions.edits import AnyEdit, mean, replace, resample, row, uniform, zero
from transformer.analysis.interventions.heads import (
    ABLATIONS,
    Switch,
    answers_with_k_heads,
    head_effects,
    head_places,
)
from transformer.analysis.interventions.knock_outs import KNOCK_OUTS, input_stack, word_effects
from transformer.analysis.interventions.patch_places import places
from transformer.analysis.interventions.patching import DIRECTIONS, Pair, patch_grid, run_pair
from transformer.analysis.interventions.questions import (
    Question,
    against_next_best,
    last_word,
    word_questions,
)
from transformer.analysis.ledgers.logit import logit_ledger, output_stack
from transformer.analysis.ledgers.score import score_ledger
from transformer.analysis.lens import decoder_lens, logit_lens
from transformer.analysis.receipts.answering import answer
from transformer.analysis.receipts.receipt import Inquiry
from transformer.analysis.roles.analysis import analyze
from transformer.errors import EditError
from transformer.loaded import LoadedModel
from transformer.run import Run, run_sentence
from viz.viewer.viewer_run import view_run

TEXT, OTHERS = "the dog saw a cat", ("the cat saw a cat", "a cat see yesterday the")
PAIRS = (("the dog saw a cat", "il cane ho visto"), ("i see the cat", "vedo il gatto ieri"))
TARGETS = {"words": "ho visto il cane", "relative": "i see the dog", "rotary": "yesterday .", "masked": ""}
SHARPNESS = 3
Computed = Callable[[LoadedModel, Run], Any]
"""Computes figures of a run of `TEXT`."""


def words(loaded: LoadedModel, run: Run) -> list[Question]:
    """All words, and the last against its rival."""
    asked = word_questions(loaded, run)
    return [*asked, against_next_best(loaded, run, asked[last_word(asked)])]


def switches(loaded: LoadedModel) -> list[Switch]:
    reference = [run_sentence(loaded, OTHERS[0])]
    return [Switch(loaded, how, reference, seed=3) for how in ABLATIONS]


def of_heads(loaded: LoadedModel, run: Run) -> list[Tensor]:
    order = head_places(loaded.model.config)[::-1]
    questions = words(loaded, run)
    found = []
    for switch in switches(loaded):
        found += [effects(loaded, run, questions, switch) for effects in (head_effects, direct_effects)]
        found.append(answers_with_k_heads(loaded, run, questions[-1], switch, order))
    return found


def over_sentences(loaded: LoadedModel, run: Run) -> list[Any]:
    return [tensor for switch in switches(loaded) for tensor in corpus_effects(loaded, PAIRS, switch)]


def of_words(loaded: LoadedModel, run: Run) -> list[Tensor]:
    stacks = {input_stack(loaded.model.config), output_stack(loaded.model.config)}
    return [
        word_effects(loaded, run, words(loaded, run), how, seed=3, stack=stack)
        for how, stack in product(KNOCK_OUTS, sorted(stacks))
    ]


def of_edits(loaded: LoadedModel, run: Run) -> list[Any]:
    config = loaded.model.config
    attention, reading = (f"{stack(config)}.layers.1.self_attn" for stack in (output_stack, input_stack))
    other = run_sentence(loaded, OTHERS[0])
    edits: list[dict[str, AnyEdit]] = [
        {f"{attention}.z": zero(head=1)},
        {f"{attention}.out": zero(positions=[0])},
        {f"{reading}.z": replace(other, head=1)},
        {f"{reading}.out": replace(other, positions=[0])},
        {f"{attention}.z": resample(other, head=1, seed=3)},
        {f"{attention}.z": mean([other, *OTHERS], head=1)},
        {f"{attention}.weights": uniform(head=1)},
        {f"{attention}.weights": row(0, [0.75], head=1)},
    ]
    runs = [rewritten(loaded, run, edit) for edit in edits]
    return [(one.target_ids, one.translation, one.trace["logits"]) for one in runs]


def pair(loaded: LoadedModel, run: Run) -> Pair:
    """The first question for which another sentence makes a difference."""
    for other, question in product(OTHERS, word_questions(loaded, run)):
        try:
            return run_pair(loaded, run, other, question)
        except EditError:
            continue
    raise AssertionError("no word differs")


def of_patches(loaded: LoadedModel, run: Run) -> list[Any]:
    own = pair(loaded, run)
    config = loaded.model.config
    every = [one for place in places(config) for one in (place, *place.in_layers(config)[:1])]
    return [patch_grid(loaded, own, place, direction) for place, direction in product(every, DIRECTIONS)]


def of_receipts(loaded: LoadedModel, run: Run) -> list[Any]:
    return [
        answer(loaded, inquiry)
        for inquiry in (
            Inquiry("heads", "resample", TEXT, reference=OTHERS),
            Inquiry("words", "mean", TEXT, word=0, rival=""),
            Inquiry("sums", "terms", TEXT),
            Inquiry("heads", "zero", pairs=PAIRS[:1]),
        )
    ]


def of_gradients(loaded: LoadedModel, run: Run) -> list[Any]:
    question = words(loaded, run)[-1]
    return [integrated_gradients(loaded, run, question, baseline, n_steps=5) for baseline in BASELINES]


def of_pictures(loaded: LoadedModel, run: Run) -> list[Any]:
    question = words(loaded, run)[-1]
    norms = [
        moved_norms(loaded, run, attention, layer)
        for attention in attentions(run.trace)
        for layer in range(n_layers(run.trace, attention))
    ]
    return [alti(loaded, run), rollout(loaded, run), value_norms(loaded, run, question), norms]


def of_sources(loaded: LoadedModel, run: Run) -> Any:
    return came_from(loaded, run, words(loaded, run)[-1])


def of_shares(loaded: LoadedModel, run: Run) -> Any:
    return source_share(loaded, run, word_questions(loaded, run))


def of_sums(loaded: LoadedModel, run: Run) -> list[Any]:
    logits = [logit_ledger(loaded, run, question) for question in words(loaded, run)]
    last = head_places(loaded.model.config)[-1]
    n_keys = attention_record(run.trace, last.attention, last.layer).k.shape[-2]
    return [*logits, *(score_ledger(loaded, run, last, 1, key) for key in range(n_keys))]


def of_lenses(loaded: LoadedModel, run: Run) -> list[Any]:
    rows = logit_lens(loaded, run, words(loaded, run)[-1])
    has_both = loaded.model.config.kind == "encoder-decoder"
    return [rows, decoder_lens(loaded, run, words(loaded, run)[-1]) if has_both else []]


def of_roles(loaded: LoadedModel, run: Run) -> Any:
    return analyze(loaded, PAIRS)


def of_alignments(loaded: LoadedModel, run: Run) -> Any:
    return align(loaded, PAIRS)


def of_the_viewer(loaded: LoadedModel, run: Run) -> list[Any]:
    views = view_run(run, loaded, typed=(TEXT, run.translation)).attentions.values()
    return [view.costs and view.costs(layer) for view in views for layer in range(view.n_layers)]


KINDS = ("relative", "rotary", "masked")
FIGURES: dict[Computed, tuple[str, ...]] = {
    **dict.fromkeys(
        (
            *(of_heads, of_words, of_edits, of_patches, of_gradients, of_sources),
            *(of_lenses, of_roles, of_the_viewer),
        ),
        KINDS,
    ),
    **dict.fromkeys((of_pictures, of_sums), ("words", *KINDS)),
    of_shares: ("relative", "rotary"),
    **dict.fromkeys((over_sentences, of_receipts, of_alignments), ("relative",)),
}
"""What is computed, and in which kinds of model."""


@pytest.mark.parametrize(
    "compute, kind",
    [
        pytest.param(compute, kind, id=f"{compute.__name__}-{kind}")
        for compute, kinds in FIGURES.items()
        for kind in kinds
    ],
)
def test_figures_are_the_same(compute: Computed, kind: str, device: torch.device) -> None:
    loaded, run = ran(kind, TEXT, TARGETS[kind], sharpness=SHARPNESS)
    on_device = moved(loaded, device)
    found = compute(on_device, run_sentence(on_device, TEXT, TARGETS[kind]))
    check_same(found, compute(loaded, run), compute.__name__)


def check_same(found: Any, expected: Any, what: str) -> None:
    """Compare all numbers of two results, which must be on the CPU; anything else must be equal."""
    if is_dataclass(expected):
        for field in fields(expected):
            check_same(getattr(found, field.name), getattr(expected, field.name), f"{what}.{field.name}")
    elif isinstance(expected, Mapping):
        assert list(found) == list(expected), what
        for key, value in expected.items():
            check_same(found[key], value, f"{what}[{key}]")
    elif isinstance(expected, Tensor | np.ndarray | float):
        np.testing.assert_allclose(found, expected, rtol=RTOL, atol=ATOL, err_msg=what)
    elif isinstance(expected, Sequence) and not isinstance(expected, str):
        assert len(found) == len(expected), what
        for i, (own, value) in enumerate(zip(found, expected, strict=True)):
            check_same(own, value, f"{what}[{i}]")
    else:
        assert found == expected, what
