"""Mistakes in layer norms."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from transformer.model.normalization import LayerNorm, RMSNorm, UnbiasedLayerNorm, per_token
from transformer.model.stacks import Decoder, Encoder
from transformer.model.trace import NO_TAP, NormRecord, Tap
from transformer.model.transformer import Transformer
from transformer.run import Run
from viz.pages.lab.mistakes.breaking import broken_by
from viz.pages.lab.mistakes.fitting import needs_final_norm, needs_layer_norm, needs_norms
from viz.pages.lab.mistakes.measuring import distance
from viz.pages.lab.mistakes.mistake import Broken, Case, Mistake, Symptom
from viz.pages.lab.mistakes.seen import issue


def _stacks(model: Transformer) -> list[Encoder | Decoder]:
    return [module for module in model.modules() if isinstance(module, Encoder | Decoder)]


def _remove_final_norms(model: Transformer) -> None:
    for stack in _stacks(model):
        stack.final_norm = None


class _TwiceLayerNorm(LayerNorm):
    """A layer norm applied twice."""

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        """As in LayerNorm; the tap sees the second application."""
        return super().forward(super().forward(x), tap)


class _TwiceUnbiasedLayerNorm(UnbiasedLayerNorm):
    """The unbiased layer norm applied twice."""

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        """As in UnbiasedLayerNorm; the tap sees the second application."""
        return super().forward(super().forward(x), tap)


class _TwiceRMSNorm(RMSNorm):
    """An RMS norm applied twice."""

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        """As in RMSNorm; the tap sees the second application."""
        return super().forward(super().forward(x), tap)


_TWICE: dict[type, type] = {
    LayerNorm: _TwiceLayerNorm,
    UnbiasedLayerNorm: _TwiceUnbiasedLayerNorm,
    RMSNorm: _TwiceRMSNorm,
}


def _double_final_norms(model: Transformer) -> None:
    for stack in _stacks(model):
        if stack.final_norm is not None:
            stack.final_norm.__class__ = _TWICE[type(stack.final_norm)]


@torch.inference_mode()
def _distance_from_normed(case: Case, run: Run) -> float:
    """The largest relative distance of a stack's output from the final norm of its last layer's output."""
    farthest = 0.0
    for name in ("encoder", "decoder"):
        norm = getattr(getattr(case.loaded.model, name, None), "final_norm", None)
        if norm is None:
            continue
        stream = [run.trace[path] for path in run.trace if path.startswith(f"{name}.layers.")][-1]
        right = norm(stream.to(norm.gamma.device)).cpu()
        farthest = max(farthest, distance(run.trace.get(f"{name}.final_norm.result", stream), right))
    return farthest


def final_norms(case: Case, broken: Broken) -> Symptom:
    """The distance between each stack's output and its final norm applied once."""
    return Symptom(
        what="Distance between the end of a stack and the norm of its last layer's output, relative",
        sound=_distance_from_normed(case, broken.sound),
        broken=_distance_from_normed(case, broken.run),
        limit=0.001,
    )


FINAL_NORM_MISSING = Mistake(
    name="final-norm-missing",
    title="Final norm missing",
    group="norms and dropout",
    level=2,
    what=(
        "In a pre-norm model each sublayer adds to the residual stream, and nothing brings the stream back "
        "to size until the final norm. Left out, the stack ends with numbers that have grown with every "
        "layer, and cross-attention and the generator get what they were never trained on."
    ),
    wrong="for layer in self.layers:\n    x = layer(x, mask)\nreturn x",
    right="for layer in self.layers:\n    x = layer(x, mask)\nreturn self.final_norm(x)",
    seen=(
        issue(
            "harvardnlp/annotated-transformer",
            1,
            "A reader asks why the norm comes before the sublayer; the answer points to the norm at the end "
            "of the stack, which makes up for it.",
        ),
        issue("NVIDIA-NeMo/Speech", 2197, "The pre-norm encoder and decoder got their final norm late."),
        issue("brightmart/albert_zh", 41, "A reader looks for the final norm of the pre-norm model in vain."),
    ),
    find="assert torch.allclose(memory, encoder.norm(of_last_layer))",
    broken=broken_by(_remove_final_norms, cached=True),
    symptom=final_norms,
    unfit=needs_final_norm,
)

