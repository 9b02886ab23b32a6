"""Planted heads are found, random heads have no role, halves agree, and padding changes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.support.kinds import KINDS
from tests.support.models import tiny_model
from tests.support.planted import COPYING, DEAD, INDUCTION, PREVIOUS, planted, planted_sentences
from transformer.analysis.attention_maps import attention_maps
from transformer.analysis.roles.analysis import HeadAnalysis, analyze
from transformer.analysis.roles.definitions import DEFINITIONS, INDEX, ROLES, Role
from transformer.analysis.roles.measuring import NOT_FINITE, Probes, measure
from transformer.analysis.roles.report import HeadReport
from transformer.analysis.roles.scoring import scores
from transformer.analysis.roles.sentences import prepare, prepare_all
from transformer.analysis.roles.targets import NO_LINKS, special_keys
from transformer.errors import SentenceError
from transformer.loaded import freeze
from transformer.run import run_sentence

PAIRS = [
    ("I see the dog.", "vedo il cane."),
    ("yesterday the cat saw a dog and a cat.", "ieri il gatto ha visto un cane."),
    ("the dog saw the dog yesterday .", "il cane lo ha visto"),
    ("a cat", "un gatto lo ho visto ieri ."),
    ("I saw the cat yesterday and the dog saw a cat.", "ho visto il gatto ieri, il cane ha visto un gatto ."),
]


def ranking(report: HeadReport, role: Role) -> list[tuple[int, int]]:
    """Layer and head of each head, the highest score first."""
    heads = sorted(report.heads, key=lambda one: -one.scores[role].score)
    return [(one.layer, one.head) for one in heads]


@pytest.fixture(scope="module")
def planted_report() -> HeadReport:
    return analyze(planted(), planted_sentences(64, seed=1))


def test_planted_heads_are_first_in_their_ranking(planted_report: HeadReport) -> None:
    assert ranking(planted_report, "previous")[0] == PREVIOUS
    assert ranking(planted_report, "induction")[0] == INDUCTION
    assert set(ranking(planted_report, "copying")[:2]) == {COPYING, INDUCTION}
    roles = {(one.layer, one.head): one.learned for one in planted_report.heads}
    assert roles == {
        PREVIOUS: ("previous", "position"),
        DEAD: (),
        COPYING: ("copying",),
        INDUCTION: ("induction", "copying"),
        (1, 1): (),
        (1, 2): (),
    }
    scores = planted_report.heads[0].scores
    assert scores["previous"].score > 0.99
    assert scores["offset"].detail == -1
    assert scores["previous"].twin < 0.3


def test_planted_examples_show_the_role(planted_report: HeadReport) -> None:
    head = next(one for one in planted_report.heads if (one.layer, one.head) == INDUCTION)
    examples = head.scores["induction"].examples
    assert len(examples) == 8
    for one in examples:
        words = planted_report.texts[one.text][0].split()
        assert (words[one.query], words[one.key]) == (one.query_token, one.key_token)
        assert words[one.key - 1] == one.query_token
        assert one.score > 0.9


def test_random_heads_learn_nothing() -> None:
    """At most 5% of the heads of random models have a role next to random models of other seeds."""
    heads = [head for make in KINDS.values() for head in analyze(make(), PAIRS * 4).heads]
    assert len(heads) > 150
    assert sum(bool(head.learned) for head in heads) <= 0.05 * len(heads)


def test_halves_of_the_sentences_agree() -> None:
    sentences = planted_sentences(96, seed=3)
    halves = [analyze(planted(), sentences[start::2]) for start in (0, 1)]
    assert kappa(*([head.role for head in report.heads] for report in halves)) >= 0.8


def kappa(one: Sequence[Role | None], other: Sequence[Role | None]) -> float:
    """Cohen's kappa of two lists of labels."""
    agreement = float(np.mean([a == b for a, b in zip(one, other, strict=True)]))
    first, second = Counter(one), Counter(other)
    by_chance = sum(first[label] * second[label] for label in first) / len(one) ** 2
    return (agreement - by_chance) / (1 - by_chance)


