"""Many variants of one run in few forward passes, and the answer of each to some questions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from transformer.analysis.interventions.questions import Question, suppressed_ids
from transformer.loaded import LoadedModel
from transformer.model.trace import Edit, Editor, Stack, Tap
from transformer.model_input import padded
from transformer.run import Run

Variant = Mapping[str, Edit]
"""Edits of a batch of one, by path; empty for the run itself."""
OnProgress = Callable[[int, int], None]
"""Called with the number of variants computed so far and in all; an exception ends the computation."""
MOST_LOGITS = 2**25
"""Most logits at once: 134 MB in float32."""
MOST_ROWS = 16
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
    # Those that begin to differ in the same layer share what comes before.
    order = sorted(range(len(variants)), key=lambda index: _first_layer(loaded, variants[index]))
    answers = torch.empty(len(variants), len(questions), dtype=torch.float64)
    for start in range(0, len(order), at_once):
        batch = order[start : start + at_once]
        logits = forward(loaded, run, [variants[index] for index in batch])[:, rows]
        answers[batch] = torch.stack([one.value(logits, suppressed) for one in inside], dim=-1).cpu()
        if on_progress is not None:
            on_progress(start + len(batch), len(order))
    return answers


def falls(
    loaded: LoadedModel,
    run: Run,
    variants: Sequence[Variant],
    questions: Sequence[Question],
    on_progress: OnProgress | None = None,
    *,
    n_draws: int = 1,
) -> Tensor:
    """How much each answer falls from the run's own, in the mean of each `n_draws` variants: (n, questions).

    float64; without variants, n is 0. A batch rounds otherwise than a single run, so the run itself is the
    first variant.
    """
    answers = outcomes(loaded, run, [{}, *variants], questions, on_progress)
    return answers[0] - answers[1:].unflatten(0, (len(variants) // n_draws, n_draws)).mean(dim=1)


@torch.inference_mode()
def forward(loaded: LoadedModel, run: Run, variants: Sequence[Variant]) -> Tensor:
    """The last output of each variant, as one batch: (variants, T, V or D).

    What comes before the first edited layer is computed once.
    """
    src, tgt = (
        None if read is None else padded(loaded, [read.ids])
        for read in (run.encoder_input, run.decoder_input)
    )
    first = min((_first_layer(loaded, variant) for variant in variants), default=0)
    widened = _Widening(_widening_paths(loaded, first), len(variants), Editor(by_row(variants)))
    output: Tensor = loaded.model(src, tgt, tap=widened)
    return output


def _first_stack(loaded: LoadedModel) -> tuple[Stack, int]:
    """The stack that runs first, and its number of layers."""
    config = loaded.model.config
    if config.n_encoder_layers:
        return "encoder", config.n_encoder_layers
    return "decoder", config.n_decoder_layers


def _first_layer(loaded: LoadedModel, variant: Variant) -> int:
    """The first layer of the first stack that a variant changes; the number of layers if it changes none."""
    stack, n_layers = _first_stack(loaded)
    before = ("src_embedding.",) if stack == "encoder" else ("tgt_embedding.",)
    first = n_layers
    for path in variant:
        parts = path.split(".")
        if path.startswith(before):
            return 0
        if parts[:2] == [stack, "layers"]:
            first = min(first, int(parts[2]))
    return first


def _widening_paths(loaded: LoadedModel, layer: int) -> set[str]:
    """Where a batch of one becomes one of many: before a layer of the first stack, and at the target."""
    stack, n_layers = _first_stack(loaded)
    last = (
        "final_norm.result"
        if loaded.model.config.ends_with_norm(stack)
        else f"layers.{n_layers - 1}.resid_post"
    )
    paths = {f"{stack}.layers.{layer}.resid_pre" if layer < n_layers else f"{stack}.{last}"}
    return paths | {"tgt_embedding.out"} if loaded.model.config.kind == "encoder-decoder" else paths


class _Widening:
    """Repeats the only row of a batch n times at some paths, and passes all tensors on."""

    def __init__(self, paths: set[str], n: int, tap: Tap, scope: str = "") -> None:
        self._paths, self._n, self._tap, self._scope = paths, n, tap, scope

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        if self._scope + name in self._paths and len(tensor) == 1:
            tensor = tensor.expand(self._n, *tensor.shape[1:])
        return self._tap(name, tensor)

    def at(self, scope: str | int) -> Tap:
        inner, scope_path = self._tap.at(scope), f"{self._scope}{scope}."
        if not any(path.startswith(scope_path) for path in self._paths):
            return inner
        return _Widening(self._paths, self._n, inner, scope_path)


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
