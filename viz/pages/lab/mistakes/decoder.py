"""Mistakes between the two stacks and in the decoder's input."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor
from torch.nn import functional

from transformer.analysis.stepping import cross_attention
from transformer.model.attention import NO_POSITIONS, MultiHeadAttention, PositionInfo
from transformer.model.cache import KeyValueCache
from transformer.model.trace import NO_TAP, Tap
from transformer.model.transformer import Transformer
from transformer.run import Run
from transformer.tracing import trace_inputs
from transformer.training.leaks import LEAKS
from viz.pages.lab.mistakes.breaking import broken_by, with_steps_of
from viz.pages.lab.mistakes.fitting import (
    needs_cross_attention,
    needs_predicting_cross_attention,
    needs_prediction,
)
from viz.pages.lab.mistakes.measuring import distance, leaks
from viz.pages.lab.mistakes.mistake import Broken, Case, Mistake, Symptom
from viz.pages.lab.mistakes.seen import issue


def _labels(case: Case) -> tuple[int, ...]:
    """The labels of the rows that predict the target, including the end token."""
    labels = tuple(step.token_id for step in case.run.steps)
    n_rows = len(case.run.target.ids) + 1
    ends = case.loaded.end_ids or labels[-1:] or case.run.target_ids[-1:]
    return labels if len(labels) == n_rows else (*labels, ends[0])


def _fed_unshifted(case: Case) -> Broken:
    """Feed the sound model the tokens that it is to predict."""
    run, loaded = case.run, case.loaded
    assert run.decoder_input is not None
    labels, n_given = _labels(case), len(run.target_ids) - len(run.target.ids) - 1
    ids = (*run.target_ids[1 : n_given + 1], *labels)
    fed = replace(
        run.decoder_input,
        ids=ids,
        tokens=tuple(map(loaded.target.token, ids)),
        first=max(run.decoder_input.first - 1, 0),
    )
    trace = trace_inputs(loaded, [] if run.encoder_input is None else [run.encoder_input], [fed])
    unshifted = with_steps_of(run, replace(run, generated=False, decoder_input=fed, trace=trace), loaded)
    prompt = run.decoder_input.sentence.ids[: len(run.decoder_input.sentence.ids) - len(run.target.ids)]
    best = [step.top_ids[0] for step in unshifted.steps if step.top_ids[0] not in loaded.end_ids]
    return Broken(None, replace(unshifted, translation=loaded.target.decode((*prompt, *best))), run)


NOT_SHIFTED = Mistake(
    name="no-shift",
    title=LEAKS["no-shift"].title,
    group="decoder",
    level=2,
    what=(
        "The decoder is fed the same tokens that it must predict, where it should be fed them one place to "
        "the right, after <bos>. Each row reads its own answer. A model that is trained so learns to copy, "
        "and its loss falls close to 0. One that was trained well, as here, is one token ahead in every row."
    ),
    wrong="logits = model(src, tgt)\nloss = F.cross_entropy(logits.mT, tgt)",
    right="logits = model(src, tgt[:, :-1])\nloss = F.cross_entropy(logits.mT, tgt[:, 1:])",
    seen=(
        issue(
            "Project-MONAI/GenerativeModels",
            314,
            "Transformers were trained to predict token N from the tokens 0 to N; targets had to be moved by "
            "one.",
        ),
        issue(
            "huggingface/transformers",
            8863,
            "A reader asks whether a shift within the loss is what makes it 0.",
        ),
    ),
    find="assert torch.equal(decoder_input[:, 1:], labels[:, :-1])",
    broken=_fed_unshifted,
    symptom=leaks,
    unfit=needs_prediction,
    leak=LEAKS["no-shift"],
)


class _QueriesFromMemory(MultiHeadAttention):
    """Cross-attention with queries from the source, and keys and values from the target.

    Such code runs only if all sentences are padded to the same length. Here the shorter of the two is padded
    with zeros and the longer truncated.
    """

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None,
        tap: Tap = NO_TAP,
        cache: KeyValueCache | None = None,
        positions: PositionInfo = NO_POSITIONS,
    ) -> Tensor:
        """As in MultiHeadAttention."""
        queries, keys = _of_length(memory, x.shape[1]), _of_length(x, memory.shape[1])
        return super().forward(queries, keys, mask, tap, cache, positions)


def _of_length(x: Tensor, length: int) -> Tensor:
    """Truncate or zero-pad x (B, T, D) to (B, length, D)."""
    return functional.pad(x, (0, 0, 0, length - x.shape[1]))


def _swap_sides(model: Transformer) -> None:
    for attention in cross_attention(model):
        attention.__class__ = _QueriesFromMemory


QUERIES_FROM_MEMORY = Mistake(
    name="queries-from-memory",
    title="Cross-attention the wrong way round",
    group="decoder",
    level=2,
    what=(
        "The queries come from the encoder, the keys and values from the decoder. A row is then a token of "
        "the source that looks at the whole target, later tokens included, since nothing masks them there. "
        "It runs only if both sentences are padded to equal length, as here."
    ),
    wrong="x = cross_attn(query=memory, key=x, value=x)",
    right="x = cross_attn(query=x, key=memory, value=memory)",
    seen=(
        issue(
            "humza909/LLM_Survey",
            2,
            "A survey described it so: queries from the encoder, keys and values from the decoder.",
        ),
        issue("rexrex9/nlp_torchtext", 2, "The decoder made its queries from the encoder's output."),
    ),
    find="# with sentences of unequal lengths\nassert weights.shape[-2:] == (tgt.shape[1], src.shape[1])",
    broken=broken_by(_swap_sides),
    symptom=leaks,
    unfit=needs_predicting_cross_attention,
)


def _swap_keys_and_values(model: Transformer) -> None:
    for attention in cross_attention(model):
        assert isinstance(attention, MultiHeadAttention)
        attention.w_k, attention.w_v = attention.w_v, attention.w_k


@torch.inference_mode()
def _distance_from_values(case: Case, run: Run) -> float:
    """The largest relative distance between cross-attention's values and W_V times the encoder's output."""
    ends = [path for path in run.trace if path.startswith("encoder.") and path.endswith((".result", "_post"))]
    farthest = 0.0
    for layer, block in enumerate(case.loaded.model.decoder.layers):
        attention = block.get_submodule("cross_attn")
        assert isinstance(attention, MultiHeadAttention)
        memory = run.trace[ends[-1]].to(attention.w_v.weight.device)
        right = attention.split_heads(attention.w_v(memory)).cpu()
        farthest = max(farthest, distance(run.trace[f"decoder.layers.{layer}.cross_attn.v"], right))
    return farthest


def values_of_the_source(case: Case, broken: Broken) -> Symptom:
    """The distance between cross-attention's values and W_V times the encoder's output."""
    return Symptom(
        what="Distance between cross-attention's values and W_V times the encoder's output, relative",
        sound=_distance_from_values(case, broken.sound),
        broken=_distance_from_values(case, broken.run),
        limit=0.01,
    )


KEYS_FOR_VALUES = Mistake(
    name="keys-and-values-swapped",
    title="Keys and values of cross-attention swapped",
    group="decoder",
    level=3,
    what=(
        "Two arguments or two matrices change places: the source is compared with the queries by what should "
        "be its values, and gives away what should be its keys. The shapes agree, so nothing crashes. A "
        "model trained so from the start is none the worse; one that gets its weights from elsewhere is lost."
    ),
    wrong="k, v = w_v(memory), w_k(memory)",
    right="k, v = w_k(memory), w_v(memory)",
    seen=(
        issue(
            "Khaliladib11/Transformer-from-scratch",
            2,
            "Query, key and value went to the wrong ones of the three linear layers.",
        ),
        issue(
            "feinanshan/TDNet",
            17,
            "A reader suspects values returned as q, k, v and taken as k, v, q; there it proved consistent.",
        ),
    ),
    find="assert torch.equal(v, split_heads(w_v(memory)))",
    broken=broken_by(_swap_keys_and_values, cached=True),
    symptom=values_of_the_source,
    unfit=needs_cross_attention,
)

DECODER_MISTAKES = (NOT_SHIFTED, QUERIES_FROM_MEMORY, KEYS_FOR_VALUES)
