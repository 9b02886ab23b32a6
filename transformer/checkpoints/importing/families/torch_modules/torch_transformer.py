"""torch.nn.Transformer, or only its encoder or decoder, bare or inside a user's own module.

Queries, keys and values are packed into one matrix. The number of heads, the norm position and the activation
are arguments of the module and not in its state dict: they are asked for.
"""

from __future__ import annotations

from dataclasses import replace

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.torch_modules._arranging import arrange, arrange_as_answered
from transformer.checkpoints.importing.family import Family
from transformer.checkpoints.importing.layout.shipped import family

_IN_FILE = family("_torch_transformer")


def _read_config(draft: ConfigDraft) -> Family | None:
    draft.raw = arrange_as_answered(draft.raw, draft.ask)
    return _IN_FILE.read_config(draft)


FAMILY = replace(_IN_FILE, arrange=arrange, read_config=_read_config, resolved=None)
