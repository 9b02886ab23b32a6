"""Scores of whole files: in order, with beam search as well, and equal to sacrebleu's."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import sacrebleu
import torch

from tests.support.models import tiny_subword_model
from transformer.__main__ import main
from transformer.checkpoints.folder import open_saved, save_model
from transformer.cli.evaluate import _is_exact
from transformer.decoding.beam import beam_search
from transformer.decoding.request import DecodingRequest
from transformer.errors import SentenceError
from transformer.loaded import LoadedModel
from transformer.model_input import target_limit
from transformer.run import encode_sentence, run_sentence
from transformer.text.vocabulary import BOS_ID, EOS_ID
from transformer.training.evaluation.translations import score, sentence_chrf, translate_all

SENTENCES = ["I see the dog.", "Yesterday a cat saw the dogs!", "The cat.", "I don't see you."]


def some_end() -> LoadedModel:
    """A random model for which some targets end and others reach their limit."""
    loaded = tiny_subword_model(1)
    loaded.model.generator.bias[EOS_ID] = 2
    return replace(loaded, settings=replace(loaded.settings, no_repeat_ngram_size=0))


def test_sentences_come_back_in_their_order() -> None:
    loaded = some_end()
    runs = [run_sentence(loaded, text) for text in SENTENCES]
    assert [run.finished for run in runs] == [True, False, True, False]
    assert translate_all(loaded, SENTENCES) == [run.translation for run in runs]


@pytest.mark.parametrize("beam", [1, 3])
def test_a_translation_does_not_depend_on_the_sentences_beside_it(beam: int) -> None:
    """Not even one that never ends: it stops at its own limit."""
    for loaded in (some_end(), tiny_subword_model(2)):
        alone = [translate_all(loaded, [text], beam_size=beam)[0] for text in SENTENCES]
        assert translate_all(loaded, SENTENCES, beam_size=beam) == alone


def test_a_beam_is_the_beam_search() -> None:
    loaded = some_end()
    translated = translate_all(loaded, SENTENCES, beam_size=3, alpha=0.6)
    for text, translation in zip(SENTENCES, translated, strict=True):
        ids = [*encode_sentence(loaded, "source", text, "sentence").ids, EOS_ID]
        ((best,),) = beam_search(
            loaded.model,
            torch.tensor([ids]),
            DecodingRequest(
                start_ids=[BOS_ID],
                end_ids=[EOS_ID],
                max_new_tokens=target_limit(loaded, len(ids)),
                suppressed_ids=loaded.target.special_tokens.suppressed,
            ),
            beam_size=3,
            alpha=0.6,
        )
        assert loaded.target.decode(best.ids) == translation


def test_an_empty_sentence_is_said() -> None:
    with pytest.raises(SentenceError, match="no words"):
        translate_all(tiny_subword_model(), ["I see.", " "])


def test_scores_are_sacrebleus_with_all_references() -> None:
    translated = ["il gatto vede il cane .", "io vedo te adesso"]
    references = [["il gatto vede il cane .", "il gatto guarda il cane ."], ["ti vedo adesso qui"]]
    streams = [["il gatto vede il cane .", "ti vedo adesso qui"], ["il gatto guarda il cane .", None]]
    bleu = sacrebleu.corpus_bleu(translated, streams)  # type: ignore[arg-type]
    chrf = sacrebleu.corpus_chrf(translated, streams)  # type: ignore[arg-type]
    found = score(translated, references)
    assert (found.bleu, found.chrf) == (bleu.score, chrf.score)
    assert found.bleu_signature.startswith("nrefs:var|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert found.chrf_signature.startswith("nrefs:var|case:mixed|eff:yes|nc:6|nw:0|space:no|version:")
    same = score(["ciao a tutti voi"], [["salve", "ciao a tutti voi"]])
    assert (same.bleu, same.chrf) == pytest.approx((100, 100))
    each = [sacrebleu.sentence_chrf(one, own).score for one, own in zip(translated, references, strict=True)]
    assert sentence_chrf(translated, references) == each


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_model(tmp_path / "model", some_end())
    loaded = open_saved(str(tmp_path / "model"))
    right, wrong = translate_all(loaded, [SENTENCES[0], SENTENCES[1]])
    pairs = tmp_path / "test.tsv"
    pairs.write_text(
        f"{SENTENCES[0]}\tx\n{SENTENCES[0]}\t{right}\n{SENTENCES[1]}\tniente\n", encoding="utf-8"
    )
    given = ["evaluate", "--model", str(tmp_path / "model"), "--pairs", str(pairs), "--device", "cpu"]
    assert main([*given, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["sentences"], found["references"], found["exact"], found["beam"]) == (2, 3, 1, 1)
    scores = asdict(score([right, wrong], [["x", right], ["niente"]]))
    assert {name: found[name] for name in scores} == scores
    assert [(one["source"], one["place"]) for one in found["worst"]] == [(SENTENCES[1], f"{pairs}:3")]
    assert main([*given, "--beam", "2"]) == 0
    assert "beam 2, length penalty 1: 2 sentences, 3 references" in capsys.readouterr().out


def test_a_bleu_without_four_tokens_in_a_row_is_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The translation is exact, but BLEU is 0.0, as there are no 4-grams."""
    pairs = tmp_path / "test.tsv"
    pairs.write_text("the dog.\til cane.\n", encoding="utf-8")
    given = ["evaluate", "--model", "toy-en-it", "--pairs", str(pairs), "--device", "cpu"]
    assert main(given) == 0
    said = capsys.readouterr().out
    assert "toy-en-it, greedy: 1 sentence, 1 reference\n" in said
    assert "BLEU     0.0" in said
    assert "exact  100.0%  1 is one of its references" in said
    assert "BLEU needs translations of at least four tokens" in said.splitlines()[-1]
    assert main([*given, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["four_grams"] == 0
    pairs.write_text("the dog is black.\til cane è nero.\nthe dog.\til cane.\n", encoding="utf-8")
    assert main(given) == 0
    said = capsys.readouterr().out
    assert "2 sentences, 2 references" in said
    assert "at least four tokens" not in said


def test_exact_is_letter_for_letter_but_for_white_space_and_composition() -> None:
    assert _is_exact("è  qui", ["altro", "e\N{COMBINING GRAVE ACCENT} qui"])
    assert not _is_exact("È qui", ["è qui"])
    assert not _is_exact("è qui", ["è qui."])


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--pairs", "missing.tsv"], "There is no file missing.tsv"),
        (["--pairs", "missing.tsv", "--beam", "0"], "--beam is 0"),
        (["--pairs", "missing.tsv", "--length-penalty", "nan"], "--length-penalty is nan"),
        (["--pairs", "missing.tsv", "--model", "nothing"], "There is no"),
    ],
)
def test_what_can_not_be_evaluated(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", *arguments]) == 1
    assert message in capsys.readouterr().err