FINAL_NORM_DOUBLED = Mistake(
    name="final-norm-doubled",
    title="Final norm applied twice",
    group="norms and dropout",
    level=3,
    what=(
        "The stack ends with its norm, and whoever calls the stack norms its output again. The second norm "
        "takes away what gamma and beta of the first had made of the sizes, and applies them once more. "
        "Little is to be seen, as long as gamma is near 1 and beta near 0."
    ),
    wrong="# encoder(src) ends with: return self.norm(x)\nmemory = norm(encoder(src))",
    right="# encoder(src) ends with: return self.norm(x)\nmemory = encoder(src)",
    seen=(
        issue(
            "pytorch/pytorch",
            24930,
            "The layers of nn.Transformer end with a norm, and the stacks have one more after the last.",
        ),
        issue("pytorch/pytorch", 50086, "The same, reported as the default of nn.Transformer."),
        issue("nlp-with-transformers/notebooks", 129, "Two norms in a row, after the embeddings."),
        issue(
            "harvardnlp/annotated-transformer",
            92,
            "A reader misses a norm and finds another one: the code is pre-norm, the paper post-norm.",
        ),
    ),
    find="assert torch.allclose(memory, encoder.norm(of_last_layer))",
    broken=broken_by(_double_final_norms, cached=True),
    symptom=final_norms,
    unfit=needs_final_norm,
)


class _LayerNormOverTokens(LayerNorm):
    """Normalises all tokens together: one mean and one standard deviation for the whole sentence."""

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        """As in LayerNorm."""
        x = tap("input", x)
        one_each = (*x.shape[:-1], 1)
        variance, mean = torch.var_mean(x, dim=(-2, -1), correction=0, keepdim=True)
        mean = tap("mean", mean.expand(one_each))
        scale = tap("scale", (variance + self.eps).sqrt().expand(one_each))
        normalized = tap("normalized", (x - mean) / scale)
        return tap("result", per_token(self.gamma) * normalized + per_token(self.beta))


class _RMSNormOverTokens(RMSNorm):
    """Normalises all tokens together by one root mean square."""

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        """As in RMSNorm."""
        x = tap("input", x)
        square = x.square().mean(dim=(-2, -1), keepdim=True)
        scale = tap("scale", (square + self.eps).sqrt().expand(*x.shape[:-1], 1))
        return tap("result", per_token(self.gamma) * tap("normalized", x / scale))


def _norm_over_tokens(model: Transformer) -> None:
    for module in list(model.modules()):
        if isinstance(module, RMSNorm):
            module.__class__ = _RMSNormOverTokens
        elif isinstance(module, LayerNorm | UnbiasedLayerNorm):
            module.__class__ = _LayerNormOverTokens


def _take_unbiased(model: Transformer) -> None:
    model.config = replace(model.config, norm="layer_unbiased")
    for module in list(model.modules()):
        if isinstance(module, LayerNorm):
            module.__class__ = UnbiasedLayerNorm  # type: ignore[assignment]


def _own_scale(case: Case, record: NormRecord) -> Tensor:
    """The correct divisor for each token."""
    x, config = record.input, case.loaded.model.config
    if config.norm == "rms":
        return (x.square().mean(dim=-1, keepdim=True) + config.norm_eps).sqrt()
    if config.norm == "layer_unbiased":
        return x.std(dim=-1, keepdim=True) + config.norm_eps
    return (x.var(dim=-1, correction=0, keepdim=True) + config.norm_eps).sqrt()


