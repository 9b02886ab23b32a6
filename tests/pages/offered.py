"""Adds models made in a test to the picker of the whole app."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch

import viz.session
from transformer.checkpoints.folder import ModelSummary, open_saved, summarize
from transformer.checkpoints.places import shipped_models
from transformer.loaded import LoadedModel

TEXT = "Yesterday I saw the dog."
BATCH = "yesterday i saw the dog.\nthe cat\na cat saw the dog"


def offer(
    setattr_: Callable[[object, str, object], None], models: Mapping[str, Callable[[], LoadedModel]]
) -> None:
    """Let the picker offer these models before the shipped ones.

    Args:
        setattr_: sets an attribute, such as `monkeypatch.setattr`.
        models: functions that make the models, by name.
    """

    def opened(name: str, device: torch.device | None = None) -> LoadedModel:
        return models[name]() if name in models else open_saved(name, device)

    def summary(name: str) -> ModelSummary:
        if name not in models:
            return summarize(name)
        return ModelSummary((None, None), ("word", "word"), (13, 13), 9_000)

    setattr_(viz.session, "open_saved", opened)
    setattr_(viz.session, "summarize", summary)
    setattr_(viz.session, "shipped_models", lambda: [*models, *shipped_models()])
