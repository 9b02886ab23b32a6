"""A run packed for the script of a page, with notes on what the page contains."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from viz.components.shared.frame import color_data, pack_frame
from viz.theme import PALETTES
from viz.viewer.choice import Choice
from viz.viewer.contents import Contents, Scope, contents, shuffled
from viz.viewer.frames import closed_arrays, run_data, update_frame
from viz.viewer.viewer_run import ViewerRun

ABSENT = "Not in this file. Choose it in Headlight and save again, and it will be."
"""Shown in place of a picture whose numbers the file does not contain."""
RUNS_IN_FULL = 10
"""Number of runs up to which each has as much room as in a page of its own; more runs share that room."""


@dataclass(frozen=True, eq=False)
class PackedRun:
    """Everything that a page needs of a run, without its tensors.

    Attributes:
        data: the viewer's first frame, in base64.
        choices: an update frame for each time that the run is shown, in base64.
        sizes: the sizes of the model and its input, in words.
        notes: sentences on what the page contains of the run and what it lacks.
    """

    data: str
    choices: tuple[str, ...]
    sizes: str
    notes: tuple[str, ...]


def pack_run(
    run: ViewerRun, choices: Sequence[Choice], *, overhead: int, everything: bool = False, runs: int = 1
) -> PackedRun:
    """Pack a run for a page.

    Args:
        run: the run.
        choices: one for each time that the run is shown; these selections are stored most completely.
        overhead: bytes of the page without its runs.
        everything: store all numbers exactly, whatever the size.
        runs: the number of runs in the page.
    """
    share = min(1.0, RUNS_IN_FULL / runs)
    inside = contents(run, choices, overhead=overhead // runs, everything=everything, share=share)
    return PackedRun(
        data=_base64(gzip.compress(_run_frame(inside), 6, mtime=0)),
        choices=tuple(_base64(update_frame(inside.run, choice)) for choice in inside.choices),
        sizes=_sizes(run),
        notes=tuple(_notes(inside)),
    )


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _run_frame(inside: Contents) -> bytes:
    data = run_data(inside.run, PALETTES["light"]) | {
        "whole": inside.has_all_weights,
        "rounded": list(inside.rounded),
        "absent": ABSENT,
        "palettes": {name: color_data(theme) for name, theme in PALETTES.items()},
    }
    arrays = closed_arrays(inside.run) | inside.arrays
    return pack_frame(data, {name: shuffled(array) for name, array in arrays.items()})


def _sizes(run: ViewerRun) -> str:
    views = run.attentions.values()
    layers = " + ".join(str(view.n_layers) for view in views if view.queries == view.keys)
    heads = max(view.n_heads for view in views)
    tokens = " and ".join(str(len(side.tokens)) for side in run.sides.values())
    return f"{layers} layers of {heads} heads · {tokens} tokens"


def _notes(inside: Contents) -> Iterator[str]:
    level, views = inside.level, inside.run.attentions.values()
    has_scores = any(view.scores for view in views)
    if level.exact == "all":
        number = "weight and score" if has_scores else "weight"
        yield f"Every {number} is the float32 number that the model computed."
    else:
        numbers = "weights and scores" if has_scores else "weights"
        yield (
            f"The {numbers} of {_named(inside, level.exact)} are the float32 numbers that the model "
            f"computed. {_on_the_rest(inside, has_scores=has_scores)}"
        )
    if any(view.vectors for view in views) and level.vectors != "all":
        yield f"The vectors in this file (q, k, v, z) are those of {_named(inside, level.vectors)}."


def _on_the_rest(inside: Contents, *, has_scores: bool) -> str:
    if inside.has_all_weights:
        scores = ", and the other scores are not in this file" if has_scores else ""
        return f"All other weights are rounded to 4 decimals{scores}."
    rounded = " The other heads of that layer are rounded to 4 decimals." if inside.rounded else ""
    return f"For the other heads it has only the maps in the grid.{rounded}"


def _named(inside: Contents, scope: Scope) -> str:
    return "; ".join(dict.fromkeys(_place(inside, choice, scope) for choice in inside.choices))


def _place(inside: Contents, choice: Choice, scope: Scope) -> str:
    label = inside.run.attentions[choice.attention].label
    attention = label[0].lower() + label[1:]
    each = "each attention" if len(inside.run.attentions) > 1 else f"the {attention}"
    head = f"layer {choice.layer}, head {choice.head}"
    return {
        "head": f"{head} of the {attention}",
        "heads": f"{head} of {each}",
        "layer": f"layer {choice.layer} of the {attention}",
        "layers": f"layer {choice.layer} of {each}",
        "all": "every attention",
    }[scope]
