"""The forward that records everything, against transformers' with attentions and hidden states."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from bench.measurement import Ratio, Seconds, median_seconds, ratio, seconds_in_turn
from bench.parts.decoding import VOCAB_SIZE
from bench.peers.marian import marian_copy
from bench.setting import Setting
from transformer.loaded import freeze
from transformer.model.config import TransformerConfig, preset
from transformer.model.trace import Recorder
from transformer.model.transformer import Transformer
from transformer.text.vocabulary import SPECIALS


@dataclass(frozen=True)
class Recorded:
    """One forward pass over one sentence pair in equal models, on the CPU.

    Attributes:
        tokens: length of the source and of the target.
        d_model: width of the model.
        headlight, transformers: median time.
        times_faster: speed relative to transformers.
        tensors, their_tensors: how many each returns.
        difference: the largest absolute difference of any logit or attention weight.
    """

    tokens: int
    d_model: int
    headlight: Seconds
    transformers: Seconds
    times_faster: Ratio
    tensors: int
    their_tensors: int
    difference: float


def measure(setting: Setting) -> list[Recorded]:
    """Run presets with vocabularies as large as en-it's on sentence pairs of several lengths."""
    if setting.smallest:
        toy = preset("toy", src_vocab_size=29, tgt_vocab_size=31, d_model=32)
        return [measure_recording(toy, 11, rounds=1)]
    vocabularies = {"src_vocab_size": VOCAB_SIZE, "tgt_vocab_size": VOCAB_SIZE}
    configs = [preset(name, **vocabularies) for name in ("small", "base")]
    return [measure_recording(config, n_tokens) for config in configs for n_tokens in (16, 64, 256)]


@torch.inference_mode()
def measure_recording(config: TransformerConfig, n_tokens: int, rounds: int = 16) -> Recorded:
    """Run both models on the same sentences.

    Headlight records every tensor of the forward pass: queries, keys, values, scores, masks, weights, each
    head's output, the residual stream at all points and the intermediate values of all norms. Transformers
    returns attention weights and hidden states.
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

    asked = {"output_attentions": True, "output_hidden_states": True, "use_cache": False}
    records, logits = record()
    other = theirs(input_ids=src, decoder_input_ids=tgt, **asked)
    their_weights = (*other.encoder_attentions, *other.decoder_attentions, *other.cross_attentions)
    pairs = [(logits, other.logits), *zip(_weights(records, config), their_weights, strict=True)]
    ours_seconds, [their_seconds] = seconds_in_turn(
        record, [lambda: theirs(input_ids=src, decoder_input_ids=tgt, **asked)], rounds
    )
    hidden = len(other.encoder_hidden_states) + len(other.decoder_hidden_states)
    return Recorded(
        tokens=n_tokens,
        d_model=config.d_model,
        headlight=median_seconds(ours_seconds),
        transformers=median_seconds(their_seconds),
        times_faster=ratio(their_seconds, ours_seconds),
        tensors=len(records),
        their_tensors=len(their_weights) + hidden,
        difference=max(float((a - b).abs().max()) for a, b in pairs),
    )


def _weights(records: dict[str, Tensor], config: TransformerConfig) -> list[Tensor]:
    """All attention weights, in the order in which transformers returns them."""
    attentions = (
        ("encoder", "self_attn", config.n_encoder_layers),
        ("decoder", "self_attn", config.n_decoder_layers),
        ("decoder", "cross_attn", config.n_decoder_layers),
    )
    return [
        records[f"{stack}.layers.{layer}.{name}.weights"]
        for stack, name, n_layers in attentions
        for layer in range(n_layers)
    ]
