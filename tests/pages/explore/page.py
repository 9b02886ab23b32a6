"""The run shown by Explore's viewer in a test."""

from __future__ import annotations

import numpy as np

from transformer.analysis.attention_maps import MODULES, Attention, attention_record
from transformer.checkpoints.opening import open_model
from transformer.run import Run, run_sentence

TEXT = "yesterday i saw a raccoon."


def explored(text: str = TEXT, target: str = "") -> Run:
    return run_sentence(open_model("toy-en-it"), text, target)


def weights_of(run: Run, attention: Attention) -> np.ndarray:
    n_layers = run.trace.n_layers(MODULES[attention][0])
    return np.stack([attention_record(run.trace, attention, i).weights[0].numpy() for i in range(n_layers)])
