"""The forward with everything recorded, beside transformers' with attentions and hidden states."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from bench.marian import marian_copy
from transformer.loaded import freeze
from transformer.model.config import TransformerConfig
from transformer.model.trace import Recorder
from transformer.model.transformer import Transformer
from transformer.text.vocabulary import SPECIALS

REPEATS = 15


@dataclass(frozen=True)
class Recorded:
    """One forward of one sentence pair in equal models, on the CPU.

    Attributes:
        tokens: of the source and of the target.
        d_model: width of the model.
        ours, theirs: seconds, the median of interleaved repeats.
        tensors, their_tensors: how many each of them gives.
        difference: the largest of logits and attention weights.
    """

    tokens: int
    d_model: int
    ours: float
    theirs: float
    tensors: int
    their_tensors: int
    difference: float


@torch.inference_mode()
def measure_recording(config: TransformerConfig, n_tokens: int, repeats: int = REPEATS) -> Recorded:
    """Run both on the same sentences, in turn.

    We record every tensor of the forward: queries, keys, values, scores, masks, weights, each head's output,
    the stream at all points and the insides of all norms. They give attention weights and hidden states.
    """
    model = freeze(Transformer(config, torch.Generator().manual_seed(1)))
    theirs = marian_copy(model)
    theirs.set_attn_implementation("eager")
    draw = torch.Generator().manual_seed(2)
    src, tgt = torch.randint(len(SPECIALS), config.tgt_vocab_size, (2, 1, n_tokens), generator=draw)

    def record() -> tuple[dict[str, Tensor], Tensor]:
        recorder = Recorder()
        logits = model(src, tgt, tap=recorder)
        return recorder.records, logits

    def record_theirs() -> object:
        return theirs(
            input_ids=src,
            decoder_input_ids=tgt,
            output_attentions=True,
            output_hidden_states=True,
            use_cache=False,
        )

    records, logits = record()
    other = theirs(input_ids=src, decoder_input_ids=tgt, output_attentions=True, output_hidden_states=True)
    their_weights = (*other.encoder_attentions, *other.decoder_attentions, *other.cross_attentions)
    our_weights = [
        records[f"{stack}.layers.{layer}.{name}.weights"]
        for stack, name, n in (
            ("encoder", "self_attn", config.n_encoder_layers),
            ("decoder", "self_attn", config.n_decoder_layers),
            ("decoder", "cross_attn", config.n_decoder_layers),
        )
        for layer in range(n)
    ]
    pairs = [(logits, other.logits), *zip(our_weights, their_weights, strict=True)]
    ours, theirs_seconds = in_turn(record, record_theirs, repeats)
    return Recorded(
        tokens=n_tokens,
        d_model=config.d_model,
        ours=ours,
        theirs=theirs_seconds,
        tensors=len(records),
        their_tensors=len(their_weights)
        + len(other.encoder_hidden_states)
        + len(other.decoder_hidden_states),
        difference=max(float((a - b).abs().max()) for a, b in pairs),
    )


def in_turn(first: Callable[[], object], second: Callable[[], object], repeats: int) -> tuple[float, float]:
    """The median seconds of two functions that take turns, so that what slows the machine slows both."""
    times: tuple[list[float], list[float]] = ([], [])
    for function in (first, second):
        function()
    for _ in range(repeats):
        for function, taken in zip((first, second), times, strict=True):
            started = time.perf_counter()
            function()
            taken.append(time.perf_counter() - started)
    return statistics.median(times[0]), statistics.median(times[1])
