"""What lessons 13 to 16 say of their prepared sentences, recomputed by a model written by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch

from tests.pages.learn.lessons.by_hand import ByHand, Changed
from tests.pages.learn.lessons.subjects import question_of, subject
from viz.pages.learn.lessons import lessons
from viz.pages.learn.lessons.computed.contest import decided, output_without
from viz.pages.learn.lessons.computed.exchanged import exchange
from viz.pages.learn.lessons.computed.foreign import foreign, foreign_words, own_words
from viz.pages.learn.lessons.computed.pairs import head_pair
from viz.pages.learn.lessons.format.questions import CellQuestion, NumberQuestion
from viz.pages.learn.lessons.format.subject import Subject
from viz.pages.learn.lessons.patches import best_head, restored
from viz.pages.learn.lessons.reason import convincing, costliest, lead_without

FRIEND, ANIMAL = (lessons()[name].prepared["en-it"] for name in ("reason", "together"))


def logits(of: Subject, changed: Changed | None = None) -> torch.Tensor:
    """(T, V): the reference model's, for the run's own source and target."""
    assert of.run.encoder_input is not None
    hand = ByHand(of.loaded, changed or Changed())
    return hand(of.run.encoder_input.ids, of.run.target_ids).detach()


def lead(of: Subject, row: int, ids: Sequence[int], changed: Changed | None = None) -> float:
    own, rival = ids
    values = logits(of, changed)[row]
    return float(values[own] - values[rival])


def ids_of(of: Subject, *words: str) -> list[int]:
    return [of.loaded.target.encode(word).ids[0] for word in words]


def test_one_head_turns_la_into_il_and_the_one_with_the_sharpest_picture_does_not() -> None:
    of = subject("en-it", FRIEND)
    ids = ids_of(of, "La", "Il")
    contest = decided(of)
    assert [*contest.question.ids, contest.question.rival_id] == ids
    assert contest.lead == pytest.approx(lead(of, 0, ids), abs=1e-3)
    assert [str(convincing(of)[0]), str(costliest(of))] == ["encoder 3.0", "encoder 7.1"]
    for place in (convincing(of)[0], costliest(of)):
        off = Changed(off=(place.path.removesuffix(".z"), place.head))
        assert lead_without(of, place) == pytest.approx(lead(of, 0, ids, off), abs=1e-3)
    assert output_without(of, [convincing(of)[0]]) == "La mia amica ha venduto la macchina."
    assert output_without(of, [costliest(of)]) == "Il mio amico ha venduto la macchina."
    assert lead_without(of, costliest(of), "mean") > 3, "its mean leaves the word as it is"


def test_the_exchanged_word_is_needed_late_at_another_token_and_one_head_carries_it() -> None:
    of = subject("en-it", FRIEND)
    found = exchange(of)
    assert found is not None
    assert found.text == "My friend sold his car."
    ids = ids_of(of, "La", "Il")
    other = subject("en-it", found.text)
    assert other.run.encoder_input is not None
    theirs = ByHand(of.loaded)(other.run.encoder_input.ids, of.run.target_ids[:1]).detach()[0]
    assert found.pair.corrupt_value == pytest.approx(float(theirs[ids[0]] - theirs[ids[1]]), abs=1e-3)
    question = question_of("patches", "token", of)
    assert "friend" in question.solution(of).right
    assert str(best_head(of)) == "encoder 7.1"
    assert restored(of) == pytest.approx(0.854, abs=0.01)


def test_two_heads_together_turn_stanco_into_stanca_and_neither_alone() -> None:
    of = subject("en-it", ANIMAL)
    pair = head_pair(of)
    assert pair is not None
    assert [str(pair.first), str(pair.second)] == ["cross 0.1", "decoder 1.2"]
    ids, row = ids_of(of, "stanco", "stanca"), pair.contest.row
    assert [*pair.contest.question.ids, pair.contest.question.rival_id] == ids
    for place, loss in ((pair.first, pair.first_loss), (pair.second, pair.second_loss)):
        off = Changed(off=(place.path.removesuffix(".z"), place.head))
        assert pair.contest.lead - loss == pytest.approx(lead(of, row, ids, off), abs=1e-3)
        assert output_without(of, [place]) == of.run.translation
    assert pair.joint_loss > pair.contest.lead > 2 * (pair.first_loss + pair.second_loss)
    assert output_without(of, [pair.first, pair.second]).endswith("stanca.")
    question = question_of("together", "second", of)
    assert isinstance(question, CellQuestion)
    assert int(np.isnan(question.board(of)).sum()) == 1, "the first head can't be the second"


@pytest.mark.parametrize("model, text", [("en-it", FRIEND), ("toy-en-it", "Yesterday I saw a black cat.")])
def test_a_forced_translation_owes_less_to_the_source(model: str, text: str) -> None:
    of = subject(model, text)
    run = foreign(of).run
    assert run.encoder_input is not None
    forced = ByHand(of.loaded)(run.encoder_input.ids, run.target_ids).detach()
    forced[:, list(of.loaded.target.special_tokens.suppressed)] = -torch.inf
    logs = forced.log_softmax(-1)
    sourced = foreign_words(of)
    by_hand = [sum(float(logs[r, i]) for r, i in zip(w.rows, w.ids, strict=True)) for w in sourced.words]
    np.testing.assert_allclose(sourced.shares.log_probabilities, by_hand, atol=1e-3)
    assert own_words(of).shares.gains.mean() > 4 + sourced.shares.gains.mean()
    question = question_of("hallucination", "supported", of)
    assert isinstance(question, NumberQuestion)
    assert question.answer(of) <= 2
