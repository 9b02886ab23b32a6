"""Runs in the viewer's form, and the pieces of them that are sent on request."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tests.support.kinds import KINDS, config_of
from tests.support.models import tiny_model, tiny_subword_model
from tests.viz.mounted import unpack_frame
from transformer.loaded import LoadedModel
from transformer.run import Run, run_again, run_sentence
from viz.theme import PALETTES
from viz.viewer.choice import default_choice
from viz.viewer.frames import update_frame
from viz.viewer.viewer_run import AttentionView, ViewerRun, view_run

LIGHT = PALETTES["light"]
TEXT, TARGET = "the dog saw a cat , yesterday .", "ho visto il cane"
MODELS = KINDS | {"words": lambda: tiny_model(2), "sub-words": lambda: tiny_subword_model(2)}
DECODERS = [kind for kind, make in MODELS.items() if config_of(make).n_decoder_layers]


@cache
def viewed(kind: str) -> tuple[LoadedModel, Run, ViewerRun]:
    loaded = MODELS[kind]()
    run = run_sentence(loaded, TEXT, TARGET)
    other = tiny_model(3)

    def twin() -> ViewerRun:
        return view_run(run_again(other, run), other)

    others = {"random weights": twin} if kind == "words" else None
    return loaded, run, view_run(run, loaded, others, typed=(TEXT, TARGET))


def long_run(n_source: int, n_target: int) -> ViewerRun:
    """A run of exactly this many tokens on each side, including special tokens."""
    loaded = tiny_model(1, max_len=80)
    run = run_sentence(loaded, " ".join(["cat"] * (n_source - 1)), " ".join(["cane"] * (n_target - 1)))
    assert [len(tokens[0]) for tokens in (run.trace.src_tokens, run.trace.tgt_tokens)] == [n_source, n_target]
    return view_run(run, loaded)


def update(own: ViewerRun, *names: str) -> tuple[list[str], dict[str, NDArray[Any]]]:
    """The pieces sent in answer to this request, and their arrays."""
    data, arrays = unpack_frame(update_frame(own, default_choice(own), names))
    return data["pieces"], arrays


def assert_same(found: NDArray[Any], expected: NDArray[Any] | torch.Tensor) -> None:
    """Assert that the numbers are equal, bit for bit."""
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, np.asarray(expected))


def vectors_of(view: AttentionView, layer: int, head: int) -> dict[str, NDArray[Any]]:
    assert view.vectors is not None
    return dict(view.vectors(layer, head))
