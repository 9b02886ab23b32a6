"""Headlight's own folders: names, shapes and config.json are already the model's."""

from __future__ import annotations

from dataclasses import fields

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.family import Family
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.errors import CheckpointError
from transformer.model.config import ConfigError, TransformerConfig

_REQUIRED = {"d_model", "n_heads", "n_encoder_layers", "n_decoder_layers"}


def matches(raw: RawCheckpoint) -> bool:
    """True if config.json is one of ours."""
    return raw.json("config.json").keys() >= _REQUIRED


def read_config(draft: ConfigDraft) -> None:
    """Fill in the configuration as saved.

    Raises:
        CheckpointError: when it is invalid, or answers were given.
    """
    if draft.answers:
        raise CheckpointError(
            "There is nothing to ask about a model of Headlight's own: open it without answers."
        )
    raw = draft.raw
    told = raw.json("config.json")
    try:
        config = TransformerConfig.from_dict(told)
    except ConfigError as error:
        raise CheckpointError(f"{raw.path / 'config.json'}: {error}") from error
    for field in fields(config):
        value = getattr(config, field.name)
        if field.name in told:
            draft.configured(field.name, value, field.name)
        else:
            draft.put(field.name, value, "layout", "what models had before it was a choice")


FAMILY = Family(
    name="headlight",
    label="Headlight",
    matches=matches,
    read_config=read_config,
    renames=None,
)
