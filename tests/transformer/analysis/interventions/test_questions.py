"""Questions about an output word: its rows and tokens, its rivals, and the answers of many variants."""

from __future__ import annotations

import pytest
import torch

from tests.support.kinds import KINDS, config_of
from tests.support.models import tiny_model, tiny_subword_model
from transformer.analysis.interventions.outcomes import outcomes
from transformer.analysis.interventions.questions import (
    Question,
    against,
    against_next_best,
    last_word,
    suppressed_ids,
    word_questions,
)
from transformer.errors import SentenceError
from transformer.run import run_sentence

TEXT = "Yesterday I saw the dog."
WRITERS = [name for name, make in KINDS.items() if config_of(make).has_generator]


@pytest.mark.parametrize("kind", WRITERS)
def test_words_ask_for_the_probabilities_of_the_run(kind: str) -> None:
    loaded = KINDS[kind]()
    run = run_sentence(loaded, TEXT)
    questions = word_questions(loaded, run)
    assert [index for one in questions for index in one.ids] == [step.token_id for step in run.steps]
    answers = outcomes(loaded, run, [{}, {}], questions)
    torch.testing.assert_close(answers[0], answers[1], atol=1e-5, rtol=0)
    total = sum(torch.tensor(step.probability).double().log() for step in run.steps)
    torch.testing.assert_close(answers[0].sum(), total, atol=1e-4, rtol=0)


def test_sub_words_are_asked_about_as_words() -> None:
    loaded = tiny_subword_model()
    run = run_sentence(loaded, TEXT, "Non vedo il cane.")
    questions = word_questions(loaded, run)
    assert [one.label for one in questions][:4] == ["Non", "vedo", "il", "cane"]
    assert questions[last_word(questions)].label == "cane"
    rows = [row for one in questions for row in one.rows]
    assert rows == list(range(len(run.target.ids) + 1)), "each token once, and the end"


def test_a_rival_is_compared_at_the_first_token_that_differs() -> None:
    loaded = tiny_subword_model()
    run = run_sentence(loaded, TEXT, "Non vedo il cane.")
    word = word_questions(loaded, run)[1]
    own, other = word.ids, loaded.target.encode("vedi").ids
    first = next(i for i, (a, b) in enumerate(zip(own, other, strict=False)) if a != b)
    question = against(loaded, run, word, "vedi")
    assert (question.rows, question.ids, question.rival_id) == (
        (word.rows[first],),
        (own[first],),
        other[first],
    )
    logits = run.trace["logits"]
    expected = logits[0, question.rows[0], own[first]] - logits[0, question.rows[0], other[first]]
    assert float(question.value(logits, ())) == pytest.approx(float(expected), abs=1e-6)
    with pytest.raises(SentenceError, match="type one that differs"):
        against(loaded, run, word, "vedo")
    with pytest.raises(SentenceError, match="no word"):
        against(loaded, run, word, " ")


def test_the_next_best_is_the_most_probable_other_token() -> None:
    loaded = tiny_model()
    run = run_sentence(loaded, TEXT)
    question = against_next_best(loaded, run, word_questions(loaded, run)[0])
    allowed = run.trace["logits"][0, question.rows[0]].clone()
    allowed[[question.ids[0], *suppressed_ids(loaded, run)]] = -torch.inf
    assert question.rival_id == int(allowed.argmax())


def test_suppressed_tokens_have_no_probability() -> None:
    logits = torch.zeros(1, 1, 5)
    assert float(Question("a", (0,), (2,)).value(logits, [0, 1]).exp()) == pytest.approx(1 / 3)
