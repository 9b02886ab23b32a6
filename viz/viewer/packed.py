"""A run as a page has it: packed for its script, with what there is to say of what is in it."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from viz.components.shared.frame import color_data, pack_frame
from viz.theme import PALETTES
from viz.viewer.choice import Choice
from viz.viewer.contents import Contents, Scope, contents, shuffled
from viz.viewer.frames import closed, run_data, update_frame
from viz.viewer.held_run import HeldRun

ABSENT = "Not in this file. Choose it in Headlight and save again, and it will be."
"""What is said in the place of a picture whose numbers the file does not have."""
RUNS_IN_FULL = 10
"""As many runs have as much room in a page as each would have in one of its own; more share it."""


@dataclass(frozen=True, eq=False)
class PackedRun:
    """A run with everything that a page has of it; it holds no tensor.

    Attributes:
        data: what the viewer begins with, as text.
        choices: what is chosen, each time that the run is shown, as texts.
        sizes: of the model and its input, in words.
        notes: what the page has of the run and what it has not, in sentences.
    """

    data: str
    choices: tuple[str, ...]
    sizes: str
    notes: tuple[str, ...]


def pack_run(
    held: HeldRun, choices: Sequence[Choice], *, around: int, everything: bool = False, runs: int = 1
) -> PackedRun:
    """Pack a run for a page.

    Args:
        held: the run.
        choices: what is chosen, each time that the run is shown: of that the page has most.
        around: bytes of the page without its runs.
        everything: put all numbers in exactly, whatever the size.
        runs: how many the page has.
    """
    share = min(1.0, RUNS_IN_FULL / runs)
    inside = contents(held, choices, around=around // runs, everything=everything, share=share)
    return PackedRun(
        data=_as_text(gzip.compress(_run_frame(inside), 6, mtime=0)),
        choices=tuple(_as_text(update_frame(inside.held, choice)) for choice in inside.choices),
        sizes=_sizes(held),
        notes=tuple(_notes(inside)),
    )


def _as_text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _run_frame(inside: Contents) -> bytes:
    data = run_data(inside.held, PALETTES["light"]) | {
        "whole": inside.whole,
        "rounded": list(inside.rounded),
        "absent": ABSENT,
        "palettes": {name: color_data(theme) for name, theme in PALETTES.items()},
    }
    arrays = closed(inside.held) | inside.arrays
    return pack_frame(data, {name: shuffled(array) for name, array in arrays.items()})


def _sizes(held: HeldRun) -> str:
    families = held.families.values()
    layers = " + ".join(str(family.n_layers) for family in families if family.queries == family.keys)
    heads = max(family.n_heads for family in families)
    tokens = " and ".join(str(len(side.tokens)) for side in held.sides.values())
    return f"{layers} layers of {heads} heads · {tokens} tokens"


def _notes(inside: Contents) -> Iterator[str]:
    level = inside.level
    if level.exact == "all":
        yield f"Every {_and_score(inside, '')} is the float32 number that the model computed."
    else:
        exact = f"The {_and_score(inside, 's')} of {_named(inside, level.exact)}"
        yield f"{exact} are the float32 numbers that the model computed. {_of_the_rest(inside)}"
    if any(family.vectors for family in inside.held.families.values()) and level.vectors != "all":
        yield f"The vectors in this file (q, k, v, z) are those of {_named(inside, level.vectors)}."


def _has_scores(inside: Contents) -> bool:
    return any(family.scores for family in inside.held.families.values())


def _and_score(inside: Contents, ending: str) -> str:
    return f"weight{ending} and score{ending}" if _has_scores(inside) else f"weight{ending}"


def _of_the_rest(inside: Contents) -> str:
    if inside.whole:
        scores = ", and the other scores are not in this file" if _has_scores(inside) else ""
        return f"All other weights are rounded to 4 decimals{scores}."
    rounded = " The other heads of that layer are rounded to 4 decimals." if inside.rounded else ""
    return f"Of the others it has the map in the grid.{rounded}"


def _named(inside: Contents, scope: Scope) -> str:
    return "; ".join(dict.fromkeys(_place(inside, choice, scope) for choice in inside.choices))


def _place(inside: Contents, choice: Choice, scope: Scope) -> str:
    family = inside.held.families[choice.attention].label
    attention = family[0].lower() + family[1:]
    each = "each attention" if len(inside.held.families) > 1 else f"the {attention}"
    head = f"layer {choice.layer}, head {choice.head}"
    return {
        "head": f"{head} of the {attention}",
        "heads": f"{head} of {each}",
        "layer": f"layer {choice.layer} of the {attention}",
        "layers": f"layer {choice.layer} of {each}",
        "all": "every attention",
    }[scope]
