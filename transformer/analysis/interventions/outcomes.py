"""Many variants of one run in few forward passes, and the answer of each to some questions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from transformer.analysis.interventions.questions import Question, suppressed_ids
from transformer.loaded import LoadedModel
from transformer.model.trace import Edit, Editor
from transformer.model_input import padded
from transformer.run import Run

Variant = Mapping[str, Edit]
"""Edits of a batch of one, by path; empty for the run itself."""
OnProgress = Callable[[int, int], None]
"""Called with the number of variants computed so far and in all; an exception ends the computation."""
MOST_LOGITS = 2**25
"""Most logits at once: 134 MB in float32."""
MOST_ROWS = 64
"""Most variants at once: more gain nothing, and progress is shown after each batch."""


def outcomes(
    loaded: LoadedModel,
    run: Run,
    variants: Sequence[Variant],
    questions: Sequence[Question],
    on_progress: OnProgress | None = None,
) -> Tensor:
    """The answers of each variant: (variants, questions) float64, on the CPU.

    All variants read the run's own source and target.

    Raises:
        ValueError: an edit changes the shape of its tensor.
    """
    suppressed = suppressed_ids(loaded, run)
    rows = sorted({row for question in questions for row in question.rows})
    place = {row: i for i, row in enumerate(rows)}
    inside = [
        Question(one.label, tuple(place[row] for row in one.rows), one.ids, one.rival_id) for one in questions
    ]
    n_tokens, width = run.trace["logits"].shape[-2:]
    at_once = max(1, min(MOST_ROWS, MOST_LOGITS // (n_tokens * width)))
    found = []
    for start in range(0, len(variants), at_once):
        batch = variants[start : start + at_once]
        logits = forward(loaded, run, batch)[:, rows]
        found.append(torch.stack([one.value(logits, suppressed) for one in inside], dim=-1).cpu())
        if on_progress is not None:
            on_progress(start + len(batch), len(variants))
    return torch.cat(found) if found else torch.empty(0, len(questions), dtype=torch.float64)


@torch.inference_mode()
def forward(loaded: LoadedModel, run: Run, variants: Sequence[Variant]) -> Tensor:
    """The last output of each variant, as one batch: (variants, T, V or D)."""
    n = len(variants)
    src, tgt = (
        None if read is None else padded(loaded, [read.ids]).expand(n, -1)
        for read in (run.encoder_input, run.decoder_input)
    )
    output: Tensor = loaded.model(src, tgt, tap=Editor(by_row(variants)))
    return output


def by_row(variants: Sequence[Variant]) -> dict[str, Edit]:
    """One edit per path that applies each variant's function to its row of the batch."""
    rows: dict[str, list[tuple[int, Edit]]] = defaultdict(list)
    for row, variant in enumerate(variants):
        for path, edit in variant.items():
            rows[path].append((row, edit))
    return {path: _in_rows(path, own, len(variants)) for path, own in rows.items()}


def _in_rows(path: str, edits: Sequence[tuple[int, Edit]], n: int) -> Edit:
    def edit(tensor: Tensor) -> Tensor:
        if len(tensor) < n:  # shared by the whole batch, as positions are
            tensor = tensor.expand(n, *tensor.shape[1:]).clone()
        for row, own in edits:
            before = tensor[row : row + 1]
            after = own(before)
            if after.shape != before.shape:
                raise ValueError(
                    f"The edit of {path} changed its shape from {tuple(before.shape)} to "
                    f"{tuple(after.shape)}: it must keep it."
                )
            tensor[row : row + 1] = after
        return tensor

    return edit
