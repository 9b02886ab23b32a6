"""A receipt has everything that its numbers need to be computed again."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.support.kinds import KINDS
from tests.support.models import tiny_model
from transformer.analysis.interventions.heads import Ablation, Switch, head_effects, head_places
from transformer.analysis.interventions.patching import run_pair
from transformer.analysis.interventions.questions import NEXT_BEST, asked_question, word_questions
from transformer.analysis.receipts.answering import answer
from transformer.analysis.receipts.receipt import Inquiry, Receipt, ReceiptError
from transformer.errors import EditError, SentenceError
from transformer.files import CODE
from transformer.run import run_sentence

TEXT, OTHER = "Yesterday I saw the dog.", "Yesterday I saw the cat."
PAIRS = ((TEXT, "ho visto il cane"), ("The cat saw a dog.", "il gatto"), ("a cat.", "un gatto"))


@pytest.mark.parametrize(
    "inquiry",
    [
        Inquiry("heads", "zero", TEXT),
        Inquiry("heads", "resample", TEXT, reference=("the cat .",), seed=3),
        Inquiry("words", "resampled", TEXT, "ho visto il cane", word="cane", rival="gatto", seed=5),
        Inquiry("words", "masked", TEXT, word=0, rival=""),
        Inquiry("heads", "mean", pairs=PAIRS, reference=("the cat .",)),
        Inquiry("heads", "zero", pairs=((f"{TEXT} \ud800 perché", ""),)),
        Inquiry("direct", "zero", TEXT),
        Inquiry("pictures", "alti", TEXT),
        Inquiry("pictures", "gradients", TEXT, baseline="zero"),
        Inquiry("sums", "terms", TEXT),
        Inquiry("patches", "denoising", TEXT, other=OTHER, place="encoder self_attn z"),
        Inquiry("patches", "noising", TEXT, other=OTHER, place="encoder self_attn z 1"),
    ],
    ids=lambda one: f"{one.parts} {one.how}{len(one.pairs) or ''}",
)
def test_a_receipt_read_from_its_file_gives_the_same_numbers(inquiry: Inquiry) -> None:
    receipt = answer(tiny_model(), inquiry)
    read = Receipt.from_json(receipt.to_json().encode().decode())
    assert read == receipt
    again = answer(tiny_model(), read.inquiry)
    assert again.difference(read) == 0
    assert again.weights == read.weights
    assert receipt.code.startswith("transformer/analysis/")
    other = answer(tiny_model(seed=1), inquiry)
    assert other.weights != read.weights
    # Other weights write another output, which may have other parts.
    assert other.difference(read) > 1e-4


@pytest.mark.parametrize("how", ["zero", "mean"])
def test_the_numbers_are_those_of_the_heads(how: Ablation) -> None:
    """A mean over the sentence itself is one over the run with the typed target, not over a generated one."""
    loaded = tiny_model()
    target = "ho visto il cane"
    receipt = answer(loaded, Inquiry("heads", how, TEXT, target, word="cane", rival="", reference=(TEXT,)))
    run = run_sentence(loaded, TEXT, target)
    question = next(one for one in word_questions(loaded, run) if one.label == "cane")
    effects = head_effects(loaded, run, [question], Switch(loaded, how, [run]))[:, 0]
    assert receipt.effects == pytest.approx(effects.tolist(), abs=1e-6)
    assert receipt.names == tuple(map(str, head_places(loaded.model.config)))
    assert receipt.baseline == pytest.approx(np.log(run.steps[3].probability), abs=1e-5)


@pytest.mark.parametrize("rival", ["", NEXT_BEST, "gatto"])
def test_the_baseline_of_patches_is_that_of_their_own_question(rival: str) -> None:
    """The logit difference to the typed rival or, without one, to the other run's word."""
    loaded = tiny_model()
    inquiry = Inquiry("patches", "noising", TEXT, word=1, rival=rival, other=OTHER, place="encoder resid")
    receipt = answer(loaded, inquiry)
    run = run_sentence(loaded, TEXT)
    pair = run_pair(loaded, run, OTHER, asked_question(loaded, run, 1, rival))
    (row,), own, against = pair.question.rows, pair.question.ids[0], pair.question.rival_id
    logits = run.trace["logits"][0, row].double()
    assert receipt.baseline == pytest.approx(float(logits[own] - logits[against]), abs=1e-6)
    assert f"logit of {pair.question.label!r} minus that of {pair.question.rival!r}" in receipt.metric
    # The run has the whole target, the pair only the target up to the word: they round differently.
    assert receipt.baseline == pytest.approx(pair.clean_value, abs=1e-5)
    alone = answer(loaded, Inquiry("heads", "zero", TEXT, word=1, rival=""))
    assert alone.baseline is not None
    assert abs(receipt.baseline - alone.baseline) > 0.1


