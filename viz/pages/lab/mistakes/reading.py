"""Correct numbers, misread: the model is sound, its picture is not."""

from __future__ import annotations

import torch
from torch import Tensor

from transformer.analysis.attention_maps import (
    ATTENTION_LABELS,
    Attention,
    attention_record,
    attentions,
    n_layers,
)
from transformer.model.trace import AttentionRecord
from transformer.run import Run
from viz.pages.lab.mistakes.fitting import needs_heads, needs_prediction
from viz.pages.lab.mistakes.mistake import Broken, Case, Mistake, Picture, Reading, Symptom
from viz.pages.lab.mistakes.seen import issue


def _bits(weights: Tensor) -> Tensor:
    """The entropy of each row, in bits: (..., Q, K) -> (..., Q)."""
    return -torch.xlogy(weights, weights).sum(dim=-1) / torch.log(torch.tensor(2.0))


def _hidden_bits(weights: Tensor) -> float:
    """The entropy of the averaged heads minus the heads' mean entropy, from (H, Q, K): never below 0."""
    return float((_bits(weights.mean(dim=0)) - _bits(weights).mean(dim=0)).mean())


def _records(run: Run) -> list[tuple[Attention, int, AttentionRecord]]:
    return [
        (name, layer, attention_record(run.trace, name, layer))
        for name in attentions(run.trace)
        for layer in range(n_layers(run.trace, name))
    ]


def _title(name: Attention, layer: int) -> str:
    return f"{ATTENTION_LABELS[name]}, layer {layer}"


def _averaged(case: Case) -> Broken:
    """Average the heads of the attention whose heads differ most."""
    name, layer, record = max(_records(case.run), key=lambda one: _hidden_bits(one[2].weights[0]))
    weights = record.weights[0]
    tokens = (record.query_tokens[0], record.key_tokens[0])
    mean = weights.mean(dim=0, keepdim=True)
    reading = Reading(
        sound=Picture(weights, *tokens, f"{_title(name, layer)}, each head"),
        broken=Picture(mean, *tokens, f"{_title(name, layer)}, mean of {len(weights)} heads"),
    )
    return Broken(None, case.run, case.run, reading=reading)


def hidden_by_the_average(case: Case, broken: Broken) -> Symptom:
    """The entropy that averaging the heads adds."""
    assert broken.reading is not None
    heads = broken.reading.sound.weights
    return Symptom(
        what="Difference between the heads that the picture hides",
        sound=sum(_hidden_bits(head[None]) for head in heads) / len(heads),
        broken=_hidden_bits(heads),
        limit=0.05,
        unit="bits",
    )


AVERAGED = Mistake(
    name="heads-averaged",
    title="Heads averaged",
    group="reading",
    level=1,
    what=(
        "The picture shows the mean of all heads. One head that looks at the word before and one that looks "
        "at the verb become a grey blur that no head has ever seen. nn.MultiheadAttention returns this mean "
        "unless it is told not to."
    ),
    wrong="_, weights = attention(x, x, x)",
    right="_, weights = attention(x, x, x, average_attn_weights=False)",
    seen=(
        issue(
            "pytorch/pytorch",
            34537,
            "The mean was all that nn.MultiheadAttention returned; the weights of each head were lost.",
        ),
        issue("pytorch/pytorch", 47583, "The request that led to average_attn_weights=False."),
        issue("google-research/bert", 994, "Whether one averaged map of all heads stands for them."),
    ),
    find="assert weights.shape == (batch, n_heads, n_queries, n_keys)",
    broken=_averaged,
    symptom=hidden_by_the_average,
    unfit=needs_heads,
)


def _n_given(run: Run) -> int:
    """The number of decoder rows before the one that predicts the target's first token."""
    return len(run.target_ids) - len(run.target.ids) - 1


def _one_row_off(case: Case) -> Broken:
    """Label the rows of the last cross-attention (or self-attention) with the tokens that they read."""
    run = case.run
    name, layer, record = _records(run)[-1]
    written = [case.loaded.target.token(step.token_id) for step in run.steps]
    start = _n_given(run)
    weights = record.weights[0][:, start : start + len(written)]
    read = record.query_tokens[0][start : start + len(written)]
    title, columns = _title(name, layer), record.key_tokens[0]
    reading = Reading(
        sound=Picture(weights, tuple(written), columns, f"{title}: where a row looks to write its token"),
        broken=Picture(weights, read, columns, f"{title}: the same rows under the tokens that they read"),
    )
    return Broken(None, run, run, reading=reading)


def _share_of_best(run: Run, ids: list[int]) -> float:
    """The share of the rows predicting the target whose most probable token is the one in `ids`."""
    right = [step.top_ids[0] == index for step, index in zip(run.steps, ids, strict=False)]
    return sum(right) / len(right) if right else 0.0


def best_tokens(case: Case, broken: Broken) -> Symptom:
    """The share of rows whose most probable token is their label."""
    written = [step.token_id for step in case.run.steps]
    read = list(case.run.target_ids[_n_given(case.run) :])
    return Symptom(
        what="Rows whose most probable token is the one that stands beside them",
        sound=100 * _share_of_best(case.run, written),
        broken=100 * _share_of_best(case.run, read),
        limit=50.0,
        unit="%",
    )


ROW_OFF_BY_ONE = Mistake(
    name="row-off-by-one",
    title="A row read as the wrong token",
    group="reading",
    level=2,
    what=(
        "A row of the decoder carries the token that it reads, and is taken for the one that it writes. The "
        "attention that chose a word is in the row before it. Read one row too low, an alignment of two "
        "sentences is wrong for every word."
    ),
    wrong="alignment = cross_weights[tokens.index(word)]",
    right="alignment = cross_weights[tokens.index(word) - 1]",
    seen=(
        issue(
            "bojieli/ai-agent-book",
            347,
            "Rows of a heat map were output tokens and were labelled with tokens of the input.",
        ),
        issue(
            "hlt-mt/simulstream",
            38,
            "Which row belongs to which generated token, spelled out in a comment after a review.",
        ),
    ),
    find="row = tokens.index(word) - 1\nassert logits[row].argmax() == vocabulary[word]",
    broken=_one_row_off,
    symptom=best_tokens,
    unfit=needs_prediction,
)

READING_MISTAKES = (AVERAGED, ROW_OFF_BY_ONE)
