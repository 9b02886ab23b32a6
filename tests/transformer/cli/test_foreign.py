"""`translate` with another library's checkpoint prints what that library generates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import BertConfig, BertModel, GPT2Config, GPT2LMHeadModel

from tests.support.checkpoints import numberless_file
from tests.transformer.checkpoints.importing.families.foreign import randomized
from tests.transformer.checkpoints.importing.families.own_layout.test_described import Gpt, documented
from transformer.__main__ import main
from transformer.model_input import MOST_CONTINUED

PROMPT = [5, 17, 4]


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    config = GPT2Config(
        vocab_size=53, n_embd=24, n_head=3, n_layer=2, n_positions=40, bos_token_id=51, eos_token_id=52
    )
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model: Any = GPT2LMHeadModel(config)
    model.eval()
    folder = tmp_path_factory.mktemp("gpt2")
    model.save_pretrained(folder)
    return folder, model


@pytest.mark.parametrize("beam", [1, 3])
def test_a_prompt_is_continued_as_by_the_original(
    gpt2: tuple[Path, Any], beam: int, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, model = gpt2
    typed = " ".join(map(str, PROMPT))
    options = ["--beam", str(beam), "--length-penalty", "0", "--device", "cpu"]
    assert main(["translate", "--model", str(folder), *options, typed]) == 0
    expected = model.generate(
        torch.tensor([PROMPT]),
        max_new_tokens=MOST_CONTINUED,
        num_beams=beam,
        do_sample=False,
        length_penalty=0.0,
        pad_token_id=52,
    )[0].tolist()
    assert capsys.readouterr().out.split() == [str(index) for index in expected if index != 52]


def test_a_line_that_is_no_prompt_is_reported_and_left_empty(
    gpt2: tuple[Path, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["translate", "--model", str(gpt2[0]), "--device", "cpu", "hello there", "5"]) == 1
    printed = capsys.readouterr()
    assert printed.out.split("\n")[0] == ""
    assert printed.out.split("\n")[1].startswith("5 ")
    assert "came without a tokenizer" in printed.err


def test_a_model_whose_logits_are_not_finite_translates_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(numberless_file(tmp_path / "mine.pt"))
    for beam in ("1", "3"):
        assert main(["translate", "--model", model, "--beam", beam, "--device", "cpu", "5 6 7"]) == 1
        printed = capsys.readouterr()
        assert printed.out == "\n"
        assert "not finite (NaN or infinite)" in printed.err


def test_a_model_without_words_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = BertConfig(
        vocab_size=53, hidden_size=24, num_attention_heads=3, num_hidden_layers=2, intermediate_size=31
    )
    with torch.random.fork_rng():
        torch.manual_seed(3)
        BertModel(config).save_pretrained(tmp_path)
    assert main(["translate", "--model", str(tmp_path), "--device", "cpu", "5 17"]) == 1
    assert "has no generator" in capsys.readouterr().err


def test_without_a_beam_the_models_own_settings_apply(
    gpt2: tuple[Path, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, model = gpt2
    settings = {"num_beams": 3, "no_repeat_ngram_size": 2, "length_penalty": 0.6, "repetition_penalty": 1.2}
    model.save_pretrained(tmp_path)
    own = json.loads((tmp_path / "generation_config.json").read_text()) | settings
    (tmp_path / "generation_config.json").write_text(json.dumps(own))
    typed = " ".join(map(str, PROMPT))
    command = ["translate", "--model", str(tmp_path), "--device", "cpu"]
    assert main([*command, typed]) == 0
    printed = capsys.readouterr()
    assert "3 beams, log-probability / length^0.6, no 2 tokens in a row twice" in printed.err
    del settings["repetition_penalty"]
    expected = model.generate(
        torch.tensor([PROMPT]), max_new_tokens=MOST_CONTINUED, do_sample=False, pad_token_id=52, **settings
    )[0].tolist()
    assert printed.out.split() == [str(index) for index in expected if index not in (51, 52)]
    assert main([*command, "--beam", "1", typed]) == 0
    plain = capsys.readouterr()
    assert plain.out != printed.out
    assert "own settings" not in plain.err
    assert main(["inspect", str(tmp_path), "--quick"]) == 0
    assert "not applied: repetition_penalty 1.2" in " ".join(capsys.readouterr().out.split())


def test_an_unknown_layout_is_described_to_every_command_by_the_same_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = randomized(Gpt())
    torch.save(mine.state_dict(), tmp_path / "mine.pt")
    (tmp_path / "own.yaml").write_text(documented(), encoding="utf-8")
    model, described = ["--model", str(tmp_path / "mine.pt")], ["--map", str(tmp_path / "own.yaml")]
    sentence = ["--device", "cpu", " ".join(map(str, PROMPT))]
    assert main(["translate", *model, *sentence]) == 1
    assert "names like these" in capsys.readouterr().err
    assert main(["translate", *model, *described, *sentence]) == 0
    written = [int(index) for index in capsys.readouterr().out.split()]
    with torch.no_grad():
        expected = mine(torch.tensor([written[:-1]]))[0].argmax(-1).tolist()
    assert written[: len(PROMPT)] == PROMPT
    assert len(written) > len(PROMPT)
    assert written[len(PROMPT) :] == expected[len(PROMPT) - 1 :]
    assert main(["why", *model, *described, *sentence]) == 0
    assert main(["translate", *described, *sentence]) == 1, "a mapping file isn't passed over in silence"
    assert "No name in the mapping file is one of the files'" in capsys.readouterr().err
    missing = tmp_path / ("long" * 20) / "none.yaml"
    assert main(["translate", *model, "--map", str(missing), *sentence]) == 1
    printed = capsys.readouterr().err
    assert printed.startswith("The mapping file 'none.yaml' is not there: check the path '...")
    assert printed.endswith("longlonglong/none.yaml'.\n")
