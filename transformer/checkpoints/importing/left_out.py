"""Tensors that the model has no part for: heads for other tasks are recognised, the others asked about."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.report import LEFT_OUT, KeyProblem, KeyReport
from transformer.checkpoints.reading.raw import LAYER_NUMBER
from transformer.errors import CheckpointError, shown

HEAD = "By its shape a head for another task: it reads the hidden states, and nothing in the model reads it."

_IGNORE, _REFUSE = "ignore", "refuse"
_IN_LAYER = re.compile(rf"((?:.*?\.)?){LAYER_NUMBER}\.")
_NUMBER = re.compile(r"(?<![^.])[0-9]+(?![^.])")
_MOST_NAMES = 6
_MOST_COMPARED = 200
"""Most tensors among which heads are looked for: more are another model's."""

Shapes = Mapping[str, tuple[int, ...]]


def task_heads(spare: Shapes, used: Iterable[str], width: int, taken: Iterable[int]) -> set[str]:
    """Names of spare tensors that can only be heads for other tasks, which change no number of the model.

    These are linear layers outside the layers, each with its bias, that lead from the hidden states (or from
    another such head) to a width that nothing else has. If any other spare tensor has that width as well,
    nothing is certain, and there are none.

    Args:
        spare: tensors without a part in the model, with their shapes.
        used: names of the tensors that the model uses.
        width: size of the hidden states.
        taken: other sizes in the model, such as those of the vocabularies.
    """
    layers = {_stack(name) for name in used} - {None}
    outside = {name: shape for name, shape in spare.items() if _stack(name) not in layers}
    if len(outside) > _MOST_COMPARED:
        return set()
    own, reached, heads = {width, *taken}, {width}, set[str]()
    for _ in outside:
        before = len(heads)
        for name, shape in outside.items():
            bias = name.removesuffix("weight") + "bias"
            is_linear = name.endswith("weight") and len(shape) == 2 and outside.get(bias) == shape[:1]
            if is_linear and shape[1] in reached and shape[0] not in own:
                heads |= {name, bias}
                reached.add(shape[0])
            elif len(shape) == 1 and shape[0] in reached - own:
                heads.add(name)
        if len(heads) == before:
            break
    rest = {size for name, shape in spare.items() if name not in heads for size in shape}
    return set() if rest & (reached - own) else heads


def _stack(name: str) -> str | None:
    """The part of a name before a layer's number; None without a number."""
    match = _IN_LAYER.match(name)
    return match and match[1]


def ask_left_out(draft: ConfigDraft, answers: Mapping[str, Any], label: str, keys: KeyReport) -> None:
    """Ask whether to open the model without the tensors that it has no part for, if there are any.

    Raises:
        CheckpointError: if the answer is no, or if there is nothing to answer.
    """
    if not keys.unexpected or not keys.fits:
        if LEFT_OUT in answers and keys.fits:
            raise CheckpointError(
                f"There is no question {shown(LEFT_OUT)} about this model: every tensor is used or explained."
            )
        return
    draft.answers = answers
    names = _listed(keys.unexpected)
    value = draft.ask(
        LEFT_OUT,
        f"{label} has no part for {names}. Open it without them?",
        "If they belong to the model, it computes something else, and its numbers are wrong. If a trainer or "
        "another task left them in the files, nothing is lost.",
        {_IGNORE: "yes: leave them out", _REFUSE: "no: don't open the model"},
    )
    if value == _REFUSE:
        raise CheckpointError(
            f"The files hold tensors that {label} has no part for: {names}. Describe the layout in a mapping "
            f"file, or answer {LEFT_OUT}={_IGNORE} to open the model without them."
        )


def _listed(problems: Iterable[KeyProblem]) -> str:
    """Names with {} for numbers, each with how often it occurs."""
    counts = Counter(_NUMBER.sub("{}", problem.name) for problem in problems)
    listed = [shown(name) + (f" ({n} times)" if n > 1 else "") for name, n in counts.most_common(_MOST_NAMES)]
    more = len(counts) - len(listed)
    return ", ".join(listed) + (f" and {more} more" if more else "")