def _farthest_scale(case: Case, run: Run) -> float:
    ratios = (record.scale / _own_scale(case, record) for record in run.trace.norms())
    return max(float((ratio - 1).abs().max()) for ratio in ratios)


def _compare_scales(case: Case, broken: Broken, limit: float) -> Symptom:
    return Symptom(
        what="How far the divisor of a norm is from the token's own deviation, at most",
        sound=100 * _farthest_scale(case, broken.sound),
        broken=100 * _farthest_scale(case, broken.run),
        limit=100 * limit,
        unit="%",
    )


def scales_of_the_sentence(case: Case, broken: Broken) -> Symptom:
    """Each token's divisor relative to its own deviation."""
    return _compare_scales(case, broken, 0.01)


def unbiased_scales(case: Case, broken: Broken) -> Symptom:
    """Each token's divisor relative to the biased deviation; the unbiased one is larger by 1/(2D)."""
    return _compare_scales(case, broken, 1 / (4 * case.loaded.model.config.d_model))


OVER_TOKENS = Mistake(
    name="norm-over-tokens",
    title="Norm over tokens and features",
    group="norms and dropout",
    level=2,
    what=(
        "Mean and deviation are taken over the whole sentence instead of each token by itself. Tokens keep "
        "their differences in size, what a token becomes depends on all the others, and in a decoder that "
        "means: on the future."
    ),
    wrong="# x: (batch, length, d_model)\nnorm = nn.LayerNorm(x.shape[1:])",
    right="# x: (batch, length, d_model)\nnorm = nn.LayerNorm(d_model)",
    seen=(
        issue(
            "MorvanZhou/NLP-Tutorials",
            10,
            "A reader suspected that answers leak in training: the norm went over the steps of the sentence.",
        ),
        issue(
            "Qualcomm-AI-research/geometric-algebra-transformer",
            8,
            "normalized_shape named all dimensions but the first, where the last alone is meant.",
        ),
        issue(
            "jadore801120/attention-is-all-you-need-pytorch",
            17,
            "Mean and deviation were taken along the sentence.",
        ),
    ),
    find="first = norm(x)[:, :1]\nassert torch.allclose(first, norm(x[:, :1]), atol=1e-5)",
    broken=broken_by(_norm_over_tokens),
    symptom=scales_of_the_sentence,
    unfit=needs_norms,
)

UNBIASED = Mistake(
    name="unbiased-deviation",
    title="Unbiased deviation plus eps",
    group="norms and dropout",
    level=3,
    what=(
        "torch.std divides by D − 1 where layer norm divides by D, and eps is added after the root instead "
        "of under it. Every norm comes out smaller by a factor of √(1 − 1/D): too little to see, enough to "
        "make an import of published weights disagree in the third digit."
    ),
    wrong=("std = x.std(dim=-1, keepdim=True)\nreturn gamma * (x - mean) / (std + eps) + beta"),
    right=(
        "var = x.var(dim=-1, correction=0, keepdim=True)\n"
        "return gamma * (x - mean) / torch.sqrt(var + eps) + beta"
    ),
    seen=(
        issue(
            "harvardnlp/annotated-transformer",
            119,
            "std() is unbiased unless told otherwise; the paper of layer norm and nn.LayerNorm are not.",
        ),
        issue(
            "codertimo/BERT-pytorch", 30, "Taken over from the Annotated Transformer, eps outside the root."
        ),
        issue("hyunwoongko/transformer", 7, "A reader gives the right lines: var(unbiased=False), sqrt."),
    ),
    find=(
        "expected = F.layer_norm(x, (d_model,), gamma, beta, eps)\n"
        "assert torch.allclose(norm(x), expected, atol=1e-5)"
    ),
    broken=broken_by(_take_unbiased, cached=True),
    symptom=unbiased_scales,
    unfit=needs_layer_norm,
)

NORM_MISTAKES = (FINAL_NORM_MISSING, FINAL_NORM_DOUBLED, OVER_TOKENS, UNBIASED)
