"""The direct effect of each head: through the residual stream alone, with all later sublayers as they were.

Where it exceeds the total effect (`heads.head_effects`), later layers make up for the missing head
("self-repair", Rushing and Nanda 2024, arXiv:2402.15390).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from transformer.analysis.attention_maps import MODULES
from transformer.analysis.interventions.edits import held
from transformer.analysis.interventions.heads import HeadPlace, Switch, head_places
from transformer.analysis.interventions.outcomes import OnProgress, Variant, falls
from transformer.analysis.interventions.questions import Question
from transformer.analysis.residual import addition_path
from transformer.loaded import LoadedModel
from transformer.model.config import TransformerConfig
from transformer.model.trace import Trace
from transformer.run import Run


def direct_effects(
    loaded: LoadedModel,
    run: Run,
    questions: Sequence[Question],
    switch: Switch,
    on_progress: OnProgress | None = None,
) -> Tensor:
    """How much each answer falls without each head's direct path: (heads, questions) float64.

    What later sublayers add is held at its recorded value (path patching); norms of the stream itself are
    computed again. Heads are as in `head_places`; NaN for those that `has_direct_path` excludes.
    """
    config = loaded.model.config
    is_direct = [has_direct_path(config, place) for place in head_places(config)]
    places = [place for place in head_places(config) if has_direct_path(config, place)]
    variants = [variant for place in places for variant in _variants(config, run, place, switch)]
    effects = torch.full((len(is_direct), len(questions)), math.nan, dtype=torch.float64)
    effects[is_direct] = falls(loaded, run, variants, questions, on_progress, n_draws=switch.n_draws)
    return effects


def has_direct_path(config: TransformerConfig, place: HeadPlace) -> bool:
    """False for the encoder of an encoder-decoder: it reaches the output through cross-attention alone."""
    return config.kind != "encoder-decoder" or place.attention != "encoder"


def _variants(config: TransformerConfig, run: Run, place: HeadPlace, switch: Switch) -> list[Variant]:
    """The variants in which the head is off, and no later sublayer reacts."""
    fixed = {path: held(run.trace[path]) for path in _later_additions(config, run.trace, place)}
    return [{**variant, **fixed} for variant in switch.off([place])]


def _later_additions(config: TransformerConfig, trace: Trace, place: HeadPlace) -> list[str]:
    """The paths of what the sublayers after a head's add to the stream."""
    stack, _ = MODULES[place.attention]
    end = addition_path(config, "")
    additions = [path for path in trace if path.startswith(f"{stack}.layers.") and path.endswith(end)]
    own = addition_path(config, place.path.removesuffix(".z"))
    return additions[additions.index(own) + 1 :]
