"""Each answer to an open question is tried: a trained model prefers the true ones, a random model none."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.support.models import tiny_model
from tests.support.torch_names import as_torch_saves_it
from tests.transformer.checkpoints.importing.families.foreign import randomized, raw_of
from transformer.analysis.doctor.answers import Weighing, weigh_answers
from transformer.analysis.doctor.asked import about, answer_findings, figure
from transformer.analysis.doctor.examine import examine
from transformer.analysis.doctor.inputs import read_probes
from transformer.analysis.doctor.surprise import choose_measure
from transformer.checkpoints.importing.report import Imported
from transformer.checkpoints.opening import import_raw, open_model
from transformer.checkpoints.places import MODELS
from transformer.cli.inspect_json import to_plain
from transformer.cli.inspect_text import to_text
from transformer.loaded import LoadedModel

NAME = "toy-en-it"
TRUE = {"n_heads": 4, "norm_position": "pre", "positions": "sinusoidal", "embedding_scale": True}
"""How the model was trained. Its activation is ReLU, but on its sentences GELU does equally well."""


def open_with_words(folder: Path, state_dict: dict[str, Tensor], answers: dict[str, Any]) -> Imported:
    """Import a state dict of torch's module with the shipped model's vocabulary."""
    vocabulary = (MODELS / NAME / "vocabulary.json").read_text(encoding="utf-8")
    raw = replace(raw_of(folder, state_dict), texts={"vocabulary.json": vocabulary})
    return import_raw(raw, answers)


@pytest.fixture(scope="module")
def shipped() -> LoadedModel:
    return open_model(NAME)


@pytest.fixture(scope="module")
def trained(shipped: LoadedModel, tmp_path_factory: pytest.TempPathFactory) -> Imported:
    folder = tmp_path_factory.mktemp("trained")
    return open_with_words(folder, as_torch_saves_it(shipped.model), dict(TRUE))


@pytest.fixture(scope="module")
def weighed(trained: Imported) -> Weighing:
    weighing = weigh_answers(trained)
    assert weighing is not None
    return weighing


def test_a_trained_model_prefers_the_settings_that_it_was_trained_with(
    trained: Imported, weighed: Weighing
) -> None:
    assert weighed.tells
    assert [one.name for one in weighed.questions] == [one.name for one in trained.report.questions]
    preferred = {one.name: one.preferred for one in weighed.questions if one.preferred}
    assert preferred == {name: (value,) for name, value in TRUE.items()}
    for one in weighed.questions:
        least = min(weight.bits for weight in one.weights if weight.bits is not None)
        taken = one.of(one.taken)
        assert taken is not None
        assert taken.change == 0
        if one.name in TRUE:
            assert taken.bits == least


def test_an_answer_that_changes_nothing_says_so(weighed: Weighing) -> None:
    padding = weighed.of("pad_id")
    mask = weighed.of("memory_padding_mask")
    assert padding is not None
    assert mask is not None
    assert [figure(weight, padding) for weight in padding.weights if weight.value == -1] == [
        "changes nothing here"
    ]
    assert not mask.preferred
    assert not padding.preferred


def test_the_doctor_warns_of_an_answer_that_the_model_does_not_prefer(
    shipped: LoadedModel, tmp_path: Path
) -> None:
    wrong = open_with_words(
        tmp_path, as_torch_saves_it(shipped.model), {**TRUE, "embedding_scale": False, "norm_position": "pre"}
    )
    weighing = weigh_answers(wrong)
    diagnosis = examine(wrong, answers=weighing)
    (warning,) = (found for found in diagnosis.of("warning") if found.check == "answers")
    assert warning.title == "The model prefers embedding_scale = True"
    assert "embedding_scale=True" in warning.advice
    text = to_text(wrong, diagnosis)
    assert "preferred by the model" in text
    assert "bits per token" in text
    plain = json.loads(json.dumps(to_plain(wrong, diagnosis), allow_nan=False))
    (scale,) = (one for one in plain["answers"]["questions"] if one["name"] == "embedding_scale")
    assert (scale["taken"], scale["preferred"]) == (False, [True])


class Untrained(nn.Module):
    def __init__(self, *, ends: bool) -> None:
        super().__init__()
        self.transformer = nn.Transformer(40, 4, 2, 2, 60)
        if not ends:
            self.transformer.encoder.norm = self.transformer.decoder.norm = None
        self.src_tok_emb, self.tgt_tok_emb = nn.Embedding(1009, 40), nn.Embedding(1833, 40)
        self.generator = nn.Linear(40, 1833)


@pytest.mark.parametrize(
    "ends, is_drawn_wide",
    [
        (True, True),
        (False, False),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in ((True, False), (False, True))),
    ],
)
def test_a_random_model_prefers_nothing(tmp_path: Path, ends: bool, is_drawn_wide: bool) -> None:
    model = Untrained(ends=ends)
    if is_drawn_wide:
        randomized(model)
    weighing = weigh_answers(open_with_words(tmp_path, model.state_dict(), {}))
    assert weighing is not None
    assert {one.name: one.preferred for one in weighing.questions if one.preferred} == {}


def test_drawn_ids_tell_nothing_and_it_is_said(shipped: LoadedModel, tmp_path: Path) -> None:
    imported = import_raw(raw_of(tmp_path, as_torch_saves_it(shipped.model)), dict(TRUE))
    asked: list[tuple[int, int, str]] = []
    weighing = weigh_answers(imported, on_answer=lambda *step: asked.append(step))
    assert weighing is not None
    assert not weighing.tells
    assert "drawn ids" in about(weighing)
    assert not any(one.preferred for one in weighing.questions)
    assert all(weight.bits is not None for one in weighing.questions for weight in one.weights)
    assert [done for done, _, _ in asked] == list(range(asked[0][1]))


def test_targets_that_were_typed_are_what_is_measured(trained: Imported, shipped: LoadedModel) -> None:
    text = "i see a cat. ||| vedo un gatto.\nthe dog sleeps. ||| il cane dorme."
    probes = read_probes(shipped, text)
    assert all(probe.has_typed_target for probe in probes)
    measure = choose_measure(shipped, text)
    assert measure is not None
    bits = measure.bits(shipped.model)
    expected = []
    for probe in probes:
        assert probe.tgt is not None
        labels = torch.tensor([*probe.tgt.ids[1:], *shipped.end_ids])
        expected.append(
            nn.functional.cross_entropy(probe.run(shipped.model)[0], labels, reduction="none") / math.log(2)
        )
    assert torch.allclose(bits, torch.cat(expected), atol=1e-5)
    weighing = weigh_answers(trained, text)
    assert weighing is not None
    scale = weighing.of("embedding_scale")
    assert scale is not None
    assert scale.preferred == (True,)


def test_a_sentence_is_the_same_beside_longer_ones(
    shipped: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transformer.analysis.doctor.surprise._LONGEST_OUTPUT", 1)
    lines = ["i see a cat.", "the old dog sleeps in the garden of my friend."]
    alone = [choose_measure(shipped, line) for line in lines]
    both = choose_measure(shipped, "\n".join(lines))
    assert both is not None
    assert both.of_output
    bits = [float(one.bits(shipped.model)) for one in alone if one is not None]
    assert both.bits(shipped.model).tolist() == pytest.approx(bits, abs=1e-5)
    assert abs(bits[0] - bits[1]) > 0.01


def test_a_language_model_is_measured_at_each_next_token() -> None:
    loaded = tiny_model(n_encoder_layers=0, src_vocab_size=0)
    measure = choose_measure(loaded, "the dog saw a cat.")
    assert measure is not None
    (probe,) = read_probes(loaded, "the dog saw a cat.")
    assert probe.tgt is not None
    logits = probe.run(loaded.model)[0]
    words = [place for place in probe.tgt.words if place > 0]
    expected = [
        -float(logits[place - 1].log_softmax(-1)[probe.tgt.ids[place]]) / math.log(2) for place in words
    ]
    assert measure.bits(loaded.model).tolist() == pytest.approx(expected, abs=1e-4)


def test_what_cannot_be_measured_is_left_out() -> None:
    assert choose_measure(tiny_model(n_decoder_layers=0, tgt_vocab_size=0), "the dog saw a cat.") is None
    assert choose_measure(tiny_model(has_generator=False), "") is None
    assert [found.severity for found in answer_findings((), None)] == ["ok"]
