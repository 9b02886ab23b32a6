"""The public API: models by name and path, runs as labelled tables, reports; loaded on first use."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

import headlight
from tests.support.kinds import KINDS
from tests.support.models import tiny_model, tiny_subword_model
from transformer.analysis.attention_maps import MODULES
from transformer.checkpoints.folder import save_model

ROOT = Path(__file__).resolve().parents[2]
TEXT = "the cat saw a dog"


def test_importing_it_loads_nothing() -> None:
    code = (
        "import sys, headlight; dir(headlight); "
        "sys.exit(any(name in sys.modules for name in ('torch', 'plotly', 'pandas', 'streamlit')))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_type_checkers_are_told_the_same_names_from_the_same_homes() -> None:
    tree = ast.parse((ROOT / "headlight" / "__init__.py").read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    told = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert told == headlight._HOME_OF
    assert set(told) <= set(dir(headlight))


@pytest.mark.parametrize("name", sorted(headlight._HOME_OF))
def test_every_name_is_there_and_documented(name: str) -> None:
    assert inspect.getdoc(getattr(headlight, name))


def test_a_wrong_name_is_answered_with_those_that_there_are() -> None:
    name = "plot_everything"
    with pytest.raises(
        AttributeError,
        match=r"has no 'plot_everything'; it has Alignment, AlignmentError, AttentionWidget, .*plot_att",
    ):
        getattr(headlight, name)


@pytest.mark.parametrize("kind", KINDS)
def test_attention_has_the_tokens_on_both_axes(kind: str) -> None:
    run = headlight.run(KINDS[kind](), TEXT)
    assert run.attentions
    for attention in run.attentions:
        stack, name = MODULES[attention]
        record = run.trace.attention(stack, 1, name)
        weights = run.attention(attention, layer=1, head=2)
        np.testing.assert_array_equal(weights, record.weights[0, 2])
        assert list(weights.index) == list(record.query_tokens[0])
        assert list(weights.columns) == list(record.key_tokens[0])
        assert (weights.index.name, weights.columns.name) == ("query", "key")
        np.testing.assert_array_equal(run.attention(attention, 1, 2, measure="scores"), record.scores[0, 2])
        masked = run.attention(attention, 1, 2, measure="masked").to_numpy()
        np.testing.assert_array_equal(np.isneginf(masked), ~record.mask[0, 0].numpy())


def test_weights_between_words_add_up() -> None:
    run = headlight.run(tiny_subword_model(), "I don't see the dogs.")
    words = run.attention_by_word("encoder", 0, 1)
    assert list(words.index) == list(words.columns) == [*run.computed.source.words, "<eos>"]
    np.testing.assert_allclose(words.sum(axis=1), 1, atol=1e-6)


def test_steps_tell_the_best_tokens_and_the_chosen_one() -> None:
    run = headlight.run(tiny_model(), TEXT)
    for number, step in enumerate(run.computed.steps):
        best = run.steps.loc[number]
        assert tuple(best["probability"]) == step.top_probabilities
        assert list(best["token"]) == [run.model.target.token(index) for index in step.top_ids]
        assert list(best.index[best["chosen"]]) == [1], "greedy decoding takes the best"


def test_a_given_target_is_read() -> None:
    run = headlight.run(tiny_model(), TEXT, "ho visto il cane")
    assert run.trace.tgt_tokens[0] == ("<bos>", "ho", "visto", "il", "cane")
    assert repr(run) == f"<Run of {TEXT!r} in tiny: 'ho visto il cane'>"


def test_a_batch_has_each_sentence_s_own_tokens() -> None:
    batch = headlight.run_batch(tiny_model(), ["the cat saw a dog", "i see"])
    weights = batch.attention("encoder", 0, 0, sentence=1)
    assert list(weights.columns)[:3] == ["i", "see", "<eos>"]
    assert (weights.iloc[:, 3:] == 0).all(axis=None)
    assert "2 sentences" in repr(batch)
    with pytest.raises(ValueError, match="There is no sentence 2: the batch has 0 to 1"):
        batch.attention("encoder", 0, 0, sentence=2)
    with pytest.raises(ValueError, match="no sentences"):
        headlight.run_batch(tiny_model(), [])
    with pytest.raises(headlight.SentenceError, match="sentence 2"):
        headlight.run_batch(tiny_model(), ["the cat", " "])


def test_what_a_model_does_not_have_is_refused_with_what_it_has() -> None:
    run = headlight.run(KINDS["masked"](), TEXT)
    with pytest.raises(ValueError, match="masked has no attention 'cross': choose one of 'encoder'"):
        run.attention("cross", 0, 0)
    with pytest.raises(
        ValueError, match="There is no layer 3: the encoder self-attention of masked has 0 to 2"
    ):
        run.attention("encoder", 3, 0)
    with pytest.raises(ValueError, match=r"There is no head -1: .* has 0 to 2"):
        run.attention("encoder", 0, -1)


def test_a_model_opens_by_name_and_by_path(tmp_path: Path) -> None:
    save_model(tmp_path, tiny_model())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert headlight.open("toy-en-it").name == "toy-en-it"
        opened = headlight.open(tmp_path)
    assert headlight.run(opened, TEXT).translation == headlight.run(tiny_model(), TEXT).translation
    assert "encoder-decoder, 2 + 3 layers, 3 heads, d_model 30" in repr(opened)
    with pytest.raises(headlight.CheckpointError, match="no model 'nowhere'"):
        headlight.open("nowhere")


def test_anyone_s_checkpoint_opens_and_says_what_it_assumed(tmp_path: Path) -> None:
    theirs = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_embd=24, n_head=3, n_layer=2))
    theirs.requires_grad_(False).train(False)
    theirs.save_pretrained(tmp_path / "folder")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opened = headlight.open(tmp_path / "folder")
    ids = "11 7 23"
    run = headlight.run(opened, ids)
    with torch.inference_mode():
        logits = theirs(torch.tensor([[int(index) for index in ids.split()]])).logits
    assert run.computed.target_ids[:3] == (11, 7, 23)
    torch.testing.assert_close(run.trace["logits"][0, :3], logits[0], atol=1e-5, rtol=0)

    torch.save(theirs.state_dict(), tmp_path / "weights.pt")
    with pytest.warns(UserWarning, match=r"assumed: .*n_heads=") as told:
        headlight.open(tmp_path / "weights.pt")
    assert told[0].filename == __file__, "the warning points at the line that opened the model"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        questions = headlight.inspect(tmp_path / "weights.pt", quick=True).questions
        answers = dict(zip(questions["name"], questions["value"], strict=True)) | {"n_heads": 3}
        assert headlight.open(tmp_path / "weights.pt", answers=answers).model.config.n_heads == 3


def test_a_checkpoint_is_inspected(tmp_path: Path) -> None:
    loaded = tiny_model()
    save_model(tmp_path, loaded)
    quick = headlight.inspect(tmp_path, quick=True)
    assert quick.findings.empty
    report = headlight.inspect(tmp_path)
    assert {"keys", "finite"} <= set(report.findings["check"])
    total = sum(weight.numel() for weight in loaded.model.parameters())
    tops = [path for path in report.parameters.index if "." not in path]
    assert report.parameters.loc[tops, "parameters"].sum() == total == report.to_dict()["n_parameters"]
    assert report.settings.set_index("name").loc["d_model", "value"] == 30
    assert "Architecture" in repr(report)
    with pytest.raises(headlight.CheckpointError):
        headlight.inspect(tmp_path / "nothing.pt")
