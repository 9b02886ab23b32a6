"""Runs batches through a model and records every tensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from transformer.decoding.greedy import greedy_batch
from transformer.errors import SentenceError
from transformer.loaded import LoadedModel
from transformer.model.trace import Recorder, Trace
from transformer.model_input import Input, beginning, decoding_request, encoder_input, padded
from transformer.text.coder import EncodedSentence

FILLED = "(filled)"
"""Shown after the end of shorter sentences in a batch if the model has no padding token."""

_LARGE = 2**16
"""Bytes from which a recorded tensor keeps a place of its own."""


def trace_batch(loaded: LoadedModel, sources: Sequence[EncodedSentence]) -> Trace:
    """Run several sentences as one padded batch.

    In an encoder-decoder, each sentence has the target that the model generates for it, if it can. A decoder
    without an encoder only reads the prompts.

    Raises:
        SentenceError: for sentences of different lengths in an encoder without a padding id.
    """
    config = loaded.model.config
    if config.kind == "decoder-only":
        return trace_inputs(loaded, [], [beginning(loaded, source).decoder for source in sources])
    inputs = [encoder_input(loaded, source) for source in sources]
    if config.pad_id < 0 and len({len(one.ids) for one in inputs}) > 1:
        raise SentenceError(
            "This model has no padding token, so sentences of different lengths can't be batched: type one "
            "sentence, or several with the same number of tokens."
        )
    if config.kind == "encoder-only":
        return trace_inputs(loaded, inputs, [])
    begins = [beginning(loaded, source) for source in sources]
    if not config.has_generator:
        return trace_inputs(loaded, inputs, [begin.decoder for begin in begins])
    ids = [one.ids for one in inputs]
    limits = [begin.limit for begin in begins]
    request = decoding_request(loaded, loaded.start_ids, limits, sources=ids)
    targets = greedy_batch(loaded.model, padded(loaded, ids), request)
    # At the limit the last token is chosen but not read, as in the run of a single sentence.
    decoder_inputs = [
        begin.decoder.followed_by(loaded.target.describe_ids(target.ids[: begin.limit - 1]))
        for begin, target in zip(begins, targets, strict=True)
    ]
    return trace_inputs(loaded, inputs, decoder_inputs)


@torch.inference_mode()
def trace_inputs(loaded: LoadedModel, sources: Sequence[Input], targets: Sequence[Input]) -> Trace:
    """Run a batch and record every tensor; the input for a missing stack is empty."""
    recorder = Recorder()
    loaded.model(
        padded(loaded, [one.ids for one in sources]) if sources else None,
        padded(loaded, [one.ids for one in targets]) if targets else None,
        tap=recorder,
    )
    return Trace(
        _packed({path: tensor.cpu() for path, tensor in recorder.records.items()}),
        src_tokens=_padded_tokens(loaded, sources),
        tgt_tokens=_padded_tokens(loaded, targets),
    )


def _packed(records: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The same numbers, all small tensors of a dtype in one storage, and none in a part of a larger one.

    Kept each in its own place, they would hold on to the model's tables, and leave gaps in what a run gives
    back that no other run's tensors fit: a server that keeps runs and drops them would grow.
    """
    groups: dict[torch.dtype, dict[tuple[object, ...], Tensor]] = {}
    for tensor in records.values():
        if tensor.nbytes < _LARGE:
            groups.setdefault(tensor.dtype, {})[_same(tensor)] = tensor
    packed = {}
    for group in groups.values():
        whole = torch.cat([tensor.reshape(-1) for tensor in group.values()])
        parts = whole.split([tensor.numel() for tensor in group.values()])
        for (key, tensor), part in zip(group.items(), parts, strict=True):
            packed[key] = part.view(tensor.shape)
    return {
        path: packed[_same(tensor)] if tensor.nbytes < _LARGE else _of_its_own(tensor)
        for path, tensor in records.items()
    }


def _of_its_own(tensor: Tensor) -> Tensor:
    """The tensor, copied if it is a part of a larger storage."""
    return tensor.clone() if tensor.untyped_storage().nbytes() > tensor.nbytes else tensor


def _same(tensor: Tensor) -> tuple[object, ...]:
    """Equal for equal views of the same storage."""
    return tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype


def _padded_tokens(loaded: LoadedModel, inputs: Sequence[Input]) -> list[tuple[str, ...]]:
    longest = max((len(one.tokens) for one in inputs), default=0)
    pad_id = loaded.model.config.pad_id
    name = FILLED if pad_id < 0 else loaded.source.token(pad_id)
    return [(*one.tokens, *[name] * (longest - len(one.tokens))) for one in inputs]
