"""Local attention in a config.json of Hugging Face's transformers: max_len ends where a window begins."""

from __future__ import annotations

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.foreign_config import ForeignConfig
from transformer.errors import CheckpointError, shown

_ATTENTION_TYPES = ("full_attention", "sliding_attention")


def shorten(draft: ConfigDraft, config: ForeignConfig, usual: int) -> None:
    """Fill in max_len: at most the window, so that local attention sees the whole text.

    Args:
        draft: with max_len.
        config: config.json.
        usual: the family's window; 0 for none.

    Raises:
        CheckpointError: for types of layers that Headlight does not know.
    """
    positions = draft["max_len"]
    left_out = config.leaves_out("sliding_window") and usual
    window = usual if left_out else config.integer("sliding_window", positions)
    layers = config.get("layer_types", ["sliding_attention"])
    if not isinstance(layers, list) or any(kind not in _ATTENTION_TYPES for kind in layers):
        raise CheckpointError(
            f"config.json says layer_types {shown(layers)}: Headlight does not know them all."
        )
    if window < positions and "sliding_attention" in layers and config.get("use_sliding_window", True):
        draft.configured("max_len", window, "sliding_window; longer texts would need the window")