def test_scores_are_the_means_of_the_runs_own_weights() -> None:
    """Unbatched runs, and plain loops over their maps, give the scores of padded batches."""
    loaded = tiny_model()
    sentences, _ = prepare_all(loaded, PAIRS)
    found = measure(loaded, sentences, Probes([NO_LINKS] * len(PAIRS), [], 0))
    runs = [run_sentence(loaded, source, target) for source, target in PAIRS]
    for attention in ("encoder", "decoder", "cross"):
        own = scores(found[attention], attention, seed=0)
        for head in range(own["special"].score.shape[0]):
            layer, number = divmod(head, 3)
            previous, on_special, squares = [], [], 0.0
            for run, sentence in zip(runs, sentences, strict=True):
                maps = attention_maps(run.trace, attention, "weights")
                weights = maps.values[layer, number]
                keys = sentence.decoder if attention == "decoder" else sentence.encoder
                assert keys is not None
                coder = loaded.target if attention == "decoder" else loaded.source
                special = special_keys(keys, coder).numpy()
                for query, row in enumerate(weights):
                    is_open = maps.allowed[query]
                    if is_open.sum() == 1:
                        continue
                    squares += float((row**2).sum())
                    if query:
                        previous.append(row[query - 1] if attention != "cross" else 0.0)
                    if (special & is_open).any() and (~special & is_open).any():
                        on_special.append(row[special].sum())
            assert float(own["special"].score[head]) == pytest.approx(np.mean(on_special), abs=1e-5)
            assert float(found[attention].squares[:, head].sum()) == pytest.approx(squares, rel=1e-5)
            if attention != "cross":
                assert float(own["previous"].score[head]) == pytest.approx(np.mean(previous), abs=1e-5)
                assert ("next" in own) == (attention == "encoder")


@pytest.mark.parametrize("kind", ["shifted", "reader", "prompted"])
def test_a_batch_changes_nothing(kind: str) -> None:
    """Also in models that see padding, or have none."""
    loaded = KINDS[kind]()
    sentences, _ = prepare_all(loaded, PAIRS)
    no_probes = Probes([NO_LINKS] * len(PAIRS), [], 0)
    together = measure(loaded, sentences, no_probes)
    for number, sentence in enumerate(sentences):
        alone = measure(loaded, [sentence], no_probes)
        for attention, sums in alone.items():
            torch.testing.assert_close(sums.given[0], together[attention].given[number], atol=1e-5, rtol=1e-5)
            torch.testing.assert_close(sums.rows[0], together[attention].rows[number], atol=0, rtol=0)


def test_a_part_does_not_depend_on_the_others_and_seeds_are_kept() -> None:
    loaded = tiny_model()
    sentences, left_out = prepare_all(loaded, [*PAIRS * 7, ("", "ieri"), ("I " * 40, "ieri")])
    assert left_out == 2
    analysis = HeadAnalysis(loaded, sentences, left_out)
    assert analysis.n_parts == 2
    second = analysis.part(1)
    again = HeadAnalysis(loaded, sentences, left_out).part(1)
    assert second.keys() == again.keys()
    assert all(torch.equal(second[name], again[name]) for name in second)
    progress: list[tuple[int, int]] = []
    report = analyze(loaded, PAIRS * 7, on_progress=lambda *at: progress.append(at))
    assert progress == [(32, 35), (35, 35)]
    assert replace(report, n_left_out=2) == analysis.report([analysis.part(0), second])


def test_alignment_is_found_in_cross_attention() -> None:
    """A head that looks at the word that the output depends on; position doesn't explain it."""
    loaded = tiny_model()
    sentences, _ = prepare_all(loaded, PAIRS)
    sums = measure(loaded, sentences, Probes([NO_LINKS] * len(PAIRS), [], 0))["cross"]
    assert "alignment" not in scores(sums, "cross", seed=0)
    sums.rows[:, INDEX["reading"]], sums.rows[:, INDEX["writing"]] = 4, 3
    sums.given[:, INDEX["reading"], 0] = 3.6
    score = scores(sums, "cross", seed=0)["alignment"]
    assert score.score[:2].tolist() == pytest.approx([0.9, 0.0])
    assert score.detail[:2].tolist() == [1, 0]


def test_what_can_t_be_measured_is_said() -> None:
    report = analyze(KINDS["reader"](), [(source, "") for source, _ in PAIRS])
    assert set(report.not_measured) == {"induction", "alignment", "copying"}
    assert report.not_measured["alignment"] == "the model has no cross-attention"
    assert {role for head in report.heads for role in head.scores} == set(ROLES) - set(report.not_measured)
    assert set(DEFINITIONS) == set(ROLES)


def test_broken_weights_and_empty_sides_are_refused() -> None:
    loaded = tiny_model()
    with pytest.raises(SentenceError, match="target has no words"):
        prepare(loaded, "I see the dog.", "")
    with pytest.raises(SentenceError, match="No sentence can be analysed"):
        analyze(loaded, [("", "")])
    model = tiny_model().model.requires_grad_(False)
    model.get_parameter("encoder.layers.1.self_attn.w_q.weight")[0, 0] = torch.nan
    with pytest.raises(SentenceError, match=NOT_FINITE[:30]):
        analyze(replace(loaded, model=freeze(model)), PAIRS)
