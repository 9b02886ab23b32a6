"""Heads switched off one by one in one batch, against a forward with a hook for each head."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor
from transformers import MarianMTModel

from bench.measurement import Ratio, Seconds, median_seconds, ratio, seconds_in_turn
from bench.parts.decoding import VOCAB_SIZE
from bench.peers.marian import marian_copy
from bench.sentences import WORDS, sentence
from bench.setting import Setting
from transformer.analysis.interventions.heads import Switch, head_effects, head_places
from transformer.analysis.interventions.questions import Question
from transformer.loaded import LoadedModel, freeze
from transformer.model.config import TransformerConfig, preset
from transformer.model.transformer import Transformer
from transformer.run import Run, encode_sentence, force
from transformer.text.coder import SentenceCoder
from transformer.text.vocabulary import Vocabulary
from transformer.text.words import WordTokenizer


@dataclass(frozen=True)
class Ablated:
    """All heads of equal models, each set to zero in turn, on the CPU.

    Attributes:
        tokens: length of the source and of the target.
        heads: number of heads.
        headlight: median time for the effects of all heads on the last token.
        hooks: the same with transformers: one forward per head, with a hook that zeroes it, which is how
            hook-based libraries do it.
        times_faster: speed relative to that.
        difference: the largest difference of any effect.
    """

    tokens: int
    heads: int
    headlight: Seconds
    hooks: Seconds
    times_faster: Ratio
    difference: float


def measure(setting: Setting) -> list[Ablated]:
    """Switch off the heads of models of en-it's sizes, at several lengths."""
    if setting.smallest:
        toy = preset("toy", src_vocab_size=61, tgt_vocab_size=61, d_model=32)
        return [measure_ablation(toy, 7, rounds=1)]
    vocabularies = {"src_vocab_size": VOCAB_SIZE, "tgt_vocab_size": VOCAB_SIZE}
    config = preset("small", **vocabularies, n_encoder_layers=8)
    return [measure_ablation(config, n_tokens) for n_tokens in (16, 64)]


@torch.inference_mode()
def measure_ablation(config: TransformerConfig, n_tokens: int, rounds: int = 6) -> Ablated:
    """Compute the effects of all heads both ways."""
    vocabulary = Vocabulary(sorted(set(WORDS)))
    coder = SentenceCoder(WordTokenizer("en", lowercase=True), vocabulary)
    model = freeze(Transformer(config, torch.Generator().manual_seed(1)))
    loaded = LoadedModel("random", model, source=coder, target=coder)
    source = encode_sentence(loaded, "source", sentence(n_tokens, 1), "sentence")
    target = encode_sentence(loaded, "source", sentence(n_tokens, 2), "sentence")
    run = force(loaded, source, target)
    question = Question("last", (n_tokens - 1,), (run.steps[-1].token_id,))
    ours = partial(head_effects, loaded, run, [question], Switch(loaded, "zero"))
    theirs = partial(_by_hooks, marian_copy(model), loaded, run, question)
    effects, expected = ours()[:, 0], theirs()
    seconds, [hook_seconds] = seconds_in_turn(ours, [theirs], rounds)
    return Ablated(
        tokens=n_tokens,
        heads=len(head_places(config)),
        headlight=median_seconds(seconds),
        hooks=median_seconds(hook_seconds),
        times_faster=ratio(hook_seconds, seconds),
        difference=float((effects - expected).abs().max()),
    )


def _by_hooks(model: MarianMTModel, loaded: LoadedModel, run: Run, question: Question) -> Tensor:
    """The effects of all heads, one forward each: (heads,)."""
    config = loaded.model.config
    assert run.encoder_input is not None
    src, tgt = (torch.tensor([ids]) for ids in (run.encoder_input.ids, run.target_ids))
    suppressed = loaded.target.special_tokens.suppressed

    def value() -> float:
        logits: Tensor = model(input_ids=src, decoder_input_ids=tgt, use_cache=False).logits
        return float(question.value(logits, suppressed))

    own, effects = value(), []
    for place in head_places(config):
        stack = model.model.encoder if place.attention == "encoder" else model.model.decoder
        layer: Any = stack.layers[place.layer]
        attention = layer.encoder_attn if place.attention == "cross" else layer.self_attn
        columns = slice(place.head * config.d_head, (place.head + 1) * config.d_head)

        def zero(module: object, inputs: tuple[Tensor], *, columns: slice = columns) -> tuple[Tensor]:
            (merged,) = inputs
            merged = merged.clone()
            merged[..., columns] = 0
            return (merged,)

        handle = attention.out_proj.register_forward_pre_hook(zero)
        effects.append(own - value())
        handle.remove()
    return torch.tensor(effects, dtype=torch.float64)
