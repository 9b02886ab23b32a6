"""Checks that run the model, to find violated properties of the architecture that weights can't show.

Tolerances: a row of a matrix product does not depend on the other rows, so a later token must change earlier
outputs by exactly 0; but in a mixture of experts it may change how many rows an expert's product has. Other
lengths and orders of summation round differently: float32 has about 7 digits, and the shipped and random
models stay below 4e-6 of the largest output. Deep models may exceed ROUNDING without being wrong; a leaking
mask or a wrong position is far above BROKEN.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from transformer.analysis.doctor.findings import Finding, fine, rounded
from transformer.analysis.doctor.inputs import (
    N_PADDING,
    Probe,
    Side,
    SideVocabulary,
    ids_tensor,
    source_words,
    target_words,
)
from transformer.loaded import LoadedModel
from transformer.model.config import TransformerConfig

ROUNDING = 1e-5
BROKEN = 1e-3
_UNMOVED = 1e-6
"""Relative change of the output below which an input counts as not read."""


@torch.inference_mode()
def later_difference(loaded: LoadedModel, probe: Probe) -> float:
    """The change of earlier outputs when the last target token is changed, relative to the largest output."""
    tgt, model = probe.tgt, loaded.model
    assert tgt is not None
    last = tgt.words[-1]
    changed = Probe(probe.src, target_words(loaded).exchanged(tgt, [last]))
    return _largest(probe.run(model)[:, :last], changed.run(model)[:, :last])


def allowed_later_difference(config: TransformerConfig) -> float:
    """The largest `later_difference` of a causal decoder."""
    return ROUNDING if config.n_experts else 0.0


def causality_findings(difference: float, allowed: float = 0.0) -> list[Finding]:
    """Check that `later_difference` is not above `allowed_later_difference`."""
    if difference <= allowed:
        number = f"largest relative difference {rounded(difference)}, {rounded(allowed)} at most is rounding"
        return fine(
            "A later target token changes nothing earlier",
            number if difference else "largest difference 0, exactly",
        )
    if math.isnan(difference):
        return [
            Finding(
                "problem",
                "The output is not a number",
                "the weights are finite, the output for a few words is NaN",
                "Nothing can be chosen by it, and in training every gradient becomes NaN with it.",
                "Look for a query that the mask leaves nothing to look at: the softmax of nothing but minus "
                "infinity is 0/0.",
                "decoder",
            )
        ]
    return [
        Finding(
            "problem",
            "A later target token changes what comes before it",
            f"largest relative difference {rounded(difference)}, where "
            f"{f'{rounded(allowed)} at most' if allowed else '0'} is due",
            "In training the decoder could see the words it was to predict. Its loss looks good, and what "
            "it generates is bad, because then the words are not there.",
            "Look at the decoder's mask: True and False exchanged, added before the scaling, or left out. "
            "Heads that are merged without transposing them back do the same: train again with them "
            "transposed.",
            "decoder",
        )
    ]


@torch.inference_mode()
def padding_findings(loaded: LoadedModel, probe: Probe) -> list[Finding]:
    """Check that padding after the sentence does not change the output for its words."""
    model = loaded.model
    if not any(_pads(words, model.config.pad_id) for words in (source_words(loaded), target_words(loaded))):
        return []  # neither the model nor its tokenizer has padding
    padded = Probe(
        probe.src and _padded(probe.src, source_words(loaded), model.config.pad_id),
        probe.tgt and _padded(probe.tgt, target_words(loaded), model.config.pad_id),
    )
    alone = probe.run(model)
    difference = _largest(alone, padded.run(model)[:, : alone.shape[1]])
    number = f"largest relative difference {rounded(difference)}"
    if difference <= ROUNDING:
        return fine("Padding changes nothing", number)
    if not model.config.memory_padding_mask:
        return [
            Finding(
                "note",
                "Padding changes the output, as the model was trained",
                number,
                "Its cross-attention sees the source's padding (memory_padding_mask is False): a sentence "
                "gets a different answer in a batch with longer ones than alone.",
                "Translate sentences one by one, or sort them by length, where that matters.",
            )
        ]
    closed = model.config.pad_id
    used = sorted(
        {_pad_id(words, closed) for words in (source_words(loaded), target_words(loaded)) if words.rows}
    )
    return [
        _graded(
            difference,
            "Padding changes the output",
            f"{number}, {rounded(ROUNDING)} at most is rounding",
            "A sentence gets a different answer in a batch with longer ones than alone.",
            f"The model masks id {closed}, the tokenizer pads with "
            f"{' and '.join(map(str, used))}: "
            + ("check the mask of the keys." if used == [closed] else "set pad_id to the tokenizer's."),
        )
    ]


@torch.inference_mode()
def cache_findings(loaded: LoadedModel, probe: Probe) -> list[Finding]:
    """Check that decoding token by token, with cached keys and values, equals one whole forward pass.

    For causal decoders only: otherwise the two can't be equal.
    """
    model, tgt = loaded.model, ids_tensor(loaded.model, probe.tgt)
    assert tgt is not None
    state = model.start(ids_tensor(model, probe.src))
    cached = torch.cat([model.step(token, state) for token in tgt.split(1, dim=1)], dim=1)
    difference = _largest(probe.run(model), cached)
    number = f"largest relative difference {rounded(difference)}"
    if difference <= ROUNDING:
        return fine("Cached and uncached decoding agree", number)
    return [
        _graded(
            difference,
            "Cached and uncached decoding differ",
            f"{number}, {rounded(ROUNDING)} at most is rounding",
            "What is generated token by token is not what the model was trained to give.",
            "Look at positions that start again at each step, and at the order of kept keys.",
        )
    ]


@torch.inference_mode()
def input_findings(loaded: LoadedModel, probe: Probe) -> list[Finding]:
    """Check that the output depends on the source's words, and on other words of the sentence."""
    model, output = loaded.model, probe.run(loaded.model)
    moved: dict[str, float] = {}
    if probe.src is not None:
        # In a model with only one side, a word must change the outputs for other words.
        places = probe.src.words if probe.tgt is not None else probe.src.words[1:]
        other = Probe(source_words(loaded).exchanged(probe.src, places), probe.tgt)
        kept = slice(None) if probe.tgt is not None else slice(0, probe.src.words[0] + 1)
        moved["the source's words"] = _largest(output[:, kept], other.run(model)[:, kept])
    if probe.tgt is not None:
        other = Probe(probe.src, target_words(loaded).exchanged(probe.tgt, probe.tgt.words[:-1]))
        moved["earlier target words"] = _largest(output[:, -1:], other.run(model)[:, -1:])
    ignored = [name for name, difference in moved.items() if difference < _UNMOVED]
    numbers = "; ".join(f"{name} move it by {rounded(difference)}" for name, difference in moved.items())
    if not ignored:
        return fine("The output depends on what is read", numbers)
    return [
        Finding(
            "problem",
            f"The output does not depend on {' and '.join(ignored)}",
            f"{numbers} (relative to the largest output)",
            "Whatever is typed there, the answer is the same.",
            "Look for an embedding whose rows are all the same, and for attention whose output comes to "
            "nothing.",
        )
    ]


def _padded(side: Side, words: SideVocabulary, closed: int) -> Side:
    return side.padded(N_PADDING, _pad_id(words, closed))


def _pad_id(words: SideVocabulary, closed: int) -> int:
    """The tokenizer's padding id, or the model's if the tokenizer has none."""
    return max(closed, 0) if words.pad is None else words.pad


def _pads(words: SideVocabulary, closed: int) -> bool:
    return words.rows > 0 and (closed >= 0 or words.pad is not None)


def _graded(difference: float, title: str, number: str, meaning: str, advice: str) -> Finding:
    if difference > BROKEN:
        return Finding("problem", title, number, meaning, advice)
    rounding = (
        "More than rounding in most models, far less than a broken mask: deep models may round this much."
    )
    return Finding("note", title, number, rounding, "Nothing, if the model is deep or its outputs are large.")


def _largest(a: Tensor, b: Tensor) -> float:
    """The largest difference relative to the largest value of a; 0 for empty outputs."""
    if not a.numel():
        return 0.0
    return float((a - b).abs().max() / a.abs().max().clamp(min=torch.finfo(a.dtype).tiny))