def test_over_sentences_every_head_has_an_interval() -> None:
    receipt = answer(tiny_model(), Inquiry("heads", "zero", pairs=PAIRS))
    assert receipt.n == 3
    own = [answer(tiny_model(), Inquiry("heads", "zero", pairs=(pair,))) for pair in PAIRS]
    assert receipt.effects == pytest.approx(np.mean([one.effects for one in own], axis=0), abs=1e-6)
    assert receipt.baseline == pytest.approx(np.mean([one.baseline for one in own]), abs=1e-6)
    assert all(
        low <= effect <= high for effect, (low, high) in zip(receipt.effects, receipt.intervals, strict=True)
    )


def test_one_whole_output_has_its_own_log_probability_and_no_interval() -> None:
    receipt = answer(tiny_model(), Inquiry("heads", "zero", pairs=PAIRS[:1]))
    steps = run_sentence(tiny_model(), *PAIRS[0]).steps
    assert receipt.baseline == pytest.approx(np.mean([np.log(step.probability) for step in steps]), abs=1e-5)
    assert (receipt.output, receipt.n, receipt.intervals) == (PAIRS[0][1], 1, ())
    assert "mean" not in receipt.metric


@pytest.mark.parametrize(
    "inquiry, error, message",
    [
        (Inquiry("heads", "masked", TEXT), EditError, "choose one of zero, mean, resample"),
        (Inquiry("patches", "noising", TEXT, other=TEXT, place="nowhere"), EditError, "encoder resid, "),
        (Inquiry("patches", "noising", TEXT, other=TEXT, place="encoder resid"), SentenceError, "the same"),
        (Inquiry("heads", "mean", TEXT), EditError, "needs other sentences"),
        (Inquiry("words", "unknown", pairs=PAIRS), EditError, "only heads"),
        (Inquiry("heads", "zero", TEXT, "il cane", word="gatto"), SentenceError, "0 il, 1 cane, 2 <eos>"),
        (Inquiry("heads", "zero", TEXT, "il il", word="il"), SentenceError, "has several"),
        (Inquiry("heads", "zero", TEXT, "il", word="il", rival="il"), SentenceError, "type one that differs"),
        (Inquiry("heads", "zero", " "), SentenceError, "no words"),
    ],
)
def test_what_makes_no_sense_is_refused(inquiry: Inquiry, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        answer(tiny_model(), inquiry)


def test_a_model_without_a_generator_writes_no_words() -> None:
    with pytest.raises(EditError, match="no generator"):
        answer(KINDS["reader"](), Inquiry("heads", "zero", TEXT))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"inquiry": {}}', "nonsense"])
def test_another_file_is_no_receipt(text: str) -> None:
    with pytest.raises(ReceiptError, match="not a receipt"):
        Receipt.from_json(text)


def test_it_says_which_versions_made_it() -> None:
    receipt = answer(tiny_model(), Inquiry("heads", "zero", TEXT))
    declared = tomllib.loads((CODE / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert receipt.version == f"Headlight {declared} with torch {torch.__version__}"
    values = json.loads(receipt.to_json())
    other = values | {"version": "Headlight 9.0.0 with torch 9.0.0"}
    assert Receipt.from_json(json.dumps(other)).version == other["version"]
    assert Receipt.from_json(json.dumps({k: v for k, v in values.items() if k != "version"})).version == ""
    other["inquiry"] |= {"what another version asks": 1}
    with pytest.raises(ReceiptError, match=r"by Headlight 9\.0\.0 with torch 9\.0\.0, and Headlight \d"):
        Receipt.from_json(json.dumps(other))


def test_other_parts_are_not_compared() -> None:
    receipt = answer(tiny_model(), Inquiry("heads", "zero", TEXT))
    assert receipt.difference(replace(receipt, names=receipt.names[::-1])) == float("inf")
