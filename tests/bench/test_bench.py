"""The benchmarks still run, at their smallest size; no time is judged here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from bench.browser.app_view import AppView
from bench.browser.crowd import Crowd
from bench.browser.first_page import FirstPage
from bench.browser.shown_attention import Shown
from bench.browser.watch import Hover
from bench.computing import measure_computing
from bench.decoding import measure_decoding
from bench.inspecting import measure_inspecting
from bench.measurement import BertvizView, Memory, Painted
from bench.opening import measure_opening
from bench.recording import in_turn, measure_recording
from bench.report import (
    computing_table,
    crowd_table,
    decoding_table,
    first_page_table,
    inspecting_table,
    opening_table,
    recording_table,
    training_table,
)
from bench.sentences import N_HEADS, N_LAYERS, random_model, sentence
from bench.targets import targets
from bench.torch_transformer import TorchTranslator
from bench.training import VOCAB_SIZE, MarianTranslator, measure_training, random_batches, random_pairs
from bench.viewer_report import app_table, comparison_table, notebook_table, shown_table, targets_table
from transformer.data.encoded import epoch_batches, write_corpus
from transformer.model.config import preset
from transformer.model.transformer import Transformer


def test_a_sentence_has_the_length_that_is_measured() -> None:
    loaded = random_model(32)
    assert len(loaded.source.encode(sentence(16, 1)).ids) == 15, "and <eos>"
    assert loaded.source.encode(sentence(16, 1)).unknown == [False] * 15
    config = loaded.model.config
    assert (config.n_encoder_layers, config.n_decoder_layers, config.n_heads) == (N_LAYERS, N_LAYERS, N_HEADS)


def test_python_alone() -> None:
    measured = measure_computing(16, 32)
    assert min(measured.trace, measured.viewer, measured.figure) > 0
    # Every weight of the three attentions, in float32, and not much besides.
    assert 1 < measured.viewer_bytes / (3 * N_LAYERS * N_HEADS * 16 * 16 * 4) < 1.1
    assert " 16 " in computing_table([measured])
    assert measure_computing(65, 32).viewer_bytes < measured.viewer_bytes * 3, "then only what is in sight"


def test_decoding_is_compared_on_the_same_targets() -> None:
    config = preset("toy", src_vocab_size=29, tgt_vocab_size=31, d_model=32)
    measured = [measure_decoding(beam_size, config, n_sentences=3) for beam_size in (1, 2)]
    assert [row.same for row in measured] == [3, 3]
    assert decoding_table(measured).count("3 of 3") == 2


def test_inspecting_is_compared_with_the_import_of_torch() -> None:
    torch_alone, refused, quick = measured = measure_inspecting(vocab_size=97, d_model=32, repeats=1)
    assert torch_alone.times_torch == 1
    assert min(refused.seconds, quick.seconds) > 0
    assert "--quick" in inspecting_table(measured)


def test_opening_is_compared_on_the_same_folder() -> None:
    ours, theirs = measured = measure_opening(vocab_size=97, d_model=32, repeats=1)
    assert (ours.name, theirs.name) == ("Headlight", "transformers")
    assert ours.model_bytes == theirs.model_bytes > 0
    assert all(0 < row.seconds < row.first_run < row.process for row in measured)
    assert all(row.before_bytes < row.peak_bytes for row in measured)
    assert "transformers" in opening_table(measured)


def test_recording_is_compared_on_the_same_numbers() -> None:
    config = preset("toy", src_vocab_size=29, tgt_vocab_size=31, d_model=32)
    measured = measure_recording(config, 11, repeats=1)
    assert measured.difference < 1e-5
    assert measured.tensors > measured.their_tensors == 12
    assert " 11 " in recording_table([measured])


def test_two_functions_take_turns() -> None:
    called: list[str] = []
    in_turn(lambda: called.append("a"), lambda: called.append("b"), repeats=2)
    assert "".join(called) == "ababab"


def test_training_is_compared_between_models_of_the_same_size() -> None:
    config = preset(
        "toy", src_vocab_size=VOCAB_SIZE, tgt_vocab_size=VOCAB_SIZE, d_model=32, norm_position="pre",
        final_norm=True,
    )  # fmt: skip
    sizes = [
        sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
        for model in (Transformer(config), TorchTranslator(config), MarianTranslator(config))
    ]
    assert sizes[0] == sizes[1]
    assert sizes[2] == pytest.approx(sizes[0], rel=0.02), "it has no final norms, and learns no bias there"
    measured = measure_training("float32", torch.device("cpu"), config, n_pairs=100, n_rounds=1)
    assert measured[0].name == "Headlight"
    assert len(measured) == 4
    assert all(row.tokens_per_second > 0 for row in measured)
    assert measured[0].times_ours == 1
    assert "MarianMTModel" in training_table(measured)


def test_random_batches_are_as_full_as_bucketed_ones(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path, random_pairs(500))
    longest = corpus.lengths().max(axis=0)
    groups = random_batches(corpus, tokens=300, seed=1)
    assert sorted(index for group in groups for index in group.tolist()) == list(range(500))
    assert all(longest[group].max() * len(group) <= 300 for group in groups)
    assert len(groups) > len(epoch_batches(corpus, tokens=300, seed=1, epoch=0))


def test_tables_say_what_never_was_painted() -> None:
    ours, theirs = Painted(512, 0.9, 450_000), Painted(512, None, 900_000_000, "not painted after 120 s")
    table = comparison_table([ours], [theirs])
    assert "900 ms" in table
    assert "not painted after 120 s" in table
    assert table.endswith("2000")
    view = AppView(
        d_model=256,
        sentence=ours,
        attention=ours,
        head=ours,
        layer=ours,
        fetched=None,
        hover=Hover(moved=0.012, told=0.004),
        page_bytes=1_000_000,
        memory=Memory(heap=30_000_000, tab=200_000_000),
    )
    row = app_table([view])
    assert "1.0 MB" in row


def test_the_viewer_is_judged_by_the_bertviz_of_the_same_size() -> None:
    memory = Memory(heap=1_000_000, tab=9_000_000)
    shown = Shown(
        place="notebook",
        layers=6,
        heads=8,
        opened=Painted(64, 0.1, 100_000),
        script_bytes=1,
        page_bytes=200_000,
        head=Painted(64, 0.01, 0),
        fetched=Painted(64, 0.02, 16_000),
        hover=Hover(moved=0.012, told=0.004),
        memory=memory,
    )
    theirs = [
        BertvizView("model_view", 6, 8, Painted(64, 3.0, 8_000_000), memory),
        BertvizView("head_view", 6, 8, Painted(64, 1.0, 4_000_000), memory),
        BertvizView("model_view", 6, 8, Painted(256, None, 141_000_000, "not painted after 120 s"), None),
    ]
    found = {target.name: target for target in targets([], [shown, replace(shown, place="app")], theirs)}
    missed = [name for name, target in found.items() if not target.is_met]
    where = "6 x 8 heads, 64 tokens: show_attention"
    assert list(found) == [
        f"{where}, {view}, {what}" for view in ("model_view", "head_view") for what in ("sooner", "smaller")
    ]
    assert missed == [f"{where}, head_view, sooner", f"{where}, head_view, smaller"]
    assert targets_table(list(found.values())).count("missed") == 2
    assert notebook_table([shown], theirs).split()[-2:] == ["10", "20"]
    assert shown_table([shown]).count("notebook") == 1


def test_tables_of_waiting() -> None:
    crowd = crowd_table([Crowd(people=20, sentences=120, median=0.2, slow=1.4, processor=0.18, opening=0.06)])
    assert crowd.split()[-10:] == ["20", "120", "200", "ms", "1.4", "s", "180", "ms", "60", "ms"]
    pages = first_page_table([FirstPage(1, frame=0.4, usable=2.8), FirstPage(2, frame=0.1, usable=0.5)])
    assert "400 ms" in pages
    assert pages.endswith("500 ms")
