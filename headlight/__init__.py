"""See what happens inside a Transformer, from notebooks and scripts.

>>> import headlight
>>> model = headlight.open("en-it")  # or the path of your own checkpoint
>>> run = headlight.run(model, "I saw a cat.")
>>> run.attention("cross", layer=1, head=0)  # a DataFrame with the tokens on both axes
>>> headlight.plot_attention(run, "cross", layer=1, head=0)
>>> headlight.show(run)  # all attention, to click through, in a notebook

Everything is imported on first use: PyTorch takes a second.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headlight.explaining import Why as Why
    from headlight.explaining import why as why
    from headlight.inspection import Report as Report
    from headlight.inspection import inspect as inspect
    from headlight.lessons import lesson as lesson
    from headlight.opening import open as open
    from headlight.plots.attention import plot_all_heads as plot_all_heads
    from headlight.plots.attention import plot_attention as plot_attention
    from headlight.plots.attention import plot_dot_product as plot_dot_product
    from headlight.plots.attention import plot_layer as plot_layer
    from headlight.plots.came_from import plot_pictures as plot_pictures
    from headlight.plots.came_from import plot_source_share as plot_source_share
    from headlight.plots.comparing import plot_changes as plot_changes
    from headlight.plots.comparing import plot_tensors as plot_tensors
    from headlight.plots.decoding import plot_confidence as plot_confidence
    from headlight.plots.decoding import plot_next_tokens as plot_next_tokens
    from headlight.plots.decoding import plot_reliability as plot_reliability
    from headlight.plots.decoding import plot_steps as plot_steps
    from headlight.plots.decoding import plot_targets as plot_targets
    from headlight.plots.masks import plot_batch as plot_batch
    from headlight.plots.masks import plot_mask as plot_mask
    from headlight.plots.masks import plot_softmax as plot_softmax
    from headlight.plots.norms import plot_norm as plot_norm
    from headlight.plots.norms import plot_norm_parameters as plot_norm_parameters
    from headlight.plots.norms import plot_norm_values as plot_norm_values
    from headlight.plots.norms import plot_residual as plot_residual
    from headlight.plots.positions import plot_embedding_sizes as plot_embedding_sizes
    from headlight.plots.positions import plot_encoding as plot_encoding
    from headlight.plots.positions import plot_encoding_curves as plot_encoding_curves
    from headlight.plots.positions import plot_position_bias as plot_position_bias
    from headlight.plots.positions import plot_position_similarity as plot_position_similarity
    from headlight.plots.positions import plot_rotary_angles as plot_rotary_angles
    from headlight.plots.positions import plot_rotary_products as plot_rotary_products
    from headlight.plots.positions import plot_rotary_wavelengths as plot_rotary_wavelengths
    from headlight.plots.positions import plot_similarity_by_offset as plot_similarity_by_offset
    from headlight.plots.positions import plot_wavelengths as plot_wavelengths
    from headlight.plots.training import plot_training as plot_training
    from headlight.plots.why import plot_effects as plot_effects
    from headlight.plots.why import plot_heads_kept as plot_heads_kept
    from headlight.plots.why import plot_logit_sum as plot_logit_sum
    from headlight.plots.why import plot_patches as plot_patches
    from headlight.plots.why import plot_roles as plot_roles
    from headlight.plots.why import plot_score_sum as plot_score_sum
    from headlight.runs import Batch as Batch
    from headlight.runs import Run as Run
    from headlight.runs import run as run
    from headlight.runs import run_batch as run_batch
    from headlight.viewing import show as show
    from headlight.viewing import show_attention as show_attention
    from headlight.widget import AttentionWidget as AttentionWidget
    from transformer.analysis.alignment.aligning import Alignment as Alignment
    from transformer.analysis.alignment.aligning import align as align
    from transformer.analysis.interventions import edits as edits
    from transformer.analysis.roles.analysis import analyze as analyze
    from transformer.errors import AlignmentError as AlignmentError
    from transformer.errors import CheckpointError as CheckpointError
    from transformer.errors import EditError as EditError
    from transformer.errors import SentenceError as SentenceError
    from viz.figures.export import number_table as number_table

_HOMES = {
    "headlight.inspection": ("Report", "inspect"),
    "headlight.lessons": ("lesson",),
    "headlight.opening": ("open",),
    "headlight.plots.attention": ("plot_all_heads", "plot_attention", "plot_dot_product", "plot_layer"),
    "headlight.plots.came_from": ("plot_pictures", "plot_source_share"),
    "headlight.plots.comparing": ("plot_changes", "plot_tensors"),
    "headlight.plots.decoding": (
        "plot_confidence",
        "plot_next_tokens",
        "plot_reliability",
        "plot_steps",
        "plot_targets",
    ),
    "headlight.plots.masks": ("plot_batch", "plot_mask", "plot_softmax"),
    "headlight.plots.norms": ("plot_norm", "plot_norm_parameters", "plot_norm_values", "plot_residual"),
    "headlight.plots.positions": (
        "plot_embedding_sizes",
        "plot_encoding",
        "plot_encoding_curves",
        "plot_position_bias",
        "plot_position_similarity",
        "plot_rotary_angles",
        "plot_rotary_products",
        "plot_rotary_wavelengths",
        "plot_similarity_by_offset",
        "plot_wavelengths",
    ),
    "headlight.plots.training": ("plot_training",),
    "headlight.plots.why": (
        "plot_effects",
        "plot_heads_kept",
        "plot_logit_sum",
        "plot_patches",
        "plot_roles",
        "plot_score_sum",
    ),
    "headlight.runs": ("Batch", "Run", "run", "run_batch"),
    "headlight.viewing": ("show", "show_attention"),
    "headlight.explaining": ("Why", "why"),
    "headlight.widget": ("AttentionWidget",),
    "transformer.analysis.alignment.aligning": ("Alignment", "align"),
    "transformer.analysis.interventions": ("edits",),
    "transformer.analysis.roles.analysis": ("analyze",),
    "transformer.errors": ("AlignmentError", "CheckpointError", "EditError", "SentenceError"),
    "viz.figures.export": ("number_table",),
}
"""The module of each public name; the imports above repeat this for type checkers and editors."""
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"headlight has no {name!r}; it has {', '.join(sorted(_HOME_OF))}.")
    home = importlib.import_module(_HOME_OF[name])
    if not hasattr(home, name):  # a module
        importlib.import_module(f"{_HOME_OF[name]}.{name}")
    value = getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *_HOME_OF]
