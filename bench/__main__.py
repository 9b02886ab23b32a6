"""Measure Headlight and BertViz, print tables, write build/bench.json: `make bench`, a quarter of an hour."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from playwright.sync_api import Browser, sync_playwright
from tqdm import tqdm

from bench.browser.app_view import AppView, measure_app
from bench.browser.bertviz_view import VIEWS, measure_bertviz
from bench.browser.crowd import measure_crowd
from bench.browser.first_page import FirstPage, measure_first_page
from bench.browser.shown_attention import Shown, measure_all_at_once, measure_notebook
from bench.computing import measure_computing
from bench.decoding import VOCAB_SIZE, measure_decoding
from bench.inspecting import measure_inspecting
from bench.measurement import BertvizView, ViewName
from bench.opening import measure_opening
from bench.recording import measure_recording
from bench.report import TABLES
from bench.sentences import (
    D_MODELS,
    LENGTHS,
    N_HEADS,
    N_LAYERS,
    random_attention,
    random_model,
    sentence,
)
from bench.targets import targets
from bench.training import measure_training
from bench.viewer_report import comparison_table, notebook_table, targets_table
from scripts.browser import ROOT, launch_chromium, streamlit_server
from transformer.analysis.attention_maps import attention_maps
from transformer.device import choose_device
from transformer.model.config import TransformerConfig, preset
from transformer.run import run_sentence
from transformer.training.optimization.trainer import Precision
from viz.figures.chromium import find_chromium
from viz.viewer.frames import WHOLE

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

RESULTS = ROOT / "build" / "bench.json"
BERTVIZ_LIMIT_SECONDS = 120.0
BEAM_SIZES = (1, 4)
PRECISIONS: tuple[Precision, ...] = ("float32", "bfloat16")
RECORDED = [(name, n_tokens) for name in ("small", "base") for n_tokens in (16, 64, 256)]
SHOWN_LENGTHS = (64, 256)
LARGE = ((12, 12), (24, 16))
"""Layers and heads of BERT's base and large models."""
SIZES = [(n_tokens, d_model) for d_model in D_MODELS for n_tokens in LENGTHS]


def main() -> None:
    """Run everything, smallest first."""
    if find_chromium() is None:
        sys.exit("No Chromium on PATH: install it (Debian and Ubuntu: apt-get install chromium).")
    measured: dict[str, Sequence[DataclassInstance]] = {
        "inspecting": measure_inspecting(),
        "opening": measure_opening(),
        "recording": [measure_recording(recorded_config(name), n) for name, n in tqdm(RECORDED, "Recording")],
        "computing": [measure_computing(*size) for size in tqdm(SIZES, "Python alone")],
        "decoding": [measure_decoding(beam_size) for beam_size in tqdm(BEAM_SIZES, "Decoding")],
        "training": [
            speed
            for precision in tqdm(PRECISIONS, "Training")
            for speed in measure_training(precision, choose_device())
        ],
        "first_page": measure_opening_the_page(),
        "crowd": [measure_crowd()],
    }
    measured["headlight"] = app = measure_headlight()
    measured["shown"], measured["bertviz"] = shown, bertviz = measure_shown()
    ours = [view for view in app if view.d_model == D_MODELS[0]]
    grids = [
        next(view.opened for view in bertviz if view.opened.tokens == n_tokens and is_all_of_model(view))
        for n_tokens in LENGTHS
    ]
    print(f"\n{N_LAYERS} layers x {N_HEADS} heads, {os.cpu_count()} cores, {platform.platform()}\n")
    print(*[table(measured[name]) for name, table in TABLES.items()], sep="\n\n", end="\n\n")
    print(
        comparison_table([view.sentence for view in ours], grids),
        notebook_table(shown, bertviz),
        targets_table(targets(ours, shown, bertviz)),
        sep="\n\n",
    )
    write(RESULTS, measured)
    print(f"\nWritten to {RESULTS.relative_to(ROOT)}")


def recorded_config(name: str) -> TransformerConfig:
    """A preset with vocabularies as large as en-it's."""
    return preset(name, src_vocab_size=VOCAB_SIZE, tgt_vocab_size=VOCAB_SIZE)


def measure_opening_the_page() -> list[FirstPage]:
    """Open the app in browsers that have been started before the server."""
    with chromium() as browser, streamlit_server(ROOT / "app.py") as url:
        return [measure_first_page(browser, url, visitor) for visitor in (1, 2)]


def measure_headlight() -> list[AppView]:
    """Measure the app at all sizes, on one server."""
    with streamlit_server(ROOT / "app.py") as url:
        views = []
        for n_tokens, d_model in tqdm(SIZES, "Headlight"):
            with chromium() as browser:
                views.append(measure_app(browser, url, n_tokens, d_model))
        return views


def is_all_of_model(view: BertvizView) -> bool:
    """Whether a view of BertViz has what the grid has of the model that is measured."""
    return (view.view, view.layers, view.heads) == ("model_view", N_LAYERS, N_HEADS)


def measure_shown() -> tuple[list[Shown], list[BertvizView]]:
    """Measure `show_attention` and BertViz on the same tensors, and BertViz at the app's other lengths."""
    given = [encoder_attention(n_tokens) for n_tokens in SHOWN_LENGTHS]
    given += [random_attention(*size, SHOWN_LENGTHS[0]) for size in LARGE]
    ours, theirs = [], []
    for weights, tokens in tqdm(given, "show_attention"):
        for measure in (measure_notebook, measure_all_at_once)[: 2 if len(tokens) <= WHOLE else 1]:
            with chromium() as browser:
                ours.append(measure(browser, weights, tokens))
    for weights, tokens in tqdm(given, "BertViz"):
        theirs += [measure_theirs(view, weights, tokens) for view in VIEWS]
    for n_tokens in tqdm(sorted({*LENGTHS} - {*SHOWN_LENGTHS}), "BertViz"):
        theirs.append(measure_theirs("model_view", *encoder_attention(n_tokens)))
    return ours, theirs


def encoder_attention(n_tokens: int) -> tuple[torch.Tensor, list[str]]:
    """Weights (L, H, N, N) of the encoder, which Headlight's grid shows first, and N tokens."""
    run = run_sentence(random_model(D_MODELS[0]), sentence(n_tokens, 1), sentence(n_tokens, 2))
    weights = torch.from_numpy(attention_maps(run.trace, "encoder", "weights").values)
    return weights, list(run.trace.src_tokens[0])


def measure_theirs(view: ViewName, weights: torch.Tensor, tokens: list[str]) -> BertvizView:
    """Measure BertViz in a browser of its own."""
    with chromium() as browser:
        return measure_bertviz(browser, view, weights, tokens, BERTVIZ_LIMIT_SECONDS)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser that nothing has warmed up or filled."""
    path = find_chromium()
    assert path is not None
    with sync_playwright() as playwright:
        browser = launch_chromium(playwright, path)
        yield browser
        browser.close()


def write(path: Path, measured: Mapping[str, Sequence[DataclassInstance]]) -> None:
    """Write all figures, in seconds and bytes, with the machine and the versions they were measured on."""
    packages = ("streamlit", "plotly", "torch", "bertviz", "playwright", "transformers")
    results = {
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "platform": platform.platform(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
        },
        "versions": {name: version(name) for name in packages},
        "layers": N_LAYERS,
        "heads": N_HEADS,
    } | {name: [asdict(row) for row in rows] for name, rows in measured.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
