"""The gradient norm of the loss at each layer of a stack."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from transformer.loaded import LoadedModel
from transformer.model.trace import Stack, Tap
from transformer.model_input import padded
from transformer.run import Run


class _Points:
    """A tap that stores the residual stream at the start of each layer, attached to the graph."""

    def __init__(self, scope: str = "", kept: dict[str, Tensor] | None = None) -> None:
        self.kept: dict[str, Tensor] = {} if kept is None else kept
        self._scope = scope

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        if name != "resid_pre":
            return tensor
        begun = tensor if tensor.requires_grad else tensor.detach().requires_grad_()
        self.kept[self._scope] = begun
        return begun

    def at(self, scope: str | int) -> Tap:
        return _Points(f"{self._scope}{scope}.", self.kept)


def stream_gradients(loaded: LoadedModel, run: Run, stack: Stack) -> list[float]:
    """Gradient norms of a run's loss with respect to the residual stream before each layer.

    The loss is the mean negative log-probability of the run's tokens or, without a generator, half the mean
    square of the output vectors. The model may be frozen, because gradients of its weights are not needed.

    Returns:
        One number per layer, from the first: the norm over all positions and dimensions.
    """
    points = _Points()
    src, tgt = (
        None if read is None else padded(loaded, [read.ids])
        for read in (run.encoder_input, run.decoder_input)
    )
    with torch.enable_grad():
        output = loaded.model(src, tgt, tap=points)[0]
        loss = _loss(loaded, run, output)
        kept = {path: point for path, point in points.kept.items() if path.startswith(f"{stack}.")}
        gradients = torch.autograd.grad(loss, list(kept.values()))
    return [float(gradient.norm()) for gradient in gradients]


def _loss(loaded: LoadedModel, run: Run, output: Tensor) -> Tensor:
    if not run.steps:
        return output.square().mean() / 2
    first = 0 if run.decoder_input is None else len(run.target_ids) - len(run.target.ids) - 1
    rows = [first + step.position for step in run.steps]
    ids = torch.tensor([step.token_id for step in run.steps], device=output.device)
    return functional.cross_entropy(output[rows].float(), ids)
