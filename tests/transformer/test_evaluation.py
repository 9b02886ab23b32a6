"""Scores of whole files: in order, by beam as well, and sacrebleu's own figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import sacrebleu
import torch

from tests.models import tiny_subword_model
from transformer.__main__ import main
from transformer.beam import beam_search
from transformer.checkpoints.folder import LoadedModel, save_model
from transformer.evaluation import bleu_and_chrf, translate_all
from transformer.run import NO_WORDS, SentenceError, encode_sentence, run_sentence, target_limit
from transformer.text import BOS_ID, EOS_ID

SENTENCES = ["I see the dog.", "Yesterday a cat saw the dogs!", "The cat.", "I don't see you."]


def model_that_ends() -> LoadedModel:
    """Random weights, but targets come to an end before their limit."""
    loaded = tiny_subword_model(3)
    loaded.model.generator.bias[EOS_ID] = 2.5
    return loaded


def test_sentences_come_back_in_their_order() -> None:
    loaded = model_that_ends()
    assert all(run_sentence(loaded, text).finished for text in SENTENCES)
    assert translate_all(loaded, SENTENCES) == [run_sentence(loaded, text).translation for text in SENTENCES]


def test_a_beam_is_the_beam_search() -> None:
    loaded = model_that_ends()
    translated = translate_all(loaded, SENTENCES, beam_size=3, alpha=0.6)
    for text, translation in zip(SENTENCES, translated, strict=True):
        ids = [*encode_sentence(loaded, loaded.source, text, "sentence").ids, EOS_ID]
        ((best,),) = beam_search(
            loaded.model,
            torch.tensor([ids]),
            bos_id=BOS_ID,
            eos_id=EOS_ID,
            max_new_tokens=target_limit(loaded, len(ids)),
            beam_size=3,
            alpha=0.6,
            never=NO_WORDS,
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
    assert bleu_and_chrf(translated, references) == (bleu.score, chrf.score)
    assert bleu_and_chrf(["ciao a tutti voi"], [["salve", "ciao a tutti voi"]]) == pytest.approx((100, 100))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loaded = model_that_ends()
    save_model(tmp_path / "model", loaded)
    right, wrong = translate_all(loaded, [SENTENCES[0], SENTENCES[2]])
    pairs = tmp_path / "test.tsv"
    pairs.write_text(
        f"{SENTENCES[0]}\tx\n{SENTENCES[0]}\t{right}\n{SENTENCES[2]}\tniente\n", encoding="utf-8"
    )
    given = ["evaluate", "--model", str(tmp_path / "model"), "--pairs", str(pairs), "--device", "cpu"]
    assert main([*given, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["sentences"], found["references"], found["exact"], found["beam"]) == (2, 3, 1, 1)
    assert (found["bleu"], found["chrf"]) == bleu_and_chrf([right, wrong], [["x", right], ["niente"]])
    assert [one["source"] for one in found["wrong"]] == [SENTENCES[2]]
    assert main([*given, "--beam", "2"]) == 0
    assert "beam 2, length penalty 1: 2 sentences, 3 references" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--pairs", "missing.tsv"], "There is no file missing.tsv"),
        (["--pairs", "missing.tsv", "--beam", "0"], "--beam is 0"),
        (["--pairs", "missing.tsv", "--model", "nothing"], "There is no"),
    ],
)
def test_what_can_not_be_evaluated(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", *arguments]) == 1
    assert message in capsys.readouterr().err
