"""A model whose runs are edited: everything that runs a model, decoding included, runs the edited one."""

from __future__ import annotations

import copy
import difflib
from collections.abc import Mapping

from torch import Tensor

from transformer.analysis.interventions.edits import AnyEdit, ReadyEdit, bound
from transformer.analysis.variants import Recomputing
from transformer.errors import EditError
from transformer.loaded import LoadedModel
from transformer.model.trace import NO_TAP, Edit, Editor, Tap
from transformer.run import Run, force, generate, read, run_sentence


class EditedTransformer(Recomputing):
    """A view of a model that applies edits in every forward; both share all modules.

    Each decoding step recomputes the whole target, so edits see all its positions.
    """

    edits: Mapping[str, Edit]

    def encode(self, src: Tensor, mask: Tensor, tap: Tap = NO_TAP) -> Tensor:
        """As in `Transformer`, with edits."""
        return super().encode(src, mask, Editor(self.edits, tap))

    def _decode(
        self, tgt: Tensor, memory: Tensor | None, memory_mask: Tensor | None, tap: Tap = NO_TAP
    ) -> Tensor:
        return super()._decode(tgt, memory, memory_mask, Editor(self.edits, tap))

    def propose(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        """As in `Transformer`, with edits."""
        return super().propose(x, Editor(self.edits, tap))


def edited_model(loaded: LoadedModel, edits: Mapping[str, Edit]) -> LoadedModel:
    """A view of a model that applies these functions, by path, in every forward.

    The model itself is not changed. A path that the model doesn't have is not noticed here; see `edited_run`.
    """
    model = copy.copy(loaded.model)
    model.__class__ = EditedTransformer
    assert isinstance(model, EditedTransformer)
    model.edits = dict(edits)
    return loaded.with_weights(model)


def edited_run(
    loaded: LoadedModel, text: str, edits: Mapping[str, AnyEdit], target: str = "", *, top_k: int = 5
) -> Run:
    """Run a sentence with edits, and generate its target with them unless one is given.

    Args:
        loaded: the model.
        text: the typed source or prompt.
        edits: path -> a function that maps the tensor to one of the same shape, or an edit of
            `transformer.analysis.interventions.edits`.
        target: the typed target; see `run_sentence`.
        top_k: number of best next tokens recorded at each step.

    Raises:
        EditError: for a path that no tensor of the run has, or an edit that doesn't fit its tensor.
        SentenceError: for a sentence that can't be run.
    """
    functions = bound(edits, loaded)
    edited = edited_model(loaded, functions) if edits else loaded
    run = run_sentence(edited, text, target, top_k=top_k)
    check_reached(run, functions, edits)
    return run


def rewritten(loaded: LoadedModel, run: Run, edits: Mapping[str, AnyEdit], *, top_k: int = 5) -> Run:
    """The run of the same source with edits: its target is generated again.

    Raises:
        EditError: see `edited_run`.
    """
    functions = bound(edits, loaded)
    edited = edited_model(loaded, functions)
    config = loaded.model.config
    if run.decoder_input is None:
        again = read(edited, run.source, top_k=top_k)
    elif config.has_generator:
        again = generate(edited, run.source, top_k=top_k)
    else:
        again = force(edited, run.source, run.target, top_k=top_k, ends=run.finished)
    check_reached(again, functions, edits)
    return again


def check_reached(run: Run, functions: Mapping[str, Edit], edits: Mapping[str, AnyEdit]) -> None:
    """Check that every edit changed a tensor of the run.

    Raises:
        EditError: one did not; the message says why.
    """
    for path in functions:
        if path not in run.trace:
            near = difflib.get_close_matches(path, run.trace, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise EditError(f"The model has no tensor {path}, so the edit changed nothing.{hint}")
    for path, edit in edits.items():
        if isinstance(edit, ReadyEdit):
            edit.check(path, run.trace[path])
