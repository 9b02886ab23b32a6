"""Mistakes in positions, added to embeddings or applied to queries and keys."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from torch import Tensor

from transformer.analysis.variants import Change
from transformer.model.config import TransformerConfig
from transformer.model.positions import (
    LearnedPositions,
    SinusoidalPositions,
    encoding_of,
    rotary_wavelengths,
    wavelengths,
)
from transformer.model.stacks import Decoder, Encoder
from transformer.model.transformer import Transformer
from transformer.run import Run
from viz.pages.lab.mistakes.breaking import broken_by
from viz.pages.lab.mistakes.fitting import (
    needs_added_positions,
    needs_base,
    needs_wavelengths,
)
from viz.pages.lab.mistakes.mistake import Broken, Case, Mistake, Symptom
from viz.pages.lab.mistakes.seen import issue


class _SinusoidalAlongBatch(SinusoidalPositions):
    """Gives every token its sentence's index in the batch as its position: 0, as there is one sentence."""

    def forward(self, start: int, length: int) -> Tensor:
        """The encoding of position 0 for each token: (length, D)."""
        return super().forward(0, 1).expand(length, -1)


class _LearnedAlongBatch(LearnedPositions):
    """Learned positions, looked up by the sentence's index in the batch: 0."""

    def forward(self, start: int, length: int) -> Tensor:
        """The vector of position 0 for each token: (length, D)."""
        return super().forward(0, 1).expand(length, -1)


def _count_sentences(model: Transformer) -> None:
    for module in list(model.modules()):
        if isinstance(module, SinusoidalPositions):
            module.__class__ = _SinusoidalAlongBatch
        elif isinstance(module, LearnedPositions):
            module.__class__ = _LearnedAlongBatch


def _farthest_positions(run: Run) -> float:
    """The largest difference between the first token's position vector and any other's."""
    positions = [run.trace[path][0] for path in run.trace if path.endswith("embedding.positions")]
    return max(float((one - one[:1]).abs().max()) for one in positions)


def position_differences(case: Case, broken: Broken) -> Symptom:
    """The difference between the position vectors of two tokens."""
    return Symptom(
        what="Largest difference between the positions of two tokens",
        sound=_farthest_positions(broken.sound),
        broken=_farthest_positions(broken.run),
        limit=0.01,
    )


ALONG_BATCH = Mistake(
    name="positions-along-batch",
    title="Positions counted along the batch",
    group="positions and embeddings",
    level=2,
    what=(
        "The code expects (length, batch, d_model) and gets (batch, length, d_model), so it numbers the "
        "sentences and not the tokens. All tokens of a sentence get the same position, and the model can no "
        "longer tell in which order they stand."
    ),
    wrong="# x: (batch, length, d_model)\nx = x + positions[: x.size(0)].unsqueeze(1)",
    right="# x: (batch, length, d_model)\nx = x + positions[: x.size(1)].unsqueeze(0)",
    seen=(
        issue(
            "songyangco/GETNext",
            2,
            "The encoding is added along the batch, so that all steps of a trajectory get the same one.",
        ),
        issue(
            "KasperGroesLudvigsen/influenza_transformer",
            9,
            "The encoder of PyTorch's tutorial, with the batch put first: the sizes did not match.",
        ),
    ),
    find="added = add_positions(x) - x\nassert not torch.allclose(added[:, 0], added[:, 1])",
    broken=broken_by(_count_sentences, cached=True),
    symptom=position_differences,
    unfit=needs_added_positions,
)


def _other_base(base: Callable[[float], float]) -> Change:
    """Compute all wavelengths from another base."""

    def change(model: Transformer) -> None:
        config = model.config = replace(model.config, position_base=base(model.config.position_base))
        for module in model.modules():
            if isinstance(module, SinusoidalPositions):
                old = module.encoding
                new = encoding_of(config, len(old))
                module.encoding = new.to(old.device, old.dtype)
            elif isinstance(module, Encoder | Decoder):
                module.wavelengths = {own: rotary_wavelengths(config) for own in module.wavelengths}

    return change


