"""Measures a model's surprise, which distinguishes right settings of a trained model from wrong ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from transformer.analysis.doctor.inputs import (
    SENTENCES,
    Probe,
    read_probes,
    source_words,
    target_words,
)
from transformer.loaded import LoadedModel
from transformer.model.masks import padding_mask
from transformer.model.transformer import DecoderState, Transformer

_PLAIN = (
    *SENTENCES,
    "Tom is a good friend of mine.",
    "Where did you put my new shoes?",
    "She wants to buy a car, but she has no money.",
    "The children are playing in the street.",
    "I don't know what time it is.",
)
"""Used if no text is given: more text than the doctor's, so that differences can be clear."""
_SEED = 0
_DRAWN = 8
"""Number of sentences of random ids."""
_DRAWN_WORDS = 9
_LONGEST_OUTPUT = 20
"""Most tokens measured of a model's own output."""
_MOST_MASKED = 24
"""Most tokens of a sentence that are masked, one at a time."""


@dataclass(frozen=True)
class Measure:
    """How surprise is measured on one model.

    Attributes:
        about: a noun phrase that tells users what is measured.
        tells: whether it can distinguish right settings from wrong ones.
        of_output: whether it is measured on the model's own output instead of a given text.
        bits: returns bits per token for a variant of the model: one value per token of a text or per sentence
            of output, the same tokens or sentences for every variant. Their mean is the surprise.
    """

    about: str
    tells: bool
    of_output: bool
    bits: Callable[[Transformer], Tensor]


def choose_measure(loaded: LoadedModel, text: str) -> Measure | None:
    """Choose the measure for a model and a text; None if there is none.

    Args:
        loaded: the model, with its tokenizer.
        text: the text to measure on, as the doctor reads it; plain English if blank.
    """
    config = loaded.model.config
    if not config.has_generator:
        return None
    probes = read_probes(loaded, text if text.strip() else "\n".join(_PLAIN))
    if config.kind == "encoder-only":
        mask = loaded.source.special_tokens.mask
        if mask is None or not probes:
            return None
        about = "how surprised the model is at each word of the text while that word is masked"
        return Measure(about, True, False, lambda model: _masked_bits(model, probes, mask))
    if config.kind == "decoder-only":
        if probes:
            about = "how surprised the model is at each next token of the text"
            return Measure(about, True, False, lambda model: _text_bits(model, probes, ()))
        about = "how unsure the model is of each token of texts that it makes up from drawn ids"
        return Measure(about, False, True, lambda model: _output_bits(model, loaded, [()] * _DRAWN))
    typed = [probe for probe in probes if probe.has_typed_target]
    if typed:
        about = "how surprised the model is at each token of the targets that were given"
        return Measure(about, True, False, lambda model: _text_bits(model, typed, loaded.end_ids[:1]))
    if probes:
        sources = [probe.src.ids for probe in probes if probe.src is not None]
        about = "how unsure the model is of each token that it answers to the text"
        return Measure(about, True, True, lambda model: _output_bits(model, loaded, sources))
    words = source_words(loaded)
    drawn = [tuple(words.draw(_DRAWN_WORDS, seed=seed)) for seed in range(_DRAWN)]
    about = "how unsure the model is of each token that it answers to drawn ids"
    return Measure(about, False, True, lambda model: _output_bits(model, loaded, drawn))


def _text_bits(model: Transformer, probes: Sequence[Probe], ends: Sequence[int]) -> Tensor:
    """-log2 p of every token outside the frame, and of the end token if any."""
    surprises = []
    for probe in probes:
        assert probe.tgt is not None
        labels = torch.tensor([*probe.tgt.ids[1:], *ends], device=_device(model))
        counted = [not special for special in probe.tgt.special[1:]] + [True] * len(ends)
        rows = _log2(probe.run(model)[0, : len(labels)])
        bits = -rows.gather(-1, labels[:, None])[:, 0]
        surprises.append(bits[torch.tensor(counted, device=bits.device)])
    return torch.cat(surprises)


def _masked_bits(model: Transformer, probes: Sequence[Probe], mask: int) -> Tensor:
    """-log2 p of every word while only that word is masked."""
    surprises = []
    for probe in probes:
        assert probe.src is not None
        places = torch.tensor(probe.src.words[:_MOST_MASKED], device=_device(model))
        ids = torch.tensor(probe.src.ids, device=places.device).repeat(len(places), 1)
        each = torch.arange(len(places), device=places.device)
        labels = ids[each, places]
        ids[each, places] = mask
        surprises.append(-_log2(model(ids, None)[each, places])[each, labels])
    return torch.cat(surprises)


def _output_bits(model: Transformer, loaded: LoadedModel, sources: Sequence[tuple[int, ...]]) -> Tensor:
    """The mean entropy of the next-token distributions along an output sampled for each source.

    Sampled, not greedy, because a model that repeats itself is confident whatever its settings.
    """
    if model.config.merge_heads == "transposed":
        return _batch_output_bits(model, loaded, sources)
    # There a sentence's output depends on its padded length.
    return torch.cat([_batch_output_bits(model, loaded, [source]) for source in sources])


def _batch_output_bits(model: Transformer, loaded: LoadedModel, sources: Sequence[tuple[int, ...]]) -> Tensor:
    n, device = len(sources), _device(model)
    generator = torch.Generator().manual_seed(_SEED)
    if sources[0]:
        state = _encoded(model, sources)
        newest = torch.tensor([loaded.start_ids] * n, device=device)
    else:
        state = model.start(None, n)
        words = target_words(loaded)
        newest = torch.tensor([words.draw(1, seed=seed) for seed in range(n)], device=device)
    ends = torch.tensor(loaded.end_ids, dtype=torch.long)
    bits, steps, is_open = torch.zeros(n), torch.zeros(n), torch.ones(n, dtype=torch.bool)
    for _ in range(min(_LONGEST_OUTPUT, model.config.max_len - newest.shape[1])):
        rows = _log2(model.step(newest, state)[:, -1]).cpu()
        probabilities = rows.exp2()
        bits += is_open * -(probabilities * rows.clamp(min=-1e4)).sum(dim=-1)
        steps += is_open
        if not probabilities.isfinite().all():
            return torch.full((n,), math.nan)
        newest = torch.multinomial(probabilities, 1, generator=generator)
        is_open &= ~torch.isin(newest[:, 0], ends)
        newest = newest.to(device)
        if not is_open.any():
            break
    return bits / steps


def _encoded(model: Transformer, sources: Sequence[tuple[int, ...]]) -> DecoderState:
    """Encode sources of different lengths as one batch, masking the padding whatever pad_id is."""
    device, longest = _device(model), max(map(len, sources))
    filled = [(*source, *[source[-1]] * (longest - len(source))) for source in sources]
    is_word = torch.tensor([[place < len(source) for place in range(longest)] for source in sources])
    src = torch.tensor(filled, device=device)
    mask = padding_mask(src, model.config.pad_id) & is_word[:, None, None].to(device)
    state = model.start(src)
    return replace(state, memory=model.encode(src, mask), memory_mask=mask)


def _log2(logits: Tensor) -> Tensor:
    return logits.float().log_softmax(dim=-1) / math.log(2)


def _device(model: Transformer) -> torch.device:
    return next(model.parameters()).device