def _longest_wavelength(model: Transformer) -> float:
    """The longest wavelength, in positions, measured from the model's own encoding."""
    config = model.config
    if config.positions == "rotary":
        (own,) = model.decoder.wavelengths.values()
        return float(own[-1])
    embedding = model.src_embedding if config.n_encoder_layers else model.tgt_embedding
    assert isinstance(embedding.positions, SinusoidalPositions)
    second = embedding.positions.encoding[1]  # the angles of the second token's position
    sine = second[-2] if config.sinusoid_layout == "interleaved" else second[len(second) // 2 - 1]
    return 2 * math.pi * (1 + config.position_offset) / math.atan2(float(sine), float(second[-1]))


def _wavelength_by_formula(config: TransformerConfig) -> float:
    """The longest wavelength according to the configuration."""
    if config.positions == "rotary":
        return float(rotary_wavelengths(config)[-1])
    return float(wavelengths(config.embedding_width, config.position_base, config.sinusoid_layout)[-1])


def _compare_wavelengths(case: Case, broken: Broken, base: float) -> Symptom:
    """A symptom whose limit is the geometric mean of the two bases' longest wavelengths."""
    assert broken.loaded is not None
    config = case.loaded.model.config
    both = [_wavelength_by_formula(one) for one in (config, replace(config, position_base=base))]
    return Symptom(
        what="Longest wavelength of the positions",
        sound=_longest_wavelength(case.loaded.model),
        broken=_longest_wavelength(broken.loaded.model),
        limit=math.sqrt(both[0] * both[1]),
        unit="positions",
    )


def _squared(base: float) -> float:
    """The base that is equivalent to doubling the exponent."""
    return base**2


def squared_wavelengths(case: Case, broken: Broken) -> Symptom:
    """The longest wavelength, which grows with the exponent."""
    return _compare_wavelengths(case, broken, _squared(case.loaded.model.config.position_base))


def _a_tenth(base: float) -> float:
    return base / 10


def shortened_wavelengths(case: Case, broken: Broken) -> Symptom:
    """The longest wavelength, which shrinks with the base."""
    return _compare_wavelengths(case, broken, _a_tenth(case.loaded.model.config.position_base))


def _needs_pairs(config: TransformerConfig) -> str:
    width = (config.rotary_dims or config.d_head) if config.positions == "rotary" else config.embedding_width
    return needs_wavelengths(config) or (
        "Its positions have a single pair of sine and cosine, whose exponent is 0." if width < 4 else ""
    )


_FIND_WAVELENGTH = (
    "slowest = 1 / 10000 ** ((d_model - 2) / d_model)\n"
    "assert math.isclose(pe[1, -2], math.sin(slowest), rel_tol=1e-4)"
)

EXPONENT_DOUBLED = Mistake(
    name="exponent-doubled",
    title="Exponent of the positions doubled",
    group="positions and embeddings",
    level=3,
    what=(
        "The formula has 2i for the pair i. In the code i already counts in twos, and is doubled once more. "
        "From one pair to the next the wavelengths then grow by the square of the right factor: the upper "
        "half of the dimensions hardly moves within a sentence, and adds the same numbers to every token."
    ),
    wrong="for i in range(0, d_model, 2):\n    angle = position / 10000 ** (2 * i / d_model)",
    right="for i in range(0, d_model, 2):\n    angle = position / 10000 ** (i / d_model)",
    seen=(
        issue("jadore801120/attention-is-all-you-need-pytorch", 32, "2i for every i; fixed when reported."),
        issue("Kyubyong/transformer", 38, "The same exponent; a reader works out the right one."),
        issue("SamLynnEvans/Transformer", 25, "The loop steps by two, and the exponent doubles i again."),
        issue("shenweichen/DeepCTR", 379, "The same formula again; to be fixed in the next version."),
    ),
    find=_FIND_WAVELENGTH,
    broken=broken_by(_other_base(_squared), cached=True),
    symptom=squared_wavelengths,
    unfit=_needs_pairs,
)

BASE_1000 = Mistake(
    name="base-1000",
    title="Base 1000 for 10000",
    group="positions and embeddings",
    level=3,
    what=(
        "A zero is missing from the base of the wavelengths. Nothing looks wrong, since the encoding is as "
        "good as the paper's; but it is not the one that the model was trained with."
    ),
    wrong="for i in range(0, d_model, 2):\n    angle = position / 1000 ** (i / d_model)",
    right="for i in range(0, d_model, 2):\n    angle = position / 10000 ** (i / d_model)",
    seen=(
        issue(
            "maxjcohen/transformer",
            62,
            "The base was 1000, and the exponent of the cosines began at 1; both were fixed.",
        ),
    ),
    find=_FIND_WAVELENGTH,
    broken=broken_by(_other_base(_a_tenth), cached=True),
    symptom=shortened_wavelengths,
    unfit=lambda config: needs_base(config) or _needs_pairs(config),
)

POSITION_MISTAKES = (ALONG_BATCH, EXPONENT_DOUBLED, BASE_1000)
